"""Tracking of runs: the only package that imports MLflow.

`interface` is the interface to the rest of the pipeline. `trackers` decide where runs are kept, `run` writes a run,
`models` its model and `model_file` the files of the model, which `loading` reads; `registry` names models; `store`
finds or creates the store, and `history` queries it for earlier runs. MLflow is imported when the first run starts, so
that an invalid command is rejected at once.
"""

from bakeoff.pipeline.tracking.interface import Figure, Run, RunDescription, RunStopped, Tracker
from bakeoff.pipeline.tracking.loading import load_model
from bakeoff.pipeline.tracking.models import preload_modules
from bakeoff.pipeline.tracking.trackers import MLflowTracker, NoTracker

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
