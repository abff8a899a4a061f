"""The storage of studies: a SQLite file or a PostgreSQL server, created once under a lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.pipeline.errors import UserError, first_line
from bakeoff.pipeline.sweep.study.study_key import StudyKey
from bakeoff.pipeline.text.wording import expand_home
from bakeoff.pipeline.tracking.sqlite_file import create_whole

DEFAULT_FILE = "outputs/optuna.db"
WRITE_TIMEOUT_SECONDS = 60
"""The maximum time a process waits for another one to finish writing."""
CREATION_LOCK_KEY = 0x0B7A
"""The key of the server's advisory lock, which allows only one process at a time to create tables."""


def parse_storage_url(storage: str | None) -> URL:
    """Return the URL of a storage.

    Parameters
    ----------
    storage : str or None
        A URL or the path of a SQLite file; None for ``outputs/optuna.db``.

    Examples
    --------
    >>> str(parse_storage_url("sqlite:////tmp/a.db"))
    'sqlite:////tmp/a.db'
    """
    given = str(storage or DEFAULT_FILE)
    # In a URI, a path with a percent sign or a question mark would refer to another file.
    url = make_url(given) if "://" in given else URL.create("sqlite", database=given)
    if url.drivername != "sqlite":
        return url
    return url.set(database=str(expand_home(str(url.database or "")).absolute()))


@contextmanager
def open_study(storage: str | None, key: StudyKey) -> Iterator[optuna.Study]:
    """Open or create the study of a key, and close its storage at the end.

    Parameters
    ----------
    storage : str or None
        The value of ``hydra.sweeper.storage``.
    key : StudyKey

    Raises
    ------
    UserError
        The storage cannot be used.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = parse_storage_url(storage)
    directions = [objective.direction for objective in key.objectives]
    try:
        opened = _connect(url)
        study = optuna.create_study(storage=opened, study_name=key.name, directions=directions, load_if_exists=True)
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError, ImportError, OSError, RuntimeError) as error:
        shown = url.render_as_string(hide_password=True)
        raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {first_line(error)}") from error
    try:
        yield study
    finally:
        opened.remove_session()
        opened.engine.dispose()


def _connect(url: URL) -> RDBStorage:
    """Connect to a storage, which is created first if it does not exist."""
    if url.drivername == "sqlite":
        create_whole(Path(str(url.database)), _write_tables)
        return RDBStorage(url.render_as_string(), engine_kwargs={"connect_args": {"timeout": WRITE_TIMEOUT_SECONDS}})
    with _hold_creation_lock(url):
        return RDBStorage(url.render_as_string(hide_password=False), engine_kwargs={"pool_pre_ping": True})


def _write_tables(file: Path) -> None:
    RDBStorage(URL.create("sqlite", database=str(file)).render_as_string()).engine.dispose()


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
