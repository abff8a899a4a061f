"""Tracking of runs: the only package that imports MLflow.

`interface` is used by the rest of the pipeline. `run` creates and writes runs, `run_content` has
their metrics and files, and `models` their models, which `loading` reads; `registry` names models; `store` creates
the store, and `history` queries it for earlier runs. MLflow is imported when the first run starts, so that an invalid
command is rejected immediately.
"""

from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tracking.interface import Figure, NoTracker, Run, RunDescription, RunStopped, Tracker

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.run import MLflowTracker

__all__ = ["Figure", "MLflowTracker", "NoTracker", "Run", "RunDescription", "RunStopped", "Tracker"]


def __getattr__(name: str) -> Any:
    """Import the tracker on demand, since refused configurations do not need it."""
    if name == "MLflowTracker":
        from bakeoff.pipeline.tracking.run import MLflowTracker

        return MLflowTracker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
