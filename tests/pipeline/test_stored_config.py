"""The configuration of a run, read back from a real store."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from command import Bakeoff, command_in

from bakeoff.pipeline.description import describe_run
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import build_experiment
from bakeoff.pipeline.experiment.part_cache import PartCache
from bakeoff.pipeline.tracking.reading.stored_config import read_stored_config
from bakeoff.pipeline.tracking.store import Store, open_store


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
    from bakeoff.pipeline.config.invocation import Invocation

    run = kept.runs()[0]
    spec = read_stored_config(store, run.info.run_id)
    experiment = build_experiment(spec, PartCache())
    learner: Any = experiment.learner
    assert float("inf") == learner.C
    described = describe_run(spec, Invocation({}), experiment, experiment.make_splits(), AuditVerdict())
    assert described.tags["config_hash"] == run.data.tags["config_hash"]


def test_a_run_of_an_earlier_version_scores_training_rows_by_all_metrics(kept: Bakeoff, store: Store) -> None:
    run_id = kept.runs()[0].info.run_id
    spec = read_stored_config(store, run_id)
    assert build_experiment(spec, PartCache()).train_metrics == "headline"
    del spec["evaluation"]["train_metrics"]
    earlier = store.client.create_run(store.experiment_id)
    store.client.log_text(earlier.info.run_id, yaml.safe_dump(spec), "config.yaml")
    spec = read_stored_config(store, earlier.info.run_id)
    assert build_experiment(spec, PartCache()).train_metrics == "all"
    spec["evaluation"]["train_metrics"] = "none"
    with pytest.raises(UserError, match=r"evaluation\.train_metrics='none' must be headline"):
        build_experiment(spec, PartCache())


def test_a_run_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match="there is no run 'abc'"):
        read_stored_config(store, "abc")


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


def test_names_of_an_earlier_version_are_replaced(store: Store) -> None:
    old = store.client.create_run(store.experiment_id)
    spec = {"learner": {"_target_": "learners.SVC", "C": 2.0}}
    store.client.log_text(old.info.run_id, yaml.safe_dump(spec), "config.yaml")
    assert read_stored_config(store, old.info.run_id)["learner"]["_target_"] == "bakeoff.learners.SVC"
