"""Checks of the arguments of splitters, with messages that name the key, the value and the remedy."""

from __future__ import annotations

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput


def require_fraction(key: str, value: float, *, allow_zero: bool) -> None:
    """Reject a value that is not a fraction in (0, 1), or in [0, 1) if zero is allowed."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and (0 < value < 1 or (allow_zero and value == 0)):
        return
    lower_bound = "at least 0" if allow_zero else "above 0"
    raise UserError(f"evaluation.{key}={value!r} must be a fraction {lower_bound} and below 1.")


def require_count(key: str, value: int, *, at_least: int) -> None:
    """Reject a value that is not an integer, or is too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise UserError(f"evaluation.{key}={value!r} must be an integer of at least {at_least}.")


def require_rows_per_fold(data: SplitInput, folds: int, *, stratified: bool) -> None:
    """Reject more folds than rows and, if every fold is to hold every class, more folds than rows of a class."""
    if len(data.y) < folds:
        raise UserError(f"evaluation.folds={folds}, but there are {len(data.y)} rows; use fewer folds.")
    if not stratified:
        return
    classes, counts = np.unique(data.y, return_counts=True)
    fewest = counts.min()
    if fewest >= folds:
        return
    rarest = str(classes[counts.argmin()])
    remedy = f"has {fewest} rows; use at most {fewest} folds, or" if fewest > 1 else "has 1 row; drop it, or set"
    raise UserError(f"evaluation.folds={folds}, but class {rarest!r} {remedy} evaluation.stratify=false.")
