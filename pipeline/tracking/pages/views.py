"""The views that MLflow's page of runs opens on: a leaderboard, the last sweep, and charts of it.

They are written before the pages are opened, from the runs that the store holds then. Each has a fixed key, so that it
is replaced and not multiplied; views under other keys are the user's own, and stay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.limited_calls import LimitedCalls
from bakeoff.pipeline.tracking.pages.shown_runs import GROUPS, IS_JOB, ShownRuns, read_shown_runs
from bakeoff.pipeline.tracking.pages.view_state import (
    KNOWN_VERSIONS,
    MAX_LOADED_RUNS,
    TAG_PREFIX,
    SavedView,
    Section,
    add_charts,
    group_runs,
    make_bars,
    make_parallel_plot,
    make_scatter,
    make_table_state,
    name_metric,
    name_param,
)
from bakeoff.pipeline.tracking.server import is_server
from bakeoff.pipeline.tracking.store import Store

LEADERBOARD = "bakeoff-leaderboard"
LAST_SWEEP = "bakeoff-last-sweep"
CHARTS = "bakeoff-charts"
WHAT_VARIES = "bakeoff-what-varies"
KIND_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""The page of such an experiment is that of model training; by default it is that of language models."""
FIT_SECONDS = "time/fit"
IS_FINISHED = "attributes.status = 'FINISHED'"
"""A run that failed or was stopped has means over some folds only, and would be ranked by them."""
VERSION_TIMEOUT_SECONDS = 5
TRAINING_MODE = "workflowType=machine_learning"
"""Shows the menus for model training, not those for language models."""
LEADERBOARD_QUERY = f"viewStateShareKey={LEADERBOARD}&{TRAINING_MODE}"
CHARTS_QUERY = f"viewStateShareKey={CHARTS}&{TRAINING_MODE}&compareRunsMode=CHART"
"""The ends of the addresses that open on the views; a saved view does not hold whether it is a table or charts."""


@dataclass(frozen=True)
class WrittenViews:
    """Whether views were written.

    Attributes
    ----------
    has_views : bool
    notes : tuple of str
        Why not, or what they do not show, in sentences.
    """

    has_views: bool
    notes: tuple[str, ...] = ()


def write_views(store: Store, sweep: str | None = None) -> WrittenViews:
    """Write the views of an experiment, in place of those that were written before.

    Parameters
    ----------
    store : Store
    sweep : str, optional
        The name of the sweep to show; the newest by default.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    from mlflow.exceptions import MlflowException

    shown = read_shown_runs(store, sweep)
    if shown is None:
        return WrittenViews(False, ("No run of the experiment has a score yet, so no views were written.",))
    tags = dict(KIND_TAGS)
    now = time.time_ns() // 1_000_000
    for position, view in enumerate(make_views(shown)):
        # The menu lists the newest view first.
        tags[f"{TAG_PREFIX}{view.key}"] = view.encode(now - position)
    try:
        for key, value in tags.items():
            store.client.set_experiment_tag(store.experiment_id, key, value)
    except (MlflowException, StoreError) as error:
        reason = str(error).splitlines()[0]
        return WrittenViews(False, (f"The views could not be written: {reason}",))
    return WrittenViews(True, shown.notes)


def make_views(shown: ShownRuns) -> list[SavedView]:
    """Return the views, in the order of the menu."""
    headline = shown.headlines[0]
    columns = _choose_columns(shown)
    best_first = (columns, name_metric(headline), not shown.is_greater_better)
    views = [SavedView(LEADERBOARD, "Leaderboard", make_table_state(f"{IS_FINISHED} AND {IS_JOB}", *best_first))]
    if shown.sweep is not None:
        # Here the runs that failed are shown as well, with their mark: they are a part of what the sweep did.
        views.append(SavedView(LAST_SWEEP, "Last sweep", make_table_state(shown.query, *best_first)))
    # Charts show the runs that are loaded. If these were the best of many, the means of learners would be too good.
    newest_first = (columns, "attributes.start_time", False)
    order = best_first if shown.is_complete else newest_first
    flat = make_table_state(f"{IS_FINISHED} AND {shown.query}", *order)
    grouped = _group_by_learner(flat, shown)
    views.append(SavedView(CHARTS, "Charts", add_charts(grouped, _make_group_charts(shown), shown.metrics)))
    # A parallel plot shows no runs that are grouped by text, so this one has a view of its own.
    flat = add_charts(flat, _make_run_charts(shown), shown.metrics)
    views.append(SavedView(WHAT_VARIES, "What varies", flat))
    return views


def explain_unreadable(uri: str) -> str:
    """Return why the pages of a store would not read the views, as a sentence; empty if they do.

    Parameters
    ----------
    uri : str
        A server is asked for its version; the pages of any other store are served by the MLflow that is installed.
    """
    version = _ask_version(uri) if is_server(uri) else _installed_version()
    if not version:
        return f"{hide_secrets(uri)} does not say which version of MLflow it is, so no views were written."
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers in KNOWN_VERSIONS:
        return ""
    known = ", ".join(".".join(map(str, numbers)) for numbers in KNOWN_VERSIONS)
    return f"MLflow {version} is not known to read the views (these are: {known}), so none were written."


def _group_by_learner(state: Mapping[str, Any], shown: ShownRuns) -> dict[str, Any]:
    """Group the runs by learner and dataset: scores of different datasets are never averaged."""
    datasets = {dataset for dataset, _ in shown.groups}
    if len(datasets) > 1:
        return group_runs(state, GROUPS, shown.groups)
    return group_runs(state, ("learner",), [(learner,) for _, learner in shown.groups])


def _choose_columns(shown: ShownRuns) -> dict[str, int]:
    """Return the columns of a table, and how many letters each shows."""
    values = zip(GROUPS, zip(*shown.groups, strict=True), strict=True)
    columns = {name_param(param): max(map(len, found)) for param, found in values}
    columns |= {name_param(param): len(param) for param in shown.varying}
    for headline in shown.headlines:
        columns[name_metric(headline)] = len(headline)
        if f"{headline}_std" in shown.metrics:
            columns[name_metric(f"{headline}_std")] = len(f"{headline}_std")
    columns[name_metric(FIT_SECONDS)] = len(FIT_SECONDS)
    return columns


def _make_group_charts(shown: ShownRuns) -> list[Section]:
    sections = []
    for headline in shown.headlines:
        bars = make_bars(headline, MAX_LOADED_RUNS)
        points = make_scatter(FIT_SECONDS, headline, MAX_LOADED_RUNS)
        name = f"{headline} by learner (means over runs)"
        sections.append(Section(name, (bars, points), n_columns=2))
    return sections


def _make_run_charts(shown: ShownRuns) -> list[Section]:
    sections = []
    for headline in shown.headlines:
        plot = make_parallel_plot([*GROUPS, *shown.varying], [headline])
        points = make_scatter(FIT_SECONDS, headline, MAX_LOADED_RUNS)
        sections.append(Section(f"{headline} by what varies", (plot,)))
        sections.append(Section(f"{headline} by fit time", (points,)))
    return sections


def _installed_version() -> str:
    from mlflow.version import VERSION

    return str(VERSION)


def _ask_version(uri: str) -> str:
    """Return the version of a server; empty if it does not answer."""
    from mlflow.exceptions import MlflowException
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request
    from requests import RequestException

    calls = LimitedCalls(uri)
    ask = partial(http_request, get_default_host_creds(uri), "/version", "GET", max_retries=0)
    try:
        with calls.limited_to(VERSION_TIMEOUT_SECONDS):
            answer = calls.call(ask, timeout=VERSION_TIMEOUT_SECONDS)
    except (MlflowException, RequestException, StoreError):
        return ""
    is_version = answer.ok and re.fullmatch(r"\d+\.\d+\S*", answer.text.strip()) is not None
    return answer.text.strip() if is_version else ""
