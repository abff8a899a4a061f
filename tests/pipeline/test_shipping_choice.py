"""What is said of the score of a run that is shipped, by the other scores in a real SQLite store."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.pipeline.serving.ship import describe_choice
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_stored_runs


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def add_run(store: Store, configuration: str, score: float = 0.75, splits: str = "folds") -> StoredRun:
    """Write a finished run on iris."""
    tags = {"dataset_digest": "iris", "splits_digest": splits, "config_hash": configuration}
    run_id = store.client.create_run(store.experiment_id, tags=tags).info.run_id
    store.client.log_metric(run_id, "test_accuracy", score)
    store.client.set_terminated(run_id)
    (run,) = read_stored_runs(store, [run_id])
    return run


def test_nothing_is_said_of_the_only_configuration_however_often_it_ran(store: Store) -> None:
    add_run(store, "knn")
    run = add_run(store, "knn")
    assert describe_choice(store, run, is_best=True) == describe_choice(store, run, is_best=False) == []


def test_the_best_of_several_is_optimistic_by_their_number_and_the_cure_is_named(store: Store) -> None:
    add_run(store, "svm")
    # Another seed has other test rows, but it is among those that the best one was chosen from.
    add_run(store, "knn of another seed", splits="other folds")
    best = add_run(store, "knn", 0.8125)
    (sentence,) = describe_choice(store, best, is_best=True)
    assert sentence.startswith(
        "test_accuracy 0.8125 is optimistic: it chose this run, as the best of 3 configurations that were scored"
    )
    assert "dataset.test_path=FILE" in sentence
    assert "tuning=grid evaluation=kfold" in sentence


def test_configurations_of_other_experiments_on_the_same_test_rows_count(store: Store) -> None:
    add_run(open_store(store.uri, "another"), "svm")
    best = add_run(store, "knn")
    (sentence,) = describe_choice(store, best, is_best=True)
    assert "the best of 2 configurations" in sentence


def test_of_a_run_that_was_named_it_is_said_how_many_were_scored_on_its_test_rows(store: Store) -> None:
    add_run(store, "knn of another seed", splits="other folds")
    add_run(store, "svm")
    run = add_run(store, "knn")
    (sentence,) = describe_choice(store, run, is_best=False)
    assert sentence.startswith("2 configurations have been scored on the test rows of this run; if it was chosen for")


def test_a_run_without_a_score_has_nothing_to_say_of(store: Store) -> None:
    run_id = store.client.create_run(store.experiment_id).info.run_id
    (run,) = read_stored_runs(store, [run_id])
    assert describe_choice(store, run, is_best=True) == []
