"""The CSV table: a row for each metric, dataset and configuration."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult, Summary
from bakeoff.pipeline.tables.csv import escape_text

COLUMNS = (
    "metric", "dataset", "configuration", "learner", "mean", "std", "low", "high", "rank", "is_best", "mark", "p_value",
    "base", "n_folds", "n_train", "n_test", "fit_seconds", "predict_seconds", "n_fits", "reason", "run_ids",
)  # fmt: skip


def render_csv(comparison: Comparison) -> str:
    """Return a row per cell and metric, with full precision; an empty cell has a reason and no numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in comparison.results:
        writer.writerows(_iterate_rows(comparison, result))
    return text.getvalue()


def _iterate_rows(comparison: Comparison, result: MetricResult) -> Iterator[list[object]]:
    for dataset in comparison.datasets:
        own = result.find_dataset(dataset.name)
        for configuration in comparison.configurations:
            cell = comparison.find_cell(configuration.name, dataset.name)
            summary = own.find_summary(configuration.name)
            row = [
                result.metric,
                dataset.name,
                configuration.name,
                configuration.learner,
                *_list_numbers(summary),
                own.base,
                len(cell.scores.get(result.metric, ())),
                *map(_write, (cell.n_train, cell.n_test, cell.fit_seconds, cell.predict_seconds)),
                cell.n_fits,
                cell.reason,
                " ".join(cell.run_ids),
            ]
            # Names come from files of others, and a spreadsheet would run some of them.
            yield [escape_text(entry) if isinstance(entry, str) else entry for entry in row]


def _list_numbers(summary: Summary | None) -> list[object]:
    """Return the numbers of a cell, or as many empty ones."""
    if summary is None:
        return [""] * 8
    numbers = map(_write, (summary.mean, summary.std, summary.low, summary.high, summary.rank))
    return [*numbers, str(summary.is_best).lower(), summary.mark, _write(summary.p_value)]


def _write(value: float) -> str:
    # The shortest text that reads back as the same float.
    return "" if math.isnan(value) else repr(value)
