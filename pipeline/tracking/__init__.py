"""The door to MLflow's runs.

``interface`` is what the loop knows, ``trackers`` choose where runs are kept, ``run`` writes one, ``models`` its model.
MLflow is imported when the first run starts, so that a refusal costs no time.
"""

from bakeoff.pipeline.tracking.interface import Description, Figure, Run, Stopped, Tracker
from bakeoff.pipeline.tracking.models import load_model, warm_up
from bakeoff.pipeline.tracking.trackers import MLflowTracker, NoTracker

__all__ = ["Description", "Figure", "MLflowTracker", "NoTracker", "Run", "Stopped", "Tracker", "load_model", "warm_up"]
