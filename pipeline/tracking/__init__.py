"""The door to MLflow's runs.

``interface`` is what the loop knows, ``trackers`` choose where runs are kept, ``run`` writes one, ``models`` its model.
MLflow is imported when the first run starts, so that a refusal costs no time.
"""

from bakeoff.pipeline.tracking.interface import Figure, Run, RunDescription, RunStopped, Tracker
from bakeoff.pipeline.tracking.models import load_model, preload_modules
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
