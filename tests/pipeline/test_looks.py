"""Looks at a test part, counted in a real SQLite store."""

from __future__ import annotations

import pytest

from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.history import count_candidates, count_looks
from bakeoff.pipeline.tracking.store import Store, open_store

WINE = {"dataset_digest": "wine", "splits_digest": "folds"}
RUNS = [
    ("FINISHED", {**WINE, "config_hash": "knn"}),
    ("FINISHED", {**WINE, "config_hash": "knn"}),
    ("FINISHED", {**WINE, "config_hash": "svm"}),
    ("FAILED", {**WINE, "config_hash": "mlp"}),
    ("FINISHED", {**WINE, "splits_digest": "others", "config_hash": "knn"}),
    ("FINISHED", {"dataset_digest": "wine", "config_hash": "of an earlier version"}),
    ("FINISHED", {"comparison": "no configuration"}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store with runs of three configurations on the same test rows, one of them deleted in MLflow."""
    opened = open_store(f"sqlite:///{tmp_path_factory.mktemp('looks')}/mlflow.db", "bakeoff")
    other = open_store(opened.uri, "another experiment")
    for each, tags in [*((opened, run) for run in RUNS), (other, ("FINISHED", {**WINE, "config_hash": "tree"}))]:
        status, run_tags = tags
        run = each.client.create_run(each.experiment_id, tags=run_tags)
        each.client.set_terminated(run.info.run_id, status)
    each.client.delete_run(run.info.run_id)
    return opened


def test_each_configuration_counts_once_wherever_its_runs_are_and_whether_they_were_deleted(store: Store) -> None:
    assert count_looks(store, "wine", "folds") == len({"knn", "svm", "tree"})
    assert count_looks(store, "wine", "others") == 1
    assert count_looks(store, "iris", "folds") == 0


def test_the_search_that_servers_are_asked_with_finds_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    queried = set(history.read_scored_jobs(store, "wine"))
    assert {job.config_hash for job in queried} == {"knn", "svm", "tree", "of an earlier version"}
    monkeypatch.setattr(history, "has_database", lambda client: False)
    assert set(history.read_scored_jobs(store, "wine")) == queried


def test_a_configuration_that_is_about_to_be_scored_counts_once(store: Store) -> None:
    assert count_looks(store, "wine", "folds", "knn") == 3
    assert count_looks(store, "wine", "folds", "mlp") == 4


def test_the_best_is_chosen_from_the_finished_runs_of_its_experiment_on_any_test_rows(store: Store) -> None:
    assert count_candidates(store, "wine") == len({"knn", "svm", "of an earlier version"})
    assert count_candidates(store, "iris") == 0
