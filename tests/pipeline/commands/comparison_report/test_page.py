"""The HTML page of a comparison: its numbers, its names, and that it needs nothing but itself."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from comparisons import ACCURACY, LOG_LOSS, make_comparison
from html_page import Page

from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.reports import render_page
from bakeoff.pipeline.text.wording import format_score

EVIL = '<script>alert("x")</script>&amp; \'$'
DATASETS = ("iris", "wine", "breast_cancer", "digits", "monk-2", "vote")
CONFIGURATIONS = ("svm C=1", "knn n_neighbors=5", "majority")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return make_comparison(
        DATASETS,
        CONFIGURATIONS,
        metrics=(ACCURACY, LOG_LOSS),
        failed=[("knn n_neighbors=5", "wine")],
        notes=[f"Note {number} of many." for number in range(8)],
    )


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return render_page(comparison)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_nothing_is_loaded(html: str, page: Page) -> None:
    for name in ("src", "srcset", "data", "action", "poster"):
        assert page.get(name) == []
    for name in ("href", "xlink:href"):
        assert all(value.startswith(("#", "data:image/png;base64,")) for value in page.get(name))
    assert "@import" not in html
    assert all(target.startswith("#") for target in re.findall(r"url\(\s*['\"]?([^)]*)", html))
    without_namespaces = re.sub(r' xmlns(:xlink)?="[^"]*"', "", html)
    assert not re.search(r"https?://", without_namespaces)
    assert page.elements["link"] == 0


def test_verdict_question_notes_and_reasons_stand_in_the_page(page: Page, comparison: Comparison) -> None:
    said = [comparison.question, *comparison.verdict, *comparison.notes, comparison.command]
    said += [comparison.selection, "the runs in outputs/mlflow.db"]
    for sentence in said:
        assert sentence in page.text
    assert "failed: ValueError: Input X contains NaN." in page.get("title")
    for overall in [result.overall for result in comparison.results]:
        assert overall is not None
        assert all(dataset in page.text for dataset in overall.left_out)
    assert page.text.count("learner.C: 1.0") == len(CONFIGURATIONS)


def test_no_folder_of_this_machine_stands_in_the_page(comparison: Comparison) -> None:
    path = "/home/ann/secret/scores.csv"
    named = replace(comparison, selection=path, command=f"bakeoff compare {path}", notes=(f"no file {path}",))
    page = Page(render_page(named))
    assert "/home" not in page.text
    assert "bakeoff compare scores.csv" in page.text


def find_table(page: Page, first: str, *others: str) -> list[list[str]]:
    """Return the first table whose header begins so and has the other columns as well."""
    return next(table for table in page.tables if table[0][0] == first and set(others) <= set(table[0]))


def test_every_mean_deviation_and_mark_stands_in_its_cell(page: Page, comparison: Comparison) -> None:
    tables = [table for table in page.tables if table[0][3:] == list(DATASETS)]
    assert len(tables) == len(comparison.results)
    for table, result in zip(tables, comparison.results, strict=True):
        rows = {row[0]: row for row in table[1:]}
        for column, dataset in enumerate(result.datasets, 3):
            for summary in dataset.summaries:
                text = f"{format_score(summary.mean)}{summary.mark} ± {format_score(summary.std)}"
                assert rows[summary.configuration][column] == text
        assert rows["knn n_neighbors=5"][4] == "failed"
        assert result.overall is not None
        for name, rank in result.overall.mean_ranks.items():
            assert rows[name][1] == f"{rank:.2f}"
        for name, counts in result.overall.counts.items():
            assert rows[name][2] == "/".join(map(str, counts))


def test_names_of_users_are_escaped_everywhere() -> None:
    comparison = make_comparison(
        [f"iris {EVIL}", f"wine {EVIL}"],
        [f"knn {EVIL}", f"svm {EVIL}"],
        failed=[(f"knn {EVIL}", f"iris {EVIL}")],
        reason=f"failed: {EVIL}",
        notes=[EVIL],
    )
    comparison = replace(comparison, question=EVIL, selection=EVIL, command=EVIL, verdict=(EVIL,), store=EVIL)
    html = render_page(comparison)
    page = Page(html)
    assert "<script>alert" not in html
    # The scripts are those of the page: one sorts tables, and one marks configurations.
    assert page.elements["script"] == 2
    assert "&lt;script&gt;alert" in html
    assert page.open == []
    assert page.text.count(EVIL) > 10


def test_one_dataset_is_shown_with_its_tests() -> None:
    comparison = make_comparison(["iris"], CONFIGURATIONS)
    page = Page(render_page(comparison))
    (result,) = comparison.results[0].datasets
    table = find_table(page, "configuration", "95 % interval", "p vs base")
    for summary in result.summaries:
        row = next(row for row in table if row[0] == summary.configuration)
        assert row[1].startswith(format_score(summary.mean))
        assert row[2] == f"{format_score(summary.low)} to {format_score(summary.high)}"


def test_a_comparison_without_any_score_is_a_page() -> None:
    failed = [(name, dataset) for name in CONFIGURATIONS for dataset in ("iris", "wine")]
    page = Page(render_page(make_comparison(["iris", "wine"], CONFIGURATIONS, failed=failed)))
    assert "failed: ValueError: Input X contains NaN." in page.get("title")
    assert page.elements["svg"] == 0
