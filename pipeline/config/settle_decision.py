"""On which rows calibration and threshold are learnt, where the configuration leaves it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DECISION_PARTS = ("calibration", "threshold")
DEFAULT_INNER_FOLDS = 5


def settle_decision(settled: Mapping[str, Any], *, has_free_rows: bool) -> dict[str, Any]:
    """Return the parts that learn on unseen rows, with ``folds=null`` filled in.

    Parameters
    ----------
    settled : mapping
        A configuration in which all else is settled.
    has_free_rows : bool
        Whether there is a validation part that neither pruning nor tuning uses.

    Returns
    -------
    dict
        ``calibration`` and ``threshold``. Both are learnt on the same rows: if one of them has ``folds``, the other
        gets the same; else ``folds`` is 0, the validation part, if that is free, and 5 inner folds otherwise.
    """
    parts = {part: dict(settled[part]) for part in DECISION_PARTS}
    given = [node["folds"] for node in parts.values() if node.get("folds") is not None]
    default = 0 if has_free_rows else DEFAULT_INNER_FOLDS
    folds = given[0] if given else default
    for node in parts.values():
        if "folds" in node and node["folds"] is None:
            node["folds"] = folds
    return parts
