"""Imports shared by all workers, done once by the server process from which they are forked."""

import bakeoff.pipeline.sweep.workers  # noqa: F401
from bakeoff.pipeline.tracking.models import preload_modules
from bakeoff.pipeline.tracking.store import quiet_mlflow

quiet_mlflow()
preload_modules()
