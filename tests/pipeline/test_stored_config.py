"""The configuration of a run, read back from a real store."""

from __future__ import annotations

from typing import Any

import pytest
from command import Bakeoff, command_in

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.tracking.description import describe_run
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds one run."""
    with command_in(tmp_path_factory.mktemp("kept")) as bakeoff:
        answer = bakeoff("dataset=wine", "learner=svm", "learner.C=inf", "tracking.models=false")
    assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture
def store(kept: Bakeoff) -> Store:
    return open_store(f"sqlite:///{kept.folder}/outputs/mlflow.db", "bakeoff", create=False)


def test_the_configuration_that_is_read_builds_the_experiment_of_the_run(kept: Bakeoff, store: Store) -> None:
    from bakeoff.pipeline.audit import AuditVerdict
    from bakeoff.pipeline.config.words import Invocation
    from bakeoff.pipeline.identity.config_hash import hash_config

    run = kept.runs()[0]
    spec = read_stored_config(store, run.info.run_id)
    experiment = build_experiment(spec, PartCache())
    learner: Any = experiment.learner
    assert float("inf") == learner.C
    described = describe_run(
        spec,
        Invocation({}),
        experiment,
        experiment.make_splits(),
        AuditVerdict(),
        hash_config(spec, experiment.dataset.digest()),
    )
    assert described.tags["config_hash"] == run.data.tags["config_hash"]


def test_a_run_of_other_code_is_refused(store: Store) -> None:
    other = store.client.create_run(store.experiment_id)
    with pytest.raises(UserError, match=r"no artifact config\.yaml"):
        read_stored_config(store, other.info.run_id)
    store.client.log_text(other.info.run_id, "- a list", "config.yaml")
    with pytest.raises(UserError, match="not a configuration of bakeoff"):
        read_stored_config(store, other.info.run_id)
    store.client.log_text(other.info.run_id, "a: [", "config.yaml")
    with pytest.raises(UserError, match="is not YAML"):
        read_stored_config(store, other.info.run_id)
    store.client.log_text(other.info.run_id, "a: &a [1]\nb: &b [*a, *a]\nlearner: [*b, *b]", "config.yaml")
    with pytest.raises(UserError, match=r"config\.yaml of run \w+, line 2: \*a is inside an anchored part"):
        read_stored_config(store, other.info.run_id)
