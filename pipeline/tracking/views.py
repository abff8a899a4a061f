"""The views that MLflow's page of runs opens on: a leaderboard, the last sweep, and charts of it.

They are written before the pages are opened, from the runs that the store holds then. Each has a fixed key, so that it
is replaced and not multiplied; views under other keys are the user's own, and stay.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import StoreError, UserError, did_you_mean
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.faults import is_server
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.history import find_finished_runs
from bakeoff.pipeline.tracking.limited_calls import LimitedCalls
from bakeoff.pipeline.tracking.store import Store, search_runs
from bakeoff.pipeline.tracking.sweep_record import SweepRecord, list_sweeps, read_latest_sweep, read_sweep_record
from bakeoff.pipeline.tracking.view_state import (
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

GROUPS = ("dataset", "learner")
"""Params whose values every view shows."""
IS_JOB = "tags.config_hash != ''"
"""Selects the runs that evaluate a job: not comparisons, and not runs of other programs."""


@dataclass(frozen=True)
class ShownRuns:
    """What the views show of the runs.

    Attributes
    ----------
    sweep : str or None
        The name of the sweep; None if the store has only single runs.
    query : str
        Selects the runs of the sweep, or of all jobs if there is no sweep, in MLflow's filter language.
    headlines : tuple of str
        The headline scores of the runs, that of the newest run first.
    varying : tuple of str
        The params that vary over the sweep, other than `GROUPS`.
    groups : tuple of (str, str)
        The dataset and learner of each run, once.
    metrics : tuple of str
        The names of all metrics.
    is_greater_better : bool
        Whether greater values of the first headline score are better.
    is_complete : bool
        Whether the page loads all runs of the sweep at once.
    notes : tuple of str
        What the views do not show, in sentences.
    """

    sweep: str | None
    query: str
    headlines: tuple[str, ...]
    varying: tuple[str, ...]
    groups: tuple[tuple[str, str], ...]
    metrics: tuple[str, ...]
    is_greater_better: bool = True
    is_complete: bool = True
    notes: tuple[str, ...] = ()


def read_shown_runs(store: Store, sweep: str | None = None) -> ShownRuns | None:
    """Read from the store what the views show; None if no run has a score.

    Parameters
    ----------
    store : Store
    sweep : str, optional
        The name of the sweep; the newest by default.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    record, notes = _find_sweep(store, sweep)
    query = IS_JOB
    if record is not None:
        query, omissions = _select_sweep(store, record)
        notes += omissions
    runs, is_cut = _read_runs(store, query)
    if is_cut:
        notes.append(
            f"MLflow's charts show the newest {MAX_LOADED_RUNS} runs of the sweep until *Load more* is pressed."
        )
    # A sweep that has just started has no scores yet, while the leaderboard shows those of earlier runs.
    scored = runs if _find_headlines(runs) else _read_runs(store, IS_JOB)[0]
    headlines = _find_headlines(scored)
    if not headlines:
        return None
    return ShownRuns(
        sweep=None if record is None else record.name,
        query=query,
        headlines=headlines,
        varying=() if record is None else find_varying_params(runs),
        groups=tuple({(run.data.params.get("dataset", ""), run.data.params.get("learner", "")): None for run in runs}),
        metrics=tuple({metric: None for run in runs for metric in run.data.metrics}),
        is_greater_better=_is_greater_better(headlines[0], scored),
        is_complete=not is_cut,
        notes=tuple(notes),
    )


def find_varying_params(runs: Sequence[Any]) -> tuple[str, ...]:
    """Return the params that the command line of a sweep varied, in its order, other than dataset and learner.

    Parameters
    ----------
    runs : sequence of Run
        As MLflow returns them.
    """
    params = {param for run in runs for param in run.data.params}
    jobs = [_read_overrides(run.data.tags) for run in runs]
    words_by_key: dict[str, list[str]] = {}
    for words in jobs:
        for word in words:
            words_by_key.setdefault(word.lstrip("+~").split("=")[0], []).append(word)
    varying = []
    for key, words in words_by_key.items():
        # A key that only some of the jobs have, such as that of one learner, varies as well.
        is_same = len(set(words)) == 1 and len(words) == len(jobs)
        if not is_same and key in params and key not in GROUPS:
            varying.append(key)
    return tuple(varying)


def _find_sweep(store: Store, name: str | None) -> tuple[SweepRecord | None, list[str]]:
    """Return the sweep of a name, or the newest one, and what is not known of it; None if there is no sweep yet."""
    try:
        record = read_latest_sweep(store) if name is None else read_sweep_record(store, name)
        known = list_sweeps(store) if record is None else []
        notes = []
    except Exception as error:  # each kind of artifact store has errors of its own, such as for missing rights
        tagged = _search_runs(store, "tags.sweep != ''" if name is None else _match_tag("sweep", name))
        record = SweepRecord(tagged[0].data.tags["sweep"], ()) if tagged else None
        known = []
        notes = [f"The list of the jobs of the sweep cannot be read ({error}), so runs done before it are not shown."]
    if record is None and name is not None:
        names = {run.data.tags["sweep"] for run in _search_runs(store, "tags.sweep != ''")}
        raise UserError(f"ui: there is no sweep={name!r} in {store.uri}. {did_you_mean(name, names.union(known))}")
    return record, notes


def _select_sweep(store: Store, record: SweepRecord) -> tuple[str, list[str]]:
    """Return a query for the runs of a sweep, and what it leaves out, in sentences.

    Jobs that were done before the sweep have runs with the tag of an earlier sweep. The filter language has no "or", so
    then all runs are listed by their ids.
    """
    query = _match_tag("sweep", record.name)
    if len(record.jobs) > MAX_LOADED_RUNS:
        note = f"*Last sweep* shows the runs that the sweep started; of its {len(record.jobs)} jobs, those that were "
        return query, [note + "done before it have runs with the tag of an earlier sweep."]
    tagged = _search_runs(store, query)
    hashes = {job.hash for job in record.jobs if job.hash}
    earlier = find_finished_runs(store, hashes - {run.data.tags.get("config_hash") for run in tagged})
    if not earlier:
        return query, []
    ids = [run.info.run_id for run in tagged] + list(earlier.values())
    return f"attributes.run_id IN ({', '.join(repr(run_id) for run_id in ids)})", []


def _match_tag(key: str, value: str) -> str:
    # The filter language has two quotation marks and no escape.
    mark = '"' if "'" in value else "'"
    return f"tags.{key} = {mark}{value}{mark}"


def _read_runs(store: Store, query: str) -> tuple[list[Any], bool]:
    """Return the newest and the oldest runs that a query selects, and whether there may be others.

    What varies slowest over a sweep differs between its first and its last runs, so the others need not be read.
    """
    newest = _search_runs(store, query)
    is_cut = len(newest) >= MAX_LOADED_RUNS
    oldest = _search_runs(store, query, "start_time ASC") if is_cut else []
    return [*newest, *oldest], is_cut


def _find_headlines(runs: Sequence[Any]) -> tuple[str, ...]:
    found = [find_headline(run.data.params, run.data.metrics) for run in runs]
    return tuple(dict.fromkeys(headline for headline in found if headline is not None))


def _is_greater_better(headline: str, runs: Sequence[Any]) -> bool:
    newest = next(run for run in runs if find_headline(run.data.params, run.data.metrics) == headline)
    return is_greater_better(headline, newest.data.params)


def _search_runs(store: Store, query: str, order: str = "start_time DESC") -> list[Any]:
    return list(search_runs(store, query, MAX_LOADED_RUNS, order_by=[order]))


def _read_overrides(tags: Mapping[str, str]) -> list[str]:
    try:
        overrides = json.loads(tags.get("overrides", "[]"))
    except ValueError:  # cut, because it was longer than a tag may be
        return []
    return [str(word) for word in overrides]


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
