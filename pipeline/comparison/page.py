"""A comparison as a self-contained HTML file that works offline and without scripts.

The template is `page.html`; its tables come from `report_tables`, and its pictures are drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.pipeline.comparison import report_tables as tables
from bakeoff.pipeline.comparison.comparison import Cell, Comparison, DatasetResult, MetricResult
from bakeoff.pipeline.comparison.pair_tables import find_posterior, tabulate_overall_pairs, tabulate_pairs
from bakeoff.pipeline.comparison.report_tables import describe_rope
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.text.numbers import equate_p, format_statistic

MAX_DRAWN_CONFIGURATIONS = 20
"""Maximum number of configurations in panels with a row for each; the tables contain all of them."""
MAX_PAGE_INCHES = 12


@dataclass(frozen=True)
class Picture:
    """A picture for the page.

    Attributes
    ----------
    svg : str
        An SVG element, inserted unchanged.
    caption : str
    n_panels : int
    is_wide : bool
        Whether the picture keeps its size and is scrolled, because it would be illegible in the width of a page.
    """

    svg: str
    caption: str
    n_panels: int = 1
    is_wide: bool = False


def _render(
    comparison: Comparison, result: MetricResult, kind: str, figure: Any, caption: str, n_panels: int = 1
) -> Picture:
    """Return the picture of a kind, under a name that no other picture of the page has."""
    from bakeoff.pipeline.figures.svg import render_svg

    svg = render_svg(figure, f"{kind}-{comparison.results.index(result)}", caption)
    return Picture(svg, caption, n_panels, figure.get_figwidth() > MAX_PAGE_INCHES)


def write_picture_files(comparison: Comparison) -> dict[str, str]:
    """Return the pictures for the first metric as SVG files, for papers and slides.

    Returns
    -------
    dict of str to str
        File name -> content; without pictures that lack numbers.
    """
    from bakeoff.pipeline.figures.svg import fix_colours

    result = comparison.results[0]
    pictures = {
        "critical_difference.svg": draw_ranks(comparison, result),
        "fold_scores.svg": draw_folds(comparison, result),
        "posteriors.svg": draw_posterior_bars(comparison, result),
        "score_and_time.svg": draw_costs(comparison, result),
    }
    return {name: fix_colours(picture.svg) for name, picture in pictures.items() if picture is not None}


def draw_ranks(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the critical-difference diagram; None if mean ranks were not tested."""
    from bakeoff.pipeline.figures.comparison import draw_critical_difference

    overall = result.overall
    if overall is None or len(overall.mean_ranks) < 2 or not math.isfinite(overall.critical_difference):
        return None
    names = list(overall.mean_ranks)
    figure = draw_critical_difference(
        names,
        list(overall.mean_ranks.values()),
        [[names.index(member) for member in group] for group in overall.groups],
        critical_difference=overall.critical_difference,
        note=f"Nemenyi, α = {comparison.settings.alpha:g}",
    )
    caption = f"Mean ranks by {comparison.find_metric(result.metric).label} over {len(overall.datasets)} datasets."
    if overall.groups:
        caption += " Configurations joined by a bar are not told apart."
    else:
        caption += " All neighbours are told apart."
    return _render(comparison, result, "ranks", figure, caption)


def draw_folds(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the scores of folds; None if there are no scores."""
    from bakeoff.pipeline.figures.comparison import MAX_POINTS, draw_fold_scores

    metric = comparison.find_metric(result.metric)
    names, left_out = _choose_names([configuration.name for configuration in comparison.configurations])
    shown = [dataset for dataset in result.datasets if dataset.summaries]
    if not shown:
        return None
    datasets = [dataset.dataset for dataset in shown]
    scores = [[_get_scores(comparison.find_cell(name, dataset), metric.name) for name in names] for dataset in datasets]
    best = [_find_best(dataset, names) for dataset in shown]
    figure = draw_fold_scores(datasets, names, scores, best)
    n_scores = sum(len(cell) for row in scores for cell in row)
    dots = " (dots)" if n_scores <= MAX_POINTS else ""
    caption = (
        f"{metric.label.capitalize()} of each fold{dots}, their mean (diamond) and standard deviation (line); the best "
        "mean is blue."
    )
    if len(datasets) > 1:
        caption += " Each dataset has a scale of its own."
    return _render(comparison, result, "folds", figure, caption + left_out, len(datasets))


def _find_best(dataset: DatasetResult, names: Sequence[str]) -> set[int]:
    """Return the positions of the names marked as best on a dataset."""
    return {names.index(row.configuration) for row in dataset.summaries if row.is_best and row.configuration in names}


def _choose_names(names: list[str]) -> tuple[list[str], str]:
    """Return the names to draw, and a sentence about the others."""
    if len(names) <= MAX_DRAWN_CONFIGURATIONS:
        return names, ""
    kept = names[:MAX_DRAWN_CONFIGURATIONS]
    return kept, f" The first {len(kept)} of {len(names)} configurations are drawn."


def _get_scores(cell: Cell, metric: str) -> np.ndarray:
    return np.array(cell.scores.get(metric, ()), dtype=float)


def draw_costs(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the scores against fitting and predicting time; None if no times are stored."""
    from bakeoff.pipeline.figures.comparison import draw_pareto

    metric = comparison.find_metric(result.metric)
    points = result.pareto
    scores = np.array([point.score for point in points])
    seconds = np.array([point.fit_seconds + point.predict_seconds for point in points])
    if not (np.isfinite(scores) & np.isfinite(seconds) & (seconds > 0)).any():
        return None
    many = len(comparison.datasets) > 1
    figure = draw_pareto(
        [point.configuration for point in points],
        scores,
        seconds,
        [point.is_efficient for point in points],
        score_label=f"mean {metric.label} over datasets" if many else metric.label,
        seconds_label="time to fit and predict one fold",
        greater_is_better=metric.greater_is_better,
    )
    caption = (
        f"{metric.label.capitalize()} against time. The line joins the Pareto front: no other configuration is both "
        "better and faster."
    )
    return _render(comparison, result, "costs", figure, caption)


def draw_posterior_bars(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the posteriors in comparison with the base; None if there are none."""
    from bakeoff.pipeline.figures.comparison import draw_posteriors

    base = comparison.settings.base
    names, left_out = _choose_names([row.name for row in comparison.configurations if row.name != base])
    datasets = [dataset for dataset in result.datasets if dataset.pairs and dataset.base]
    if not names or not datasets:
        return None
    # "Better" is first in the table of scores, and on the right in the picture.
    posteriors = np.array([[find_posterior(dataset, name)[::-1] for name in names] for dataset in datasets])
    if not np.isfinite(posteriors).any():
        return None
    figure = draw_posteriors([dataset.dataset for dataset in datasets], names, posteriors)
    metric = comparison.find_metric(result.metric)
    rope = describe_rope(metric)
    caption = (
        f"The probability that a configuration is worse than {base}, equivalent to it (a difference below {rope}), "
        "or better, after these folds."
    )
    return _render(comparison, result, "posteriors", figure, caption + left_out, len(datasets))


TEMPLATE = Path(__file__).parent / "page.html"
MAX_OPEN_NOTES = 5
"""Maximum number of notes that are not folded."""
MAX_OPEN_PANELS = 12
"""Pictures with more panels are folded, so that the page can be read from top to bottom."""
MAX_OPEN_PAIRS = 15
MAX_LISTED_PAIRS = 1500
"""With more pairs in all, only those with the best are listed, unless all are asked for."""
MAX_COLUMN_DATASETS = 7
"""With more datasets, they are the rows of the table of scores."""


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


def _list_sections(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return anchor and title of each section of the page."""
    first = blocks[0]
    sections = {
        "scores": "Scores",
        "ranks": "Ranks" if first["result"].overall else "",
        "folds": "Folds" if first["folds"] else "",
        "posteriors": "Better or equivalent" if first["posteriors"] else "",
        "costs": "Cost" if first["costs"] else "",
        "pairs": "Pairs" if first["pairs"] or first["overall_pairs"] else "",
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


def _make_block(comparison: Comparison, result: MetricResult) -> dict[str, Any]:
    """Return the tables and pictures for one metric."""
    metric = comparison.find_metric(result.metric)
    n_pairs = sum(len(dataset.pairs) for dataset in result.datasets)
    shows_all = comparison.settings.all_pairs or n_pairs <= MAX_LISTED_PAIRS
    overall = result.overall
    # Time is a metric like others, but is not plotted against itself.
    is_first = result is comparison.results[0]
    return {
        "result": result,
        "label": metric.label,
        "direction": f"{metric.direction} is better",
        "rope": tables.describe_rope(metric),
        "scores": _tabulate_scores(comparison, result),
        "ranks": draw_ranks(comparison, result),
        "folds": draw_folds(comparison, result),
        "costs_picture": draw_costs(comparison, result) if is_first else None,
        "costs": tables.tabulate_costs(comparison, result) if is_first else None,
        "posteriors": draw_posterior_bars(comparison, result),
        "overall_pairs": tabulate_overall_pairs(overall, shows_all=True) if overall and overall.pairs else None,
        "pairs": [
            (dataset.dataset, tabulate_pairs(dataset, shows_all=shows_all))
            for dataset in result.datasets
            if dataset.pairs
        ],
    }


def _tabulate_scores(comparison: Comparison, result: MetricResult) -> Table:
    """Return the table of scores, with a row for each dataset if there are many."""
    table = tables.tabulate_scores(comparison, result)
    if len(comparison.datasets) <= MAX_COLUMN_DATASETS:
        return table
    return table.transpose("dataset", tables.N_SUMMARY_COLUMNS)
