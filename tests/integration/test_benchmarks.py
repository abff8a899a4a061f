"""The benchmarks run: what they measure is for people to read."""

from __future__ import annotations

import csv
import os
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from scipy.io import arff
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from warm_process import run_script

from benchmarks import tables, weka, weka_process
from benchmarks.cells import Cell, merged, read_csv, write_csv
from benchmarks.growth import caption, drawn, plot
from benchmarks.measuring import Side, Task, side_by_side
from benchmarks.summary import page_summary, summary
from benchmarks.tasks import bundled, nominal

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *words: str) -> str:
    done = run_script(BENCHMARKS / script, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", ["learners.py", "tuning.py", "scale.py", "sweep.py", "stores.py", "weka.py"])
def test_a_benchmark_says_what_it_measures(script: str) -> None:
    assert "usage:" in run(script, "--help")


@pytest.mark.slow
def test_learners_are_measured_beside_scikit_learns(tmp_path: Path) -> None:
    few = ["--learners", "majority", "--data", "iris", "--rows", "--seconds", "5", "--output", str(tmp_path)]
    assert "majority" in run("learners.py", *few)
    (file,) = tmp_path.glob("*.csv")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["learner"] for row in rows] == ["majority"] * len(rows)
    assert all(float(row["quality"]) == float(row["sklearn_quality"]) for row in rows)


@pytest.mark.slow
def test_tuning_is_measured_beside_a_grid_search() -> None:
    told = run("tuning.py", "--data", "--rows", "60", "--repeats", "1")
    assert "50 values of n_neighbors" in told


def cell(learner: str, n: int = 1000, d: int = 20, c: int = 2, **changed: Any) -> Cell:
    """Return a cell of made data in which ours takes half of scikit-learn's time."""
    numbers: dict[str, Any] = {
        "fit": 0.01, "sklearn_fit": 0.02, "fit_ratio": 0.5, "predict": 0.001, "sklearn_predict": 0.002,
        "predict_ratio": 0.5, "quality": 0.9, "sklearn_quality": 0.91, "objective": float("nan"),
        "sklearn_objective": float("nan"), "megabytes": 6.0, "sklearn_megabytes": 3.0,
    }  # fmt: skip
    family = changed.pop("family", "made")
    return Cell(learner, f"{family} {n}×{d}, c={c}", family, n, d, c, **(numbers | changed))


def test_cells_are_read_as_they_were_written(tmp_path: Path) -> None:
    cells = [cell("knn"), cell("svm", objective=0.125, sklearn_objective=0.25, note="ours: more than 8 s")]
    write_csv(cells, tmp_path / "cells.csv")
    np.testing.assert_equal([asdict(one) for one in read_csv(tmp_path / "cells.csv")], [asdict(one) for one in cells])
    assert read_csv(tmp_path / "none.csv") == []


def test_a_cell_that_is_measured_anew_takes_the_place_of_its_old_one() -> None:
    earlier = [cell("knn", fit_ratio=0.1), cell("knn", n=10000, fit_ratio=0.2), cell("svm", fit_ratio=0.3)]
    fresh = [cell("knn", fit_ratio=0.7), cell("decision_tree", fit_ratio=0.8)]
    found = merged(earlier, fresh, ["decision_tree", "knn", "svm"])
    assert [(one.learner, one.n, one.fit_ratio) for one in found] == [
        ("decision_tree", 1000, 0.8), ("knn", 1000, 0.7), ("knn", 10000, 0.2), ("svm", 1000, 0.3)
    ]  # fmt: skip


def test_the_summary_says_geometric_means_and_worst_cells() -> None:
    told = summary([cell("knn", fit_ratio=0.25), cell("knn", n=10000, fit_ratio=4.0), cell("knn", family="nominal")])
    assert "Geometric mean of the 6 ratios ours / scikit-learn: **0.63** (fit 0.79, predict 0.50)" in told
    assert "| **knn** | all | 3 | 0.79 | 4.00 made 10000×20, c=2 | 0.50 | 0.50 made 1000×20, c=2 | 1 | 2.0 |" in told
    assert "|  | made | 2 | 1.00 | 4.00 made 10000×20, c=2 |" in told
    assert "- knn, fit: 4.00 made 10000×20, c=2 (10 ms)" in told
    assert "at most 2.0 times scikit-learn's (knn, made 1000×20, c=2)." in told


def test_the_summary_names_every_cell_that_is_not_as_it_should_be() -> None:
    told = summary(
        [
            cell("knn", predict_ratio=1.5, predict=0.0001),  # less than the checks take
            cell("svm", megabytes=15.0, quality=0.8),
            cell("mlp", note="scikit-learn: more than 16 s"),
            cell("mlp", n=10000, note="scikit-learn: more than 16 s"),
        ]
    )
    assert "No ratio is above 1 where ours takes more than 0.2 ms." in told
    assert "- svm: 5.0 made 1000×20, c=2 (15 and 3 MB)" in told
    assert "- svm: made 1000×20, c=2 0.800 and 0.910" in told
    assert "- mlp, 2 of 2: 2 (scikit-learn: more than 16 s)" in told
    assert "of the 2 at no worse quality 0.87" in told  # √(½ · 1½), without svm


def test_the_page_has_a_row_for_each_learner_and_counts_the_cells_that_are_slow() -> None:
    cells = [cell("knn", fit_ratio=4.0), cell("knn", family="nominal"), cell("svm", megabytes=15.0, quality=0.8)]
    page = page_summary([*cells, cell("mlp", note="scikit-learn: more than 16 s")])
    assert [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| **")] == [
        "**knn**",
        "**svm**",
    ]
    assert "Of the 6 ratios, 1 are above 1 where ours takes more than 0.2 ms." in page
    assert "more than 4 times scikit-learn's in 1 cells, and the quality differs by more than 0.02 in 1." in page
    assert "1 further cells exceeded the time limit on one side." in page


def test_rows_beside_weka_are_written_as_comma_separated_values(tmp_path: Path) -> None:
    weka.write_csv(
        ["| J48 | iris 120×4 | 1 | 2 | 3 | 0.33 | 4 | 5 | 6 | 0.67 | 0.9 | 0.8 | 7 |"], tmp_path / "weka.csv"
    )
    head, row = (tmp_path / "weka.csv").read_text().splitlines()
    assert head.startswith("learner,task,fit_ms,")
    assert row == "J48,iris 120×4,1,2,3,0.33,4,5,6,0.67,0.9,0.8,7"


def test_one_shape_of_made_data_is_drawn_and_named(tmp_path: Path) -> None:
    cells = [cell("knn", n, d) for n in (10000, 1000) for d in (2, 20)] + [cell("ridge", 1000, 10, 0)]
    assert {name: [(one.n, one.d) for one in own] for name, own in drawn(cells).items()} == {
        "knn": [(1000, 20), (10000, 20)],
        "ridge": [(1000, 10)],
    }
    assert "20 columns and 2 classes, or 10 columns for regression" in caption(cells)
    plot(cells, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_a_table_needs_its_place_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- one: generated -->\nold\n<!-- one: end -->\nbelow\n")
    monkeypatch.setattr(tables, "DOCS", page)
    tables.replace_part("one", "new")
    assert page.read_text() == "above\n<!-- one: generated -->\nnew\n<!-- one: end -->\nbelow\n"
    with pytest.raises(SystemExit, match="<!-- two: generated -->"):
        tables.replace_part("two", "new")


class Slow(DummyClassifier):
    """Sleeps before it learns."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        time.sleep(60)
        return super().fit(X, y, sample_weight)


def test_a_side_that_takes_too_long_is_named() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    task = Task("tiny", "made", 2, X, y, X, y)
    assert side_by_side(DummyClassifier(), Slow(), task, 0.2, None) == "scikit-learn: more than 0.8 s"


@pytest.mark.slow
def test_the_page_can_be_written_from_what_was_measured_before(tmp_path: Path) -> None:
    write_csv([cell("knn"), cell("knn", n=10000)], tmp_path / "benchmarks.csv")
    told = run("learners.py", "--learners", "--merge", "--output", str(tmp_path))
    assert "| **knn** | made | 2 |" in told
    assert (tmp_path / "benchmarks.png").is_file()


# WEKA


def test_rows_go_to_weka_as_they_are(tmp_path: Path) -> None:
    for task in (bundled("diabetes"), bundled("iris"), nominal(60, 3, 3)):
        classes = np.unique(task.y) if task.c else None
        weka_process.write_arff(tmp_path / "rows.arff", task.X, task.y, classes)
        rows, kinds = arff.loadarff(tmp_path / "rows.arff")
        read = [[value.decode() if isinstance(value, bytes) else value for value in row] for row in rows.tolist()]
        targets = task.y.tolist() if classes is None else [str(label) for label in task.y]
        assert read == [[*row, target] for row, target in zip(np.asarray(task.X).tolist(), targets, strict=True)]
        assert (kinds["y"][0] == "nominal") == (classes is not None)
        assert (kinds["x0"][0] == "nominal") == (task.family == "nominal")


def test_what_the_harness_measured_is_read_among_what_else_is_said() -> None:
    line = "measured first_fit=0.5 fit=0.25 first_predict=0.01 predict=0.001 rounds=12 quality=0.966667 beside=1.2"
    assert weka_process.told(f"WARNING: no native library\n{line}\n") == weka_process.Told(
        0.5, 0.25, 0.01, 0.001, 12, 0.966667, 1.2
    )
    assert weka_process.told("Exception in thread main\n") is None


def test_a_row_holds_both_sides_or_says_why_one_is_not_there() -> None:
    ours = Side(0.001, 0.002, 0.9, float("nan"), float("nan"))
    theirs = weka_process.Told(0.5, 0.01, 0.05, 0.001, 12, 0.95, 1.5)
    task, pair = bundled("iris"), weka.PAIRS[1]
    assert weka.row(pair, task, ours, theirs) == (
        "| J48 | iris 120×4 | 1 | 500 | 10 | 0.10 | 2 | 50 | 1 | 2.00 | 0.900 | 0.950 | 12 |"
    )
    assert weka.row(pair, task, ours, "more than 9 s").startswith("| J48 | iris 120×4 | 1 | more than 9 s |  |  | 2 |")
    told = weka.summary({"J48": [(ours, theirs)], "IBk": [(ours, replace(theirs, fit=0.001, beside=1.3))]})
    assert "| J48 | 1 | 0.10 | 0.00 | 2.00 | 0.04 |" in told
    assert "| **all** | 2 | 0.32 | 0.00 | 2.00 | 0.04 |" in told  # √(0.1 · 1)
    assert "another 40%" in told[-1]


def test_options_of_weka_are_filled_in_for_the_number_of_columns() -> None:
    task = nominal(60, 10, 3)
    (forest,) = (pair for pair in weka.PAIRS if "RandomForest" in pair.weka and is_classifier(pair.ours))
    assert weka_process.filled(forest.weka, task).endswith("-K 3")
    assert weka_process.filled(weka.SMO, task).startswith("weka.classifiers.functions.SMO")
    assert '-G 0.1"' in weka_process.filled(weka.SMO, task)


@pytest.mark.slow
def test_without_the_jar_there_is_a_sentence() -> None:
    done = run_script(BENCHMARKS / "weka.py", "--jar", "none.jar")
    assert done.returncode == 1
    assert done.stderr == "weka.py: --jar=none.jar is not a file; --help says where to get WEKA's jar.\n"


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("java") is None or "WEKA_JAR" not in os.environ, reason="needs java, and WEKA_JAR=…/weka.jar"
)
def test_wekas_learners_are_measured_beside_ours() -> None:
    told = run("weka.py", "--learners", "IBk", "--data", "diabetes", "--rows", "--seconds", "0.05")
    (row,) = (line.split(" | ") for line in told.splitlines() if line.startswith("| IBk | diabetes"))
    assert row[10] == row[11]  # R²
    assert "| **all** | 1 |" in told
