"""Differences between further rows and the training rows of a model: as sentences, and as data for programs.

Drift is measured by histograms over the same bins: the training deciles of a numeric column, and the values of other
columns. The chi-squared test of homogeneity determines whether the difference may be due to chance, and the population
stability index how large it is. Both are needed, because in a large file the test finds negligible differences.

Tenths are chosen from the training numbers themselves. If all these numbers differ, the counts of the training rows
are fixed and the probabilities of the bins vary by chance, as Wilks (1942) describes. A second test takes this into
account. If many numbers are equal, it is the counts that vary, as the chi-squared test assumes. The larger of both
p-values is therefore used. With 50 training rows, the chi-squared test alone rejects equality for 10 % of columns
without ties, and the second test alone for 7 % of columns with many ties.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.training_record import ColumnProfile, TrainingRecord, count_in_bins, to_numbers
from bakeoff.pipeline.stages.dataset.convert import ConvertedTable
from bakeoff.pipeline.stages.dataset.table import DATE, NUMERIC, Column
from bakeoff.pipeline.text.wording import equate_p, format_percent, format_statistic, name_first

MIN_TESTED_ROWS = 50
"""Minimum size of both samples: with fewer cells, tenths are expected to contain less than five."""
MIN_EXPECTED_CELLS = 1.0
"""The minimum expected count of a bin in the smaller sample (Cochran 1954); rarer bins are merged."""
PSEUDO_CELLS = 0.5
"""Cells added to each bin for the index, which would be infinite if a bin were empty."""
MODERATE_INDEX = 0.1
LARGE_INDEX = 0.25
"""The population stability index from which a shift is moderate or large (Siddiqi 2006)."""
ALPHA = 0.05


@dataclass(frozen=True)
class Drift:
    """The difference between the cells of two samples.

    Attributes
    ----------
    p_value : float
        The p-value of the chi-squared test of homogeneity.
    index : float
        The population stability index minus its expected value for samples from the same distribution, at least 0.
    """

    p_value: float
    index: float


def measure_drift(training: np.ndarray, further: np.ndarray, *, has_tenths: bool = False) -> Drift | None:
    """Compare two histograms; None if there are too few cells.

    Parameters
    ----------
    training : ndarray of shape (k,)
        Numbers of cells in each bin.
    further : ndarray of shape (k,)
        Numbers of cells of the further rows, in the same bins.
    has_tenths : bool
        Whether the bins are tenths of training, so none of them is empty in training.

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
    """Return the p-value of equality for bins that lie between distinct training numbers.

    The counts of further rows then have a Dirichlet-multinomial distribution, whose variance exceeds that of a
    multinomial distribution by a known factor.

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
    """Return a table in which bins with few expected cells are merged with each other or with the rarest other bin.

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
    """Return the approximate mean population stability index of two samples from the same distribution.

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
    """Adjust p-values by Holm's method, so the probability of any false rejection is at most alpha.

    Parameters
    ----------
    p_values : ndarray of shape (m,)
        The p-values of all tests, including those that are not shown.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        The values to compare with alpha.

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
    """Return the size of a shift, ``moderate`` or ``large``; empty if it is small or may be due to chance."""
    if adjusted_p_value > ALPHA or index < MODERATE_INDEX:
        return ""
    return "large" if index >= LARGE_INDEX else "moderate"


def _estimate_probabilities(counts: np.ndarray) -> np.ndarray:
    raised = counts + PSEUDO_CELLS
    return np.asarray(raised / raised.sum())


MAX_SHOWN_VALUES = 5
MAX_CHANCE = 0.1
"""Missing cells are reported if their number, or a larger one, has at most this probability at the training rate."""
MIN_EXCESS = 0.05
MIN_RATIO = 2.0
"""Their fraction must also exceed the training rate by `MIN_EXCESS`, or be at least `MIN_RATIO` times that rate: in a
large file, even a negligible excess is improbable."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Difference(NamedTuple):
    """A difference between the new cells of a column and its training cells.

    Attributes
    ----------
    column : str
    data : mapping of str to object
        Kind of difference -> numbers, in a form that JSON can represent.
    sentence : str
        Begins with the name of the column.
    """

    column: str
    data: Mapping[str, Any]
    sentence: str


def compare_rows(record: TrainingRecord, rows: ConvertedTable) -> list[Difference]:
    """Compare further rows with the training rows of a model, column by column, in the order of the features.

    Parameters
    ----------
    record : TrainingRecord
    rows : ConvertedTable
        The features, converted to the kinds of training.

    References
    ----------
    See `bakeoff.pipeline.model.row_report`.
    """
    found: dict[str, list[Difference]] = {}
    drifts: dict[str, Drift] = {}
    for further in rows.columns:
        name = further.name
        cells = rows.frame[name]
        profile = record.profiles[name]
        found[name] = [
            *_find_doubts(further),
            *_find_unseen(name, profile, cells),
            *_find_missing(name, profile, further.n_missing, len(cells)),
            *_find_outside(name, profile, cells),
        ]
        drift = None
        if len(cells) >= MIN_TESTED_ROWS:
            drift = measure_drift(*count_bins(profile, cells), has_tenths=profile.is_number)
        if drift is not None:
            drifts[name] = drift
    adjusted = adjust_by_holm(np.array([drift.p_value for drift in drifts.values()]))
    for (name, drift), p_value in zip(drifts.items(), adjusted.tolist(), strict=True):
        found[name] += _find_shift(name, drift, p_value)
    return [difference for of_column in found.values() for difference in of_column]


def collect_data(differences: Sequence[Difference]) -> dict[str, dict[str, Any]]:
    """Return differences as data: column -> kind of difference -> numbers."""
    found: dict[str, dict[str, Any]] = {}
    for difference in differences:
        found.setdefault(difference.column, {}).update(difference.data)
    return found


def describe_unknown_columns(record: TrainingRecord, names: Sequence[str]) -> str:
    """Return a sentence about columns that are not in the source of the training rows; empty if there are none.

    Parameters
    ----------
    record : TrainingRecord
    names : sequence of str
        The column names of the further rows.
    """
    known = {record.target, *(column.name for column in record.columns)}
    unknown = [name for name in names if name not in known]
    if not unknown:
        return ""
    return f"Columns that are absent from training are not used: {name_first(unknown, MAX_SHOWN_VALUES)}."


def _find_doubts(further: Column) -> Iterator[Difference]:
    """Yield cells of numbers whose meaning is uncertain."""
    if further.kind == NUMERIC and further.suspicions:
        # The advice for training files, which follows the key, does not apply to the rows of a model.
        doubts = [sentence.partition(" dataset.")[0] for sentence in further.suspicions]
        yield Difference(further.name, {"doubts": doubts}, " ".join(doubts))


def _find_unseen(name: str, profile: ColumnProfile, cells: pd.Series[Any]) -> Iterator[Difference]:
    """Yield the values that no training row has, the most frequent first."""
    if not profile.values:
        return
    unseen = {
        str(value): int(n) for value, n in cells.value_counts().items() if n and not profile.values.get(str(value))
    }
    if unseen:
        # A value with spaces around it cannot be distinguished from one without them unless it is quoted.
        shown = name_first((repr(value) if value != value.strip() else value for value in unseen), MAX_SHOWN_VALUES)
        rows = f"{sum(unseen.values())} of {len(cells)} rows"
        yield Difference(name, {"unseen": unseen}, f"{name}: {rows} have values not seen in training: {shown}")


def _find_missing(name: str, profile: ColumnProfile, n_missing: int, m: int) -> Iterator[Difference]:
    """Yield missing cells if training had none, or if there are more than the training rate and chance explain."""
    rate = profile.n_missing / profile.n
    if n_missing and _is_excessive(n_missing, m, rate):
        before = f"{format_percent(rate)} were in training" if rate else "none was missing in training"
        yield Difference(name, {"missing": n_missing}, f"{name}: {n_missing} of {m} cells are missing; {before}.")


def _is_excessive(n_missing: int, m: int, rate: float) -> bool:
    """Return whether more cells are missing than the training rate and chance explain."""
    from scipy.stats import binom

    fraction = n_missing / m
    is_large = fraction - rate >= MIN_EXCESS or fraction >= MIN_RATIO * rate
    return is_large and float(binom.sf(n_missing - 1, m, rate)) <= MAX_CHANCE


def _find_outside(name: str, profile: ColumnProfile, cells: pd.Series[Any]) -> Iterator[Difference]:
    """Yield numbers and dates outside the range of training."""
    if profile.minimum is None or profile.maximum is None:
        return
    numbers = to_numbers(cells)  # (m,)
    counts = {
        "below_minimum": int(np.count_nonzero(numbers < profile.minimum)),
        "above_maximum": int(np.count_nonzero(numbers > profile.maximum)),
    }
    found = {kind: count for kind, count in counts.items() if count}
    if not found:
        return
    lie = f"{sum(found.values())} of {len(cells)} cells {'lies' if len(cells) == 1 else 'lie'}"
    span = f"{spell_number(profile, profile.minimum)} to {spell_number(profile, profile.maximum)}"
    yield Difference(name, found, f"{name}: {lie} outside the range of training, {span}.")


def _find_shift(name: str, drift: Drift, p_value: float) -> Iterator[Difference]:
    """Yield a shift of the distribution."""
    size = name_shift(drift.index, p_value)
    if size:
        facts = f"a {size} shift: stability index {format_statistic(drift.index)}, {equate_p(p_value)}"
        data = {"shift": {"size": size, "stability_index": drift.index, "p_value": p_value}}
        yield Difference(name, data, f"{name}: distributed differently than in training ({facts}).")


def count_bins(profile: ColumnProfile, cells: pd.Series[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of cells in each bin of a profile, of training and of further rows.

    Parameters
    ----------
    profile : ColumnProfile
    cells : Series of shape (m,)

    Returns
    -------
    training, further : ndarray of shape (k,)
        The bins are tenths of numbers, or values; the last bin of values contains those not seen in training.
    """
    if profile.is_number:
        return np.array(profile.counts), count_in_bins(profile.edges, to_numbers(cells))
    counts = cells.value_counts()
    known = [int(counts.get(value, 0)) for value in profile.values]
    n_other = int(counts.sum()) - sum(known)
    return np.array([*profile.values.values(), 0]), np.array([*known, n_other])


def spell_number(profile: ColumnProfile, number: float) -> str:
    """Return a number as text, or as the date that is that many days after 1970-01-01."""
    if profile.kind != DATE:
        return f"{number:.10g}"
    moment = EPOCH + timedelta(days=number)
    spelled = moment.strftime("%Y-%m-%d %H:%M:%S")
    return spelled.removesuffix(" 00:00:00")
