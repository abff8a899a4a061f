"""Several tests at once: Holm's correction of p-values, and the pairs that are tested.

References
----------
Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bakeoff.pipeline.comparison.statistics.extra import import_extra


def list_pairs(n_configurations: int) -> list[tuple[int, int]]:
    """List all pairs (i, j) with i < j of configurations by their numbers."""
    return list(combinations(range(n_configurations), 2))


def adjust_by_holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values so that the chance of any false rejection among all of them is at most alpha.

    Parameters
    ----------
    p_values : ndarray of shape (m,)
        Of all tests that were made, whichever of them are shown.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        To be compared with alpha.

    Raises
    ------
    UserError
        If statsmodels is not installed.
    ValueError
        If a p-value is not between 0 and 1. A test without a p-value is not one of the m.

    References
    ----------
    Holm (1979); statsmodels' ``multipletests`` computes it.
    """
    p_values = np.asarray(p_values, dtype=float)  # (m,)
    is_probability = (p_values >= 0) & (p_values <= 1)  # (m,), False for NaN
    if not np.all(is_probability):
        wrong = p_values[~is_probability][0]
        raise ValueError(f"p={wrong}: values from 0 to 1 are allowed")
    if len(p_values) == 0:
        return p_values
    multitest = import_extra("statsmodels.stats.multitest", "Holm's correction")
    _, adjusted, _, _ = multitest.multipletests(p_values, method="holm")
    return np.asarray(adjusted)
