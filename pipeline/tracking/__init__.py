"""Tracking of runs: the only package that imports MLflow.

`interface` is the interface to the rest of the pipeline. `trackers` decide where runs are kept, `run` writes a run,
`models` its model and `model_file` the files of the model, which `loading` reads; `registry` names models; `store`
finds or creates the store, and `history` queries it for earlier runs. MLflow is imported when the first run starts, so
that an invalid command is rejected at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tracking.interface import Figure, Run, RunDescription, RunStopped, Tracker

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.loading import load_model
    from bakeoff.pipeline.tracking.models import preload_modules
    from bakeoff.pipeline.tracking.trackers import MLflowTracker, NoTracker

MODULES: Mapping[str, str] = {
    "MLflowTracker": "trackers",
    "NoTracker": "trackers",
    "load_model": "loading",
    "preload_modules": "models",
}
"""Name -> the module that has it, which is imported when the name is asked for: most runs need few."""

__all__ = [
    "Figure",
    "MLflowTracker",
    "NoTracker",
    "Run",
    "RunDescription",
    "RunStopped",
    "Tracker",
    "load_model",
    "preload_modules",
]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
