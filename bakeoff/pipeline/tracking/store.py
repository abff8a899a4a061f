"""The store of runs: its address, and opening it, which creates what is missing or rejects what is no store."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import StoreError, UserError, did_you_mean, first_line, write_install_command
from bakeoff.pipeline.text.secrets import expand_address, find_secrets, hide_secrets
from bakeoff.pipeline.text.wording import cut_text, expand_home, print_note
from bakeoff.pipeline.tracking.limited_calls import DATABASE_SERVER, LimitedCalls, is_server
from bakeoff.pipeline.tracking.mlflow_tables import (
    ARTIFACTS_FOLDER,
    LOCAL_FOLDERS,
    MODELS_FOLDER,
    find_experiment,
    get_database,
    has_database,
    list_store_errors,
    read_rows,
)
from bakeoff.pipeline.tracking.sqlite_file import (
    SQLITE_PREFIX,
    SUFFIXES,
    anchor_addresses,
    create_sqlite,
    find_artifacts,
    find_file,
    sqlite_path,
    sqlite_uri,
)
from bakeoff.pipeline.tracking.store_writer import ClientWriter, FileWriter, StoreWriter

if TYPE_CHECKING:
    from mlflow import MlflowClient


DEFAULT_URI = "outputs/mlflow.db"
FILE_SUFFIXES = (*SUFFIXES, ".lock")
"""The files of a database: SQLite's own, and the lock under which it is created."""
MLFLOW_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
}
"""Environment variables that disable MLflow's usage data, its log, its progress bars and the printing of addresses.

Errors that MLflow logs are also raised. MLflow makes a single attempt, because `LimitedCalls` repeats calls.
"""
NOISY_LOGGERS = ("sqlalchemy.pool", "urllib3.connectionpool", "alembic")
"""Loggers whose warnings, each with a traceback, report an unusable store, which the error explains in a sentence."""
OTHER_STORE = re.compile(r"://|^file:|^(databricks(-uc)?|uc)(:|$)")
"""The addresses of stores that are not files; for some of them, MLflow accepts a single word."""
MAX_NAME_BYTES = 255
"""The longest name of a folder on common systems."""


@dataclass(frozen=True)
class Store:
    """An open store.

    Attributes
    ----------
    uri : str
        The URI, absolute for a SQLite file.
    experiment_id : str
        The id of MLflow's experiment, which groups the runs.
    client : MlflowClient
        The MLflow client, each of whose calls has a time limit.
    calls : LimitedCalls
        The time limits, for calls that do not use the client.
    writer : StoreWriter
        Writes runs and their models.
    is_new : bool
        Whether the store was created when it was opened, and thus had no runs.
    """

    uri: str
    experiment_id: str
    client: MlflowClient
    calls: LimitedCalls
    writer: StoreWriter
    is_new: bool = False

    @property
    def folder(self) -> Path | None:
        """The folder with the file and artifacts of a SQLite store; None for other stores."""
        file = find_file(self.uri)
        return None if file is None else file.parent

    @property
    def is_database(self) -> bool:
        """Whether it is a database whose tables are read, unlike a server."""
        return has_database(self.client)

    def read(self, query: str, **values: Any) -> Sequence[Any]:
        """Return the rows that an SQL query selects from a database; a value may be a list of texts."""
        return self.calls.call(read_rows, self.client, query, **values)


def store_uri(given: str | None) -> str:
    """Return the absolute URI of a store.

    Parameters
    ----------
    given : str or None
        A URI or the path of a SQLite file; None selects ``MLFLOW_TRACKING_URI``, else ``outputs/mlflow.db``.
        ``${oc.env:NAME}``, and ``$NAME`` in place of a user or a password, is an environment variable.

    Raises
    ------
    UserError
        A variable is not set, or it is a folder or another kind of store.

    Examples
    --------
    >>> store_uri("http://127.0.0.1:5000")
    'http://127.0.0.1:5000'
    """
    try:
        uri = expand_address(str(given or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI))
    except KeyError as error:
        raise UserError(
            f"tracking.uri refers to the environment variable {error.args[0]}, which is not set; export it first."
        ) from None
    is_file = uri.startswith(SQLITE_PREFIX) or not OTHER_STORE.search(uri)
    if is_file and find_secrets(uri):
        # The password would become a part of the name of the file.
        raise UserError(f"tracking.uri={uri!r}: SQLite files have no password; remove what follows the name.")
    if is_file:
        path = expand_home(sqlite_path(uri)).absolute()
        if ".." in path.parts:  # it would be invalid once the folder before them no longer exists
            path = path.resolve()
        if os.path.isdir(path):  # False in a folder that may not be entered
            raise UserError(
                f"tracking.uri={uri!r} is a folder; name a SQLite file in it, such as {path / 'mlflow.db'}."
            )
        return sqlite_uri(path)
    if not is_server(uri) and not uri.startswith(DATABASE_SERVER):
        raise UserError(
            f"tracking.uri={uri!r}: runs are stored in a SQLite file (PATH or {SQLITE_PREFIX}PATH), by an MLflow "
            "server (http://HOST:PORT) or in PostgreSQL (postgresql://…); name one of these."
        )
    return uri


def store_exists(uri: str) -> bool:
    """Whether there is a store at a URI from `store_uri`; a server is assumed to exist."""
    file = find_file(uri)
    return file is None or os.path.isfile(file)


def list_store_paths(given: str | None) -> list[Path]:
    """Return the database of a store on this machine, the files beside it, and the folders of its artifacts.

    Nothing else may be written there. Other stores have none.

    Parameters
    ----------
    given : str or None
        As for `store_uri`.
    """
    file = find_file(store_uri(given))
    if file is None:
        return []
    database = file.resolve()
    files = [database.with_name(f"{database.name}{suffix}") for suffix in FILE_SUFFIXES]
    return [*files, *(database.parent / name for name in LOCAL_FOLDERS)]


def open_store(given: str | None, experiment: str, create: bool = True, is_known: bool = False) -> Store:
    """Open a store, and create what is missing.

    Parameters
    ----------
    given : str or None
        As for `store_uri`.
    experiment : str
        The experiment's name; if it is created in a SQLite store, its artifacts are kept next to the file.
    create : bool
        Whether to create a SQLite file or an experiment that does not exist.
    is_known : bool
        Whether another process of the same command has the store open, so that a failure is waited for as an outage.

    Raises
    ------
    UserError
        The store cannot be created, written or reached, or there is no such experiment and none is to be created.
    StoreError
        A known store is lost.
    """
    if len(experiment.encode()) > MAX_NAME_BYTES:
        raise UserError(
            f"tracking.experiment={cut_text(experiment, 40)!r} has {len(experiment):,} letters, and names a folder; "
            f"shorten it to at most {MAX_NAME_BYTES} bytes."
        )
    uri = store_uri(given)
    quiet_mlflow()
    if not create and not store_exists(uri):
        raise UserError(f"tracking.uri: there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    file = find_file(uri)
    is_new = file is not None and create_sqlite(file)
    if file is not None and not is_new and (moved := anchor_addresses(file)):
        print_note(f"tracking: {moved}")
    shown = f"tracking.uri={hide_secrets(uri)!r}"
    try:
        calls = LimitedCalls(uri, is_known)
        client = calls.connect()
        database = get_database(client)
        writer = ClientWriter(calls) if database is None else FileWriter(calls, database)
        store = Store(uri, "", client, calls, writer, is_new)
        return replace(store, experiment_id=_open_experiment(store, experiment, create))
    except StoreError as error:
        if is_known:
            raise
        raise UserError(f"{error} Alternatively, set tracking=none to store no runs.") from error
    except ImportError as error:
        raise UserError(
            f"{shown} needs a package that is not installed: {error.name}; {write_install_command('postgres')}."
        ) from error
    except list_store_errors(OSError, ValueError) as error:
        raise UserError(f"{shown} cannot be used: {first_line(error)}; correct the address.") from error


def _open_experiment(store: Store, name: str, create: bool) -> str:
    """Find MLflow's experiment by name, create it if requested and necessary, and return its id."""
    find = partial(store.calls.call, find_experiment, store.client, name)
    found = find()
    if found is None and not create:
        names = [experiment.name for experiment in store.client.search_experiments()]
        raise UserError(f"tracking.experiment={name!r} is not in {store.uri}. {did_you_mean(name, names)}")
    # Servers choose the location themselves.
    location = None if store.folder is None else (store.folder / ARTIFACTS_FOLDER / name).as_uri()
    if create and location is not None:
        address = location if found is None else found.artifact_location
        for place in (address, f"{address}/{MODELS_FOLDER}"):  # either may be a link
            find_artifacts(store.uri, place)
    if found is None:
        store.writer.create_experiment(name, location)
        found = find()
    assert found is not None
    if found.lifecycle_stage == "deleted":
        raise UserError(f"tracking.experiment={name!r} was deleted in this store; restore it, or choose another name.")
    return found.experiment_id


def quiet_mlflow() -> None:
    """Set each of `MLFLOW_SETTINGS` that the user has not set, and silence `NOISY_LOGGERS`."""
    for variable, value in MLFLOW_SETTINGS.items():
        os.environ.setdefault(variable, value)
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
