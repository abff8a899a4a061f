"""Tracking of runs: the only package that imports MLflow.

`interface` is what the rest of the pipeline sees. `run` decides where runs are kept and writes them, `run_content` has
their metrics and files, and `models` their models, which `loading` reads; `registry` names models; `store` creates
the store, and `history` queries it for earlier runs. MLflow is imported when the first run starts, so that an
invalid command is rejected at once.
"""

from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tracking.interface import Figure, NoTracker, Run, RunDescription, RunStopped, Tracker

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.run import MLflowTracker

__all__ = ["Figure", "MLflowTracker", "NoTracker", "Run", "RunDescription", "RunStopped", "Tracker"]


def __getattr__(name: str) -> Any:
    """Import the tracker when it is asked for: a configuration that is refused needs none."""
    if name == "MLflowTracker":
        from bakeoff.pipeline.tracking.run import MLflowTracker

        return MLflowTracker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
