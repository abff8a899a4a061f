"""The SQLite file of a store, read and written by Python's sqlite3.

Importing MLflow and SQLAlchemy takes longer than a small run. Files with other tables than those that `mlflow_tables`
knows, and all other stores, are left to MLflow's client.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakSet

LOCK_SECONDS = 20.0
"""The time for which a locked file is waited for, as in MLflow."""


class FileConnection(sqlite3.Connection):
    """A connection that keeps its `DatabaseFile`, because it remains open until garbage is collected."""

    file: DatabaseFile


class DatabaseFile:
    """A connection to a SQLite file, which is opened when it is first needed and may be used by several threads.

    Parameters
    ----------
    path : Path
        An existing file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: FileConnection | None = None

    def read(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows that a query selects; after ``IN``, the name of a value stands for a list."""
        given = dict(values)
        for name, value in values.items():
            if isinstance(value, list):
                query = query.replace(f"IN :{name}", f"IN (SELECT value FROM json_each(:{name}))")
                given[name] = json.dumps(value)
        with self._lock:
            return self._connect().execute(query, given).fetchall()

    def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Call a function that writes in a transaction, which an error undoes."""
        with self._lock:
            connection = self._connect()
            # A transaction that began with a query could not wait for another process that writes.
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                change(connection)

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _connect(self) -> FileConnection:
        if self._connection is None:
            address = f"{self._path.as_uri()}?mode=rw"
            self._connection = sqlite3.connect(
                address,
                uri=True,
                timeout=LOCK_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                factory=FileConnection,
            )
            self._connection.file = self
            CONNECTED.add(self)
        return self._connection


CONNECTED: WeakSet[DatabaseFile] = WeakSet()
"""The files with a connection in this process."""


def close_all() -> None:
    """Close all connections.

    In a copy of this process, SQLite would take the locks of this process for its own, and could lose writes.
    """
    for file in list(CONNECTED):
        file.close()


os.register_at_fork(before=close_all)
