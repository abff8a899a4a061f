"""What every worker needs, imported once by the process that they are forked from."""

from __future__ import annotations

from bakeoff.pipeline.store import quiet_mlflow
from bakeoff.pipeline.tracking import warm_up

quiet_mlflow()
warm_up()
