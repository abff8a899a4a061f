"""The views of MLflow's page of runs: a leaderboard, the last sweep, and charts of it.

They are written before the pages are opened, from the runs that the store holds then. Each has a fixed key, so that it
is replaced and not multiplied; views under other keys are user-defined, and stay.

A saved view is a tag of the experiment: JSON with a name and the state of the page, the latter compressed. The format
is MLflow's own: ``ExperimentPageUIState``, ``savedViewEnvelope`` and ``runs-charts.types`` in the source of its pages
(``mlflow/server/js/src/experiment-tracking/components``). It is known to be read by `KNOWN_VERSIONS`.
"""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import StoreError, UserError, did_you_mean
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.limited_calls import LimitedCalls, is_server
from bakeoff.pipeline.tracking.store import Store, search_runs
from bakeoff.pipeline.tracking.sweep_record import (
    SweepRecord,
    find_earlier_runs,
    list_sweeps,
    read_latest_sweep,
    read_sweep_record,
)

LEADERBOARD = "bakeoff-leaderboard"
CHARTS = "bakeoff-charts"
KIND_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""The page of such an experiment is that of model training; by default it is that of language models."""
GROUPS = ("dataset", "learner")
"""Params whose values every view shows."""
FIT_SECONDS = "time/fit"
IS_JOB = "tags.config_hash != ''"
"""Selects the runs that evaluate a job: not comparisons, and not runs of other programs."""
IS_FINISHED = "attributes.status = 'FINISHED'"
"""A run that failed or was stopped has means over some folds only, and would be ranked by them."""
VERSION_TIMEOUT_SECONDS = 5
TRAINING_MODE = "workflowType=machine_learning"
"""Shows the menus for model training, not those for language models."""
LEADERBOARD_QUERY = f"viewStateShareKey={LEADERBOARD}&{TRAINING_MODE}"
CHARTS_QUERY = f"viewStateShareKey={CHARTS}&{TRAINING_MODE}&compareRunsMode=CHART"
"""The ends of the addresses that open on the views; a saved view does not hold whether it is a table or charts."""
KNOWN_VERSIONS = ((3, 15), (3, 16), (3, 17), (3, 18))
"""Versions of MLflow whose pages were seen to read the views in a browser (3.15.2, 3.16.1, 3.17.2 and 3.18.0).

3.15 is the first that has a menu of views, and a test holds the version that is installed.
"""
TAG_PREFIX = "mlflow.sharedViewState."
STATE_PREFIX = "deflate;"
"""Tells MLflow's pages that the state is compressed by zlib and written in base64."""
MAX_LOADED_RUNS = 100
"""The runs that MLflow's page loads at first, and that its charts show."""
MIN_COLUMN_PIXELS = 130
PIXELS_PER_LETTER = 8.5
COLUMN_PADDING_PIXELS = 30
CARD_HEIGHT_PIXELS = 420
HIDDEN_SECTION = "bakeoff-hidden"


@dataclass(frozen=True)
class WrittenViews:
    """Whether views were written, with sentences on reasons and omissions."""

    has_views: bool
    notes: tuple[str, ...] = ()


@dataclass
class ShownRuns:
    """The runs that the views show.

    Attributes
    ----------
    sweep : str or None
        The name of the sweep; None if the store has only single runs.
    query : str
        Selects the runs of the sweep, or of all jobs if there is no sweep, in MLflow's filter language.
    notes : list of str
        Sentences on omissions of the views.
    runs : list of mlflow.entities.Run
        The newest runs and, if the page does not load all at once, the oldest: what varies slowest over a sweep differs
        between its first and its last runs, so the others need not be read.
    is_complete : bool
        Whether the page loads all runs of the sweep at once.
    headlines : tuple of str
        The headline scores of the runs, that of the newest run first.
    is_greater_better : bool
        Whether greater values of the first headline score are better.
    """

    sweep: str | None
    query: str
    notes: list[str]
    runs: list[Any] = field(default_factory=list)
    is_complete: bool = True
    headlines: tuple[str, ...] = ()
    is_greater_better: bool = True

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The dataset and learner of each run, once."""
        return list(dict.fromkeys(tuple(run.data.params.get(key, "") for key in GROUPS) for run in self.runs))

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics."""
        return list(dict.fromkeys(metric for run in self.runs for metric in run.data.metrics))


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
    if not shown.headlines:
        return WrittenViews(False, ("No run of the experiment has a score yet, so no views were written.",))
    tags = dict(KIND_TAGS)
    now = time.time_ns() // 1_000_000
    for position, (key, name, state) in enumerate(make_views(shown)):
        # The menu lists the newest view first.
        tags[f"{TAG_PREFIX}{key}"] = encode_view(name, state, now - position)
    try:
        for key, value in tags.items():
            store.client.set_experiment_tag(store.experiment_id, key, value)
    except (MlflowException, StoreError) as error:
        reason = str(error).splitlines()[0]
        return WrittenViews(False, (f"The views could not be written: {reason}",))
    return WrittenViews(True, tuple(shown.notes))


def make_views(shown: ShownRuns) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the key, the name and the state of each view, in the order of the menu."""
    varying = () if shown.sweep is None else find_varying_params(shown.runs)
    columns = _choose_columns(shown, varying)
    best_first = (columns, name_metric(shown.headlines[0]), not shown.is_greater_better)
    views = [(LEADERBOARD, "Leaderboard", make_table_state(f"{IS_FINISHED} AND {IS_JOB}", *best_first))]
    if shown.sweep is not None:
        # Here the runs that failed are shown as well, with their mark: they are a part of what the sweep did.
        views.append(("bakeoff-last-sweep", "Last sweep", make_table_state(shown.query, *best_first)))
    # Charts show the runs that are loaded. If these were the best of many, the means of learners would be too good.
    newest_first = (columns, "attributes.start_time", False)
    order = best_first if shown.is_complete else newest_first
    flat = make_table_state(f"{IS_FINISHED} AND {shown.query}", *order)
    by_learner: dict[str, list[dict[str, Any]]] = {}
    by_run: dict[str, list[dict[str, Any]]] = {}
    for headline in shown.headlines:
        bars = make_card("BAR", metricKey=headline, runsCountToCompare=MAX_LOADED_RUNS)
        axes = {axis: {"key": key, "type": "METRIC"} for axis, key in (("xaxis", FIT_SECONDS), ("yaxis", headline))}
        points = make_card("SCATTER", **axes, runsCountToCompare=MAX_LOADED_RUNS)
        params = [*GROUPS, *varying]
        plot = make_card("PARALLEL", selectedParams=params, selectedMetrics=[headline], showAllRuns=True)
        by_learner[f"{headline} by learner (means over runs)"] = [bars, points]
        by_run[f"{headline} by what varies"] = [plot]
        by_run[f"{headline} by fit time"] = [points]
    # Scores of different datasets are never averaged.
    has_datasets = len({dataset for dataset, _ in shown.groups}) > 1
    n_skipped = 0 if has_datasets else 1
    grouped = group_runs(flat, GROUPS[n_skipped:], [group[n_skipped:] for group in shown.groups])
    views.append((CHARTS, "Charts", add_charts(grouped, by_learner, shown.metrics)))
    # A parallel plot shows no runs that are grouped by text, so this one has a view of its own.
    views.append(("bakeoff-what-varies", "What varies", add_charts(flat, by_run, shown.metrics)))
    return views


def explain_unreadable(uri: str) -> str:
    """Return a sentence on why the pages of a store would not read the views; empty if they do.

    Parameters
    ----------
    uri : str
        A server is asked for its version; the pages of any other store are served by the MLflow that is installed.
    """
    from mlflow import version as installed

    version = _ask_version(uri) if is_server(uri) else str(installed.VERSION)
    if not version:
        return f"{hide_secrets(uri)} does not say which version of MLflow it is, so no views were written."
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers in KNOWN_VERSIONS:
        return ""
    known = ", ".join(".".join(map(str, numbers)) for numbers in KNOWN_VERSIONS)
    return f"MLflow {version} is not known to read the views (these are: {known}), so none were written."


def read_shown_runs(store: Store, sweep: str | None = None) -> ShownRuns:
    """Read the runs for the views from the store; there are no headlines if no run has a score.

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
    shown = ShownRuns(None, IS_JOB, notes)
    if record is not None:
        shown.sweep = record.name
        shown.query = _select_sweep(store, record, notes)
    shown.runs = _search_runs(store, shown.query)
    shown.is_complete = len(shown.runs) < MAX_LOADED_RUNS
    if not shown.is_complete:
        shown.runs += _search_runs(store, shown.query, "start_time ASC")
        notes.append(
            f"MLflow's charts show the newest {MAX_LOADED_RUNS} runs of the sweep until *Load more* is pressed."
        )
    # A sweep that has just started has no scores yet, while the leaderboard shows those of earlier runs.
    for runs in (shown.runs, _search_runs(store, IS_JOB)):
        scored = {id(run): find_headline(run.data.params, run.data.metrics) for run in runs}
        newest = next((run for run in runs if scored[id(run)]), None)
        if newest is not None:
            shown.headlines = tuple(dict.fromkeys(name for name in scored.values() if name is not None))
            shown.is_greater_better = is_greater_better(shown.headlines[0], newest.data.params)
            break
    return shown


def find_varying_params(runs: Sequence[Any]) -> tuple[str, ...]:
    """Return the params that the command line of a sweep varied, in its order, other than dataset and learner.

    Parameters
    ----------
    runs : sequence of Run
        As MLflow returns them.
    """
    params = {param for run in runs for param in run.data.params}
    words_by_key: dict[str, list[str]] = {}
    for run in runs:
        for word in _read_overrides(run.data.tags):
            words_by_key.setdefault(word.lstrip("+~").split("=")[0], []).append(word)
    # A key that only some of the jobs have, such as that of one learner, varies as well.
    return tuple(
        key
        for key, words in words_by_key.items()
        if (len(set(words)) > 1 or len(words) < len(runs)) and key in params and key not in GROUPS
    )


def _find_sweep(store: Store, name: str | None) -> tuple[SweepRecord | None, list[str]]:
    """Return the sweep of a name, or the newest one, and notes on unknown parts; None if there is no sweep yet."""
    known: list[str] = []
    notes = []
    try:
        record = read_latest_sweep(store) if name is None else read_sweep_record(store, name)
        known = list_sweeps(store) if record is None else []
    except Exception as error:  # each kind of artifact store has errors of its own, such as for missing rights
        tagged = _search_runs(store, "tags.sweep != ''" if name is None else _match_sweep(name))
        record = SweepRecord(tagged[0].data.tags["sweep"], ()) if tagged else None
        notes = [f"The list of the jobs of the sweep cannot be read ({error}), so runs done before it are not shown."]
    if record is None and name is not None:
        names = {run.data.tags["sweep"] for run in _search_runs(store, "tags.sweep != ''")}
        raise UserError(f"ui: there is no sweep={name!r} in {store.uri}. {did_you_mean(name, names.union(known))}")
    return record, notes


def _select_sweep(store: Store, record: SweepRecord, notes: list[str]) -> str:
    """Return a query for the runs of a sweep, and note its omissions.

    Jobs that were done before the sweep have runs with the tag of an earlier sweep. The filter language has no "or", so
    then all runs are listed by their ids.
    """
    query = _match_sweep(record.name)
    if len(record.jobs) > MAX_LOADED_RUNS:
        notes.append(
            f"*Last sweep* shows the runs that the sweep started; of its {len(record.jobs)} jobs, those that were done "
            "before it have runs with the tag of an earlier sweep."
        )
        return query
    tagged = _search_runs(store, query)
    earlier = find_earlier_runs(store, record, tagged)
    if not earlier:
        return query
    ids = [run.info.run_id for run in tagged] + earlier
    return f"attributes.run_id IN ({', '.join(repr(run_id) for run_id in ids)})"


def _match_sweep(name: str) -> str:
    # The filter language has two quotation marks and no escape.
    mark = '"' if "'" in name else "'"
    return f"tags.sweep = {mark}{name}{mark}"


def _search_runs(store: Store, query: str, order: str = "start_time DESC") -> list[Any]:
    return list(search_runs(store, query, MAX_LOADED_RUNS, order_by=[order]))


def _read_overrides(tags: Mapping[str, str]) -> list[str]:
    try:
        return list(json.loads(tags.get("overrides", "[]")))
    except ValueError:  # cut, because it was longer than a tag may be
        return []


def _choose_columns(shown: ShownRuns, varying: Sequence[str]) -> dict[str, int]:
    """Return the columns of a table, and how many letters each shows."""
    columns = {
        name_param(param): max((len(group[position]) for group in shown.groups), default=len(param))
        for position, param in enumerate(GROUPS)
    }
    columns |= {name_param(param): len(param) for param in varying}
    for headline in shown.headlines:
        names = (headline, f"{headline}_std")
        columns |= {name_metric(name): len(name) for name in names if name in shown.metrics or name == headline}
    return columns | {name_metric(FIT_SECONDS): len(FIT_SECONDS)}


def _ask_version(uri: str) -> str:
    """Return the version of a server; empty if it does not answer."""
    from mlflow.exceptions import MlflowException
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request
    from requests import RequestException

    credentials = get_default_host_creds(uri)
    ask = partial(http_request, credentials, "/version", "GET", max_retries=0, timeout=VERSION_TIMEOUT_SECONDS)
    try:
        answer = LimitedCalls(uri).call(ask, seconds=VERSION_TIMEOUT_SECONDS)
    except (MlflowException, RequestException, StoreError):
        return ""
    is_version = answer.ok and re.fullmatch(r"\d+\.\d+\S*", answer.text.strip()) is not None
    return answer.text.strip() if is_version else ""


def encode_view(name: str, state: Mapping[str, Any], milliseconds: int) -> str:
    """Return the value of the tag of a view.

    Parameters
    ----------
    name : str
        The entry of the menu *Views*.
    state : mapping
        From `make_table_state`.
    milliseconds : int
        When the view was created, since 1970. The menu lists the newest view first.
    """
    compact = json.dumps(state, separators=(",", ":"))
    compressed = base64.b64encode(zlib.compress(compact.encode(), level=9)).decode()
    times = {"createdAt": milliseconds, "updatedAt": milliseconds}
    return json.dumps({"name": name, **times, "state": f"{STATE_PREFIX}{compressed}"})


def name_metric(name: str) -> str:
    """Return the page's name for the column of a metric.

    Examples
    --------
    >>> name_metric("time/fit")
    'metrics.`time/fit`'
    """
    return f"metrics.`{name}`"


def name_param(name: str) -> str:
    """Return the page's name for the column of a param."""
    return f"params.`{name}`"


def make_table_state(query: str, columns: Mapping[str, int], order_by: str, ascending: bool) -> dict[str, Any]:
    """Return the state of the page for a table of runs.

    Parameters
    ----------
    query : str
        Selects the runs, in MLflow's filter language.
    columns : mapping of str to int
        From `name_metric` and `name_param`, in order, with the number of letters that each shows.
    order_by : str
        A column.
    ascending : bool
    """
    return {
        "searchFilter": query,
        "orderByKey": order_by,
        "orderByAsc": ascending,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "columnOrder": list(columns),
        "columnWidths": {
            column: max(MIN_COLUMN_PIXELS, round(PIXELS_PER_LETTER * n_letters) + COLUMN_PADDING_PIXELS)
            for column, n_letters in columns.items()
        },
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


def make_card(kind: str, **settings: Any) -> dict[str, Any]:
    """Return a chart of a kind such as ``BAR``, with the page's settings of it."""
    return {"type": kind, "deleted": False, "isGenerated": False, **settings}


def add_charts(
    state: Mapping[str, Any], sections: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str]
) -> dict[str, Any]:
    """Return a state with charts.

    Parameters
    ----------
    state : mapping
        From `make_table_state`.
    sections : mapping of str to sequence of mapping
        Heading -> the charts beside each other, from `make_card`.
    metrics : sequence of str
        The metrics of the runs. The page adds a chart for each metric that has none, so each gets one that is hidden.
    """
    cards: list[dict[str, Any]] = []
    headings: list[dict[str, Any]] = []
    for number, (name, section_cards) in enumerate(sections.items()):
        key = f"bakeoff-section-{number}"
        size = {"columns": len(section_cards), "cardHeight": CARD_HEIGHT_PIXELS}
        flags = {"display": True, "isReordered": True, "deleted": False, "isGenerated": False}
        headings.append({"uuid": key, "name": name, **flags, **size})
        for position, card in enumerate(section_cards):
            cards.append({**card, "uuid": f"{key}-{position}", "metricSectionId": key})
    shown = {card.get("metricKey") for card in cards}
    for metric in metrics:
        if metric not in shown:
            hidden = {"metricKey": metric, "metricSectionId": HIDDEN_SECTION, "deleted": True, "isGenerated": True}
            cards.append(make_card("BAR", uuid=f"bakeoff-hidden-{metric}") | hidden)
    return {**state, "compareRunCharts": cards, "compareRunSections": headings, "isAccordionReordered": True}


def group_runs(state: Mapping[str, Any], params: Sequence[str], values: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a state whose runs are grouped, with means over each group in tables and charts.

    Parameters
    ----------
    state : mapping
    params : sequence of str
        The runs of a group have the same values of these.
    values : sequence of sequence of str
        The values of each group, which is shown folded.
    """
    keys = [{"mode": "param", "groupByData": param} for param in params]
    group_by = {"aggregateFunction": "average", "groupByKeys": keys}
    names = [",".join(f"param.{param}.{value}" for param, value in zip(params, group, strict=True)) for group in values]
    return {**state, "groupBy": group_by, "groupsExpanded": dict.fromkeys(names, False)}
