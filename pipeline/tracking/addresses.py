"""The addresses of artifacts, which follow the store when its folder is moved or copied.

MLflow stores an absolute address with each experiment, run and model, and its tools use nothing else. The
artifacts of a store in a SQLite file are in the folder of that file, so whoever opens the store knows where they are:
addresses that lead to another folder are corrected in the database, for MLflow's pages and clients as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache, partial
from os.path import exists
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.tracking.mlflow_tables import ADDRESS_COLUMNS, LOCAL_FOLDERS

EXPERIMENTS = "experiments"


class Move(NamedTuple):
    """An address in the database that changes.

    Attributes
    ----------
    table, column : str
    row : int
        The ``rowid`` in SQLite.
    text : str
    old : Path
        The folder of the store to which the address leads.
    inner : Path
        The path in that folder, which stays.
    """

    table: str
    column: str
    row: int
    text: str
    old: Path
    inner: Path


def local_path(address: str) -> Path | None:
    """Return the folder of an address on this machine; None if it is on a server or in a bucket.

    Examples
    --------
    >>> local_path("file:///tmp/a%20b"), local_path("/tmp/a b"), local_path("s3://bucket/a")
    (PosixPath('/tmp/a b'), PosixPath('/tmp/a b'), None)
    """
    if address.startswith("/"):
        return Path(address)
    parts = urlsplit(address)
    is_local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(url2pathname(parts.path)) if is_local else None


def anchor_addresses(file: Path) -> str:
    """Redirect the addresses of a store to the folder of its database, if that was moved or copied.

    An address is changed if its artifacts are in the folder of the store, or do not exist. Artifacts keep their
    addresses if only the database was moved; new runs write into the folder of the store.

    Parameters
    ----------
    file : Path
        The database, with an absolute path.

    Returns
    -------
    str
        A sentence about the changes; empty if there are none.
    """
    folder = file.parent
    with closing(sqlite3.connect(file)) as database:
        try:
            moves = list(_find_moves(database, folder))
            if moves:
                with database:
                    _write(database, moves, folder)
        except sqlite3.DatabaseError:  # it is locked, or not a database of MLflow, which MLflow reports
            return ""
    if not moves:
        return ""
    places = ", ".join(sorted({str(move.old) for move in moves}))
    return f"the store was in {places} before and is in {folder} now; its addresses lead there."


def _find_moves(database: sqlite3.Connection, folder: Path) -> Iterator[Move]:
    """Yield the addresses on this machine that have to lead into a folder, and do not."""
    is_same = cache(partial(_is_same, folder))
    inside = f"{folder.as_uri()}/"
    for table, column in ADDRESS_COLUMNS:
        query = f"SELECT rowid, {column} FROM {table} WHERE substr({column}, 1, ?) != ?"
        for row, text in database.execute(query, (len(inside), inside)):
            path = local_path(text)
            splits = [] if path is None else list(_split(path))
            # The folder may have another name, such as that of a symbolic link.
            if path is None or any(is_same(old) for old, _ in splits):
                continue
            present = [split for split in splits if exists(folder / split[1])]
            if not present and not _is_kept(table, path, splits):
                present = splits
            if present:
                yield Move(table, column, row, text, *present[0])


def _is_kept(table: str, path: Path, splits: list[tuple[Path, Path]]) -> bool:
    """Return whether artifacts that are not in the folder of the store are at their old place."""
    # With another store next to them, the artifacts of an experiment belong to it, and this is a copy without them.
    # Without any, the place was chosen when the experiment was created.
    is_copy = table == EXPERIMENTS and any(any(old.glob("*.db")) for old, _ in splits)
    return exists(path) and not is_copy


def _split(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each possible folder of a store for a path, and the path within it, the innermost folder first."""
    parts = path.parts
    for position in range(len(parts) - 2, 0, -1):
        if parts[position] in LOCAL_FOLDERS:
            yield Path(*parts[:position]), Path(*parts[position:])


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same folder."""
    return path == other or (exists(other) and path.samefile(other))


def _write(database: sqlite3.Connection, moves: list[Move], folder: Path) -> None:
    for move in moves:
        # The old text is a condition: another process may have changed or deleted the row in the meantime.
        query = f"UPDATE {move.table} SET {move.column} = ? WHERE rowid = ? AND {move.column} = ?"
        database.execute(query, ((folder / move.inner).as_uri(), move.row, move.text))
