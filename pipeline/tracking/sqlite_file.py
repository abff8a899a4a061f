"""A store in an SQLite file: its URI, and its atomic creation by one process."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sqlite3
from contextlib import closing, suppress
from functools import cache
from importlib.metadata import version
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from urllib.parse import quote, unquote, urlsplit

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.text.terminal import show_in_line
from bakeoff.pipeline.text.words import expand_home
from bakeoff.pipeline.tracking.mlflow_tables import (
    ADDRESS_COLUMNS,
    STORE_TABLES,
    TABLE_WITH_TRIGGERS,
    VERSION_TABLE,
    create_tables,
    read_schemas,
)

SQLITE_PREFIX = "sqlite:///"
ESCAPED_SIGNS = "%?"
"""The signs of a path that have a meaning in a URI of SQLAlchemy."""
ESCAPED_ROOT = "%2F"
"""The beginning of an absolute path with escapes."""
LOCKS = Path("/proc/locks")
"""The locks known to the Linux kernel: number, kind, mode, access, process, device:inode, first and last byte."""
WRITE_ACCESS = "WRITE"
FIELD_COUNT = 8
SUFFIXES = ("", "-shm", "-wal", "-journal")
"""SQLite locks bytes of the database or, with a write-ahead log, of the file of shared memory beside it."""
MAX_SHOWN_TABLES = 3
LOCAL_SCHEMES = ("", "file", "models", "runs", "mlflow-artifacts")
"""Of addresses that lead to a folder of this machine, or name what the store itself has; none of them needs a host."""


def sqlite_uri(path: Path) -> str:
    """Return the URI by which MLflow opens a file, with escapes for special names of folders.

    Parameters
    ----------
    path : Path
        Absolute.

    Examples
    --------
    >>> sqlite_uri(Path("/tmp/my runs/mlflow.db"))
    'sqlite:////tmp/my runs/mlflow.db'
    """
    text = str(path)
    is_escaped = any(sign in text for sign in ESCAPED_SIGNS) and _has_escapes()
    # The slashes are escaped as well: MLflow reads no escapes where it creates the folder of the file, and would create
    # a second one beside it.
    return SQLITE_PREFIX + (quote(text, safe="") if is_escaped else text)


def sqlite_path(uri: str) -> Path:
    """Return the file of a URI of `sqlite_uri`.

    Examples
    --------
    >>> sqlite_path("sqlite:///%2Ftmp%2F100%25%2Fmlflow.db")
    PosixPath('/tmp/100%/mlflow.db')
    """
    text = uri.removeprefix(SQLITE_PREFIX)
    return Path(unquote(text) if text.startswith(ESCAPED_ROOT) else text)


def find_file(uri: str) -> Path | None:
    """Return the file of a store; None for a server, or a database on one."""
    return sqlite_path(uri) if uri.startswith(SQLITE_PREFIX) else None


def read_given_path(given: str) -> Path:
    """Return the file that a user names, by its path or by a URI.

    Parameters
    ----------
    given : str
        A path is taken as it is. The escapes of a URI are read as SQLAlchemy does, unless there are folders of the
        names as they are spelled: who writes ``sqlite:///$PWD/mlflow.db`` escapes nothing.
    """
    if not given.startswith(SQLITE_PREFIX):
        return expand_home(given)
    spelled = expand_home(sqlite_path(given))
    is_escaped = given != sqlite_uri(spelled) and any(
        "%" in place.name and not place.exists() for place in (spelled, *spelled.parents)
    )
    return Path(unquote(str(spelled))) if is_escaped else spelled


@cache
def _has_escapes() -> bool:
    """Whether SQLAlchemy reads escapes in the path of a database, as it does since version 2.1."""
    from sqlalchemy.engine import make_url

    return make_url(f"{SQLITE_PREFIX}%25").database == "%"


def create_sqlite(path: Path) -> bool:
    """Create the database if it does not exist, as a whole or not at all, and return whether this process did so.

    MLflow creates its tables in many steps, and processes that do so at the same time disturb each other. So the first
    process takes a lock, creates the database under another name, and moves it into place when it is complete.

    Raises
    ------
    UserError
        The folder or the file cannot be written, or the file is not a SQLite database.
    """
    import filelock

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Checked again under the lock: another process may have created the file while this one waited.
        if not path.exists():
            with filelock.FileLock(f"{path}.lock"):
                if not path.exists():
                    with TemporaryDirectory(dir=path.parent, prefix=".creating-") as folder:
                        draft = Path(folder) / path.name
                        create_tables(draft, sqlite_uri(draft), path.parent)
                        os.replace(draft, path)
                    return True
    except OSError as error:
        raise UserError(f"tracking.uri: {str(path)!r} cannot be created: {error}") from error
    if not path.is_file():
        raise UserError(f"tracking.uri: {str(path)!r} is not a regular file; name another one.")
    if not is_writable(path):
        raise UserError(f"tracking.uri: {str(path)!r} cannot be written; change its permissions or name another file.")
    # The parent process has already checked.
    if parent_process() is None:
        require_store(path)
    return False


def is_writable(path: Path) -> bool:
    """Return whether a database can be written; SQLite also writes its log into the folder."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def copy_for_reading(path: Path) -> Path:
    """Return a copy of a database that cannot be written, which lasts as long as this process.

    SQLite opens a file with a write-ahead log only if it may write beside it, and MLflow opens none for reading only.

    Raises
    ------
    UserError
        It cannot be read, or is not a store.
    """
    require_store(path)
    folder = Path(mkdtemp(prefix="bakeoff-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / path.name
    address = path.absolute().as_uri()
    # Without a log, the file can be read as it is.
    for options in ("mode=ro", "mode=ro&immutable=1"):
        try:
            _copy_database(f"{address}?{options}", copy)
        except sqlite3.OperationalError as error:
            reason = error
        else:
            return copy
    raise UserError(f"tracking.uri: {str(path)!r} cannot be read: {reason}.")


def _copy_database(address: str, copy: Path) -> None:
    with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def require_store(path: Path) -> None:
    """Reject a file that does not hold the tables of the MLflow that is installed, or that names a server.

    The file is read through SQLite. Opening and closing it directly would release the locks that this process holds on
    it through SQLite (a rule of POSIX), and the next process to end would then remove the log that is still in use.

    Parameters
    ----------
    path : Path

    Raises
    ------
    UserError
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        _require_tables(database, path)
        _require_local_addresses(database, path)


def _require_tables(database: sqlite3.Connection, path: Path) -> None:
    """Reject files that are not databases, and tables of other programs or other versions of MLflow."""
    shown = f"tracking.uri: {str(path)!r}"
    try:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        tables = [name for (name,) in database.execute(query)]
        query = f"SELECT version_num FROM {VERSION_TABLE}"
        revisions = [str(name) for (name,) in database.execute(query)] if VERSION_TABLE in tables else []
    except sqlite3.OperationalError:  # it is locked, and so it is a database
        return
    except sqlite3.DatabaseError:
        raise UserError(f"{shown} is not a SQLite database; name another file.") from None
    if not tables:
        raise UserError(f"{shown} is a SQLite file without tables; delete it, or name another file.")
    if not STORE_TABLES.issubset(tables):
        n_more = len(tables) - MAX_SHOWN_TABLES
        some = ", ".join(tables[:MAX_SHOWN_TABLES]) + (f" and {n_more} more" if n_more > 0 else "")
        raise UserError(
            f"{shown} belongs to another program: it has the tables {some}, and none of MLflow's; name another file, "
            "so that MLflow's tables are not made in this one."
        )
    newest, known = read_schemas()
    # A version that names its schemas in another way decides by itself.
    if not newest or revisions == [newest]:
        return
    if known.issuperset(revisions):
        command = shlex.join(["mlflow", "db", "upgrade", f"sqlite:///{path}"])
        raise UserError(
            f"{shown} was written by an earlier version of MLflow, and using it would change its tables; copy the "
            f"file, and then run: {command}"
        )
    raise UserError(
        f"{shown} was written by a later version of MLflow than the one that is installed ({version('mlflow')}); "
        "install that version, or name another file."
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
    for table, column in ADDRESS_COLUMNS:
        for (address,) in database.execute(f"SELECT {column} FROM {table} WHERE {column} NOT LIKE 'file:///%'"):
            if not _is_local(str(address)):
                raise UserError(
                    f"tracking.uri: {str(path)!r} keeps artifacts at {show_in_line(strip_secrets(str(address)))} "
                    f"({table}.{column}), and opening it could send your credentials there; a SQLite store holds "
                    "addresses on this machine alone. Name that server as tracking.uri=URI, or another file."
                )


def _is_local(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    has_host = parts.netloc not in (("", "localhost") if parts.scheme == "file" else ("",))
    return parts.scheme in LOCAL_SCHEMES and not has_host


def describe_holders(path: Path) -> str:
    """Return the processes that lock a SQLite file for writing, such as ``process 41 (python)``; empty if unknown.

    The file is not opened: closing it would release the locks that this process holds on it.

    Parameters
    ----------
    path : Path
    """
    inodes: set[str] = set()
    for suffix in SUFFIXES:
        with suppress(OSError):
            inodes.add(str(Path(f"{path}{suffix}").stat().st_ino))
    holders: set[int] = set()
    with suppress(OSError):
        for line in LOCKS.read_text().splitlines():
            fields = line.split()
            is_write = len(fields) == FIELD_COUNT and fields[3] == WRITE_ACCESS
            if is_write and fields[5].rpartition(":")[2] in inodes:
                holders.add(int(fields[4]))
    shown = []
    for pid in sorted(holders - {os.getpid()}):
        name = ""
        with suppress(OSError):  # its arguments are not read, because they may hold a secret
            name = f" ({Path(f'/proc/{pid}/comm').read_text().strip()})"
        shown.append(f"process {pid}{name}")
    return ", ".join(shown)
