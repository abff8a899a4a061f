"""The JSON document: every number at full precision, in a versioned shape."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

from bakeoff.pipeline.comparison.comparison import Comparison

FORMAT = "bakeoff.comparison"
FORMAT_VERSION = 1
"""Raised when a key changes its meaning or goes; new keys may come without a new version."""


def render_json(comparison: Comparison) -> str:
    """Return the comparison as JSON.

    The keys are the attributes of `Comparison` and its parts, which document them. Numbers have the digits that give
    them back exactly; one that does not exist or is not finite is null.
    """
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(_drop_predictions(comparison))}
    return json.dumps(_replace_infinite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _drop_predictions(comparison: Comparison) -> Comparison:
    """Return the comparison without the predictions of single rows, which are in the artifacts of the runs."""
    cells = tuple(replace(cell, predictions=None) for cell in comparison.cells)
    others = tuple(replace(cell, predictions=None) for cell in comparison.other_cells)
    return replace(comparison, cells=cells, other_cells=others)


def _replace_infinite(value: Any) -> Any:
    """Return a document without NaN and infinite numbers, for which JSON has no notation."""
    if isinstance(value, dict):
        return {key: _replace_infinite(child) for key, child in value.items() if key != "predictions"}
    if isinstance(value, list | tuple):
        return [_replace_infinite(child) for child in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
