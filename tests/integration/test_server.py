"""An MLflow server on PostgreSQL, as docs/sweeps.md sets one up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import mlflow_server
import pytest
import subprocess_sweep
from command import Bakeoff
from warm_process import OUTPUT, Start

from bakeoff.pipeline.tracking.store import Store, open_store

PROCESSES, EACH = 8, ("learner.n_neighbors=1,2,3,4,5", "learner=knn", "dataset=iris", "tracking.models=false")

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(bool(mlflow_server.missing()), reason=mlflow_server.missing()),
]


def test_the_server_keeps_what_the_file_does_to_the_last_bit(
    tmp_path: Path, server: mlflow_server.Server, serial: Mapping[str, Any]
) -> None:
    answer = subprocess_sweep.bakeoff(tmp_path, *subprocess_sweep.SWEEP, MLFLOW_TRACKING_URI=server.uri)
    assert answer.returncode == 0, answer.stderr
    assert subprocess_sweep.scores(server.uri) == serial
    assert "View run" not in answer.stdout


def test_eight_processes_at_once_lose_nothing(tmp_path: Path, server: mlflow_server.Server, start: Start) -> None:
    words = ["-m", *EACH, f"tracking.uri={server.uri}", "tracking.experiment=crowd"]
    started = [start(tmp_path, [*words, f"seed={seed}"]) for seed in range(PROCESSES)]
    assert [process.wait(300) for process in started] == [0] * PROCESSES, (tmp_path / OUTPUT).read_text()
    found = subprocess_sweep.runs(server.uri, "crowd")
    assert Counter(run.info.status for run in found) == {"FINISHED": 5 * PROCESSES}
    assert len({run.data.tags["config_hash"] for run in found}) == 5 * PROCESSES
    assert all("test_accuracy" in run.data.metrics for run in found)


def set_tag(key: str, store: Store) -> None:
    """Set a tag of the experiment."""
    store.writer.tag_experiment(store.experiment_id, key, "set")


def test_a_new_tag_of_an_experiment_is_set_by_eight_clients_at_the_same_moment(server: mlflow_server.Server) -> None:
    stores = [open_store(server.uri, "tags") for _ in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        for number in range(20):
            list(pool.map(partial(set_tag, f"tag{number}"), stores))
    tags = stores[0].client.get_experiment(stores[0].experiment_id).tags
    assert [tags.get(f"tag{number}") for number in range(20)] == ["set"] * 20


def test_a_model_is_shipped_to_the_server_predicted_with_and_listed(
    bakeoff: Bakeoff, server: mlflow_server.Server
) -> None:
    address = [f"tracking.uri={server.uri}", "tracking.experiment=shipped"]
    for learner in ("majority", "naive_bayes"):
        assert bakeoff("dataset=iris", f"learner={learner}", *address).status == 0
    answer = bakeoff("ship", "best", "as=iris@champion", *address)
    assert answer.status == 0, answer.err
    assert re.search(r"\d+ configurations have been scored", answer.err)  # other tests use this server too
    assert "naive_bayes iris" in answer.out
    again = bakeoff("ship", "iris@champion", "as=iris@champion", *address)
    assert "version 2; version 1 was champion before" in again.out
    assert "fitted on all 150 rows" in bakeoff("list", "models", *address).out
    (bakeoff.folder / "flower.csv").write_text(
        "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm)\n5,3.4,1.5,0.2\n"
    )
    predicted = bakeoff("predict", "iris@champion", "flower.csv", *address)
    assert predicted.status == 0, predicted.err
    assert "iris, version 2" in predicted.err
