"""Drift: whether further rows of a column are distributed as those of training were.

Both samples are histograms over the same bins: for a numeric column the tenths of training, for others its values. The
chi-squared test of homogeneity says whether the difference may be chance, the population stability index how large it
is. A verdict needs both: in a large file the test finds differences that mean nothing.

Tenths are chosen by training itself. If all its numbers differ, it is not its counts that vary by chance, but the
probabilities of the bins, as Wilks (1942) describes. If many are equal, it is the counts. Of the two p-values the
larger one counts. With 50 training rows, the first test alone rejects equality for 10 % of columns without ties, and
the second alone for 7 % of those with many.

References
----------
S. S. Wilks. Statistical prediction with special reference to the problem of tolerance limits. Annals of Mathematical
Statistics 13(4), 400-409, 1942.
W. G. Cochran. Some methods for strengthening the common χ² tests. Biometrics 10(4), 417-451, 1954.
N. Siddiqi. Credit Risk Scorecards: Developing and Implementing Intelligent Credit Scoring. Wiley, 2006.
B. Yurdakul and J. Naranjo. Statistical properties of the population stability index. Journal of Risk Model Validation
14(4), 89-100, 2020.
S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MIN_TESTED_ROWS = 50
"""Minimum size of both samples: with fewer cells, tenths are expected to contain less than five."""
MIN_EXPECTED_CELLS = 1.0
"""Of a bin, in the smaller sample (Cochran 1954); rarer ones are counted together."""
PSEUDO_CELLS = 0.5
"""That are added to each bin for the index, which an empty one would make infinite."""
MODERATE_INDEX = 0.1
LARGE_INDEX = 0.25
"""From which population stability index a shift is moderate, and from which it is large (Siddiqi 2006)."""
ALPHA = 0.05


@dataclass(frozen=True)
class Drift:
    """How the cells of two samples differ.

    Attributes
    ----------
    p_value : float
        Of the chi-squared test of homogeneity.
    index : float
        The population stability index less its expected value for samples of one distribution, at least 0.
    """

    p_value: float
    index: float


def measure_drift(training: np.ndarray, further: np.ndarray, *, has_tenths: bool = False) -> Drift | None:
    """Compare two histograms; None if there are too few cells for it.

    Parameters
    ----------
    training : ndarray of shape (k,)
        Numbers of cells in each bin.
    further : ndarray of shape (k,)
        Those of further rows, in the same bins.
    has_tenths : bool
        Whether the bins are tenths of training, so that none of them is empty there.

    Examples
    --------
    >>> measure_drift(np.array([300, 300]), np.array([50, 50]))
    Drift(p_value=1.0, index=0.0)
    >>> drift = measure_drift(np.array([300, 300]), np.array([80, 20]))
    >>> drift.p_value < 1e-6, round(drift.index, 2)
    (True, 0.39)
    """
    from scipy.stats import chi2_contingency

    n = int(training.sum())
    m = int(further.sum())
    if min(n, m) < MIN_TESTED_ROWS:
        return None
    table = merge_rare_bins(np.stack([training, further]))  # (2, k')
    if table.shape[1] < 2:
        return None
    p_value = float(chi2_contingency(table, correction=False).pvalue)
    if has_tenths:
        p_value = max(p_value, compare_spacings(table[0], table[1]))
    index = compute_stability_index(table[0], table[1])
    return Drift(p_value, max(0.0, index - expect_index(n, m, table.shape[1])))


def compare_spacings(training: np.ndarray, further: np.ndarray) -> float:
    """Return the p-value of equality if the bins lie between numbers of training, all of which differ.

    The counts of further rows then have a Dirichlet-multinomial distribution, of which the variance exceeds that of a
    multinomial one by a known factor.

    Parameters
    ----------
    training : ndarray of shape (k,)
        Numbers of cells, at least one in each bin.
    further : ndarray of shape (k,)

    References
    ----------
    Wilks 1942.
    """
    from scipy.stats import chi2

    n = training.sum()
    m = further.sum()
    expected = m * training / n  # (k,)
    statistic = np.sum((further - expected) ** 2 / expected)
    inflation = (n + m + 1) / (n + 2)
    return float(chi2.sf(statistic / inflation, len(training) - 1))


def merge_rare_bins(table: np.ndarray) -> np.ndarray:
    """Return a table in which bins with few expected cells are counted as one, or with the rarest other one.

    Parameters
    ----------
    table : ndarray of shape (2, k)

    Returns
    -------
    ndarray of shape (2, k'), k' <= k
    """
    total = table.sum()
    smaller = table.sum(axis=1).min()
    expected = table.sum(axis=0) * smaller / total  # (k,)
    order = np.argsort(expected, kind="stable")
    # The rarest bins that have enough cells together.
    sums = np.cumsum(expected[order])
    n_rare = int(np.count_nonzero(expected < MIN_EXPECTED_CELLS))
    if n_rare == 0:
        return table
    n_needed = int(np.searchsorted(sums, MIN_EXPECTED_CELLS)) + 1
    n_merged = max(n_rare, n_needed)
    merged = table[:, order[:n_merged]].sum(axis=1, keepdims=True)
    return np.hstack([table[:, np.sort(order[n_merged:])], merged])


def compute_stability_index(training: np.ndarray, further: np.ndarray) -> float:
    """Return the population stability index of two histograms, Σ (q - p) ln(q / p) over the bins.

    Parameters
    ----------
    training, further : ndarray of shape (k,)
        Numbers of cells.
    """
    p = _estimate_probabilities(training)  # (k,)
    q = _estimate_probabilities(further)  # (k,)
    return float(np.sum((q - p) * np.log(q / p)))


def expect_index(n: int, m: int, k: int) -> float:
    """Return the population stability index that two samples of one distribution have on average, approximately.

    Parameters
    ----------
    n, m : int
        Sizes of the samples.
    k : int
        The number of bins.

    References
    ----------
    Yurdakul and Naranjo 2020: the index is (1/n + 1/m) times a chi-squared variable with k - 1 degrees of freedom.
    """
    return (k - 1) * (1.0 / n + 1.0 / m)


def adjust_by_holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values by Holm: the chance of any false rejection among all of them is then at most alpha.

    Parameters
    ----------
    p_values : ndarray of shape (m,)
        Of all tests that were made, whichever of them are shown.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        To be compared with alpha.

    Examples
    --------
    >>> adjust_by_holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    raised = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return adjusted


def name_shift(index: float, adjusted_p_value: float) -> str:
    """Return how large a shift is, ``moderate`` or ``large``; empty if it is small or may be chance."""
    if adjusted_p_value > ALPHA or index < MODERATE_INDEX:
        return ""
    return "large" if index >= LARGE_INDEX else "moderate"


def _estimate_probabilities(counts: np.ndarray) -> np.ndarray:
    raised = counts + PSEUDO_CELLS
    return np.asarray(raised / raised.sum())
