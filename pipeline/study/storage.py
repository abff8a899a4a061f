"""The storage of studies: a SQLite file, or a PostgreSQL server; each is created once, under a lock."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import filelock
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.words import expand_home
from bakeoff.pipeline.tracking.heartbeat import identify_process

PROCESS = "process"
"""The user attribute of a trial that holds the process that asked for it."""
DEFAULT_FILE = "outputs/optuna.db"
WRITE_TIMEOUT_SECONDS = 60
"""How long a process waits for another one to finish writing."""
CREATION_LOCK_KEY = 0x0B7A
"""The key of the advisory lock that a server grants to one creator of tables at a time."""


class NamingStorage(RDBStorage):
    """A storage in which each new trial names the process that asks for it, from the transaction that makes it.

    A trial that was named later would stay unnamed if its process was killed in between.
    """

    def _create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> FrozenTrial:
        if template_trial is None:
            template_trial = create_trial(state=TrialState.RUNNING, user_attrs={PROCESS: describe_process()})
        return super()._create_new_trial(study_id, template_trial)


def describe_process() -> dict[str, Any]:
    """Return what tells this process from others, alive now, as `ProcessSign` has it."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "beat": time.time(), "identity": identify_process(pid)}


def parse_storage_url(storage: str | None) -> URL:
    """Return the URL of a storage.

    Parameters
    ----------
    storage : str or None
        A URL, or the path of a SQLite file; None is ``outputs/optuna.db``.

    Raises
    ------
    UserError
        The storage is neither, or a folder.

    Examples
    --------
    >>> str(parse_storage_url("sqlite:////tmp/a.db"))
    'sqlite:////tmp/a.db'
    """
    given = str(storage or DEFAULT_FILE)
    try:
        # As a part of a URI, a path with a percent sign or a question mark would be another one.
        url = make_url(given) if "://" in given else URL.create("sqlite", database=given)
    except ArgumentError as error:
        raise UserError(
            f"hydra.sweeper.storage={given!r} is not a URL; use a SQLite file or postgresql://..."
        ) from error
    if url.drivername != "sqlite":
        return url
    path = expand_home(str(url.database or "")).absolute()
    if path.is_dir():
        raise UserError(
            f"hydra.sweeper.storage={given!r} is a folder; name a file in it, such as {path / 'optuna.db'}."
        )
    return url.set(database=str(path))


def has_storage(url: URL) -> bool:
    """Return whether there is a storage at a URL; a server is assumed to have one."""
    if url.drivername != "sqlite":
        return True
    return Path(str(url.database)).is_file()


def open_storage(url: URL) -> RDBStorage:
    """Open a storage, and create it first if there is none.

    Raises
    ------
    UserError
        The storage cannot be created, read or reached.
    """
    shown = url.render_as_string(hide_password=True)
    try:
        if url.drivername == "sqlite":
            _create_file(Path(str(url.database)))
            engine_options = {"connect_args": {"timeout": WRITE_TIMEOUT_SECONDS}}
            return NamingStorage(url.render_as_string(), engine_kwargs=engine_options)
        with _hold_creation_lock(url):
            address = url.render_as_string(hide_password=False)
            return NamingStorage(address, engine_kwargs={"pool_pre_ping": True})
    except (ImportError, NoSuchModuleError) as error:
        raise UserError(
            f"hydra.sweeper.storage={shown!r} needs a database driver that is not installed; "
            'for PostgreSQL: pip install "psycopg[binary]".'
        ) from error
    except (DatabaseError, OSError, RuntimeError) as error:
        raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error


def _create_file(path: Path) -> None:
    """Create a SQLite database, in full or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return
    with filelock.FileLock(f"{path}.lock"):
        # Another process may have created it while this one waited for the lock.
        if path.exists():
            return
        # Optuna creates its tables in many steps, and processes that start together would disturb each other. A file
        # that is moved to its place when it is complete is never seen half made.
        with TemporaryDirectory(dir=path.parent, prefix=".creating-") as folder:
            draft = Path(folder) / path.name
            RDBStorage(URL.create("sqlite", database=str(draft)).render_as_string()).engine.dispose()
            with sqlite3.connect(draft) as database:
                database.execute("PRAGMA journal_mode=WAL")
            database.close()
            os.replace(draft, path)


@contextmanager
def _hold_creation_lock(url: URL) -> Iterator[None]:
    """Hold an advisory lock on the server, so that machines that start together do not create the same tables."""
    if not url.drivername.startswith("postgresql"):
        yield
        return
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": CREATION_LOCK_KEY})
        yield
    engine.dispose()  # the lock ends with the connection
