"""Names, versions and aliases of models in a real SQLite store."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.names import (
    RegisteredVersion,
    find_run_id,
    find_version,
    list_versions,
    parse_model_name,
    register_version,
)
from bakeoff.pipeline.tracking.store import Store, open_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(f"sqlite:///{tmp_path_factory.mktemp('registry')}/mlflow.db", "bakeoff")


def register(store: Store, word: str, **values: str) -> RegisteredVersion:
    """Register a model of a new run."""
    run_id = store.client.create_run(store.experiment_id).info.run_id
    model = store.client.create_logged_model(store.experiment_id, name="model", source_run_id=run_id)
    store.client.finalize_logged_model(model.model_id, "READY")
    return register_version(store, parse_model_name(word, "as"), model.model_id, run_id, **values)  # type: ignore[arg-type]


def test_a_version_has_what_it_was_registered_with(store: Store) -> None:
    version = register(store, "wines@champion", description="for tasting")
    assert (version.name, version.version, version.aliases) == ("wines", 1, ("champion",))
    assert version.description == "for tasting"
    registered = MlflowClient(store.uri, store.uri).get_model_version_by_alias("wines", "champion")
    assert registered.run_id == version.run_id
    assert version.source == store.client.get_logged_model(version.model_id).artifact_location


def test_a_word_names_the_newest_version_one_with_an_alias_or_one_by_number(store: Store) -> None:
    versions = [register(store, word) for word in ("cars@old", *["cars"] * 9, "cars@champion", "cars")]
    expected = {"cars": 12, "cars@old": 1, "cars@champion": 11, "cars/10": 10}
    for word, number in expected.items():
        found = find_version(store, word)
        assert found == versions[number - 1]
        assert find_run_id(store, word) == versions[number - 1].run_id
    assert [each.version for each in list_versions(store, "cars")] == list(range(1, 13))


def test_an_alias_moves_to_the_new_version(store: Store) -> None:
    register(store, "boats@champion")
    second = register(store, "boats@champion")
    assert [each.aliases for each in list_versions(store, "boats")] == [(), ("champion",)]
    assert find_version(store, "boats@champion") == second


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("a:b", "cannot be the name of a model"),
        ("", "cannot be the name of a model"),
        (".", "cannot be the name of a model"),
        ("x" * 300, "cannot be the name of a model"),
        ("latest", "'latest' names a run"),
        ("best@champion", "'best' names a run"),
        ("deadbeef", "'deadbeef' names a run"),
        ("cars@a b", "cannot be the name of a model"),
        ("cars@Latest", "MLflow keeps the aliases latest"),
    ],
)
def test_names_that_mlflow_refuses_or_that_name_something_else_are_refused(word: str, reason: str) -> None:
    with pytest.raises(UserError) as error:
        parse_model_name(word, "as")
    assert str(error.value).startswith(f"as={word!r}")
    assert reason in str(error.value)


@pytest.mark.parametrize("word", ["titanic", "Titanic_2.1-beta@champion-2", "größe@älteste"])
def test_other_names_are_accepted_by_mlflow(store: Store, word: str) -> None:
    assert str(parse_model_name(word, "as")) == word
    version = register(store, word)
    assert find_version(store, word) == version


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
