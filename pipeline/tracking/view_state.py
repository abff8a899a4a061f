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
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class SavedView:
    """A view of the page of runs.

    Attributes
    ----------
    key : str
        Identifies the view: writing it again replaces it.
    name : str
        The entry of the menu *Views*.
    state : mapping
        From `make_table_state`.
    """

    key: str
    name: str
    state: Mapping[str, Any]

    def encode(self, milliseconds: int) -> str:
        """Return the value of the tag.

        Parameters
        ----------
        milliseconds : int
            When the view was created, since 1970. The menu lists the newest view first.
        """
        compact = json.dumps(self.state, separators=(",", ":"))
        compressed = base64.b64encode(zlib.compress(compact.encode(), level=9)).decode()
        envelope = {
            "name": self.name,
            "createdAt": milliseconds,
            "updatedAt": milliseconds,
            "state": f"{STATE_PREFIX}{compressed}",
        }
        return json.dumps(envelope)


@dataclass(frozen=True)
class Section:
    """A section of charts, one below the other.

    Attributes
    ----------
    name : str
        Its heading.
    cards : tuple of mapping
        From `make_bars`, `make_scatter` or `make_parallel_plot`.
    n_columns : int
        The number of charts beside each other.
    """

    name: str
    cards: tuple[Mapping[str, Any], ...] = field(default=())
    n_columns: int = 1


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
        "columnWidths": {column: _measure_width(n_letters) for column, n_letters in columns.items()},
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


def add_charts(state: Mapping[str, Any], sections: Sequence[Section], metrics: Sequence[str]) -> dict[str, Any]:
    """Return a state with charts.

    Parameters
    ----------
    state : mapping
        From `make_table_state`.
    sections : sequence of Section
    metrics : sequence of str
        The metrics of the runs. The page adds a chart for each metric that has none, so each gets one that is hidden.
    """
    cards: list[dict[str, Any]] = []
    headings: list[dict[str, Any]] = []
    for number, section in enumerate(sections):
        section_key = f"bakeoff-section-{number}"
        headings.append(_make_heading(section_key, section))
        for position, card in enumerate(section.cards):
            cards.append({**card, "uuid": f"{section_key}-{position}", "metricSectionId": section_key})
    shown = {card.get("metricKey") for card in cards}
    cards += [_make_hidden_card(name) for name in metrics if name not in shown]
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
    folded = {}
    for group in values:
        words = [f"param.{param}.{value}" for param, value in zip(params, group, strict=True)]
        folded[",".join(words)] = False
    group_by = {"aggregateFunction": "average", "groupByKeys": keys}
    return {**state, "groupBy": group_by, "groupsExpanded": folded}


def make_bars(metric: str, max_bars: int) -> dict[str, Any]:
    """Return a chart with a bar for each run or group."""
    return _make_card("BAR", metricKey=metric, runsCountToCompare=max_bars)


def make_scatter(x: str, y: str, max_points: int) -> dict[str, Any]:
    """Return a chart of two metrics with a point for each run or group."""
    return _make_card(
        "SCATTER",
        xaxis={"key": x, "type": "METRIC"},
        yaxis={"key": y, "type": "METRIC"},
        runsCountToCompare=max_points,
    )


def make_parallel_plot(params: Sequence[str], metrics: Sequence[str]) -> dict[str, Any]:
    """Return a chart with an axis for each param and metric, and a line for each run."""
    return _make_card("PARALLEL", selectedParams=list(params), selectedMetrics=list(metrics), showAllRuns=True)


def _make_card(kind: str, **settings: Any) -> dict[str, Any]:
    return {"type": kind, "deleted": False, "isGenerated": False, **settings}


def _make_hidden_card(metric: str) -> dict[str, Any]:
    return {
        "type": "BAR",
        "uuid": f"bakeoff-hidden-{metric}",
        "metricKey": metric,
        "metricSectionId": HIDDEN_SECTION,
        "deleted": True,
        "isGenerated": True,
    }


def _make_heading(key: str, section: Section) -> dict[str, Any]:
    return {
        "uuid": key,
        "name": section.name,
        "display": True,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
        "columns": section.n_columns,
        "cardHeight": CARD_HEIGHT_PIXELS,
    }


def _measure_width(n_letters: int) -> int:
    """Return the width of a column in pixels."""
    return max(MIN_COLUMN_PIXELS, round(PIXELS_PER_LETTER * n_letters) + COLUMN_PADDING_PIXELS)
