"""The store that runs are kept in: found, created once under a lock, or refused."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bakeoff.pipeline.errors import UserError

if TYPE_CHECKING:
    from mlflow import MlflowClient

DEFAULT_URI = "outputs/mlflow.db"
SQLITE_PREFIX = "sqlite:///"


@dataclass(frozen=True)
class Store:
    """An open store.

    Attributes
    ----------
    uri : str
        Absolute for a SQLite file.
    experiment_id : str
    client : MlflowClient
    """

    uri: str
    experiment_id: str
    client: MlflowClient


def store_uri(given: str | None) -> str:
    """Return the absolute URI of the store.

    Parameters
    ----------
    given : str or None
        A URI or the path of a SQLite file; None takes ``MLFLOW_TRACKING_URI``, else ``outputs/mlflow.db``.

    Raises
    ------
    UserError
        A folder or ``file://``, which MLflow no longer keeps runs in.

    Examples
    --------
    >>> store_uri("http://127.0.0.1:5000")
    'http://127.0.0.1:5000'
    """
    uri = str(given or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI)
    if uri.startswith(SQLITE_PREFIX) or "://" not in uri:
        path = Path(uri.removeprefix(SQLITE_PREFIX)).expanduser().absolute()
        if path.is_dir():
            raise UserError(
                f"tracking.uri={uri!r} is a folder; name a SQLite file in it, such as {path / 'mlflow.db'}."
            )
        return f"{SQLITE_PREFIX}{path}"
    if uri.startswith("file:"):
        raise UserError(
            f"tracking.uri={uri!r}: MLflow keeps no runs in folders any more; name a SQLite file or a server."
        )
    return uri


def store_exists(uri: str) -> bool:
    """Whether there is a store at a URI, as from `store_uri`; of a server that is taken for granted."""
    return not uri.startswith(SQLITE_PREFIX) or Path(uri.removeprefix(SQLITE_PREFIX)).is_file()


def open_store(given: str | None, experiment: str, create: bool = True) -> Store:
    """Open the store, creating what is missing.

    Parameters
    ----------
    given : str or None
        As for `store_uri`.
    experiment : str
        Found by name, or created; for a SQLite file its artifacts lie beside that file.
    create : bool
        False refuses a SQLite file that is not there.

    Raises
    ------
    UserError
        The store cannot be created, written or reached.
    """
    uri = store_uri(given)
    quiet_mlflow()
    if uri.startswith(SQLITE_PREFIX):
        path = Path(uri.removeprefix(SQLITE_PREFIX))
        if not create and not path.is_file():
            raise UserError(
                f"tracking.uri: there is no store at {uri}; run an experiment first, or give tracking.uri=URI."
            )
        create_sqlite(path)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient(tracking_uri=uri)
        return Store(uri, _experiment_id(client, uri, experiment), client)
    except (MlflowException, OSError) as error:
        raise UserError(f"tracking.uri={uri!r} cannot be used: {str(error).splitlines()[0]}") from error


def create_sqlite(path: Path) -> None:
    """Create the database if it is not there: whole or not at all, by one process though many start at once.

    MLflow creates its tables in many steps, and processes that do so together break each other.  So the first, holding
    a lock, makes the database aside and puts it in place when it is complete; write-ahead logging lets later writers
    wait for each other.

    Raises
    ------
    UserError
        The folder or the file cannot be written.
    """
    import filelock

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            with filelock.FileLock(f"{path}.lock"):
                if not path.exists():
                    _create_aside(path)
    except OSError as error:
        raise UserError(f"tracking.uri: {str(path)!r} cannot be created: {error}") from error
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise UserError(f"tracking.uri: {str(path)!r} cannot be written; change its permissions or name another file.")
    _require_sqlite(path)


def _create_aside(path: Path) -> None:
    with TemporaryDirectory(dir=path.parent, prefix=".creating-") as folder:
        draft = Path(folder) / path.name
        from mlflow import MlflowClient

        MlflowClient(tracking_uri=f"{SQLITE_PREFIX}{draft}").search_experiments(max_results=1)
        with sqlite3.connect(draft) as database:
            database.execute("PRAGMA journal_mode=WAL")
        database.close()
        os.replace(draft, path)


def _require_sqlite(path: Path) -> None:
    """Refuse a file that is no database.

    SQLite itself looks at it.  If we opened and closed the file, that would take away the locks that this process holds
    on it through SQLite (so POSIX has it), and the next process to finish would remove the log that we still write to.
    """
    database = sqlite3.connect(path)
    try:
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.OperationalError:  # busy: it is one
        return
    except sqlite3.DatabaseError:
        tables = 0
    finally:
        database.close()
    if not tables:
        raise UserError(f"tracking.uri: {str(path)!r} is not a SQLite database; name another file.")


def _experiment_id(client: MlflowClient, uri: str, name: str) -> str:
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        beside = uri.startswith(SQLITE_PREFIX)
        location = (Path(uri.removeprefix(SQLITE_PREFIX)).parent / "artifacts" / name).as_uri() if beside else None
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException:  # another process created it in between
            found = client.get_experiment_by_name(name)
    if found is None or found.lifecycle_stage == "deleted":
        raise UserError(f"tracking.experiment={name!r} was deleted in this store; restore it, or choose another name.")
    return str(found.experiment_id)


def quiet_mlflow() -> None:
    """Send no usage data, and keep MLflow's informational log and the addresses of runs off the screen."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
