"""The benchmarks run: what they measure is for people to read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from warm_process import Start, run_script

from benchmarks import study
from benchmarks.sweep import Cost

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
