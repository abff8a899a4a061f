"""Where studies are kept: a SQLite file, created once under a lock, or a PostgreSQL server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import filelock
from optuna.storages import RDBStorage
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from bakeoff.pipeline.errors import UserError

DEFAULT = "outputs/optuna.db"
SECONDS = 60
"""That a writer waits for another one."""
LOCK = 0x0B7A
"""The number of the lock that a server gives to one creator at a time."""


def storage_url(given: str | None) -> URL:
    """Return where studies are kept.

    Parameters
    ----------
    given : str or None
        A URL, or the path of a SQLite file; None is ``outputs/optuna.db``.

    Raises
    ------
    UserError

    Examples
    --------
    >>> str(storage_url("sqlite:////tmp/a.db"))
    'sqlite:////tmp/a.db'
    """
    said = str(given or DEFAULT)
    try:
        url = make_url(said if "://" in said else f"sqlite:///{Path(said).expanduser().absolute()}")
    except ArgumentError as error:
        raise UserError(f"hydra.sweeper.storage={said!r} is no URL; name a SQLite file or postgresql://...") from error
    if url.drivername != "sqlite":
        return url
    path = Path(str(url.database or "")).expanduser().absolute()
    if path.is_dir():
        raise UserError(f"hydra.sweeper.storage={said!r} is a folder; name a file in it, such as {path / 'optuna.db'}.")
    return url.set(database=str(path))


def is_there(url: URL) -> bool:
    """Whether there is a storage at a URL; of a server that is taken for granted."""
    return url.drivername != "sqlite" or Path(str(url.database)).is_file()


def open_storage(url: URL) -> RDBStorage:
    """Open the storage, and create it if it is not there.

    Raises
    ------
    UserError
        It cannot be created, read or reached.
    """
    shown = url.render_as_string(hide_password=True)
    is_file = url.drivername == "sqlite"
    try:
        if is_file:
            _create_file(Path(str(url.database)))
            return RDBStorage(url.render_as_string(), engine_kwargs={"connect_args": {"timeout": SECONDS}})
        with _one_creator(url):
            return RDBStorage(url.render_as_string(hide_password=False), engine_kwargs={"pool_pre_ping": True})
    except (ImportError, NoSuchModuleError) as error:
        raise UserError(
            f"hydra.sweeper.storage={shown!r} needs a database driver that is not installed; "
            'for PostgreSQL: pip install "psycopg[binary]".'
        ) from error
    except (DatabaseError, OSError, RuntimeError) as error:
        raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error


def _create_file(path: Path) -> None:
    """Create the database whole or not at all: Optuna's many steps break each other where processes start together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    with filelock.FileLock(f"{path}.lock"):
        if path.exists():
            return
        with TemporaryDirectory(dir=path.parent, prefix=".creating-") as folder:
            draft = Path(folder) / path.name
            RDBStorage(f"sqlite:///{draft}").engine.dispose()
            with sqlite3.connect(draft) as database:
                database.execute("PRAGMA journal_mode=WAL")
            database.close()
            os.replace(draft, path)


@contextmanager
def _one_creator(url: URL) -> Iterator[None]:
    """Hold a lock of the server while tables are made: machines start together."""
    if not url.drivername.startswith("postgresql"):
        yield
        return
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": LOCK})
        yield
    engine.dispose()  # and with its connection the lock
