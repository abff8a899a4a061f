"""MLflow's pages of a store: their local server, and saved views of a leaderboard and the last sweep.

The views are written before the pages are opened, from the runs in the store at that time. Each has a fixed key, so it
is replaced rather than duplicated; views under other keys are user-defined, and are kept.

A saved view is a tag of the experiment: JSON with a name and the state of the page, the latter compressed. The format
is MLflow's own: ``ExperimentPageUIState`` and ``savedViewEnvelope`` in the source of its pages
(``mlflow/server/js/src/experiment-tracking/components``). The pages of MLflow 3.15.2, 3.16.1, 3.17.2 and 3.18.0 were
seen to read the views in a browser; 3.15 is the first with a menu of views, and a test checks the installed version.
"""

import base64
import json
import os
import socket
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from urllib.parse import urlsplit

from bakeoff.pipeline.config.requests import ExperimentRequest
from bakeoff.pipeline.errors import StoreError, UserError, first_line
from bakeoff.pipeline.text.secrets import strip_secrets
from bakeoff.pipeline.tracking.history import find_runs_of_sweep
from bakeoff.pipeline.tracking.limited_calls import is_server
from bakeoff.pipeline.tracking.mlflow_tables import ADDRESS_COLUMNS, list_store_errors, read_rows
from bakeoff.pipeline.tracking.names import KIND_TAGS, find_headline, is_greater_better
from bakeoff.pipeline.tracking.sqlite_file import find_artifacts
from bakeoff.pipeline.tracking.store import Store, open_store, store_uri
from bakeoff.pipeline.tracking.stored_runs import IS_FINISHED, search_runs, write_condition

HOST = "127.0.0.1"
LEADERBOARD = "bakeoff-leaderboard"
GROUPS = ("learner", "dataset")
"""Params that every view shows."""
FIT_SECONDS = "time/fit"
IS_JOB = "tags.config_hash != ''"
"""Selects the runs that evaluate a job, rather than comparisons or runs of other programs."""
TRAINING_MODE = "workflowType=machine_learning"
"""Shows the menus for model training instead of those for language models."""
LEADERBOARD_QUERY = f"viewStateShareKey={LEADERBOARD}&{TRAINING_MODE}"
"""The end of the address that opens on the leaderboard."""
TAG_PREFIX = "mlflow.sharedViewState."
STATE_PREFIX = "deflate;"
"""Marks the state as compressed by zlib and encoded in base64."""
MAX_LOADED_RUNS = 100
"""The number of runs that MLflow's page loads at first."""
STATE = {
    "startTime": "ALL",
    "lifecycleFilter": "Active",
    "datasetsFilter": [],
    "modelVersionFilter": "All Runs",
    "runsHiddenMode": "SHOW_ALL",
    "runsHidden": [],
    "runsVisibilityMap": {},
    "runsExpanded": {},
    "runsPinned": [],
    "viewMaximized": False,
    "runListHidden": False,
    "groupBy": None,
    "groupsExpanded": {},
    "useGroupedValuesInCharts": True,
    "hideEmptyCharts": True,
    "autoRefreshEnabled": True,
    "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
}
"""The settings of a page that are the same in all views."""


@dataclass(frozen=True, kw_only=True)
class PagesRequest(ExperimentRequest):
    """The pages of a store.

    Attributes
    ----------
    sweep : str
        The sweep that the views show; by default the last one.
    port : int
        The port of the pages, or 0 for any free one.
    """

    sweep: str = ""
    port: int = 5000


def take_port(request: PagesRequest) -> PagesRequest:
    """Return the request with a free port in place of 0; raise UserError if the given port is not free."""
    try:
        with socket.create_server((HOST, request.port)) as opened:
            return replace(request, port=opened.getsockname()[1])
    except (OSError, OverflowError) as error:
        raise UserError(f"port={request.port} cannot be used ({error}); port=0 selects a free one.") from None


def open_pages(request: PagesRequest) -> list[str]:
    """Write the views of a store, and return lines with their addresses, or with the reason why there are none.

    Parameters
    ----------
    request : PagesRequest

    Raises
    ------
    UserError
        There is no such store, experiment or sweep.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    _require_own_files(store)
    address = strip_secrets(store.uri).rstrip("/") if is_server(store.uri) else f"http://{HOST}:{request.port}"
    page = f"{address}/#/experiments/{store.experiment_id}/runs"
    reason = write_views(store, request.sweep)
    return [f"open {page}", reason] if reason else [f"open {page}?{LEADERBOARD_QUERY}"]


def _require_own_files(store: Store) -> None:
    """Reject a SQLite store with files elsewhere, which MLflow's pages would show."""
    for table, column in ADDRESS_COLUMNS if store.folder else ():
        for (address,) in read_rows(store.client, f"SELECT DISTINCT {column} FROM {table}"):
            # MLflow looks up other schemes in the store, or below the folder of its server.
            if "/" in (address or "") and urlsplit(address).scheme in ("", "file"):
                find_artifacts(store.uri, address)


def serve_pages(request: PagesRequest) -> NoReturn:
    """Replace this process by MLflow's server of the pages, until Ctrl-C."""
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")  # starts the server about five times faster
    # The address is not passed as an argument, because every user of the machine can read arguments.
    os.environ["MLFLOW_BACKEND_STORE_URI"] = store_uri(request.tracking__uri)
    command = [sys.executable, "-m", "mlflow", "ui"]
    os.execv(sys.executable, [*command, "--host", HOST, "--port", str(request.port), "--workers", "1"])


def write_views(store: Store, sweep: str = "") -> str:
    """Write the views of an experiment, replacing earlier ones.

    Parameters
    ----------
    store : Store
    sweep : str
        The name of the sweep to show; the newest by default.

    Returns
    -------
    str
        The reason why there are no views; empty if they were written.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    try:
        tags = dict(KIND_TAGS)
        now = time.time_ns() // 1_000_000
        for position, (key, name, state) in enumerate(make_views(store, sweep)):
            # The menu lists the newest view first.
            tags[f"{TAG_PREFIX}{key}"] = encode_view(name, state, now - position)
        if len(tags) == len(KIND_TAGS):
            return "No run of the experiment has a score yet, so no views were written."
        for key, value in tags.items():
            store.writer.tag_experiment(store.experiment_id, key, value)
    except list_store_errors(StoreError, OSError) as error:
        return f"The views could not be written: {first_line(error)}"
    return ""


def make_views(store: Store, sweep: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the key, the name and the state of each view, in the order of the menu, if any run has a score."""
    query = _select_sweep(store, sweep)
    runs = list(search_runs(store, query, MAX_LOADED_RUNS))
    # A sweep that has just started has no scores yet, while the leaderboard shows those of earlier runs.
    headlines = _find_headlines(runs) or _find_headlines(list(search_runs(store, IS_JOB, MAX_LOADED_RUNS)))
    if not headlines:
        return
    metrics = {metric for run in runs for metric in run.metrics}
    # MLflow's page has room for three columns on a narrow screen.
    columns = [f"metrics.`{name}`" for name in headlines]
    columns += [f"params.`{name}`" for name in _list_telling_params(runs)]
    columns += [f"metrics.`{name}_std`" for name in headlines if f"{name}_std" in metrics]
    columns.append(f"metrics.`{FIT_SECONDS}`")
    headline, is_greater = next(iter(headlines.items()))
    best_first = {"orderByKey": f"metrics.`{headline}`", "orderByAsc": not is_greater}
    state = {**STATE, "selectedColumns": columns, "columnOrder": columns, **best_first}
    # Failed or stopped runs would be ranked by means over only some folds.
    yield LEADERBOARD, "Leaderboard", {**state, "searchFilter": f"{IS_FINISHED} AND {IS_JOB}"}
    if query != IS_JOB:
        # Failed runs are also shown here, marked as such, because they are part of the sweep.
        yield "bakeoff-last-sweep", "Last sweep", {**state, "searchFilter": query}


def _select_sweep(store: Store, sweep: str) -> str:
    """Return a query for the runs of a sweep, by default of the newest, or of all jobs if there is no sweep yet."""
    try:
        ids = find_runs_of_sweep(store, sweep or "latest")
    except UserError:
        if sweep:
            raise
        return IS_JOB
    # Jobs that were done before the sweep have runs with the tag of an earlier sweep, and the filter language has no
    # "or". The length of a tag limits the number of ids.
    if len(ids) <= MAX_LOADED_RUNS:
        return f"attributes.run_id IN ({', '.join(map(repr, ids))})"
    return write_condition("tags.sweep", store.client.get_run(ids[-1]).data.tags["sweep"])


def _find_headlines(runs: Sequence[Any]) -> dict[str, bool]:
    """Return the headline scores of runs, newest run first, and whether greater values are better."""
    headlines: dict[str, bool] = {}
    for run in runs:
        name = find_headline(run.params, run.metrics)
        if name is not None and name not in headlines:
            headlines[name] = is_greater_better(name, run.params)
    return headlines


def _list_telling_params(runs: Sequence[Any]) -> list[str]:
    """Return learner and dataset, and the params of command lines that distinguish runs which are equal in these."""
    words: list[str] = []
    for run in runs:
        with suppress(ValueError):  # a tag that exceeded the maximum length is truncated, and is not valid JSON
            words += json.loads(run.tags.get("overrides", "[]"))
    told: list[str] = []
    known: list[tuple[str, ...]] = [() for _ in runs]
    for key in dict.fromkeys([*GROUPS, *(word.lstrip("+~").split("=")[0] for word in words)]):
        finer = [(*values, run.params.get(key, "")) for values, run in zip(known, runs, strict=True)]
        if key in GROUPS or len({*finer}) > len({*known}):
            told.append(key)
            known = finer
    return told


def encode_view(name: str, state: Mapping[str, Any], milliseconds: int) -> str:
    """Return the value of the tag of a view.

    Parameters
    ----------
    name : str
        The entry of the menu *Views*.
    state : mapping
    milliseconds : int
        When the view was created, since 1970. The menu lists the newest view first.
    """
    compact = json.dumps(state, separators=(",", ":"))
    compressed = base64.b64encode(zlib.compress(compact.encode(), level=9)).decode()
    times = {"createdAt": milliseconds, "updatedAt": milliseconds}
    return json.dumps({"name": name, **times, "state": f"{STATE_PREFIX}{compressed}"})
