"""The addresses of artifacts, which follow the store when its folder is moved or copied.

MLflow stores an absolute address with each experiment, run and model, and its tools use nothing else. The
artifacts of a store in a SQLite file are in the folder of that file, so whoever opens the store knows where they are:
addresses that lead to another folder are corrected in the database, for MLflow's pages and clients as well.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from os.path import exists
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.text.words import count_nouns, join_words
from bakeoff.pipeline.tracking.mlflow_tables import (
    ADDRESS_COLUMNS,
    ARTIFACTS_FOLDER,
    DEFAULT_EXPERIMENT,
    LOCAL_FOLDERS,
    move_dataset_sources,
)

EXPERIMENTS = "experiments"
NOUNS = {"runs": "run", "logged_models": "model"}
DEFAULT_EXPERIMENT_FOLDER = Path("mlruns") / "0"
"""Where MLflow sends the experiment that each store has, from the folder in which the store was created."""


@dataclass(frozen=True)
class Address:
    """An address in the database.

    Attributes
    ----------
    table, column : str
    row : int
        The ``rowid`` in SQLite.
    text : str
    path : Path
        The path to which the address leads.
    """

    table: str
    column: str
    row: int
    text: str
    path: Path


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


def anchor_addresses(file: Path, folder: Path | None = None) -> str:
    """Redirect the addresses of a store to the folder of its database, if that was moved or copied.

    An address is changed if its artifacts are in the folder of the store, or do not exist. Artifacts keep their
    addresses if only the database was moved; new runs write into the folder of the store.

    Parameters
    ----------
    file : Path
        The database, with an absolute path.
    folder : Path, optional
        The folder of the store, if the database is a copy in another folder.

    Returns
    -------
    str
        A sentence about the changes; empty if no address of a user's run was changed.
    """
    folder = folder or file.parent
    changes: dict[Address, Path] = {}
    old_folders: set[Path] = set()
    with closing(sqlite3.connect(file)) as database:
        try:
            for address in list(_find_outside(database, folder)):
                moved = _find_place(address, folder, old_folders)
                if moved is None:
                    continue
                changes[address] = moved
                is_default = address.path.parts[-2:] == DEFAULT_EXPERIMENT_FOLDER.parts
                if not is_default:
                    old_folders.update(root for root, inner in _split(address.path) if folder / inner == moved)
            if not changes:
                return ""
            with database:
                for address, path in changes.items():
                    _write(database, address, path.as_uri())
                for root in sorted(old_folders):
                    move_dataset_sources(database, root, folder)
        except sqlite3.DatabaseError:  # it is locked, or not a database of MLflow, which MLflow reports
            return ""
    if not old_folders:
        return ""
    counts = {noun: sum(address.table == table for address in changes) for table, noun in NOUNS.items()}
    counted = join_words(count_nouns(count, noun) for noun, count in counts.items())
    places = ", ".join(map(str, sorted(old_folders)))
    return f"the store was in {places} before and is in {folder} now; the addresses of {counted} lead there."


def _find_outside(database: sqlite3.Connection, folder: Path) -> Iterator[Address]:
    """Yield the addresses on this machine that do not lead into a folder."""
    is_same = cache(partial(_is_same, folder))
    inside = f"{folder.as_uri()}/"
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    tables = {name for (name,) in database.execute(query)}
    for table, column in ADDRESS_COLUMNS:
        if table not in tables:  # of an earlier version of MLflow
            continue
        query = f"SELECT rowid, {column} FROM {table} WHERE substr({column}, 1, ?) != ?"
        for row, text in database.execute(query, (len(inside), inside)):
            path = local_path(text)
            # The folder may have another name, such as that of a symbolic link.
            if path is not None and not any(is_same(root) for root, _ in _split(path)):
                yield Address(table, column, row, text, path)


def _find_place(address: Address, folder: Path, old_folders: set[Path]) -> Path | None:
    """Return the new path of an address; None if it stays."""
    splits = list(_split(address.path))
    for _, inner in splits:
        if exists(folder / inner):
            return folder / inner
    if address.table == EXPERIMENTS:
        return _find_experiment_place(address.path, folder, splits)
    if exists(address.path):
        return None
    return next((folder / inner for root, inner in splits if root in old_folders), None)


def _find_experiment_place(path: Path, folder: Path, splits: Sequence[tuple[Path, Path]]) -> Path | None:
    """Return the folder for an experiment without artifacts in the folder of the store."""
    if exists(path):
        # With another store next to them, the artifacts belong to it, and this is a copy without artifacts.
        # Without any, the place was chosen when the experiment was created.
        owned = [(root, inner) for root, inner in splits if any(root.glob("*.db"))]
        return folder / owned[0][1] if owned else None
    if path.parts[-2:] == DEFAULT_EXPERIMENT_FOLDER.parts:
        return folder / ARTIFACTS_FOLDER / DEFAULT_EXPERIMENT
    return next((folder / inner for _, inner in splits), None)


def _split(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each possible folder of a store for a path, and the path within it, the innermost folder first."""
    parts = path.parts
    for position in range(len(parts) - 2, 0, -1):
        if parts[position] in LOCAL_FOLDERS:
            yield Path(*parts[:position]), Path(*parts[position:])


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same folder."""
    return path == other or (exists(other) and path.samefile(other))


def _write(database: sqlite3.Connection, address: Address, text: str) -> None:
    # The old text is a condition: another process may have changed or deleted the row in the meantime.
    condition = f"rowid = ? AND {address.column} = ?"
    query = f"UPDATE {address.table} SET {address.column} = ? WHERE {condition}"
    database.execute(query, (text, address.row, address.text))
