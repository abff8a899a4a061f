"""An empty store that is copied from the cache, compared with one that MLflow creates."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.pipeline.system import is_own
from bakeoff.pipeline.tracking import sqlite_file
from bakeoff.pipeline.tracking.mlflow_tables import create_tables, open_database
from bakeoff.pipeline.tracking.sqlite_file import CACHE_VARIABLE, create_sqlite, find_cache, sqlite_path, sqlite_uri


def make_store(folder: Path) -> Path:
    """Create a store, and return its database."""
    path = folder / "mlflow.db"
    assert create_sqlite(path)
    return path


def dump(path: Path) -> list[str]:
    """Return the statements that make a database, without its folder and its times."""
    with closing(sqlite3.connect(path)) as database:
        times = {str(time) for (time,) in database.execute("SELECT creation_time FROM experiments")}
        lines = [line.replace(path.parent.as_uri(), "FOLDER") for line in database.iterdump()]
    return [line.replace(time, "NOW") for line in lines for time in times]


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("sqlite:///C:/my runs/mlflow.db", "C:/my runs/mlflow.db"),
        ("sqlite:///C%3A%2F100%25%2Fmlflow.db", "C:/100%/mlflow.db"),
        ("sqlite:///100%25/mlflow.db", "100%25/mlflow.db"),
    ],
)
def test_the_path_of_a_file_may_begin_with_a_drive(uri: str, path: str) -> None:
    assert sqlite_path(uri) == Path(path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return find_cache()


def test_a_copied_store_has_the_content_of_one_that_mlflow_creates(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = make_store(tmp_path / "a folder's 100%")
    monkeypatch.setattr(sqlite_file, "create_tables", None)
    copied = make_store(tmp_path / "copied")
    assert dump(copied) == dump(created)
    assert [file.suffix for file in cache.iterdir()] == [".db"]


def test_a_damaged_copy_in_the_cache_is_replaced(tmp_path: Path, cache: Path) -> None:
    make_store(tmp_path / "first")
    (kept,) = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:5000])
    assert open_database(make_store(tmp_path / "second"))
    assert open_database(kept)


def test_a_store_is_created_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    assert open_database(make_store(tmp_path / "store"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return an empty store that MLflow has created."""
    folder = tmp_path_factory.mktemp("empty")
    create_tables(sqlite_uri(folder / "mlflow.db"), folder)
    return (folder / "mlflow.db").read_bytes()


def list_content(path: Path) -> list[object]:
    """Return the names of tables and triggers and all rows; MLflow creates constraints in an order that varies."""
    rows = [line for line in dump(path) if line.startswith("INSERT")]
    with closing(sqlite3.connect(path)) as database:
        return [*rows, *database.execute("SELECT type, name FROM sqlite_master ORDER BY type, name")]


def execute(statement: str) -> Callable[[Path], None]:
    """Return a function that changes the store in the cache."""

    def change(kept: Path) -> None:
        with closing(sqlite3.connect(kept)) as database, database:
            database.execute(statement)

    return change


plant_name = execute("UPDATE experiments SET name = 'forged'")


def plant_endless_file(kept: Path) -> None:
    kept.unlink()
    kept.symlink_to("/dev/zero")


def plant_pipe(kept: Path) -> None:
    kept.unlink()
    os.mkfifo(kept)


def plant_link(kept: Path) -> None:
    kept.symlink_to(kept.rename(kept.with_name("elsewhere")))


def let_others_write(kept: Path) -> None:
    plant_name(kept)  # which nothing in the file shows
    kept.chmod(0o666)


def give_to_another_user(kept: Path) -> None:
    plant_name(kept)
    os.chown(kept, 65534, 65534)


@pytest.mark.parametrize(
    "plant",
    [
        execute("INSERT INTO runs (run_uuid, name, status) VALUES ('a', 'forged', 'FINISHED')"),
        execute("CREATE TRIGGER later AFTER INSERT ON runs BEGIN UPDATE runs SET name = 'forged'; END"),
        execute("UPDATE experiments SET artifact_location = 'http://forged'"),
        plant_endless_file, plant_pipe, plant_link, let_others_write,
        pytest.param(give_to_another_user, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root")),
    ],
)  # fmt: skip
def test_what_others_put_into_the_cache_enters_no_store(
    tmp_path: Path, cache: Path, empty: bytes, plant: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "create_tables", lambda uri, folder: sqlite_path(uri).write_bytes(empty))
    created = make_store(tmp_path / "created")
    (kept,) = cache.iterdir()
    plant(kept)
    copied = make_store(tmp_path / "copied")
    assert list_content(copied) == list_content(created)
    assert kept.is_file()
    assert not kept.is_symlink()
    assert is_own(kept.lstat())
