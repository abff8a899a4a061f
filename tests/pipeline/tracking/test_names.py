"""Words that name a run, and names, versions and aliases of models, looked up in a real SQLite store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.names import (
    RegisteredVersion,
    find_headline,
    find_run_id,
    find_version,
    is_greater_better,
    list_versions,
    parse_model_name,
    register_version,
)
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import ClientWriter


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


def test_latest_is_the_newest_finished_run_of_a_dataset_if_one_is_named(store: Store) -> None:
    on_iris = add_run(store, 1, "iris", test_accuracy=0.7)
    newest = add_run(store, 2, "wine", test_accuracy=0.8)
    add_run(store, 3, "iris", status="FAILED")
    assert find_run_id(store, "latest") == newest
    assert find_run_id(store, "latest", "iris") == on_iris


def test_best_is_the_finished_run_with_the_best_headline_score_on_a_dataset(store: Store) -> None:
    scores = (("FINISHED", 0.8), ("FINISHED", 0.95), ("FINISHED", 0.9), ("KILLED", 0.99), ("FINISHED", float("nan")))
    ids = [add_run(store, 1, "iris", status=status, test_accuracy=score) for status, score in scores]
    errors = [add_run(store, 2, "cars", test_rmse=error) for error in (1.5, 2.5)]
    assert find_run_id(store, "best", "iris") == ids[1]
    assert find_run_id(store, "best", "cars") == errors[0]


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


# Registered models


def register(store: Store, word: str, **values: str) -> RegisteredVersion:
    """Register a model of a new run."""
    run_id = store.client.create_run(store.experiment_id).info.run_id
    model = store.client.create_logged_model(store.experiment_id, name="model", source_run_id=run_id)
    store.client.finalize_logged_model(model.model_id, "READY")
    return register_version(store, parse_model_name(word, "as"), model.model_id, run_id, **values)  # type: ignore[arg-type]


def test_a_version_has_what_it_was_registered_with(store: Store) -> None:
    version = register(store, "wines@champion", description="for tasting")
    assert (version.name, version.version, version.aliases) == ("wines", 1, ("champion",))
    registered = MlflowClient(store.uri, store.uri).get_model_version_by_alias("wines", "champion")
    assert (registered.run_id, registered.description) == (version.run_id, "for tasting")
    assert registered.source == store.client.get_logged_model(version.model_id).artifact_location


def test_a_word_names_the_newest_version_one_with_an_alias_or_one_by_number(store: Store) -> None:
    versions = [register(store, word) for word in ("cars@old", *["cars"] * 9, "cars@champion", "cars")]
    expected = {"cars": 12, "cars@old": 1, "cars@champion": 11, "cars/10": 10}
    for word, number in expected.items():
        found = find_version(store, word)
        assert found == versions[number - 1]
        assert find_run_id(store, word) == versions[number - 1].run_id
    assert [each.version for each in list_versions(store, "cars")] == list(range(1, 13))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("latest", "'latest' refers to a run"),
        ("deadbeef", "'deadbeef' refers to a run"),
        ("cars@a b", "cannot be the name of a model"),
        ("cars@Latest", "MLflow reserves the aliases latest"),
    ],
)
def test_names_that_mlflow_refuses_or_that_name_something_else_are_refused(word: str, reason: str) -> None:
    with pytest.raises(UserError) as error:
        parse_model_name(word, "as")
    assert str(error.value).startswith(f"as={word!r}")
    assert reason in str(error.value)


def test_the_name_of_a_prompt_is_refused_and_the_prompt_keeps_its_alias(store: Store) -> None:
    client = MlflowClient(store.uri, store.uri)
    client.register_prompt("greeting", "hello {{name}}")
    client.set_prompt_alias("greeting", "champion", 1)
    with pytest.raises(UserError, match="'greeting' is the name of a prompt"):
        register(store, "greeting@champion")
    assert client.get_prompt_version_by_alias("greeting", "champion").version == 1


@pytest.mark.parametrize("is_new", [True, False])
def test_a_failure_leaves_neither_a_version_nor_a_moved_alias(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    name = "planes" if is_new else "ships"
    if not is_new:
        register(store, f"{name}@champion")
    before = list_versions(store, name)

    def fail(*arguments: object) -> None:
        raise MlflowException("the disk is full")

    object.__setattr__(store, "writer", ClientWriter(store.calls))
    monkeypatch.setattr(MlflowClient, "set_registered_model_alias", fail)
    with pytest.raises(MlflowException, match="the disk is full"):
        register(store, f"{name}@champion")
    assert list_versions(store, name) == before


def test_nothing_goes_to_the_store_of_mlflows_global_settings(store: Store, tmp_path: Path) -> None:
    import mlflow

    before = mlflow.get_tracking_uri()
    elsewhere = f"sqlite:///{tmp_path}/other.db"
    mlflow.set_tracking_uri(elsewhere)
    try:
        register(store, "balloons@champion")
    finally:
        mlflow.set_tracking_uri(before)
    assert not (tmp_path / "other.db").exists()
