"""Reports of made-up comparisons: everything is there, nothing is cut, and programs can read it."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import numpy as np
import pytest
from comparisons import ACCURACY, LOG_LOSS, make_comparison

from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import write_tables
from bakeoff.pipeline.commands.comparison_report.reports import make_report, render_csv, render_json
from bakeoff.pipeline.tables.report import render_markdown, render_text

DATASETS = ("iris", "wine & cheese", "breast_cancer", "100%_{moons}", "a|b", "*stars*")
CONFIGURATIONS = ("svm", "knn n_neighbors=5", "logistic_regression C=0.1 standardize", "a_very_long_learner_name " * 3)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Return a comparison with names that each format has to escape, and a cell without scores."""
    return make_comparison(DATASETS, CONFIGURATIONS, metrics=(ACCURACY, LOG_LOSS), failed=[("svm", "wine & cheese")])


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_the_terminal_report_fits_into_any_width_and_cuts_nothing(comparison: Comparison, width: int) -> None:
    text = render_text(make_report(comparison), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    # Long names are folded over several lines of their column, so letters are compared without blanks.
    for summary in comparison.results[0].datasets[0].summaries:
        assert f"{summary.mean:.4f} ± {summary.std:.4f}" in text


def test_json_is_the_comparison_without_nan(comparison: Comparison) -> None:
    document = json.loads(render_json(comparison), parse_constant=pytest.fail)
    assert (document["format"], document["format_version"]) == ("bakeoff.comparison", 1)
    for cell, own in zip(document["cells"], comparison.cells, strict=True):
        assert cell["scores"] == {metric: list(scores) for metric, scores in own.scores.items()}
    assert [result["metric"] for result in document["results"]] == ["test_accuracy", "test_log_loss"]


def test_csv_has_a_row_for_each_metric_dataset_and_configuration(comparison: Comparison) -> None:
    rows = list(csv.DictReader(StringIO(render_csv(comparison))))
    assert len(rows) == 2 * len(DATASETS) * len(CONFIGURATIONS)
    for row in rows:
        cell = comparison.find_cell(row["configuration"], row["dataset"])
        if cell.reason:
            assert (row["mean"], row["reason"]) == ("", cell.reason)
        else:
            assert float(row["mean"]) == pytest.approx(np.mean(cell.scores[row["metric"]]), rel=1e-12)


def test_markdown_tables_have_as_many_entries_in_each_row(comparison: Comparison) -> None:
    lines = render_markdown(make_report(comparison)).splitlines()
    assert lines[0] == f"# {comparison.question.replace('_', chr(92) + '_')}"
    tables = re.split(r"\n(?!\|)", "\n".join(lines))
    for table in tables:
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1


def test_numbers_that_do_not_exist_are_never_written_as_nan() -> None:
    comparison = make_comparison(("iris",), ("svm", "knn"), n_folds=1)
    text = render_text(make_report(comparison))
    assert "nan" not in text
    assert "nan" not in render_markdown(make_report(comparison))
    assert "nan" not in write_tables(comparison)
    assert "nan" not in render_csv(comparison)
