"""``import bakeoff``: what it offers, how light it is, and the types of what it returns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pandas as pd
import pytest

import bakeoff
from bakeoff import ComparisonResult, Inspection, Model, RunResult, SweepResult

ROOT = Path(__file__).parents[2]


def show_types(result: RunResult, swept: SweepResult, frame: pd.DataFrame) -> None:
    """State the types of results, which mypy checks; the function is never called."""
    assert_type(bakeoff.run("learner=knn", dataset=frame, target="y"), RunResult)
    assert_type(result.folds, pd.DataFrame)
    assert_type(result.model, Model)
    assert_type(bakeoff.sweep(learner=["knn"]), SweepResult)
    assert_type(swept.table, pd.DataFrame)
    assert_type(bakeoff.compare(result, swept), ComparisonResult)
    assert_type(bakeoff.load("titanic@champion"), Model)
    assert_type(bakeoff.ship(result, "titanic@champion"), Model)
    assert_type(bakeoff.inspect(frame), Inspection)


def test_importing_is_light_and_names_are_loaded_when_they_are_used() -> None:
    heavy = "'numpy', 'pandas', 'sklearn', 'mlflow', 'hydra', 'matplotlib', 'rich', 'bakeoff.pipeline'"
    code = (
        f"import sys, bakeoff; loaded = [name for name in ({heavy}) if name in sys.modules]; "
        "print(loaded, bakeoff.run.__name__, bakeoff.UserError.__name__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[] run UserError"


def test_all_public_names_exist_and_are_listed() -> None:
    assert set(bakeoff.__all__) == set(bakeoff.MODULES) <= set(dir(bakeoff))
    for name in bakeoff.__all__:
        assert getattr(bakeoff, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = bakeoff.runn
