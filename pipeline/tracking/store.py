"""The store of runs: found, created once under a lock, or rejected; and the search for runs in it.

Whoever may write to a store may write runs into it, by hand or with other programs. A run whose tags or params cannot
be read is left out, with a message, and does not prevent others from being compared, resumed or deleted.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from multiprocessing import parent_process
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import StoreError, UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.table import GUESSED_TAG
from bakeoff.pipeline.text.secrets import expand_address, find_secrets
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.addresses import anchor_addresses
from bakeoff.pipeline.tracking.limited_calls import LimitedCalls, limit_client, require_answer
from bakeoff.pipeline.tracking.mlflow_tables import ARTIFACTS_FOLDER, LOCAL_FOLDERS
from bakeoff.pipeline.tracking.sqlite_file import (
    SQLITE_PREFIX,
    SUFFIXES,
    copy_for_reading,
    create_sqlite,
    find_file,
    is_writable,
    read_given_path,
    sqlite_uri,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient


DEFAULT_URI = "outputs/mlflow.db"
FILE_SUFFIXES = (*SUFFIXES, ".lock")
"""The files of a database: SQLite's own, and the lock under which it is created."""
MAX_RUNS_PER_PAGE = 1000
"""Of an answer to a search: MLflow's default."""
MLFLOW_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
}
"""Environment variables that disable MLflow's usage data, its log, its progress bars and the printing of addresses.

What MLflow logs as an error is raised as well. Calls are repeated by `LimitedCalls`, so that MLflow does so once only.
"""
NOISY_LOGGERS = ("sqlalchemy.pool", "urllib3.connectionpool", "alembic")
"""Their warnings, with a traceback each, tell of a store that cannot be used; the error says so in a sentence."""
MAX_TAG_LETTERS = 8000
"""MLflow cuts longer tags."""
MAX_SHOWN_RUNS = 3
MAX_SHOWN_LETTERS = 40
MAX_PROCESS_ID = 2**31 - 1
CONTROL_SIGNS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Signs that end a line, move the cursor of a terminal, or turn the direction of a text."""
Form = Callable[[str], bool]
PARAM_FORMS: Mapping[str, Form] = {"seed": lambda value: isinstance(int(value), int)}


@dataclass(frozen=True)
class Store:
    """An open store.

    Attributes
    ----------
    uri : str
        Absolute for a SQLite file.
    experiment_id : str
        The id of MLflow's experiment, which groups the runs.
    client : MlflowClient
        Each call ends within a limit of time.
    calls : LimitedCalls
        The limits, for calls that are not those of the client.
    is_copy : bool
        Whether it is a copy of a store that cannot be written, so that nothing written to it would last.
    is_new : bool
        Whether opening it has created it, so that it held no runs then.
    """

    uri: str
    experiment_id: str
    client: MlflowClient
    calls: LimitedCalls
    is_copy: bool = False
    is_new: bool = False

    @property
    def folder(self) -> Path | None:
        """The folder of a store in a SQLite file, in which its artifacts are; other stores have none."""
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
        A variable is not set. It is a folder or begins with ``file:``; MLflow no longer keeps runs in folders.

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
    is_file = uri.startswith(SQLITE_PREFIX) or "://" not in uri
    if is_file and find_secrets(uri):
        # The password would become a part of the name of the file.
        raise UserError(f"tracking.uri={uri!r}: a SQLite file takes no password; leave out what follows the name.")
    if is_file:
        path = read_given_path(uri).absolute()
        if ".." in path.parts:  # it would lead nowhere once the folder before them is gone
            path = path.resolve()
        if path.is_dir():
            raise UserError(
                f"tracking.uri={uri!r} is a folder; name a SQLite file in it, such as {path / 'mlflow.db'}."
            )
        return sqlite_uri(path)
    if uri.startswith("file:"):
        raise UserError(
            f"tracking.uri={uri!r}: MLflow no longer stores runs in folders; name a SQLite file or a server."
        )
    return uri


def store_exists(uri: str) -> bool:
    """Whether there is a store at a URI from `store_uri`; a server is assumed to exist."""
    file = find_file(uri)
    return file is None or file.is_file()


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


def open_store(given: str | None, experiment: str, create: bool = True, read_only: bool = False) -> Store:
    """Open a store, and create what is missing.

    Parameters
    ----------
    given : str or None
        As for `store_uri`.
    experiment : str
        Found by name, or created; the artifacts of a SQLite file are kept next to that file.
    create : bool
        Whether to create a SQLite file or an experiment that does not exist.
    read_only : bool
        Whether nothing will be written: a SQLite file that cannot be written is then read from a copy.

    Raises
    ------
    UserError
        The store cannot be created, written or reached, or there is no such experiment and none is to be created.
    """
    uri = store_uri(given)
    quiet_mlflow()
    if not create and not store_exists(uri):
        raise UserError(f"tracking.uri: there is no store at {uri}; run an experiment first, or give tracking.uri=URI.")
    is_copy = is_new = False
    file = find_file(uri)
    if file is None:
        require_answer(uri)
    elif read_only and file.is_file() and not is_writable(file):
        is_copy = True
        copy = copy_for_reading(file)
        anchor_addresses(copy, file.parent)
        print(f"tracking: {file} cannot be written; a copy of it is read.", file=sys.stderr)
        uri = sqlite_uri(copy)
    else:
        is_new = prepare_file(file)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        calls = LimitedCalls(uri)
        client = limit_client(MlflowClient(tracking_uri=uri), calls)
        return Store(uri, _open_experiment(client, uri, experiment, create), client, calls, is_copy, is_new)
    except StoreError as error:
        raise UserError(str(error)) from error
    except (MlflowException, OSError) as error:
        raise UserError(f"tracking.uri={uri!r} cannot be used: {str(error).splitlines()[0]}") from error


def prepare_file(path: Path) -> bool:
    """Create a database if it does not exist, and let its addresses follow it if its folder was moved or copied.

    Parameters
    ----------
    path : Path
        Absolute.

    Returns
    -------
    bool
        Whether it is new.

    Raises
    ------
    UserError
        The file cannot be created or written, or is not a SQLite database.
    """
    if create_sqlite(path):
        return True
    sentence = anchor_addresses(path)
    if sentence:
        print(f"tracking: {sentence}", file=sys.stderr)
    return False


def _open_experiment(client: MlflowClient, uri: str, name: str, create: bool) -> str:
    """Find MLflow's experiment of a name, create it if that is wanted and necessary, and return its id."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None and not create:
        names = [experiment.name for experiment in client.search_experiments()]
        raise UserError(f"tracking.experiment={name!r} is not in {uri}. {did_you_mean(name, names)}")
    if found is None:
        file = find_file(uri)  # a server decides by itself
        location = None if file is None else (file.parent / ARTIFACTS_FOLDER / name).as_uri()
        try:
            return str(client.create_experiment(name, artifact_location=location))
        except MlflowException:  # another process has created it in the meantime
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        raise UserError(f"tracking.experiment={name!r} was deleted in this store; restore it, or choose another name.")
    return str(found.experiment_id)


def search_runs(
    store: Store, query: str = "", max_runs: int | None = None, *, experiment_ids: Sequence[str] = (), **options: Any
) -> Iterator[Any]:
    """Yield the runs that a query selects, the newest first, except those that bakeoff cannot read.

    Parameters
    ----------
    store : Store
    query : str
        In MLflow's filter language; empty for all runs.
    max_runs : int, optional
        The next page of an answer is requested only when the runs of a page are used up.
    experiment_ids : sequence of str
        Where to search; by default in the experiment of the store.
    **options
        ``order_by`` and ``run_view_type`` of MLflow's ``search_runs``. By default deleted runs are left out.

    Yields
    ------
    mlflow.entities.Run
    """
    searched = list(experiment_ids) or [store.experiment_id]
    page_size = min(max_runs or MAX_RUNS_PER_PAGE, MAX_RUNS_PER_PAGE)
    ask = partial(store.client.search_runs, searched, query, max_results=page_size, **options)
    readable = (run for page in iterate_pages(ask) for run in leave_out_faulty(page))
    return islice(readable, max_runs)


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
    """Return the first tag or param of one of MLflow's runs that bakeoff would not have written; empty if none is.

    Parameters
    ----------
    run : mlflow.entities.Run
    """
    for kind, forms, values in (("tag", TAG_FORMS, run.data.tags), ("param", PARAM_FORMS, run.data.params)):
        for key, is_form in forms.items():
            value = str(values.get(key, ""))
            try:
                has_form = key not in values or is_form(value)
            except (ValueError, RecursionError, OverflowError):
                has_form = False
            if not has_form:
                text = tidy_name(value)
                shown = text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…"
                return f"its {kind} {key}={shown!r}"
    return ""


def leave_out_faulty(runs: Sequence[Any]) -> list[Any]:
    """Return the readable runs, and print those left out.

    Parameters
    ----------
    runs : sequence of mlflow.entities.Run
    """
    faults = {str(run.info.run_id): find_fault(run) for run in runs}
    left_out = {run_id: fault for run_id, fault in faults.items() if fault}
    # Workers read the runs that the process which started them has read.
    if left_out and parent_process() is None:
        _say_left_out(tuple(left_out.items()))
    return [run for run in runs if not faults[str(run.info.run_id)]]


def tidy_name(text: str) -> str:
    r"""Return a name from a store as it can be printed: on one line, and without the signs that a terminal obeys.

    Examples
    --------
    >>> tidy_name("knn\n iris\x1b[2J")
    'knn  iris [2J'
    """
    return CONTROL_SIGNS.sub(" ", text)


@cache
def _say_left_out(faults: tuple[tuple[str, str], ...]) -> None:
    """Print the runs that are left out, once per process."""
    ids = [run_id for run_id, _ in faults]
    shown = ", ".join(ids[:MAX_SHOWN_RUNS]) + (", …" if len(ids) > MAX_SHOWN_RUNS else "")
    runs = count_nouns(len(ids), "run is", "runs are")
    print(
        f"tracking: {runs} left out, because bakeoff did not write {faults[0][1]}: {shown}; `bakeoff rm RUN` deletes "
        "such a run.",
        file=sys.stderr,
    )


def _is_plain(value: str) -> bool:
    """Whether a text is allowed in an MLflow query."""
    return "'" not in value and not CONTROL_SIGNS.search(value)


def _is_mapping(value: str, kinds: type | UnionType = object) -> bool:
    items = json.loads(value)
    return isinstance(items, dict) and all(isinstance(item, kinds) for item in items.values())


def _is_mapping_of_numbers(value: str) -> bool:
    return _is_mapping(value, int | float)


def _is_list_of_texts(value: str) -> bool:
    if len(value) >= MAX_TAG_LETTERS:  # it was cut, which each reader knows
        return value.startswith("[")
    items = json.loads(value)
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


TAG_FORMS: Mapping[str, Form] = {
    "config_hash": _is_plain,
    "dataset_digest": _is_plain,
    "splits_digest": _is_plain,
    "pid": lambda value: 0 < int(value) <= MAX_PROCESS_ID,
    "heartbeat": lambda value: math.isfinite(float(value)),
    "overrides": _is_list_of_texts,
    "versions": _is_mapping,
    "threads": _is_mapping_of_numbers,
    "rows_per_fold": _is_mapping_of_numbers,
    "audit_warnings": _is_list_of_texts,
    "looks": lambda value: int(value) >= 0,
    GUESSED_TAG: _is_mapping,
}
