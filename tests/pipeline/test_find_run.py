"""Words that name a run, looked up in a real SQLite store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.names import find_headline, find_run_id, is_greater_better
from bakeoff.pipeline.tracking.store import Store, open_store


def add_run(
    store: Store, start: int, dataset: str, digest: str = "d", status: str = "FINISHED", **metrics: float
) -> str:
    """Write a run; the params name the metrics in order, so that the first one is the headline."""
    client = store.client
    tags = {"dataset_digest": digest}
    run = client.create_run(store.experiment_id, start_time=start, tags=tags)
    client.log_param(run.info.run_id, "dataset", dataset)
    names = [name.removeprefix("test_") for name in metrics if name.startswith("test_")]
    client.log_param(run.info.run_id, "evaluation.metrics", json.dumps(names or None))
    for name, value in metrics.items():
        client.log_metric(run.info.run_id, name, value)
    client.set_terminated(run.info.run_id, status)
    return str(run.info.run_id)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "words")


def test_latest_is_the_newest_finished_run(store: Store) -> None:
    add_run(store, 1, "iris", test_accuracy=0.9)
    newest = add_run(store, 2, "wine", test_accuracy=0.8)
    add_run(store, 3, "iris", status="FAILED")
    assert find_run_id(store, "latest") == newest


def test_latest_and_best_are_restricted_to_a_dataset(store: Store) -> None:
    on_iris = add_run(store, 1, "iris", test_accuracy=0.7)
    add_run(store, 2, "wine", test_accuracy=0.8)
    assert find_run_id(store, "latest", "iris") == on_iris
    assert find_run_id(store, "best", "iris") == on_iris


def test_best_is_the_finished_run_with_the_best_headline_score(store: Store) -> None:
    add_run(store, 1, "iris", test_accuracy=0.8)
    best = add_run(store, 2, "iris", test_accuracy=0.95)
    add_run(store, 3, "iris", test_accuracy=0.9)
    add_run(store, 4, "iris", status="KILLED", test_accuracy=0.99)
    add_run(store, 5, "iris", test_accuracy=float("nan"))
    assert find_run_id(store, "best") == best


def test_best_is_the_lowest_where_lower_is_better(store: Store) -> None:
    best = add_run(store, 1, "cars", test_rmse=1.5)
    add_run(store, 2, "cars", test_rmse=2.5)
    assert find_run_id(store, "best") == best


def test_best_over_two_versions_of_a_dataset_is_refused(store: Store) -> None:
    add_run(store, 1, "iris", digest="a", test_accuracy=0.9)
    add_run(store, 2, "iris", digest="b", test_accuracy=0.8)
    with pytest.raises(UserError, match=r"2 datasets or versions of their rows .iris"):
        find_run_id(store, "best", "iris")


def test_best_by_different_headlines_is_refused(store: Store) -> None:
    add_run(store, 1, "iris", test_accuracy=0.9)
    add_run(store, 2, "iris", test_f1=0.8)
    with pytest.raises(UserError, match="test_accuracy, test_f1"):
        find_run_id(store, "best")


def test_a_run_is_found_by_its_id_and_by_the_beginning_of_it(store: Store) -> None:
    run_id = add_run(store, 1, "iris")
    assert find_run_id(store, run_id) == run_id
    assert find_run_id(store, run_id[:8]) == run_id


def test_a_run_that_is_not_there_or_was_deleted_is_refused(store: Store) -> None:
    run_id = add_run(store, 1, "iris")
    for word in ("0" * 32, run_id[:7], "lates", "x' or 'x"):
        with pytest.raises(UserError, match="there is no run"):
            find_run_id(store, word)
    store.client.delete_run(run_id)
    with pytest.raises(UserError, match="was deleted"):
        find_run_id(store, run_id)


def test_an_empty_store_and_an_unknown_dataset_are_refused(store: Store) -> None:
    for word in ("latest", "best"):
        with pytest.raises(UserError, match="there is no finished run"):
            find_run_id(store, word)
    add_run(store, 1, "iris", test_accuracy=0.9)
    with pytest.raises(UserError, match="no finished run with dataset=irsi"):
        find_run_id(store, "best", "irsi")


def test_the_headline_is_the_first_metric_of_the_configuration_else_of_the_task() -> None:
    stored = {"test_f1": 0.5, "test_accuracy": 0.5, "test_roc_auc": 0.5}
    assert find_headline({"evaluation.metrics": '["f1", "accuracy"]'}, stored) == "test_f1"
    assert find_headline({"evaluation.metrics": "null"}, stored) == "test_accuracy"
    assert find_headline({}, {"test_mae": 1.0, "test_r2": 0.5}) == "test_r2"
    assert find_headline({}, {"loss": 1.0}) is None


@pytest.mark.parametrize("metric", ["test_error", "validation_log_loss", "time/predict", "pruning/leaves_after"])
def test_lower_is_better_for_errors_and_costs(metric: str) -> None:
    assert not is_greater_better(metric)
