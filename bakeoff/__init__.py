"""Declarative machine-learning experiments: Hydra describes them, NumPy learners run them, MLflow keeps them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.version import __version__ as __version__

if TYPE_CHECKING:
    from bakeoff.pipeline.commands.accept.judgement import AcceptResult
    from bakeoff.pipeline.commands.accept.python import accept
    from bakeoff.pipeline.commands.compare.python import ComparisonResult, compare
    from bakeoff.pipeline.commands.diff.python import ablate, diff
    from bakeoff.pipeline.commands.diff.result import DifferenceResult
    from bakeoff.pipeline.commands.doctor.diagnosis import Diagnosis, doctor
    from bakeoff.pipeline.commands.inspect.python import Inspection, inspect
    from bakeoff.pipeline.commands.serve.python import ship
    from bakeoff.pipeline.commands.work.python import WorkResult, work
    from bakeoff.pipeline.errors import UserError
    from bakeoff.pipeline.model.pyfunc import Model
    from bakeoff.pipeline.python.call import BakeoffWarning
    from bakeoff.pipeline.python.load import load
    from bakeoff.pipeline.python.run import RunResult, run
    from bakeoff.pipeline.python.sweep import SweepResult, sweep

__all__ = [
    "AcceptResult", "BakeoffWarning", "ComparisonResult", "Diagnosis", "DifferenceResult", "Inspection", "Model",
    "RunResult", "SweepResult", "UserError", "WorkResult", "ablate", "accept", "compare", "diff", "doctor", "inspect",
    "load", "run", "ship", "sweep", "work",
]  # fmt: skip

MODULES: Mapping[str, str] = {
    "AcceptResult": "commands.accept.judgement",
    "BakeoffWarning": "python.call",
    "ComparisonResult": "commands.compare.python",
    "Diagnosis": "commands.doctor.diagnosis",
    "DifferenceResult": "commands.diff.result",
    "Inspection": "commands.inspect.python",
    "Model": "model.pyfunc",
    "RunResult": "python.run",
    "SweepResult": "python.sweep",
    "UserError": "errors",
    "WorkResult": "commands.work.python",
    "ablate": "commands.diff.python",
    "accept": "commands.accept.python",
    "compare": "commands.compare.python",
    "diff": "commands.diff.python",
    "doctor": "commands.doctor.diagnosis",
    "inspect": "commands.inspect.python",
    "load": "python.load",
    "run": "python.run",
    "ship": "commands.serve.python",
    "sweep": "python.sweep",
    "work": "commands.work.python",
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
