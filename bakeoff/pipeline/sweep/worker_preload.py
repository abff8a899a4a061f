"""Imports shared by all workers, done once by the server process from which they are forked."""

import bakeoff.pipeline.sweep.workers  # noqa: F401
from bakeoff.pipeline.tracking import models, store

store.quiet_mlflow()
models.preload_modules()
