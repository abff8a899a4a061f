"""Reports of a comparison for a terminal, papers (Markdown, LaTeX), programs (JSON, CSV) and browsers (HTML).

The HTML page is self-contained and works offline without scripts. Its template is `page.html`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import hide_folders, write_tables
from bakeoff.pipeline.commands.comparison_report.report_tables import iterate_result
from bakeoff.pipeline.tables.document import render_document
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report
from bakeoff.pipeline.text.wording import format_count

TEMPLATE = Path(__file__).parent / "page.html"


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
    from bakeoff.pipeline.commands.comparison_report.pictures import render_pictures, render_predictions

    comparison = _hide_folders(comparison)
    blocks = []
    for number, result in enumerate(comparison.results):
        metric = comparison.find_metric(result.metric)
        (scores, sentences), *others = iterate_result(comparison, result, shows_datasets=True)
        blocks.append({
            "label": metric.label,
            "scores": scores,
            "sentences": sentences,
            "pictures": render_pictures(comparison, result, str(number)),
            "others": others,
        })  # fmt: skip
    values = {"comparison": comparison, "blocks": blocks, "predictions": render_predictions(comparison)}
    return render_template(TEMPLATE, values, {"count": format_count})


def _hide_folders(comparison: Comparison) -> Comparison:
    """Return a comparison without the folders of this machine, which mean nothing to other readers."""
    return replace(
        comparison,
        selection=hide_folders(comparison.selection),
        command=hide_folders(comparison.command),
        notes=tuple(map(hide_folders, comparison.notes)),
        cells=tuple(replace(cell, reason=hide_folders(cell.reason)) for cell in comparison.cells),
    )


def make_report(comparison: Comparison) -> Report:
    """Return the report of a comparison."""
    return Report(
        question=comparison.question,
        selection=comparison.selection,
        verdict=comparison.verdict,
        sections=[section for result in comparison.results for section in iterate_result(comparison, result)],
        notes=comparison.notes,
        command=comparison.command,
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
    text = io.StringIO()
    columns = COLUMNS if comparison.items is None else (*COLUMNS, "tier")
    write_csv(pd.DataFrame(_iterate_rows(comparison), columns=columns), text)
    return text.getvalue()


def _iterate_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    learners = {row.name: row.learner for row in comparison.configurations}
    tiers = {} if comparison.items is None else comparison.items.list_tiers()
    for result in comparison.results:
        datasets = {dataset.dataset: dataset for dataset in result.datasets}
        for cell in comparison.cells:
            summary = datasets[cell.dataset].find_summary(cell.configuration)
            yield {
                **({} if summary is None else {**vars(summary), "is_best": str(summary.is_best).lower()}),
                **vars(cell),
                "metric": result.metric,
                "learner": learners[cell.configuration],
                "base": datasets[cell.dataset].base,
                "n_folds": len(cell.scores.get(result.metric, ())),
                "run_ids": " ".join(cell.run_ids),
                "tier": tiers.get(cell.configuration),
            }


OWN_FORMATS: Mapping[str, Callable[[Comparison], str]] = {
    "csv": render_csv,
    "json": render_json,
    "html": render_page,
    "latex": write_tables,
}
"""Format -> the function that renders a comparison; that of LaTeX has the tables of a paper."""


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report in a format."""
    return OWN_FORMATS[to](comparison) if to in OWN_FORMATS else TEXT_FORMATS[to](make_report(comparison))
