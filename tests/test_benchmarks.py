"""The benchmarks run: what they measure is for people to read."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def run(script: str, *words: str) -> str:
    command = [sys.executable, "-W", "ignore", str(BENCHMARKS / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", ["learners.py", "tuning.py", "scale.py", "sweep.py", "stores.py"])
def test_a_benchmark_says_what_it_measures(script: str) -> None:
    assert "usage:" in run(script, "--help")


def test_learners_are_measured_beside_scikit_learns(tmp_path: Path) -> None:
    few = ["--learners", "majority", "--data", "iris", "--rows", "--seconds", "0.05", "--output", str(tmp_path)]
    assert "majority" in run("learners.py", *few)
    (file,) = tmp_path.glob("*.csv")
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["learner"] for row in rows] == ["majority"] * len(rows)
    assert all(float(row["quality"]) == float(row["sklearn_quality"]) for row in rows)


def test_tuning_is_measured_beside_a_grid_search() -> None:
    told = run("tuning.py", "--data", "--rows", "60", "--repeats", "1")
    assert "50 values of n_neighbors" in told
