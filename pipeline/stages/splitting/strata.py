"""Strata: the classes, or the intervals of a numeric target, that every part holds in proportion."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.splits import SplitInput


def make_strata(data: SplitInput, *, stratify: bool, target_bins: int | None) -> np.ndarray | None:
    """Return the stratum of each row; None if the parts are left to chance.

    Parameters
    ----------
    data : SplitInput
        Of n rows.
    stratify : bool
        Whether classes are strata.
    target_bins : int or None
        The number of intervals of a numeric target, with about the same number of rows each. Intervals with the same
        limits, which many equal targets cause, become one.

    Returns
    -------
    ndarray of shape (n,) or None

    Raises
    ------
    UserError
        The target is not numeric, but has intervals.

    References
    ----------
    Kohavi, R. (1995). A study of cross-validation and bootstrap for accuracy estimation and model selection. IJCAI,
    1137-1143, for classes; Breiman, L. and Spector, P. (1992). Submodel selection and evaluation in regression.
    International Statistical Review 60, 291-319, for intervals of the target.
    """
    if data.is_classification:
        if target_bins is not None:
            raise UserError(
                f"evaluation.target_bins={target_bins} divides a numeric target, but this target has classes, which "
                "evaluation.stratify keeps in proportion; leave evaluation.target_bins out."
            )
        return data.y if stratify else None
    if target_bins is None:
        return None
    intervals: np.ndarray = pd.qcut(data.y, target_bins, labels=False, duplicates="drop")
    return intervals


def count_rarest(strata: np.ndarray) -> tuple[str, int]:
    """Return the stratum with the fewest rows as text, and their number."""
    values, counts = np.unique(strata, return_counts=True)
    position = counts.argmin()
    return str(values[position]), int(counts[position])
