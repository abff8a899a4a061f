"""Replay: run a stored run again from what the store holds of it, and compare every number.

`rebuild` makes the configuration, `repeat` runs it and stores nothing, `differences` compares the results with the
stored ones, `environment` lists what has changed since, and `replay` joins them to a `ReplayReport`. The runs that are
read do not change.
"""

from bakeoff.pipeline.replay.replay import ReplayRequest, replay_run
from bakeoff.pipeline.replay.replay_report import ReplayReport
from bakeoff.pipeline.replay.replay_sweep import StoreAddress, replay_runs

__all__ = ["ReplayReport", "ReplayRequest", "StoreAddress", "replay_run", "replay_runs"]
