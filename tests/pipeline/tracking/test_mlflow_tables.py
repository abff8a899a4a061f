"""What bakeoff needs of the installed MLflow beside its interface: tables, columns, and methods of its stores."""

from __future__ import annotations

import gc
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.utils.mlflow_tags import MLFLOW_ARTIFACT_LOCATION
from written_runs import write_run

from bakeoff.pipeline.tracking.mlflow_tables import (
    ADDRESS_COLUMNS,
    MODELS_FOLDER,
    STORE_TABLES,
    TABLE_WITH_TRIGGERS,
    TRACE_ADDRESSES,
    DatabaseFile,
    FileConnection,
    create_tables,
    find_run_ids,
    list_expected_tables,
    open_database,
)
from bakeoff.pipeline.tracking.names import ModelName, _ask_for_versions, _read_versions, list_names, register_version
from bakeoff.pipeline.tracking.sqlite_file import create_whole
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import DatasetInput
from bakeoff.pipeline.tracking.stored_runs import convert_run, load_runs, read_stored_runs, search_runs


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database of a new store."""
    path = tmp_path_factory.mktemp("tables") / "mlflow.db"
    create_whole(path, lambda draft: create_tables(f"sqlite:///{draft}", path.parent))
    return path


def test_the_revision_of_the_tables_of_the_installed_mlflow_is_known(database: Path) -> None:
    assert open_database(database) is not None


def test_a_connection_is_closed_before_it_is_collected(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def close(connection: FileConnection) -> None:
        closed.append(repr(connection.file))
        sqlite3.Connection.close(connection)

    monkeypatch.setattr(FileConnection, "close", close)
    file = open_database(database)
    assert file is not None
    assert file.read("SELECT 1", {}) == [(1,)]
    name = repr(file)
    del file
    gc.collect()
    assert name in closed


def test_every_column_with_an_address_is_known(database: Path) -> None:
    query = "SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns"
    with closing(sqlite3.connect(database)) as opened:
        columns = set(opened.execute(f"{query} WHERE tables.type = 'table'"))
    named = {pair for pair in columns if re.search(r"artifact|location|^(storage_|artifact_)uri$", pair[1])}
    of_servers = {pair for pair in named if pair[0] == "workspaces"}  # a store in a file has none
    assert named - of_servers <= set(ADDRESS_COLUMNS)


def test_a_store_has_the_tables_and_the_schema_that_are_looked_for(database: Path) -> None:
    with closing(sqlite3.connect(database)) as opened:
        tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        (mode,) = opened.execute("PRAGMA journal_mode").fetchone()
        triggers = {name for (name,) in opened.execute("SELECT tbl_name FROM sqlite_master WHERE type = 'trigger'")}
        assert opened.execute(f"SELECT {TRACE_ADDRESSES[1]} FROM {TRACE_ADDRESSES[0]}").fetchall() == []
    assert mode == "wal"
    assert tables >= STORE_TABLES
    assert triggers <= {TABLE_WITH_TRIGGERS}
    assert SqlAlchemyStore.MODELS_FOLDER_NAME == MODELS_FOLDER
    assert f"'{MLFLOW_ARTIFACT_LOCATION}'" in TRACE_ADDRESSES[0]
    assert tables >= list_expected_tables()


QUERIES = (
    "",
    "status = 'FINISHED' and tags.config_hash != ''",
    "status != 'RUNNING' and tags.sweep = 'first' and params.dataset = 'iris'",
    "params.`seed` != '11'",
    "tags.mlflow.user != ''",
    "params.dataset = 'iris' and metrics.test_accuracy > 0.5",
    "metrics.test_log_loss != 0.3",
    "metrics.test_accuracy>0.5 and params.dataset='iris'",
    "metrics.test_accuracy>=  0.4",
    "attributes.run_name LIKE 'knn%' and tags.sweep IS NULL",
    "dataset.name = 'table'",
    "params.`learner.random_state` ILIKE '1%'",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store with runs that finished, failed, were deleted, have NaN, or are in another experiment."""
    from mlflow import entities

    opened = open_store(str(tmp_path_factory.mktemp("runs") / "mlflow.db"), "bakeoff")
    write_run(opened, "knn", "iris", [0.9, 0.8], tags={"sweep": "first"})
    write_run(opened, "knn", "wine", [0.4], status="FAILED", seed=11)
    with_nan = write_run(opened, "svm", "iris", [0.7], further={"test_log_loss": [float("nan")]})
    for _ in range(2):
        opened.client.log_inputs(
            with_nan, [entities.DatasetInput(entities.Dataset("table", "digest", "local", "source"), [])]
        )
    opened.client.delete_run(write_run(opened, "svm", "iris", [0.6]))
    write_run(open_store(opened.uri, "another"), "knn", "iris", [0.9])
    return opened


@pytest.mark.parametrize("query", QUERIES)
def test_a_database_is_searched_as_by_mlflow(store: Store, query: str) -> None:
    wanted = list(store.client.search_runs([store.experiment_id], query))
    found = list(search_runs(store, query))
    for ours, theirs in zip(found, map(convert_run, wanted), strict=True):
        assert repr(sorted(ours.metrics.items())) == repr(sorted(theirs.metrics.items()))
        # A search reads neither models nor sources.
        unread: Any = {"metrics": {}, "model_id": "", "source": ""}
        assert replace(ours, **unread) == replace(theirs, **unread)


def test_a_condition_without_spaces_is_searched_without_mlflow(store: Store) -> None:
    assert (
        len(find_run_ids(store.client, store.experiment_id, "metrics.test_accuracy>0.5 and status='FINISHED'") or ())
        == 2
    )


def test_runs_and_registered_versions_are_read_from_a_database_as_by_mlflow(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mlflow.db"), "bakeoff")
    runs = [write_run(store, learner, "iris", [0.9]) for learner in ("knn", "svm")]
    models = [store.writer.create_model(store.experiment_id, "model", run)[0] for run in runs]
    for run, model in zip(runs, models, strict=True):
        store.writer.add_dataset(run, DatasetInput("table", "digest", "local", '{"uri": "table.csv"}', "{}"))
        store.writer.finish_model(model, run)
        register_version(store, ModelName("chosen", "champion"), model, run, {"from": run})
    register_version(store, ModelName("other", ""), models[0], runs[0])
    store.client.set_registered_model_alias("chosen", "first", "1")
    store.client.delete_model_version("other", "1")
    found = read_stored_runs(store, runs)
    assert [each.model_id for each in found] == models
    assert repr(found) == repr([convert_run(store.client.get_run(run)) for run in runs])
    for name in ("", "chosen", "other", "unknown"):
        assert _read_versions(store, name) == sorted(_ask_for_versions(store, name), key=lambda each: each.version)
    assert list_names(store) == ["chosen"]  # no version of the other is left


def test_a_query_that_mlflow_rejects_is_rejected(store: Store) -> None:
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match="Invalid"):
        list(search_runs(store, "learner is knn"))


def test_only_the_requested_values_are_read_and_no_more_runs_than_requested(store: Store) -> None:
    (run,) = search_runs(store, "", 1, ["dataset", "sweep"], ["test_log_loss"])
    assert set(run.params) == {"dataset", "seed"}  # a run is readable only if its seed is
    assert set(run.metrics) == {"test_log_loss"}


def test_runs_are_loaded_from_a_server_as_from_a_database(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [run.run_id for run in search_runs(store)]
    monkeypatch.setattr(Store, "is_database", False)
    assert {run.run_id for run in load_runs(store, ids)} == set(ids)
    assert {run.run_id for run in search_runs(store)} == set(ids)


def test_the_number_of_queries_does_not_grow_with_the_runs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []

    def note_query(file: DatabaseFile, query: str, values: Any) -> Any:
        queries.append(query)
        return read(file, query, values)

    read = DatabaseFile.read
    monkeypatch.setattr(DatabaseFile, "read", note_query)
    list(search_runs(store, "tags.config_hash != ''", 1))
    few = len(queries)
    list(search_runs(store, "tags.config_hash != ''"))
    assert len(queries) == 2 * few
