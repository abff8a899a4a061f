"""Reports for programs: every number at full precision, as JSON and as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.tables.csv import render_csv as render_csv_table
from bakeoff.pipeline.tables.table import make_table

FORMAT = "bakeoff.comparison"
FORMAT_VERSION = 1
"""Raised when a key changes its meaning or goes; new keys may come without a new version."""
COLUMNS = (
    "metric", "dataset", "configuration", "learner", "mean", "std", "low", "high", "rank", "is_best", "mark", "p_value",
    "base", "n_folds", "n_train", "n_test", "fit_seconds", "predict_seconds", "n_fits", "reason", "run_ids",
)  # fmt: skip


def render_json(comparison: Comparison) -> str:
    """Return the comparison as JSON.

    The keys are the attributes of `Comparison` and its parts, which document them. Numbers have the digits that give
    them back exactly; one that does not exist or is not finite is null.
    """
    document = _replace_infinite({"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(comparison)})
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(comparison: Comparison) -> str:
    """Return a row per cell and metric, with full precision; an empty cell has a reason and no numbers."""
    rows = (map(_write, row) for result in comparison.results for row in _iterate_rows(comparison, result))
    return render_csv_table(make_table("", COLUMNS, rows))


def _iterate_rows(comparison: Comparison, result: MetricResult) -> Iterator[list[Any]]:
    for dataset in result.datasets:
        for configuration in comparison.configurations:
            cell = comparison.find_cell(configuration.name, dataset.dataset)
            summary = dataset.find_summary(configuration.name)
            own = {
                **({} if summary is None else vars(summary)),
                **vars(cell),
                "metric": result.metric,
                "learner": configuration.learner,
                "base": dataset.base,
                "n_folds": len(cell.scores.get(result.metric, ())),
                "run_ids": " ".join(cell.run_ids),
            }
            yield [own.get(column, "") for column in COLUMNS]


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # The shortest text that reads back as the same float.
        return "" if math.isnan(value) else repr(value)
    return str(value)


def _replace_infinite(value: Any) -> Any:
    """Return a document without NaN and infinite numbers, for which JSON has no notation."""
    if isinstance(value, dict):
        return {key: _replace_infinite(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(child) for child in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
