"""A store in an SQLite file: its URI, its atomic creation by one process, and the addresses of its artifacts.

MLflow stores an absolute address with each experiment, run and model, and its tools use nothing else. The artifacts of
such a store are in the folder of its file. After the store was moved or copied, its addresses lead to the old folder;
they are corrected in the database when the store is opened, so that MLflow's pages and clients find the files as well.

Whoever wrote the rows of a store chose these addresses. `find_artifacts` is therefore asked before files are read,
written or deleted, and nothing outside the folder of the store is touched.
"""

import os
import re
import shlex
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from multiprocessing import parent_process
from os.path import exists
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.system import read_own_file
from bakeoff.pipeline.tables.output_file import PRIVATE_MODE, replace_file
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.text.wording import show_in_line
from bakeoff.pipeline.tracking.mlflow_tables import (
    ADDRESS_COLUMNS,
    ARTIFACTS_FOLDER,
    LOCAL_FOLDERS,
    STORE_TABLES,
    TABLE_WITH_TRIGGERS,
    TRACE_ADDRESSES,
    create_tables,
    find_mlflow_version,
    has_known_tables,
    list_expected_tables,
)


def local_path(address: str) -> Path | None:
    """Return the folder of an address on this machine; None if it is on a server or in a bucket.

    Examples
    --------
    >>> local_path("file:///tmp/a%20b"), local_path("/tmp/a b"), local_path("s3://bucket/a")
    (PosixPath('/tmp/a b'), PosixPath('/tmp/a b'), None)
    """
    if address.startswith("/") or PurePath(address).is_absolute():
        return Path(url2pathname(address))  # as MLflow does, which is the other reader of addresses
    parts = urlsplit(address)
    is_local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(url2pathname(parts.path)) if is_local else None


def name_folder(address: str) -> str:
    """Return the path of a folder on this machine from the current folder, or another address unchanged."""
    path = local_path(address)
    return address if path is None else os.path.relpath(path)


def resolve_below(folder: Path, address: str) -> Path | None:
    """Return the path of an address, with links resolved, if it is below the artifact folders of a store; else None.

    Parameters
    ----------
    folder : Path
        The folder of the store.
    address : str
        The address in a row of the store.
    """
    try:
        path = local_path(address)
        resolved = None if path is None else path.resolve()
        root = folder.resolve()
    except (OSError, RuntimeError, ValueError):  # circular links, or not a path
        return None
    if resolved is None or not any(root / name in resolved.parents for name in LOCAL_FOLDERS):
        return None
    is_circle = any(part.is_symlink() for part in (resolved, *resolved.parents))  # Python 3.13 and later leave it
    return None if is_circle else resolved


def find_artifacts(uri: str, address: str) -> Path | None:
    """Return the path of artifacts on this machine, with links resolved; None if they are on a server.

    Parameters
    ----------
    uri : str
        The URI of the store.
    address : str
        The address in a row of the store.

    Raises
    ------
    UserError
        The address is not in the folder of a SQLite store.
    """
    file = find_file(uri)
    if file is None:
        return local_path(address)
    path = resolve_below(file.parent, address)
    if path is None:
        raise UserError(
            f"tracking.uri: {str(file)!r} keeps files at {show_in_line(address)}, but files of a SQLite store are read "
            f"and written only in the folders {' and '.join(LOCAL_FOLDERS)} beside it. Set tracking.experiment to a "
            "new name, or move these folders along with the database."
        )
    return path


def anchor_addresses(file: Path) -> str:
    """Redirect the addresses of a store to the folder of its database, if that was moved or copied.

    An address is changed if its artifacts are in the folder of the store, or do not exist. If only the database was
    moved, artifacts keep their addresses, which `find_artifacts` then refuses.

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
                    for statement, values, _ in moves:
                        database.execute(statement, values)
        except sqlite3.DatabaseError:  # it is locked, or not a database of MLflow, which MLflow reports
            return ""
    if not moves:
        return ""
    places = ", ".join(sorted({str(old) for *_, old in moves}))
    return f"the store was moved from {places} to {folder}; its addresses were updated."


def _find_moves(database: sqlite3.Connection, folder: Path) -> Iterator[tuple[str, Sequence[Any], Path]]:
    """Yield the statements and values that redirect addresses on this machine to a folder, and the former folders."""
    inside = f"{folder.as_uri()}/"
    for table, column in ADDRESS_COLUMNS:
        query = f"SELECT rowid, {column} FROM {table} WHERE substr({column}, 1, ?) != ?"
        # The old address is checked again, because another process may have changed or deleted the row in the meantime.
        statement = f"UPDATE {table} SET {column} = ? WHERE rowid = ? AND {column} = ?"
        for row, address in database.execute(query, (len(inside), inside)):
            path = local_path(address)
            # The folder may have another name, such as that of a symbolic link.
            if path is None or resolve_below(folder, address):
                continue
            splits = list(_split(path))
            present = [split for split in splits if exists(folder / split[1])]
            if not present and not exists(path):
                present = splits
            if present:
                old, inner = present[0]
                yield statement, ((folder / inner).as_uri(), row, address), old


def _split(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each possible folder of a store for a path, and the path within it, the innermost folder first."""
    parts = path.parts
    for position in range(len(parts) - 2, 0, -1):
        if parts[position] in LOCAL_FOLDERS:
            yield Path(*parts[:position]), Path(*parts[position:])


SQLITE_PREFIX = "sqlite:///"
ESCAPED_SIGNS = "%?"
"""Characters in a path that have a special meaning in an SQLAlchemy URI."""
ESCAPED_ROOT = re.compile("([A-Za-z]%3A)?%2F")
"""The beginning of an absolute path with escapes, with the drive on Windows."""
SUFFIXES = ("", "-shm", "-wal", "-journal")
"""The files of a database."""
CACHE_VARIABLE = "XDG_CACHE_HOME"
DEFAULT_CACHE = "~/.cache"
RENEW_DEFAULT_EXPERIMENT = """
UPDATE experiments SET artifact_location = :address, creation_time = :now, last_update_time = :now
"""
READ_ITEMS = """
SELECT experiment_id FROM experiments
UNION ALL SELECT run_uuid FROM runs
UNION ALL SELECT model_id FROM logged_models
UNION ALL SELECT name FROM registered_models
"""
LOCAL_SCHEMES = ("", "file", "models", "runs", "mlflow-artifacts")
"""Schemes of addresses of local folders or items in the store itself, none of which needs a host."""


def sqlite_uri(path: Path) -> str:
    """Return the URI by which MLflow opens a file, with escapes for special names of folders.

    Parameters
    ----------
    path : Path
        An absolute path.

    Examples
    --------
    >>> sqlite_uri(Path("/tmp/my runs/mlflow.db"))
    'sqlite:////tmp/my runs/mlflow.db'
    """
    text = path.as_posix()
    is_escaped = any(sign in text for sign in ESCAPED_SIGNS) and _has_escapes()
    # The slashes are escaped as well: MLflow does not decode escapes when it creates the folder of the file, and would
    # create a second folder beside it.
    return SQLITE_PREFIX + (quote(text, safe="") if is_escaped else text)


def sqlite_path(uri: str) -> Path:
    """Return the file of a URI returned by `sqlite_uri`.

    Examples
    --------
    >>> sqlite_path("sqlite:///%2Ftmp%2F100%25%2Fmlflow.db")
    PosixPath('/tmp/100%/mlflow.db')
    """
    text = uri.removeprefix(SQLITE_PREFIX)
    return Path(unquote(text) if ESCAPED_ROOT.match(text) else text)


def find_file(uri: str) -> Path | None:
    """Return the file of a store; None for a server, or a database on one."""
    return sqlite_path(uri) if uri.startswith(SQLITE_PREFIX) else None


@cache
def _has_escapes() -> bool:
    """Whether SQLAlchemy decodes escapes in the path of a database, as it does since version 2.1."""
    from sqlalchemy.engine import make_url

    return make_url(f"{SQLITE_PREFIX}%25").database == "%"


def create_whole(path: Path, write_tables: Callable[[Path], None]) -> bool:
    """Create a database if it does not exist, as a whole or not at all, and return whether this process did so.

    MLflow and Optuna create their tables in many steps, and processes that do so at the same time interfere with each
    other. The first process therefore acquires a lock, creates the database under another name, and moves it into place
    when it is complete.
    """
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return False
    # The folder comes first, because a lock would wait forever where no file can be created, as in /proc.
    draft_folder = TemporaryDirectory(dir=path.parent, prefix=".creating-")
    with draft_folder as folder, filelock.FileLock(f"{path}.lock"):
        # Another process may have created the file while this one waited.
        if path.exists():
            return False
        draft = Path(folder) / path.name
        write_tables(draft)
        with closing(sqlite3.connect(draft)) as database:
            # With write-ahead logging, processes that write simultaneously wait for each other.
            database.execute("PRAGMA journal_mode=WAL")
        os.replace(draft, path)
    return True


def find_cache() -> Path:
    """Return bakeoff's folder in the cache of the user."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser() / "bakeoff"


def write_empty_store(draft: Path, folder: Path) -> None:
    """Write the database of a store without runs, which will be moved into a folder.

    MLflow creates its tables in a hundred steps, so an empty store of its version is kept in the cache, and copied.

    Parameters
    ----------
    draft, folder : Path
    """
    kept = find_cache() / f"mlflow-{find_mlflow_version()}.db"
    with suppress(OSError, sqlite3.Error, UserError):
        draft.write_bytes(read_own_file(kept))
        require_store(draft)
        with closing(sqlite3.connect(draft)) as database, database:
            if has_known_tables(database) and database.execute(READ_ITEMS).fetchall() == [(0,)]:
                address = (folder / ARTIFACTS_FOLDER / "0").as_uri()
                database.execute(RENEW_DEFAULT_EXPERIMENT, {"address": address, "now": int(time.time() * 1000)})
                return
    draft.unlink(missing_ok=True)
    create_tables(sqlite_uri(draft), folder)
    with suppress(OSError, UserError):  # the cache may be full, or belong to another user
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.unlink(missing_ok=True)
        with replace_file(kept) as temporary:
            temporary.touch(PRIVATE_MODE)
            shutil.copyfile(draft, temporary)


def create_sqlite(path: Path) -> bool:
    """Create the database of a store if it does not exist, and return whether this process did so.

    Raises
    ------
    UserError
        The folder or the file cannot be written, or the file is not a SQLite database.
    """
    try:
        if create_whole(path, lambda draft: write_empty_store(draft, path.parent)):
            return True
    except (OSError, sqlite3.Error) as error:
        raise UserError(
            f"tracking.uri: {str(path)!r} cannot be created: {error}; make space, or name a file in a folder that you "
            "can write."
        ) from error
    if not path.is_file():
        raise UserError(f"tracking.uri: {str(path)!r} is not a regular file; name another one.")
    # SQLite also writes its log into the folder.
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise UserError(
            f"tracking.uri: {str(path)!r} cannot be written; change its permissions, or name a copy of its folder."
        )
    # The parent process has already checked.
    if parent_process() is None:
        require_store(path)
    return False


def require_store(path: Path) -> None:
    """Reject a file that lacks the tables of the installed version of MLflow, or that refers to a server.

    The file is read through SQLite. Opening and closing it directly would release the locks that this process holds on
    it through SQLite (a rule of POSIX), and the next process to end would then remove the log that is still in use.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UserError
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            _require_tables(database, path)
            _require_local_addresses(database, path)
    except sqlite3.OperationalError as error:  # it is locked, or has a journal that must be applied first
        raise UserError(f"tracking.uri: {str(path)!r} cannot be read: {error}; repeat the command later.") from None
    except sqlite3.DatabaseError:
        raise UserError(f"tracking.uri: {str(path)!r} is not a SQLite database; name another file.") from None


def _require_tables(database: sqlite3.Connection, path: Path) -> None:
    """Reject tables of other programs and of other versions of MLflow."""
    shown = f"tracking.uri: {str(path)!r}"
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    tables = [name for (name,) in database.execute(query)]
    if not tables:
        raise UserError(f"{shown} is a SQLite file without tables; delete it, or name another file.")
    if not STORE_TABLES.issubset(tables):
        raise UserError(
            f"{shown} belongs to another program: it has the table {tables[0]}, and none of MLflow's; name "
            "another file, so that MLflow's tables are not created in this one."
        )
    missing = set() if has_known_tables(database) else list_expected_tables().difference(tables)
    if missing:
        command = shlex.join(["mlflow", "db", "upgrade", f"sqlite:///{path}"])
        raise UserError(
            f"{shown} was written by another version of MLflow, and using it would change its tables: it has no "
            f"{min(missing)}; copy the file, and then run: {command}"
        )


def _require_local_addresses(database: sqlite3.Connection, path: Path) -> None:
    """Reject a store whose artifacts are on a server: MLflow would send the token of the user there."""
    # A view or a trigger could show MLflow another address than the one that is read here.
    query = "SELECT type, name FROM sqlite_master WHERE type IN ('view', 'trigger') AND tbl_name != ?"
    for kind, name in database.execute(query, (TABLE_WITH_TRIGGERS,)):
        raise UserError(
            f"tracking.uri: {str(path)!r} has the {kind} {show_in_line(name)!r}, which MLflow's tables do not have; "
            "name another file."
        )
    for table, column in (*ADDRESS_COLUMNS, TRACE_ADDRESSES):
        is_unusual = f"{column} NOT LIKE 'file:///%' OR typeof({column}) = 'blob'"
        for (address,) in database.execute(f"SELECT {column} FROM {table} WHERE {is_unusual}"):
            if not _is_local(address):
                raise UserError(
                    f"tracking.uri: {str(path)!r} keeps artifacts at {show_in_line(strip_secrets(str(address)))}, and "
                    "opening it could send your credentials there; a SQLite store may only hold addresses on "
                    "this machine. Name that server as tracking.uri=URI, or another file."
                )


def _is_local(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    has_host = parts.netloc not in (("", "localhost") if parts.scheme == "file" else ("",))
    return parts.scheme in LOCAL_SCHEMES and not has_host
