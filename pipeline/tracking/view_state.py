"""Saved views of MLflow's page of runs, in the format in which that page stores and reads them.

A saved view is a tag of the experiment: JSON with a name and the state of the page, the latter compressed. The format
is MLflow's own: ``ExperimentPageUIState``, ``savedViewEnvelope`` and ``runs-charts.types`` in the source of its pages
(``mlflow/server/js/src/experiment-tracking/components``). It is known to be read by `KNOWN_VERSIONS`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

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
    names = [[f"param.{param}.{value}" for param, value in zip(params, group, strict=True)] for group in values]
    group_by = {"aggregateFunction": "average", "groupByKeys": keys}
    return {**state, "groupBy": group_by, "groupsExpanded": {",".join(words): False for words in names}}
