"""The rows of runs and models, compared with those that MLflow's client writes."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.limited_calls import LimitedCalls
from bakeoff.pipeline.tracking.mlflow_tables import close_all
from bakeoff.pipeline.tracking.models import add_run_model
from bakeoff.pipeline.tracking.names import ModelName, register_version
from bakeoff.pipeline.tracking.sqlite_file import create_sqlite, sqlite_uri
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.store_writer import (
    ClientWriter,
    DatasetInput,
    FileWriter,
    NewVersion,
    RunValues,
    StoreWriter,
)

DATASET = DatasetInput("iris", "1234", "local", '{"uri": "scikit-learn: iris"}', '{"num_rows": 150}')
VALUES = RunValues(
    metrics=[
        ("score", 0.5, 1000, 0),
        ("score", 0.25, 900, 1),
        ("score", 0.75, 2000, 0),
        ("score", 0.5, 1000, 0),
        ("loss", math.nan, 1000, 0),
        *((f"fold/{number}", number / 7, 1000, number) for number in range(1000)),
    ],
    params={"learner": "knn", "long": "x" * 9000},
    tags={"sweep": "first", "mlflow.note.content": "y" * 9000, "ä": "ü\n"},
)
IDS = re.compile(r"(m-)?[0-9a-f]{32}")
TIMES = re.compile(r"time|_ms$")


def write_everything(writer: StoreWriter) -> None:
    """Write an experiment with runs that share a dataset and end in each way, and models."""
    writer.create_experiment("other", "file:///elsewhere/other")
    writer.create_experiment("other", "file:///elsewhere/again")
    writer.tag_experiment("0", "key", "first")
    writer.tag_experiment("0", "key", "second")
    for status in ("FINISHED", "FAILED", "KILLED"):
        run_id, _ = writer.create_run("0", f"a {status} run", {"mlflow.user": "me", "long": "z" * 9000})
        writer.add_dataset(run_id, DATASET)
        writer.add_values(run_id, VALUES)
        writer.add_values(run_id, RunValues(tags={"sweep": "second"}, metrics=[("score", 1.0, 3000, 0)]))
        writer.add_values(run_id, RunValues())
        assert writer.find_experiment_id(run_id) == "0"
        model_id, source = writer.create_model("0", "model", run_id)
        writer.finish_model(model_id, run_id)
        alias = "champion" if status == "FINISHED" else ""
        tags = {"dataset": "iris", "ä": "ü\n"}
        writer.register_version(NewVersion("chosen", "newest", model_id, source, run_id, tags, "two\nlines"))
        named_id, source = writer.create_model("0", "named", run_id)
        writer.finish_model(named_id)
        writer.register_version(NewVersion("chosen", alias, named_id, source, run_id, {}, ""))
        writer.create_model("0", "unfinished", run_id)
        writer.end_run(run_id, status, 1234567)
    writer.create_run("0", "an open run", {})


def read_tables(path: Path) -> dict[str, list[Any]]:
    """Return all rows, with placeholders for random ids and for times that are now."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [hide(row) for row in database.execute(f"SELECT * FROM {name}")] for name in names}


def hide(row: sqlite3.Row) -> list[str]:
    """Return the values of a row as texts, without those that differ by chance."""
    values = []
    for key in row.keys():  # noqa: SIM118  # the iterator yields values
        is_now = TIMES.search(key) and isinstance(row[key], int) and row[key] > 10**12
        values.append("now" if is_now else IDS.sub("id", repr(row[key])))
    return values


def write_tables(path: Path, make: Callable[[LimitedCalls], StoreWriter]) -> dict[str, list[Any]]:
    """Return the tables of a store into which a writer has written everything."""
    create_sqlite(path)
    calls = LimitedCalls(sqlite_uri(path))
    calls.connect()
    write_everything(make(calls))
    close_all()
    written = read_tables(path)
    path.unlink()
    return written


def make_file_writer(calls: LimitedCalls, n_calls: int = 1) -> FileWriter:
    """Return a writer that repeats its calls."""
    database = calls.database
    assert database is not None
    write = database.write

    def repeat(change: Any) -> None:
        for _ in range(n_calls):
            write(change)

    database.write = repeat  # type: ignore[method-assign]
    return FileWriter(calls, database)


def test_both_writers_write_the_same_rows_of_all_tables(tmp_path: Path) -> None:
    ours, theirs = (write_tables(tmp_path / "mlflow.db", make) for make in (make_file_writer, ClientWriter))
    assert ours.keys() == theirs.keys()
    for name, rows in theirs.items():
        assert sorted(ours[name]) == sorted(rows), name


def test_a_call_that_wrote_its_rows_without_an_answer_can_be_repeated(tmp_path: Path) -> None:
    once, twice = (write_tables(tmp_path / "mlflow.db", partial(make_file_writer, n_calls=n)) for n in (1, 2))
    assert once == twice


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return an empty store."""
    return open_store(str(tmp_path / "mlflow.db"), "bakeoff")


@pytest.mark.parametrize(
    "write",
    [
        lambda writer, run_id: writer.add_dataset(run_id, DATASET),
        lambda writer, run_id: writer.add_values(run_id, VALUES),
        lambda writer, run_id: writer.end_run(run_id, "FINISHED"),
    ],
)
def test_a_run_that_was_deleted_is_not_written(store: Store, write: Callable[[StoreWriter, str], None]) -> None:
    run_id, _ = store.writer.create_run(store.experiment_id, "run", {})
    store.client.delete_run(run_id)
    with pytest.raises(UserError, match=f"the run {run_id} was deleted"):
        write(store.writer, run_id)
    assert store.client.get_run(run_id).data.metrics == {}


def test_a_write_that_fails_changes_nothing(store: Store) -> None:
    run_id, _ = store.writer.create_run(store.experiment_id, "run", {})
    values = RunValues(metrics=[("score", 0.5, 1000, 0)], tags={"key": None})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        store.writer.add_values(run_id, values)
    assert store.client.get_run(run_id).data.metrics == {}


def test_a_store_of_another_version_of_mlflow_is_written_by_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bakeoff.pipeline.tracking.mlflow_tables.KNOWN_TABLES", {})
    store = open_store(str(tmp_path / "mlflow.db"), "bakeoff")
    assert isinstance(store.writer, ClientWriter)
    run_id, _ = store.writer.create_run(store.experiment_id, "run", {})
    store.writer.add_values(run_id, VALUES)
    assert store.client.get_run(run_id).data.metrics["score"] == 0.25


def list_open_files(store: Store) -> list[str]:
    """Return the open files of this process that belong to the database of a store."""
    assert store.folder is not None
    targets = [os.readlink(link.path) for link in os.scandir("/proc/self/fd") if os.path.exists(link.path)]
    return [target for target in targets if target.startswith(str(store.folder / "mlflow.db"))]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is copied")
def test_a_copy_of_a_process_has_no_connection_to_a_store(store: Store) -> None:
    dropped = open_store(store.uri, "bakeoff")
    dropped.client.search_experiments()  # MLflow's own connection
    run_id, _ = dropped.writer.create_run(store.experiment_id, "run", {})
    del dropped
    assert len(list_open_files(store)) >= 3
    child = os.fork()
    if child == 0:
        os._exit(len(list_open_files(store)))
    assert os.waitpid(child, 0)[1] == 0
    store.writer.end_run(run_id, "FINISHED")
    assert store.client.get_run(run_id).info.status == "FINISHED"


def test_a_model_is_written_into_a_file_and_registered_without_the_client_of_mlflow(store: Store) -> None:
    run_id, _ = store.writer.create_run(store.experiment_id, "run", {})
    model_id = add_run_model(store, run_id, lambda folder, place: None)
    register_version(store, ModelName("chosen", "champion"), model_id, run_id)
    assert isinstance(store.writer, FileWriter)
    assert store.calls._client is None
