"""Tracking of runs: the only package that imports MLflow.

`trackers` is the interface to the rest of the pipeline and decides where runs are kept. `run` writes a run,
`metric_log` its metrics, and `models` its model, which `loading` reads; `registry` names models; `store` finds or
creates the store, and `history` queries it for earlier runs. MLflow is imported when the first run starts, so that an
invalid command is rejected at once.
"""

from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tracking.interface import Figure, NoTracker, Run, RunDescription, RunStopped, Tracker

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.trackers import MLflowTracker

__all__ = ["Figure", "MLflowTracker", "NoTracker", "Run", "RunDescription", "RunStopped", "Tracker"]


def __getattr__(name: str) -> Any:
    """Import the tracker when it is asked for: a configuration that is refused needs none."""
    if name == "MLflowTracker":
        from bakeoff.pipeline.tracking.trackers import MLflowTracker

        return MLflowTracker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
