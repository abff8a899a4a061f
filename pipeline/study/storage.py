"""Studies in their storage: a SQLite file, or a PostgreSQL server; each is created once, under a lock."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import filelock
import optuna
from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, SQLAlchemyError

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.study_key import StudyKey
from bakeoff.pipeline.text.wording import expand_home

DEFAULT_FILE = "outputs/optuna.db"
WRITE_TIMEOUT_SECONDS = 60
"""How long a process waits for another one to finish writing."""
FINISHED_STATES = (TrialState.COMPLETE, TrialState.PRUNED)
"""The states that count as finished: a trial that was stopped before its last fold need not be repeated."""
STORAGE_ERRORS = (optuna.exceptions.StorageInternalError, SQLAlchemyError)
"""Errors that a storage raises if it does not respond."""
SHARED_ATTRIBUTE = "same"
"""The user attribute of a study that contains `StudyKey.shared`."""
CREATION_LOCK_KEY = 0x0B7A
"""The key of the advisory lock that a server grants to one creator of tables at a time."""


def parse_storage_url(storage: str | None) -> URL:
    """Return the URL of a storage.

    Parameters
    ----------
    storage : str or None
        A URL, or the path of a SQLite file; None is ``outputs/optuna.db``.

    Raises
    ------
    UserError
        The storage is neither.

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
    return url.set(database=str(expand_home(str(url.database or "")).absolute()))


def count_finished_trials(storage: str | None, name: str) -> int:
    """Return the number of finished trials of a study; 0 if there is none, in which case none is created.

    Parameters
    ----------
    storage : str or None
        As ``hydra.sweeper.storage``.
    name : str
    """
    url = parse_storage_url(storage)
    if url.drivername == "sqlite" and not Path(str(url.database)).is_file():
        return 0
    try:
        with _open_storage(url) as opened:
            study = optuna.load_study(study_name=name, storage=opened)
            return len(study.get_trials(deepcopy=False, states=FINISHED_STATES))
    except KeyError:
        return 0


@contextmanager
def open_study(storage: str | None, key: StudyKey) -> Iterator[optuna.Study]:
    """Open the study of a key, or create it; close its storage at the end.

    Parameters
    ----------
    storage : str or None
        As ``hydra.sweeper.storage``.
    key : StudyKey

    Raises
    ------
    UserError
        The storage cannot be used, or the study of that name has other data, objectives, code or fixed overrides.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = parse_storage_url(storage)
    directions = [objective.direction for objective in key.objectives]
    with _open_storage(url) as opened:
        try:
            study = optuna.create_study(storage=opened, study_name=key.name, directions=directions, load_if_exists=True)
            _require_same_key(study, key)
        except STORAGE_ERRORS as error:
            shown = url.render_as_string(hide_password=True)
            raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {str(error).splitlines()[0]}") from error
        yield study


def _require_same_key(study: optuna.Study, key: StudyKey) -> None:
    """Record the key in a new study; compare it with the key of an existing one."""
    recorded = study.user_attrs.get(SHARED_ATTRIBUTE)
    if recorded is None:
        study.set_user_attr(SHARED_ATTRIBUTE, dict(key.shared))
        return
    for part, value in key.shared.items():
        if recorded.get(part) != value:
            raise UserError(
                f"hydra.sweeper.study_name={study.study_name!r} was created with {part} "
                f"{_format_part(recorded.get(part))}, and this command has {_format_part(value)}; "
                "give another study_name."
            )


def _format_part(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


@contextmanager
def _open_storage(url: URL) -> Iterator[RDBStorage]:
    """Open a storage, and create it first if there is none; close its connections at the end."""
    storage = _connect(url)
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _connect(url: URL) -> RDBStorage:
    """Connect to a storage, which is created first if there is none; raises UserError if it cannot be used."""
    shown = url.render_as_string(hide_password=True)
    try:
        if url.drivername == "sqlite":
            _create_file(Path(str(url.database)))
            engine_options = {"connect_args": {"timeout": WRITE_TIMEOUT_SECONDS}}
            return RDBStorage(url.render_as_string(), engine_kwargs=engine_options)
        with _hold_creation_lock(url):
            address = url.render_as_string(hide_password=False)
            return RDBStorage(address, engine_kwargs={"pool_pre_ping": True})
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
