"""The benchmarks run: what they measure is for people to read."""

from __future__ import annotations

from pathlib import Path

import pytest
from warm_process import run_script

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
