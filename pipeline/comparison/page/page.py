"""A comparison as one HTML file that holds everything it needs: no network, no other file, no script that must run.

The template is in ``template``; `tables` and `pictures` prepare what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.page.entries import Table
from bakeoff.pipeline.comparison.page.numbers import format_p, format_rope
from bakeoff.pipeline.comparison.page.pairs import list_pairs_to_show, tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.comparison.page.pictures import (
    Picture,
    draw_costs,
    draw_folds,
    draw_map,
    draw_posterior_bars,
    draw_probabilities,
    draw_ranks,
)
from bakeoff.pipeline.comparison.page.tables import (
    list_empty_cells,
    tabulate_choices,
    tabulate_configurations,
    tabulate_costs,
    tabulate_datasets,
    tabulate_others,
    tabulate_scores,
)
from bakeoff.pipeline.tables.html import render_template

TEMPLATE = Path(__file__).parent / "template" / "page.html"
MAX_OPEN_NOTES = 5
"""More notes are folded."""
MAX_OPEN_PANELS = 12
"""Pictures with more panels are folded, so that the page can be read from top to bottom."""
MAX_OPEN_PAIRS = 15
MAX_CURVE_DATASETS = 20
"""Of more datasets, the ROC and calibration curves are left out: a page must stay small enough to be sent."""


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
    map, ranks, folds, costs_picture, posteriors : Picture or None
    costs : Table or None
    overall_pairs : Table or None
    pairs : sequence of (str, Table)
        Dataset and its pairs.
    pairs_note : str
        Which pairs are missing; empty if all are there.
    """

    result: MetricResult
    label: str
    direction: str
    rope: str
    scores: Table
    map: Picture | None
    ranks: Picture | None
    folds: Picture | None
    costs_picture: Picture | None
    costs: Table | None
    posteriors: Picture | None
    overall_pairs: Table | None
    pairs: Sequence[tuple[str, Table]]
    pairs_note: str


def render_page(comparison: Comparison) -> str:
    """Return the HTML page of a comparison.

    Parameters
    ----------
    comparison : Comparison
        Cells with predictions of two classes are shown with ROC and calibration curves.

    Returns
    -------
    str
        Equal comparisons give equal pages, byte for byte.
    """
    blocks = [_make_block(comparison, result) for result in comparison.results]
    has_curves = len(comparison.datasets) <= MAX_CURVE_DATASETS
    probabilities = draw_probabilities(comparison) if has_curves else []
    values = {
        "comparison": comparison,
        "settings": comparison.settings,
        "blocks": blocks,
        "empty_cells": list_empty_cells(comparison),
        "probabilities": probabilities,
        "sections": _list_sections(blocks, bool(probabilities)),
        "created": _describe_time(comparison.created),
        "configurations": tabulate_configurations(comparison),
        "choices": tabulate_choices(comparison),
        "others": tabulate_others(comparison, comparison.results[0]),
        "datasets": tabulate_datasets(comparison),
        "max_curve_datasets": MAX_CURVE_DATASETS,
        "max_open_notes": MAX_OPEN_NOTES,
        "max_open_panels": MAX_OPEN_PANELS,
        "max_open_pairs": MAX_OPEN_PAIRS,
    }
    return render_template(TEMPLATE, values, {"p_value": format_p})


def _list_sections(blocks: Sequence[Block], has_probabilities: bool) -> list[tuple[str, str]]:
    """Return anchor and title of each section of the page."""
    first = blocks[0]
    sections = {
        "scores": "Scores",
        "ranks": "Ranks" if first.result.overall else "",
        "folds": "Folds" if first.folds else "",
        "posteriors": "Better or equivalent" if first.posteriors else "",
        "costs": "Cost" if first.costs else "",
        "probabilities": "ROC and calibration" if has_probabilities else "",
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
    shown, pairs_note = list_pairs_to_show(comparison, result)
    # Time is a metric like others, but has no time of its own to be set against.
    is_first = result is comparison.results[0]
    return Block(
        result=result,
        label=metric.label,
        direction="higher is better" if metric.greater_is_better else "lower is better",
        rope=format_rope(metric.rope, metric.is_rope_relative),
        scores=tabulate_scores(comparison, result),
        map=draw_map(comparison, result) if is_first else None,
        ranks=draw_ranks(comparison, result),
        folds=draw_folds(comparison, result),
        costs_picture=draw_costs(comparison, result) if is_first else None,
        costs=tabulate_costs(comparison, result) if is_first else None,
        posteriors=draw_posterior_bars(comparison, result),
        overall_pairs=tabulate_overall_pairs(result),
        pairs=[(dataset, tabulate_pairs(pairs)) for dataset, pairs in shown],
        pairs_note=pairs_note,
    )
