"""Parts that a configuration of an earlier version lacks, and the null objects that stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NULL_PARTS = {
    "balance": "bakeoff.pipeline.stages.balance.NoBalance",
    "target": "bakeoff.pipeline.stages.target.NoTarget",
    "calibration": "bakeoff.pipeline.stages.calibration.NoCalibration",
    "threshold": "bakeoff.pipeline.stages.threshold.NoThreshold",
}
"""Each part that need not be given -> the class that does nothing in its place."""


def add_absent_parts(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with a null object for each part that it lacks: earlier versions did nothing there."""
    absent = {part: {"_target_": target} for part, target in NULL_PARTS.items() if not spec.get(part)}
    return {**spec, **absent}


def is_null_part(part: str, node: Mapping[str, Any]) -> bool:
    """Return whether a part of a configuration is one that does nothing."""
    return node.get("_target_") == NULL_PARTS.get(part)
