"""The store of runs, which is found, created once under a lock, or rejected; and the search for runs in it.

A store may also contain runs written by hand or by other programs. A run whose tags or params cannot be read is left
out, with a message, and does not prevent others from being compared, resumed or deleted.

Deletion of files and of models of a store.

The addresses of files come from the rows of a store, which somebody else may have written. Before any files are
deleted, `find_own_folder` therefore checks their address.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import StoreError, UserError, did_you_mean, first_line, write_install_command
from bakeoff.pipeline.stages.dataset.table import GUESSED_TAG
from bakeoff.pipeline.text.secrets import expand_address, find_secrets, hide_secrets
from bakeoff.pipeline.text.wording import count_nouns, cut_text, expand_home, print_note
from bakeoff.pipeline.tracking.limited_calls import DATABASE_SERVER, LimitedCalls, is_server
from bakeoff.pipeline.tracking.mlflow_tables import (
    ARTIFACTS_FOLDER,
    LOCAL_FOLDERS,
    MAX_IDS_PER_QUERY,
    MODELS_FOLDER,
    Keys,
    find_experiment,
    find_run_ids,
    get_database,
    has_database,
    list_batches,
    list_store_errors,
    read_runs,
)
from bakeoff.pipeline.tracking.sqlite_file import (
    SQLITE_PREFIX,
    SUFFIXES,
    anchor_addresses,
    create_sqlite,
    find_artifacts,
    find_file,
    resolve_below,
    sqlite_path,
    sqlite_uri,
)
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS, ClientWriter, FileWriter, StoreWriter

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
"""The addresses of stores other than a file, some of which MLflow knows by a word."""
MAX_SHOWN_RUNS = 3
MAX_NAME_BYTES = 255
"""The longest name of a folder on common systems."""
CONTROL_SIGNS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Characters that end a line, move the cursor of a terminal, or reverse the direction of text."""
TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*"'
NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?"
LIST_OF_TEXTS = rf"\[(?:{TEXT}(?:, {TEXT})*)?\]|\[.{{{MAX_TAG_LETTERS - 1}}}"
"""The pattern of a truncated list, which each reader recognises."""
PLAIN = r"[^'\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*"
"""The pattern of a text that is allowed in an MLflow query."""


def _write_mapping(value: str) -> str:
    """Return the pattern of a JSON object whose values have a pattern."""
    pair = f"{TEXT}: (?:{value})"
    return rf"\{{(?:{pair}(?:, {pair})*)?\}}"


FORMS: Mapping[str, Mapping[str, str]] = {
    "tag": {
        "config_hash": PLAIN,
        "dataset_digest": PLAIN,
        "splits_digest": PLAIN,
        "pid": r"[1-9]\d{0,8}",
        "heartbeat": r"\d{1,12}(?:\.\d+)?",
        "overrides": LIST_OF_TEXTS,
        "versions": _write_mapping(TEXT),
        "threads": _write_mapping(NUMBER),
        "rows_per_fold": _write_mapping(NUMBER),
        "audit_warnings": LIST_OF_TEXTS,
        "looks": r"\d{1,9}",
        GUESSED_TAG: _write_mapping(f"{TEXT}|{NUMBER}|true|false|null"),
    },
    "param": {"seed": r"-?\d{1,20}"},
}
"""The patterns of the tags and params that bakeoff reads again."""


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


def write_condition(field: str, value: str) -> str:
    r"""Return the query for runs with a value, such as a name that may contain a quotation mark.

    Examples
    --------
    >>> write_condition("tags.sweep", "it's")
    'tags.sweep = "it\'s"'
    """
    mark = '"' if "'" in value else "'"
    if mark in value:
        raise UserError(f"{value!r} contains both quotation marks, for which MLflow cannot search; choose runs by id.")
    return f"{field} = {mark}{value}{mark}"


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
    is_new = file is not None and prepare_file(file)
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


def prepare_file(path: Path) -> bool:
    """Create a database if it does not exist, and update its addresses if its folder was moved or copied.

    Parameters
    ----------
    path : Path
        Absolute.

    Returns
    -------
    bool
        Whether the database is new.

    Raises
    ------
    UserError
        The file cannot be created or written, or is not a SQLite database.
    """
    if create_sqlite(path):
        return True
    sentence = anchor_addresses(path)
    if sentence:
        print_note(f"tracking: {sentence}")
    return False


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


def search_runs(
    store: Store, query: str = "", max_runs: int | None = None, keys: Keys = None, metrics: Keys = None
) -> Iterator[Any]:
    """Yield the runs of the experiment that a query selects, the newest first, except those that bakeoff cannot read.

    Parameters
    ----------
    store : Store
    query : str
        A query in MLflow's filter language; empty for all runs.
    max_runs : int, optional
        The maximum number of runs.
    keys : collection of str, optional
        The tags and params that are needed; by default all. Servers send all.
    metrics : collection of str, optional
        The metrics that are needed; by default all.

    Yields
    ------
    mlflow.entities.Run or SimpleNamespace
        The latter for a database, with the same attributes.
    """
    page_size = min(max_runs or MAX_IDS_PER_QUERY, MAX_IDS_PER_QUERY)
    if has_database(store.client):
        ids = store.calls.call(find_run_ids, store.client, store.experiment_id, query)
        return islice(load_runs(store, ids, keys, metrics, page_size), max_runs)
    ask = partial(store.client.search_runs, [store.experiment_id], query, max_results=page_size)
    return islice((run for page in iterate_pages(ask) for run in leave_out_faulty(page)), max_runs)


def load_runs(
    store: Store,
    run_ids: Collection[str],
    keys: Keys = None,
    metrics: Keys = None,
    page_size: int = 0,
) -> Iterator[Any]:
    """Yield the runs with the given ids that bakeoff can read; the other parameters are those of `search_runs`."""
    needed = None if keys is None else {*keys, *FORMS["tag"], *FORMS["param"]}
    for batch in list_batches(run_ids, page_size):
        if has_database(store.client):
            yield from leave_out_faulty(store.calls.call(read_runs, store.client, batch, needed, metrics))
        else:
            query = f"attributes.run_id IN ({', '.join(map(repr, batch))})"
            yield from leave_out_faulty(store.client.search_runs([store.experiment_id], query, max_results=len(batch)))


def iterate_pages(ask: Callable[..., Any]) -> Iterator[Any]:
    """Yield all pages of an answer of MLflow's client."""
    token = None
    while True:
        page = ask(page_token=token)
        yield page
        token = page.token
        if not token:
            return


def quiet_mlflow() -> None:
    """Set each of `MLFLOW_SETTINGS` that the user has not set, and silence `NOISY_LOGGERS`."""
    for variable, value in MLFLOW_SETTINGS.items():
        os.environ.setdefault(variable, value)
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def find_fault(run: Any) -> str:
    """Return the first tag or param of an MLflow run that bakeoff would not have written; empty if there is none.

    Parameters
    ----------
    run : mlflow.entities.Run
    """
    for kind, values in (("tag", run.data.tags), ("param", run.data.params)):
        for key, form in FORMS[kind].items():
            if key in values and not re.fullmatch(form, values[key]):
                return f"its {kind} {key}"
    return ""


def leave_out_faulty(runs: Sequence[Any]) -> list[Any]:
    """Return the readable runs, and print those left out.

    Parameters
    ----------
    runs : sequence of mlflow.entities.Run
    """
    faults = {str(run.info.run_id): fault for run in runs if (fault := find_fault(run))}
    # Workers read the same runs as the process that started them.
    if faults and parent_process() is None:
        _report_left_out(tuple(faults), next(iter(faults.values())))
    return [run for run in runs if run.info.run_id not in faults]


def tidy_name(text: str) -> str:
    r"""Return a name from a store in printable form: on one line, and without terminal control characters.

    Examples
    --------
    >>> tidy_name("knn\n iris\x1b[2J")
    'knn  iris [2J'
    """
    return CONTROL_SIGNS.sub(" ", text)


@cache
def _report_left_out(run_ids: tuple[str, ...], fault: str) -> None:
    """Print the runs that are left out, once per process."""
    shown = ", ".join(run_ids[:MAX_SHOWN_RUNS]) + (", …" if len(run_ids) > MAX_SHOWN_RUNS else "")
    runs = count_nouns(len(run_ids), "run is", "runs are")
    print_note(
        f"tracking: {runs} left out, because bakeoff did not write {fault}: {shown}; `bakeoff rm RUN` deletes such a "
        "run."
    )


OWNER_ID = re.compile(r"(m-)?[0-9a-f]{32}")
"""The id of a run or of a logged model."""
FILES_FOLDER = "artifacts"
"""The only content of the folder of a run or a model."""
REMOVED_PREFIX = "removed."
"""The prefix of a tag of a seal, before the ``config_hash`` of a job that lost a run."""


def find_own_folder(store: Store, address: str, owner: str) -> Path | None:
    """Return the folder with the files of a run or a model, if bakeoff wrote it below the folder of the store.

    Parameters
    ----------
    store : Store
        A store in a SQLite file on this machine; no other store has a folder.
    address : str
        The address recorded in the store.
    owner : str
        The id of the run or the model, which names the folder around its files.

    Returns
    -------
    Path or None
        The folder with links resolved, so that it can be deleted.
    """
    folder = None if store.folder is None else resolve_below(store.folder, address)
    is_written = folder is not None and folder.parts[-2:] == (owner, FILES_FOLDER)
    return folder if is_written and OWNER_ID.fullmatch(owner) else None


def delete_folder(folder: Path) -> None:
    """Delete a folder that `find_own_folder` has found, and the one around it if it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # it contains other files
        folder.parent.rmdir()


def delete_model(store: Store, model_id: str) -> None:
    """Delete a logged model, and its files if they are below the folder of the store; other files are kept.

    Parameters
    ----------
    store : Store
    model_id : str
    """
    location = store.client.get_logged_model(model_id).artifact_location
    store.client.delete_logged_model(model_id)
    folder = find_own_folder(store, location, model_id)
    if folder is not None:
        delete_folder(folder)
