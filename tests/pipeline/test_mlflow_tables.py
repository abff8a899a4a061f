"""What bakeoff needs of the installed MLflow beside its interface: tables, columns, and methods of its stores."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bakeoff.pipeline.tracking.mlflow_tables import (
    ADDRESS_COLUMNS,
    STORE_TABLES,
    TABLE_WITH_TRIGGERS,
    create_tables,
    list_expected_tables,
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database of a new store."""
    path = tmp_path_factory.mktemp("tables") / "mlflow.db"
    create_tables(path, f"sqlite:///{path}", path.parent)
    return path


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
    assert mode == "wal"
    assert tables >= STORE_TABLES
    assert triggers <= {TABLE_WITH_TRIGGERS}
    assert tables >= list_expected_tables()
