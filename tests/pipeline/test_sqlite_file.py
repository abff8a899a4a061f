"""An empty store that is copied from the cache, compared with one that MLflow creates."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.pipeline.tracking import sqlite_file
from bakeoff.pipeline.tracking.mlflow_tables import open_database
from bakeoff.pipeline.tracking.sqlite_file import CACHE_VARIABLE, create_sqlite, find_cache


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
