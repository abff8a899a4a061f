"""Content of further rows that the training rows of a model lack: as sentences, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.column_profile import ColumnProfile, count_in_bins, to_numbers
from bakeoff.pipeline.model.drift import Drift, adjust_by_holm, measure_drift, name_shift
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.convert import ConvertedTable
from bakeoff.pipeline.stages.dataset.table import DATE, NUMERIC, Column
from bakeoff.pipeline.text.numbers import equate_p, format_percent, format_statistic
from bakeoff.pipeline.text.words import name_first

MAX_SHOWN_VALUES = 5
MAX_CHANCE = 0.1
"""Missing cells are reported if, with the rate of training, so many of them occur in at most this fraction of files."""
MIN_EXCESS = 0.05
MIN_RATIO = 2.0
"""And if their fraction exceeds that of training by so much, or so many times: in a large file, chance is small."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Difference(NamedTuple):
    """One way in which the further cells of a column differ from those of training.

    Attributes
    ----------
    column : str
    data : mapping of str to object
        What JSON can hold: the kinds of the difference -> numbers.
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
    See `bakeoff.pipeline.model.drift`.
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
    """Return a sentence about columns that the source of the training rows did not have; empty if there are none.

    Parameters
    ----------
    record : TrainingRecord
    names : sequence of str
        Of the columns of further rows.
    """
    known = {record.target, *(column.name for column in record.columns)}
    unknown = [name for name in names if name not in known]
    if not unknown:
        return ""
    return f"Columns that training did not have are not used: {name_first(unknown, MAX_SHOWN_VALUES)}."


def _find_doubts(further: Column) -> Iterator[Difference]:
    """Yield cells of numbers whose meaning is uncertain."""
    if further.kind == NUMERIC and further.suspicions:
        # The cure of a training file, which follows the key, is none for the rows of a model.
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
        yield Difference(name, {"unseen": unseen}, f"{name}: {rows} hold values not seen in training: {shown}")


def _find_missing(name: str, profile: ColumnProfile, n_missing: int, m: int) -> Iterator[Difference]:
    """Yield missing cells, if training had none or if there are more than its rate and chance explain."""
    rate = profile.n_missing / profile.n
    if n_missing and _is_excessive(n_missing, m, rate):
        before = f"{format_percent(rate)} were in training" if rate else "none was missing in training"
        yield Difference(name, {"missing": n_missing}, f"{name}: {n_missing} of {m} cells are missing; {before}.")


def _is_excessive(n_missing: int, m: int, rate: float) -> bool:
    """Return whether more cells are missing than the rate of training and chance explain."""
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
        yield Difference(name, data, f"{name}: distributed otherwise than in training ({facts}).")


def count_bins(profile: ColumnProfile, cells: pd.Series[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of cells in each bin of a profile, of training and of further rows.

    Parameters
    ----------
    profile : ColumnProfile
    cells : Series of shape (m,)

    Returns
    -------
    training, further : ndarray of shape (k,)
        The bins are tenths of numbers, or values; the last bin of values holds those that training did not have.
    """
    if profile.is_number:
        return np.array(profile.counts), count_in_bins(profile.edges, to_numbers(cells))
    counts = cells.value_counts()
    known = [int(counts.get(value, 0)) for value in profile.values]
    n_other = int(counts.sum()) - sum(known)
    return np.array([*profile.values.values(), 0]), np.array([*known, n_other])


def spell_number(profile: ColumnProfile, number: float) -> str:
    """Return a number of a column, or the date that is so many days after 1970-01-01."""
    if profile.kind != DATE:
        return f"{number:.10g}"
    moment = EPOCH + timedelta(days=number)
    spelled = moment.strftime("%Y-%m-%d %H:%M:%S")
    return spelled.removesuffix(" 00:00:00")
