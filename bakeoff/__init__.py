"""Declarative machine-learning experiments: Hydra describes them, NumPy learners run them, MLflow keeps them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bakeoff.pipeline.errors import UserError
    from bakeoff.pipeline.model import Model
    from bakeoff.pipeline.python.compare import compare
    from bakeoff.pipeline.python.comparison_result import ComparisonResult
    from bakeoff.pipeline.python.inspect import Inspection, inspect
    from bakeoff.pipeline.python.load import load
    from bakeoff.pipeline.python.notes import BakeoffWarning
    from bakeoff.pipeline.python.run import run
    from bakeoff.pipeline.python.run_result import RunResult
    from bakeoff.pipeline.python.ship import ship
    from bakeoff.pipeline.python.sweep import sweep
    from bakeoff.pipeline.python.sweep_result import SweepResult

__version__ = "0.2.0"
__all__ = [
    "BakeoffWarning", "ComparisonResult", "Inspection", "Model", "RunResult", "SweepResult", "UserError", "compare",
    "inspect", "load", "run", "ship", "sweep",
]  # fmt: skip

MODULES: Mapping[str, str] = {
    "BakeoffWarning": "python.notes",
    "ComparisonResult": "python.comparison_result",
    "Inspection": "python.inspect",
    "Model": "model",
    "RunResult": "python.run_result",
    "SweepResult": "python.sweep_result",
    "UserError": "errors",
    "compare": "python.compare",
    "inspect": "python.inspect",
    "load": "python.load",
    "run": "python.run",
    "ship": "python.ship",
    "sweep": "python.sweep",
}
"""Each public name -> the module that defines it. It is imported at its first use: the command starts at once."""


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'bakeoff' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"bakeoff.pipeline.{MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
