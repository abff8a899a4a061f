"""A comparison as one HTML file that holds everything it needs: no network, no other file, no script that must run.

The template is in ``template``; `reports.tables` and `pictures` prepare what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.page.pictures import (
    Picture,
    draw_costs,
    draw_folds,
    draw_posterior_bars,
    draw_ranks,
)
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.pairs import tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.tables.html import render_template
from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.text.numbers import equate_p, format_statistic

TEMPLATE = Path(__file__).parent / "template" / "page.html"
MAX_OPEN_NOTES = 5
"""More notes are folded."""
MAX_OPEN_PANELS = 12
"""Pictures with more panels are folded, so that the page can be read from top to bottom."""
MAX_OPEN_PAIRS = 15
MAX_LISTED_PAIRS = 1500
"""With more pairs in all, only those with the best are listed, unless all are asked for."""
MAX_COLUMN_DATASETS = 7
"""With more datasets, they are the rows of the table of scores."""


@dataclass(frozen=True)
class Block:
    """What the page shows by one metric.

    Attributes
    ----------
    result : MetricResult
    label : str
        The metric in words.
    direction : str
        Whether higher or lower is better.
    rope : str
        The half width of the region of practical equivalence.
    scores : Table
    ranks, folds, costs_picture, posteriors : Picture or None
    costs : Table or None
    overall_pairs : Table or None
    pairs : sequence of (str, Table)
        Dataset and its pairs.
    """

    result: MetricResult
    label: str
    direction: str
    rope: str
    scores: Table
    ranks: Picture | None
    folds: Picture | None
    costs_picture: Picture | None
    costs: Table | None
    posteriors: Picture | None
    overall_pairs: Table | None
    pairs: Sequence[tuple[str, Table]]


def render_page(comparison: Comparison) -> str:
    """Return the HTML page of a comparison.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        Equal comparisons give equal pages, byte for byte.
    """
    blocks = [_make_block(comparison, result) for result in comparison.results]
    values = {
        "comparison": comparison,
        "settings": comparison.settings,
        "blocks": blocks,
        "empty_cells": tables.list_empty_cells(comparison),
        "sections": _list_sections(blocks),
        "created": _describe_time(comparison.created),
        "configurations": list(tables.describe_configurations(comparison)),
        "choices": tables.tabulate_choices(comparison),
        "others": tables.tabulate_members(comparison, comparison.results[0]),
        "datasets": tables.tabulate_datasets(comparison),
        "max_open_notes": MAX_OPEN_NOTES,
        "max_open_panels": MAX_OPEN_PANELS,
        "max_open_pairs": MAX_OPEN_PAIRS,
    }
    return render_template(TEMPLATE, values, {"p_value": equate_p, "statistic": format_statistic})


def _list_sections(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    """Return anchor and title of each section of the page."""
    first = blocks[0]
    sections = {
        "scores": "Scores",
        "ranks": "Ranks" if first.result.overall else "",
        "folds": "Folds" if first.folds else "",
        "posteriors": "Better or equivalent" if first.posteriors else "",
        "costs": "Cost" if first.costs else "",
        "pairs": "Pairs" if first.pairs or first.overall_pairs else "",
        "metrics": "Other metrics" if len(blocks) > 1 else "",
        "configurations": "Configurations",
        "datasets": "Datasets",
        "repeat": "How to repeat it",
        "methods": "Methods",
    }
    return [(anchor, title) for anchor, title in sections.items() if title]


def _describe_time(created: str) -> str:
    """Return a time in UTC to the minute.

    Examples
    --------
    >>> _describe_time("2026-11-21T12:00:41Z")
    '2026-11-21 12:00 UTC'
    """
    return f"{created[:16].replace('T', ' ')} UTC"


def _make_block(comparison: Comparison, result: MetricResult) -> Block:
    """Return the tables and pictures by one metric."""
    metric = comparison.find_metric(result.metric)
    n_pairs = sum(len(dataset.pairs) for dataset in result.datasets)
    shows_all = comparison.settings.all_pairs or n_pairs <= MAX_LISTED_PAIRS
    overall = result.overall
    # Time is a metric like others, but has no time of its own to be set against.
    is_first = result is comparison.results[0]
    return Block(
        result=result,
        label=metric.label,
        direction=f"{metric.direction} is better",
        rope=tables.describe_rope(metric),
        scores=_tabulate_scores(comparison, result),
        ranks=draw_ranks(comparison, result),
        folds=draw_folds(comparison, result),
        costs_picture=draw_costs(comparison, result) if is_first else None,
        costs=tables.tabulate_costs(comparison, result) if is_first else None,
        posteriors=draw_posterior_bars(comparison, result),
        overall_pairs=tabulate_overall_pairs(overall, shows_all=True) if overall and overall.pairs else None,
        pairs=[
            (dataset.dataset, tabulate_pairs(dataset, shows_all=shows_all))
            for dataset in result.datasets
            if dataset.pairs
        ],
    )


def _tabulate_scores(comparison: Comparison, result: MetricResult) -> Table:
    """Return the table of scores, with a row for each dataset if there are many."""
    table = tables.tabulate_scores(comparison, result)
    if len(comparison.datasets) <= MAX_COLUMN_DATASETS:
        return table
    return table.transpose("dataset", tables.N_SUMMARY_COLUMNS)
