"""Tables for a paper: one grid per table, every number of the comparison, and a page on which they fit."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from comparisons import ACCURACY, LOG_LOSS, make_comparison

from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric, Comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import TableStyle, abbreviate_names, write_tables
from bakeoff.pipeline.commands.comparison_report.pictures import write_diagram, write_pictures
from bakeoff.pipeline.errors import UserError

NAMES = ("svm", "knn n_neighbors=5", "logistic_regression C=0.1 standardize", "a_very_long_learner_name " * 3)
AWKWARD = ("iris", "wine & cheese", "100%_{moons}", "a|b", "*stars*", "[open]")
LEARNERS = ("svm", "knn", "decision_tree", "naive_bayes", "random_forest", "sklearn_random_forest")
FIT_TIME = ComparedMetric("time/fit", "fit time in seconds", False, 0.02, True)
REASON = "failed: OSError: /home/ann/data/x.csv is no file"
PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[textwidth=16cm,textheight=24cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs,longtable}
\begin{document}
"""
needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex: apt install texlive-latex-extra"
)


def list_rows(text: str) -> list[list[str]]:
    """Return the cells of all rows of all tables."""
    return [re.split(r"(?<!\\)&", line) for line in text.splitlines() if line.endswith(r" \\")]


def typeset(text: str, folder: Path) -> str:
    """Compile a text in an article with lines of 16 cm, and return what pdflatex says."""
    (folder / "paper.tex").write_text(f"{PREAMBLE}{text}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wide() -> Comparison:
    """Return six learners on 43 datasets, with two cells without scores."""
    failed = [("svm", "dataset_03"), ("knn", "dataset_07")]
    return make_comparison([f"dataset_{i:02}" for i in range(43)], LEARNERS, failed=failed, reason=REASON)


@needs_latex
@pytest.mark.parametrize("metrics", [(ACCURACY,), (LOG_LOSS, FIT_TIME)])
def test_43_datasets_and_six_learners_fit_a_page_of_16_cm(metrics: tuple[ComparedMetric, ...], tmp_path: Path) -> None:
    text = write_tables(make_comparison([f"dataset_{i}" for i in range(43)], LEARNERS, metrics=metrics))
    said = typeset(text, tmp_path)
    assert "Overfull" not in said
    assert "too large" not in said
    assert text.count(r"\begin{tabular}") == 3 * len(metrics)


@needs_latex
def test_the_columns_of_ten_learners_follow_in_a_second_table(tmp_path: Path) -> None:
    names = ["movement_libras", *(f"dataset_{i}" for i in range(20))]
    text = write_tables(make_comparison(names, [*LEARNERS, "mlp", "perceptron", "majority", "c45"]))
    assert "Overfull" not in typeset(text, tmp_path)
    assert text.count(r"\begin{tabular}") == 4


@needs_latex
@pytest.mark.parametrize("datasets", [AWKWARD, ("one",), tuple(f"d{i}" for i in range(60))])
def test_tables_with_any_names_compile(datasets: tuple[str, ...], tmp_path: Path) -> None:
    failed = [("svm", datasets[0])] if len(datasets) > 1 else []
    text = write_tables(make_comparison(datasets, NAMES, metrics=(ACCURACY, LOG_LOSS), failed=failed, reason=REASON))
    assert "multiply defined" not in typeset(text, tmp_path)
    assert text.isascii()
    assert ("longtable}{" in text) == (len(datasets) > 50)


def test_each_table_has_as_many_cells_in_each_row(wide: Comparison) -> None:
    for table in write_tables(wide).split(r"\begin{table}")[1:]:
        assert len({len(row) for row in list_rows(table)}) == 1


def test_a_row_has_the_means_of_a_dataset_with_the_best_in_bold(wide: Comparison) -> None:
    rows = {cells[0].strip(): cells[1:] for cells in list_rows(write_tables(wide, TableStyle(decimals=4, std=False)))}
    for result in wide.results[0].datasets:
        cells = rows[result.dataset.replace("_", r"\_")]
        means = {each.configuration: each.mean for each in result.summaries}
        shown = dict(zip(LEARNERS, cells, strict=True))
        for name, mean in means.items():
            assert f"{mean:.4f}" in shown[name]
            assert ("textbf" in shown[name]) == (mean == max(means.values()))


def test_lower_is_better_for_errors_and_times() -> None:
    comparison = make_comparison(LEARNERS, ("svm", "knn"), metrics=(LOG_LOSS, FIT_TIME))
    text = write_tables(comparison)
    assert text.count("lower is better") == 2
    for result, table in zip(comparison.results, text.split(r"\label{tab:scores-")[1:], strict=True):
        best = min(each.mean for each in result.datasets[0].summaries)
        assert len(re.findall(rf"\\textbf{{{best:.3f}", table)) >= 1


def test_percent_is_for_scores_and_refused_without_any() -> None:
    both = make_comparison(AWKWARD, ("svm", "knn"), metrics=(ACCURACY, FIT_TIME))
    mean = both.results[0].datasets[0].summaries[0].mean
    text = write_tables(both, TableStyle(percent=True))
    assert f"{100 * mean:.1f}" in text
    assert text.count("in percent") == 1
    with pytest.raises(UserError, match=r"percent=true: fit time in seconds is not a score .* leave percent= out"):
        write_tables(make_comparison(metrics=(FIT_TIME,)), TableStyle(percent=True))


@pytest.mark.parametrize("decimals", [-1, 11])
def test_decimals_have_a_range(decimals: int) -> None:
    with pytest.raises(UserError, match=rf"decimals={decimals} must be a whole number from 0 to 10"):
        TableStyle(decimals=decimals)
    assert [TableStyle(decimals=allowed).write(0.625, ACCURACY) for allowed in (0, 10)] == ["1", "0.6250000000"]


def test_a_failed_cell_has_a_sign_and_its_reason_below_without_the_folders(wide: Comparison) -> None:
    text = write_tables(wide)
    assert text.count(r"--\rlap{\textsuperscript{1}}") == 2
    assert "(1) failed: OSError: x.csv is no file" in text
    assert "/home" not in text


def test_names_of_columns_are_short_unique_and_explained(wide: Comparison) -> None:
    names = ["linear_regression", "logistic_regression", "lda", *(f"knn n_neighbors={k}" for k in (1, 15))]
    assert list(abbreviate_names(names).values()) == ["LR", "LR2", "lda", "KNN1", "KNN15"]
    assert "DT: decision\\_tree; NB: naive\\_bayes" in write_tables(wide)


def test_the_level_of_an_interval_is_not_rounded() -> None:
    comparison = make_comparison(("iris",), ("svm", "knn"))
    strict = replace(comparison, settings=replace(comparison.settings, alpha=0.005))
    assert r"99.5 \% interval" in write_tables(strict)


def test_tables_have_nothing_that_nobody_pastes(wide: Comparison) -> None:
    text = write_tables(replace(wide, notes=("A note.",)))
    assert [line for line in text.splitlines() if line.startswith("%")] == [r"% \usepackage{booktabs,longtable}"]
    assert not re.search(r"documentclass|A note|bakeoff compare|pairs=all", text)


def test_figures_are_the_same_bytes_each_time_and_the_diagram_is_first() -> None:
    comparison = make_comparison(AWKWARD, LEARNERS[:3])
    figures = write_pictures(comparison, ".pdf")
    assert list(figures) == ["critical_difference.pdf", "fold_scores.pdf"]
    assert figures == write_pictures(comparison, ".pdf")
    assert all(content.startswith(b"%PDF") and b"CreationDate" not in content for content in figures.values())
    assert write_diagram(comparison, ".pdf") == figures["critical_difference.pdf"]
    assert write_diagram(comparison, ".svg").startswith(b"<?xml")


@pytest.mark.parametrize(("datasets", "reason"), [(("iris",), "one dataset"), (("iris", "wine"), "too few")])
def test_no_diagram_is_drawn_of_mean_ranks_that_were_not_tested(datasets: tuple[str, ...], reason: str) -> None:
    with pytest.raises(UserError, match=rf"{reason}.* at least three configurations on six datasets"):
        write_diagram(make_comparison(datasets, LEARNERS), ".svg")
