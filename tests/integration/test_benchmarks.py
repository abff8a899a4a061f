"""The benchmarks run: what they measure is for people to read."""

from __future__ import annotations

import csv
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from scipy.io import arff
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from warm_process import Start, run_script

from benchmarks import study, weka_process
from benchmarks.cells import Cell
from benchmarks.measuring import Task, side_by_side
from benchmarks.summary import summary
from benchmarks.sweep import Cost
from benchmarks.tasks import bundled, nominal

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *words: str) -> str:
    done = run_script(BENCHMARKS / script, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "effects",
        "learners",
        "tuning",
        "scale",
        "sweep",
        "startup",
        "stores",
        "many_runs",
        "weka",
        "nominal_columns",
        "repeats",
    ],
)
def test_a_benchmark_says_what_it_measures(name: str) -> None:
    assert "usage:" in run(f"{name}.py", "--help")


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


@pytest.mark.slow
def test_a_study_is_measured_beside_a_loop(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells, target = load_iris(return_X_y=True)
    kinds = np.where(target == 0, "short", "long")
    rows = [f"{', '.join(map(str, row))}, {kind}, {code}" for row, kind, code in zip(cells, kinds, target, strict=True)]
    (tmp_path / "iris.dat").write_text("\n".join(rows))

    def measure_here(command: list[str], folder: Path) -> Cost:
        if command[1] == "-c":
            monkeypatch.chdir(folder)
            monkeypatch.setattr(sys, "argv", command[2:])
            exec(command[2], {})
            return Cost(1.0, 2.0)
        assert start(folder, command[3:]).wait(400) == 0
        return Cost(1.0, 3.0)

    monkeypatch.setattr(study, "measure", measure_here)
    study.main(["--keel", str(tmp_path), "--data", "iris", "--learners", "naive_bayes", "--repeats", "1"])
    told = capsys.readouterr().out
    assert told.startswith("1 jobs: 3.0 s of CPU, the loop 2.0 s: **1.50** times (1.50 to 1.50).")
    assert [line.split(" | ")[0] for line in told.splitlines()[-2:]] == ["| naive_bayes", "| all"]


def cell(learner: str, n: int = 1000, d: int = 20, c: int = 2, **changed: Any) -> Cell:
    """Return a cell of made data in which ours takes half of scikit-learn's time."""
    numbers: dict[str, Any] = {
        "fit": 0.01, "sklearn_fit": 0.02, "fit_ratio": 0.5, "predict": 0.001, "sklearn_predict": 0.002,
        "predict_ratio": 0.5, "quality": 0.9, "sklearn_quality": 0.91, "objective": float("nan"),
        "sklearn_objective": float("nan"), "megabytes": 6.0, "sklearn_megabytes": 3.0,
    }  # fmt: skip
    family = changed.pop("family", "made")
    return Cell(learner, f"{family} {n}×{d}, c={c}", family, n, d, c, **(numbers | changed))


def test_the_summary_says_geometric_means_and_worst_cells() -> None:
    told = summary([cell("knn", fit_ratio=0.25), cell("knn", n=10000, fit_ratio=4.0), cell("knn", family="nominal")])
    assert "Geometric mean of the 6 ratios ours / scikit-learn: **0.63** (fit 0.79, predict 0.50)" in told
    assert "| **knn** | all | 3 | 0.79 | 4.00 made 10000×20, c=2 | 0.50 | 0.50 made 1000×20, c=2 | 1 | 2.0 |" in told
    assert "|  | made | 2 | 1.00 | 4.00 made 10000×20, c=2 |" in told
    assert "- knn, fit: 4.00 made 10000×20, c=2 (10 ms)" in told
    assert "at most 2.0 times scikit-learn's (knn, made 1000×20, c=2)." in told


class Slow(DummyClassifier):
    """Sleeps before it learns."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        time.sleep(60)
        return super().fit(X, y, sample_weight)


def test_a_side_that_takes_too_long_is_named() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    task = Task("tiny", "made", 2, X, y, X, y)
    assert side_by_side(DummyClassifier(), Slow(), task, 0.2, None) == "scikit-learn: more than 0.8 s"


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


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("java") is None or "WEKA_JAR" not in os.environ, reason="needs java, and WEKA_JAR=…/weka.jar"
)
def test_wekas_learners_are_measured_beside_ours() -> None:
    told = run("weka.py", "--learners", "IBk", "--data", "diabetes", "--rows", "--seconds", "0.05")
    (row,) = (line.split(" | ") for line in told.splitlines() if line.startswith("| IBk | diabetes"))
    assert row[10] == row[11]  # R²
    assert "| **all** | 1 |" in told
