"""A store in a SQLite file: its URI, and its creation, which one process does as a whole or not at all."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
from contextlib import closing
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from urllib.parse import quote, unquote

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.given import expand_home
from bakeoff.pipeline.tracking.addresses import ARTIFACTS_FOLDER
from bakeoff.pipeline.tracking.sqlite_kind import require_store

SQLITE_PREFIX = "sqlite:///"
ESCAPED_SIGNS = "%?"
"""The signs of a path that have a meaning in a URI of SQLAlchemy."""
ESCAPED_ROOT = "%2F"
"""The beginning of an absolute path with escapes."""
DEFAULT_EXPERIMENT = "Default"
"""MLflow creates it with each store."""


def sqlite_uri(path: Path) -> str:
    """Return the URI by which MLflow opens a file, whatever the names of its folders are.

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
                    _create_and_move(path)
                    return True
    except OSError as error:
        raise UserError(f"tracking.uri: {str(path)!r} cannot be created: {error}") from error
    if not path.is_file():
        raise UserError(f"tracking.uri: {str(path)!r} is not a regular file; name another one.")
    if not is_writable(path):
        raise UserError(f"tracking.uri: {str(path)!r} cannot be written; change its permissions or name another file.")
    # The process that started this one has looked.
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


def _create_and_move(path: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    with TemporaryDirectory(dir=path.parent, prefix=".creating-") as folder:
        temporary = Path(folder) / path.name
        # MLflow puts the folder of its default experiment into a statement of SQL as Python writes it: in a URI, the
        # name of a folder has no quotation mark that would end it.
        SqlAlchemyStore(sqlite_uri(temporary), path.parent.as_uri()).engine.dispose()
        # With write-ahead logging, processes that write at the same time wait for each other.
        with sqlite3.connect(temporary) as database:
            database.execute("PRAGMA journal_mode=WAL")
        database.close()
        locate_default_experiment(temporary, path.parent)
        os.replace(temporary, path)


def locate_default_experiment(path: Path, folder: Path) -> None:
    """Let MLflow's default experiment keep its artifacts where the others of a store do.

    Parameters
    ----------
    path : Path
        Of the database.
    folder : Path
        In which the database will be.
    """
    place = (folder / ARTIFACTS_FOLDER / DEFAULT_EXPERIMENT).as_uri()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE experiments SET artifact_location = ? WHERE experiment_id = 0", (place,))


def _copy_database(address: str, copy: Path) -> None:
    with closing(sqlite3.connect(address, uri=True)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
