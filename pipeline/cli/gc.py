"""``bakeoff gc``: free the space of runs that were deleted in MLflow, and of models that belong to no run."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.cli.removal_report import carry_out
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.tracking.removal import CollectionRequest, plan_garbage


def collect_garbage(words: Sequence[str]) -> int:
    """Delete what nothing names any more, in all experiments of a store.

    These are the runs and experiments that were deleted on MLflow's pages, their models, and the models of runs that
    are not there, which ``mlflow gc`` leaves.

    Raises
    ------
    UserError
        There is no store, or it is a server.
    """
    request = read_request("gc", CollectionRequest, words)
    store, removal = plan_garbage(request)
    carry_out(store, removal, is_dry=request.dry_run)
    return 0
