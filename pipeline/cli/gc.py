"""``bakeoff gc``: free the space of runs that were deleted in MLflow, and of models that belong to no run."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.pipeline.cli.arguments import parse_arguments
from bakeoff.pipeline.cli.removal_report import carry_out, read_switch

KEYS = ("registered", "dry_run", "tracking.uri")
EXPERIMENT = "Default"
"""Each store has it; all experiments are searched."""


def collect_garbage(words: Sequence[str]) -> int:
    """Delete what nothing names any more, in all experiments of a store; return the exit code.

    These are the runs and experiments that were deleted on MLflow's pages, their models, and the models of runs that
    are not there, which ``mlflow gc`` leaves.

    Parameters
    ----------
    words : sequence of str
        ``[dry_run=true] [registered=true] [tracking.uri=URI]``; ``registered=true`` deletes registered versions of
        deleted runs as well.

    Raises
    ------
    UserError
        There is no store, or it is a server.
    """
    _, values = parse_arguments("gc", words, [], KEYS)
    is_dry = read_switch("gc", values, "dry_run")
    is_registered_included = read_switch("gc", values, "registered")

    from bakeoff.pipeline.tracking.inventory import read_inventory
    from bakeoff.pipeline.tracking.removal import plan_collection
    from bakeoff.pipeline.tracking.store import open_store

    store = open_store(values.get("tracking.uri"), EXPERIMENT, create=False)
    removal = plan_collection(store, read_inventory(store, "gc"), is_registered_included)
    carry_out(store, removal, is_dry=is_dry)
    return 0
