"""Declarative machine-learning experiments: Hydra describes them, NumPy learners run them, MLflow keeps them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.version import __version__ as __version__

if TYPE_CHECKING:
    from bakeoff.pipeline.errors import UserError
    from bakeoff.pipeline.model.pyfunc import Model
    from bakeoff.pipeline.python.call import BakeoffWarning
    from bakeoff.pipeline.python.compare import ComparisonResult, compare
    from bakeoff.pipeline.python.difference import DifferenceResult, ablate, diff
    from bakeoff.pipeline.python.inspect import Inspection, inspect
    from bakeoff.pipeline.python.models import load, ship
    from bakeoff.pipeline.python.run import RunResult, run
    from bakeoff.pipeline.python.sweep import SweepResult, sweep
    from bakeoff.pipeline.python.work import WorkResult, work

__all__ = [
    "BakeoffWarning", "ComparisonResult", "DifferenceResult", "Inspection", "Model", "RunResult", "SweepResult",
    "UserError", "WorkResult", "ablate", "compare", "diff", "inspect", "load", "run", "ship", "sweep", "work",
]  # fmt: skip

MODULES: Mapping[str, str] = {
    "BakeoffWarning": "python.call",
    "ComparisonResult": "python.compare",
    "DifferenceResult": "python.difference",
    "Inspection": "python.inspect",
    "Model": "model.pyfunc",
    "RunResult": "python.run",
    "SweepResult": "python.sweep",
    "UserError": "errors",
    "WorkResult": "python.work",
    "ablate": "python.difference",
    "compare": "python.compare",
    "diff": "python.difference",
    "inspect": "python.inspect",
    "load": "python.models",
    "run": "python.run",
    "ship": "python.models",
    "sweep": "python.sweep",
    "work": "python.work",
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
