"""From a stored run to the configuration that runs it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.stored_config import find_data, require_trust
from bakeoff.pipeline.tracking.stored_runs import RunRecord

FINISHED = "FINISHED"
FAILED = "FAILED"
REQUIRED_KEYS = ("dataset", "learner", "evaluation", "seed")
NO_AUDIT = {"_target_": "bakeoff.pipeline.audit.NoAudit"}
NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}


def rebuild_spec(record: RunRecord, trust: Sequence[str], path: str | None = None) -> dict[str, Any]:
    """Return the settled configuration that runs a stored run again, and stores and draws nothing.

    Parameters
    ----------
    record : RunRecord
    trust : sequence of str
        Packages that the user trusts now.
    path : str, optional
        Where the file of the dataset is now, if it was moved.

    Raises
    ------
    UserError
        The run cannot be repeated, it trusts a package that the user does not, or its file is gone.
    """
    require_repeatable(record)
    require_trust(record.spec, record.run_id, trust)
    spec = dict(record.spec)
    spec["trust"] = list(trust)
    spec["tracking"] = NO_TRACKING
    spec["figures"] = []
    # A run of a version that had no audit is not refused for what the audit would find now.
    spec.setdefault("audit", NO_AUDIT)
    spec["dataset"] = find_data(record.spec["dataset"], record.run_id, record.source, path)
    return settle_config(spec)


def require_repeatable(record: RunRecord) -> None:
    """Reject a run that was not evaluated by bakeoff, or that did not end by itself.

    Raises
    ------
    UserError
    """
    missing = [key for key in REQUIRED_KEYS if key not in record.spec]
    if missing or "config_hash" not in record.tags:
        raise UserError(f"run {record.run_id} is not the run of a job of bakeoff, so there is nothing to repeat.")
    if record.status == "RUNNING":
        raise UserError(f"run {record.run_id} is still running; replay it when it has ended.")
    if record.status not in (FINISHED, FAILED) and not was_stopped(record):
        reason = record.tags.get("error", "it has no error message")
        raise UserError(
            f"run {record.run_id} ended as {record.status} ({reason}), so its numbers are incomplete; "
            "run its job again."
        )


def was_stopped(record: RunRecord) -> bool:
    """Whether a study stopped the run before its last fold."""
    return STOPPED_TAG in record.tags
