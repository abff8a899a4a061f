"""Reports of a comparison for a terminal, papers (Markdown, LaTeX), programs (JSON, CSV) and browsers (HTML).

The HTML page is self-contained and works offline without scripts. Its template is `page.html`, and its pictures are
drawn in this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bakeoff.pipeline.commands.compare.comparison import NEMENYI, Comparison, MetricResult
from bakeoff.pipeline.commands.compare.report_tables import iterate_result, iterate_sections, tabulate_datasets
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.output_file import render_csv as render_csv_table
from bakeoff.pipeline.tables.report import Report, render_document
from bakeoff.pipeline.tables.table import make_table

TEMPLATE = Path(__file__).parent / "page.html"
MAX_DRAWN_CONFIGURATIONS = 20
"""Maximum number of configurations in panels that have one row for each; the tables contain all of them."""


Picture = tuple[Any, str]
"""A Matplotlib figure and its caption."""


def render_page(comparison: Comparison) -> str:
    """Return the HTML page of a comparison.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        The page; equal comparisons produce identical bytes.
    """
    blocks = []
    for number, result in enumerate(comparison.results):
        metric = comparison.find_metric(result.metric)
        (scores, sentences), *others = iterate_result(comparison, result, shows_datasets=True)
        pictures = _draw_svg(comparison, result, number)
        blocks.append({
            "label": metric.label,
            "scores": scores,
            "sentences": sentences,
            "pictures": pictures.values(),
            "others": others,
        })  # fmt: skip
    values = {"comparison": comparison, "blocks": blocks, "datasets": tabulate_datasets(comparison)}
    return render_template(TEMPLATE, values)


def write_picture_files(comparison: Comparison) -> dict[str, str]:
    """Return the pictures for the first metric as SVG files, for papers and slides.

    Returns
    -------
    dict of str to str
        File name -> content; pictures without data are omitted.
    """
    from bakeoff.pipeline.figures.panels import fix_colours

    pictures = _draw_svg(comparison, comparison.results[0], 0)
    return {f"{name}.svg": fix_colours(svg) for name, (svg, _) in pictures.items()}


def _draw_svg(comparison: Comparison, result: MetricResult, number: int) -> dict[str, tuple[str, str]]:
    """Return the pictures for a metric as SVG elements with captions, with element names unique to that metric."""
    from bakeoff.pipeline.figures.panels import render_svg

    drawn = {name: picture for name, draw in DRAWINGS.items() if (picture := draw(comparison, result))}
    return {
        name: (render_svg(figure, f"{name}-{number}", caption), caption) for name, (figure, caption) in drawn.items()
    }


def draw_ranks(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the critical-difference diagram, or None if the mean ranks were not tested."""
    from bakeoff.pipeline.commands.compare.pictures import draw_critical_difference

    overall = result.overall
    if overall is None or math.isnan(overall.critical_difference):
        return None
    names = list(overall.mean_ranks)
    figure = draw_critical_difference(
        names,
        list(overall.mean_ranks.values()),
        [[names.index(member) for member in group] for group in overall.groups],
        critical_difference=overall.critical_difference if overall.test == NEMENYI else 0.0,
        note=f"{overall.test_name}, α = {comparison.settings.alpha:g}",
    )
    caption = f"Mean ranks by {comparison.find_metric(result.metric).label} over {len(overall.datasets)} datasets."
    return figure, f"{caption} No two with a dot on the same bar differ significantly by {overall.test_name}."


def draw_folds(comparison: Comparison, result: MetricResult) -> Picture | None:
    """Return the picture of fold scores, or None if there are no scores."""
    from bakeoff.pipeline.commands.compare.pictures import draw_fold_scores

    shown = [dataset for dataset in result.datasets if dataset.summaries]
    if not shown:
        return None
    names = [row.name for row in comparison.configurations][:MAX_DRAWN_CONFIGURATIONS]
    scores = [
        [np.array(comparison.find_cell(name, dataset.dataset).scores.get(result.metric, ())) for name in names]
        for dataset in shown
    ]
    best = [
        {names.index(row.configuration) for row in dataset.summaries if row.is_best and row.configuration in names}
        for dataset in shown
    ]
    figure = draw_fold_scores([dataset.dataset for dataset in shown], names, scores, best)
    label = comparison.find_metric(result.metric).label.capitalize()
    caption = (
        f"{label} of each fold, with mean (diamond) and standard deviation (line); the best mean of each dataset is "
        f"blue. At most {MAX_DRAWN_CONFIGURATIONS} configurations are drawn."
    )
    return figure, caption


DRAWINGS: dict[str, Callable[[Comparison, MetricResult], Picture | None]] = {
    "critical_difference": draw_ranks,
    "fold_scores": draw_folds,
}
"""Name of a picture -> function that draws it."""


def make_report(comparison: Comparison) -> Report:
    """Return the report of a comparison."""
    sections = tuple(iterate_sections(comparison))
    return Report(
        comparison.question, comparison.selection, comparison.verdict, sections, comparison.notes, comparison.command
    )


COLUMNS = (
    "metric", "dataset", "configuration", "learner", "mean", "std", "low", "high", "rank", "is_best", "mark", "p_value",
    "base", "n_folds", "n_train", "n_test", "fit_seconds", "predict_seconds", "n_fits", "reason", "run_ids",
)  # fmt: skip


def render_json(comparison: Comparison) -> str:
    """Return the comparison as JSON.

    The keys are the attributes of `Comparison` and its parts, where they are documented. Numbers have enough digits to
    be restored exactly; missing and infinite numbers are null.
    """
    return render_document("comparison", asdict(comparison))


def render_csv(comparison: Comparison) -> str:
    """Return one row per cell and metric at full precision; an empty cell has a reason and no numbers."""
    rows = ([_write(row.get(column, "")) for column in COLUMNS] for row in _iterate_rows(comparison))
    return render_csv_table(make_table("", COLUMNS, rows))


def _iterate_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    learners = {row.name: row.learner for row in comparison.configurations}
    for result in comparison.results:
        datasets = {dataset.dataset: dataset for dataset in result.datasets}
        for cell in comparison.cells:
            summary = datasets[cell.dataset].find_summary(cell.configuration)
            yield {
                **({} if summary is None else vars(summary)),
                **vars(cell),
                "metric": result.metric,
                "learner": learners[cell.configuration],
                "base": datasets[cell.dataset].base,
                "n_folds": len(cell.scores.get(result.metric, ())),
                "run_ids": " ".join(cell.run_ids),
            }


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # The shortest text that restores the same float.
        return "" if math.isnan(value) else repr(value)
    return str(value)
