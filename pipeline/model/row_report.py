"""Content of further rows that the training rows of a model lack: as sentences, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.column_profile import ColumnProfile, to_numbers
from bakeoff.pipeline.model.drift import MIN_TESTED_ROWS, Drift, adjust_by_holm, measure_drift, name_shift
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.convert import FurtherRows
from bakeoff.pipeline.stages.dataset.table import DATE, NUMERIC, Column
from bakeoff.pipeline.text.numbers import equate_p, format_percent, format_statistic
from bakeoff.pipeline.text.words import count_nouns, join_words, name_first

MAX_SHOWN_VALUES = 5
MAX_CHANCE = 0.1
"""Missing cells are reported if, with the rate of training, so many of them occur in at most this fraction of files."""
MIN_EXCESS = 0.05
MIN_RATIO = 2.0
"""And if their fraction exceeds that of training by so much, or so many times: in a large file, chance is small."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SHIFT = "shift"


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


@dataclass(frozen=True)
class RowReport:
    """Content of further rows that the training rows lack.

    Attributes
    ----------
    n_rows : int
    differences : tuple of Difference
        In the order of the features.
    n_tested : int
        The number of columns whose distribution was compared with that of training.
    has_profiles : bool
        Whether the model was stored with the counts of its training rows, without which there is nothing to compare.
    """

    n_rows: int
    differences: tuple[Difference, ...]
    n_tested: int = 0
    has_profiles: bool = True

    @property
    def sentences(self) -> list[str]:
        """A sentence for each difference."""
        return [difference.sentence for difference in self.differences]

    def to_data(self) -> dict[str, dict[str, Any]]:
        """Return the differences as data: column -> kind of difference -> numbers."""
        found: dict[str, dict[str, Any]] = {}
        for difference in self.differences:
            found.setdefault(difference.column, {}).update(difference.data)
        return found

    def describe_test(self) -> str:
        """Return a sentence on whether distributions were compared, and that none differs if this is so.

        Examples
        --------
        >>> RowReport(5, ()).describe_test()
        'The distributions of the columns are not compared with training: that takes 50 rows, and there are 5.'
        """
        if not self.has_profiles:
            return ""
        if self.n_rows < MIN_TESTED_ROWS:
            return (
                "The distributions of the columns are not compared with training: that takes "
                f"{MIN_TESTED_ROWS} rows, and there are {self.n_rows}."
            )
        if not self.n_tested:
            return (
                f"No column has {MIN_TESTED_ROWS} cells in training and here, so that distributions are not compared."
            )
        if any(SHIFT in difference.data for difference in self.differences):
            return ""
        columns = count_nouns(self.n_tested, "column")
        return f"The distributions of {columns} were compared with training; none has shifted."


def compare_rows(record: TrainingRecord, rows: FurtherRows) -> RowReport:
    """Compare further rows with the training rows of a model, column by column.

    Parameters
    ----------
    record : TrainingRecord
        Columns without a profile are compared by their values alone.
    rows : FurtherRows
        The features, converted to the kinds of training.

    References
    ----------
    See `bakeoff.pipeline.model.drift`.
    """
    found: dict[str, list[Difference]] = {}
    drifts: dict[str, Drift] = {}
    for trained, further in zip(record.feature_columns, rows.columns, strict=True):
        name = trained.name
        cells = rows.frame[name]
        profile = record.profiles.get(name)
        found[name] = [
            *_find_doubts(trained, further),
            *_find_unseen(name, profile, cells, rows.unseen.get(name, {})),
            *_find_missing(trained, profile, further.n_missing, len(cells)),
            *_find_outside(name, profile, cells),
        ]
        drift = None if profile is None else _measure_column(profile, cells)
        if drift is not None:
            drifts[name] = drift
    adjusted = adjust_by_holm(np.array([drift.p_value for drift in drifts.values()]))
    for (name, drift), p_value in zip(drifts.items(), adjusted.tolist(), strict=True):
        found[name] += _find_shift(name, record.profiles[name], rows.frame[name], drift, p_value)
    differences = tuple(difference for of_column in found.values() for difference in of_column)
    return RowReport(len(rows.frame), differences, len(drifts), bool(record.profiles))


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


def _find_doubts(trained: Column, found: Column) -> Iterator[Difference]:
    """Yield cells whose meaning is uncertain."""
    if trained.kind == NUMERIC and found.suspicions:
        # The cure of a training file, which follows the key, is none for the rows of a model.
        doubts = [sentence.partition(" dataset.")[0] for sentence in found.suspicions]
        yield Difference(trained.name, {"doubts": doubts}, " ".join(doubts))


def _find_unseen(
    name: str, profile: ColumnProfile | None, cells: pd.Series[Any], unseen: Mapping[str, int]
) -> Iterator[Difference]:
    """Yield the values that training did not have, the most frequent first."""
    if profile is not None and profile.values:
        # Values of the dataset that no training row has are as unseen as others.
        counts = cells.value_counts().items()
        unseen = {str(value): int(n) for value, n in counts if n and not profile.values.get(str(value))}
    if unseen:
        ranked = sorted(unseen, key=lambda value: -unseen[value])
        # A value with spaces around it cannot be distinguished from one without them unless it is quoted.
        shown = name_first((repr(value) if value != value.strip() else value for value in ranked), MAX_SHOWN_VALUES)
        rows = f"{sum(unseen.values())} of {len(cells)} rows"
        yield Difference(name, {"unseen": dict(unseen)}, f"{name}: {rows} hold values not seen in training: {shown}")


def _find_missing(trained: Column, profile: ColumnProfile | None, n_missing: int, m: int) -> Iterator[Difference]:
    """Yield missing cells, if training had none or if there are more than its rate and chance explain."""
    had_missing = trained.n_missing if profile is None else profile.n_missing
    if not n_missing:
        return
    are_missing = f"{trained.name}: {n_missing} of {m} cells are missing"
    if not had_missing:
        yield Difference(trained.name, {"missing": n_missing}, f"{are_missing}; none was missing in training.")
    elif profile is not None and _is_excessive(n_missing, m, profile.n_missing / profile.n):
        rate = format_percent(profile.n_missing / profile.n)
        yield Difference(trained.name, {"missing": n_missing}, f"{are_missing}; {rate} were in training.")


def _is_excessive(n_missing: int, m: int, rate: float) -> bool:
    """Return whether more cells are missing than the rate of training and chance explain."""
    from scipy.stats import binom

    fraction = n_missing / m
    is_large = fraction - rate >= MIN_EXCESS or fraction >= MIN_RATIO * rate
    return is_large and float(binom.sf(n_missing - 1, m, rate)) <= MAX_CHANCE


def _find_outside(name: str, profile: ColumnProfile | None, cells: pd.Series[Any]) -> Iterator[Difference]:
    """Yield numbers and dates outside the range of training."""
    if profile is None or profile.minimum is None or profile.maximum is None:
        return
    numbers = to_numbers(cells)  # (m,)
    n_below = int(np.count_nonzero(numbers < profile.minimum))
    n_above = int(np.count_nonzero(numbers > profile.maximum))
    if not n_below + n_above:
        return
    counts = {"below_minimum": n_below, "above_maximum": n_above}
    ends = []
    if n_below:
        ends.append(f"the lowest is {spell_number(profile, float(np.nanmin(numbers)))}")
    if n_above:
        ends.append(f"the highest is {spell_number(profile, float(np.nanmax(numbers)))}")
    lie = f"{n_below + n_above} of {len(cells)} cells {'lies' if len(cells) == 1 else 'lie'}"
    span = f"{spell_number(profile, profile.minimum)} to {spell_number(profile, profile.maximum)}"
    yield Difference(
        name,
        {kind: count for kind, count in counts.items() if count},
        f"{name}: {lie} outside the range of training, {span}; {join_words(ends)}.",
    )


def _measure_column(profile: ColumnProfile, cells: pd.Series[Any]) -> Drift | None:
    if not profile.is_number and not profile.values:  # text
        return None
    training, further = count_bins(profile, cells)
    return measure_drift(training, further, has_tenths=profile.is_number)


def _find_shift(
    name: str, profile: ColumnProfile, cells: pd.Series[Any], drift: Drift, p_value: float
) -> Iterator[Difference]:
    """Yield a shift of the distribution, with the bin whose frequency changed most."""
    size = name_shift(drift.index, p_value)
    if not size:
        return
    training, further = count_bins(profile, cells)
    before = training / training.sum()  # (k,)
    after = further / further.sum()  # (k,)
    position = int(np.argmax(np.abs(after - before)))
    facts = f"a {size} shift: stability index {format_statistic(drift.index)}, {equate_p(p_value)}"
    percents = f"{format_percent(after[position])} of the cells in place of {format_percent(before[position])}"
    yield Difference(
        name,
        {SHIFT: {"size": size, "stability_index": drift.index, "p_value": p_value}},
        f"{name}: distributed otherwise than in training ({facts}); most changed: {name_bin(profile, position)}, "
        f"{percents}.",
    )


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
        return np.array(profile.counts), profile.count_in_bins(cells)
    counts = cells.value_counts()
    known = [int(counts.get(value, 0)) for value in profile.values]
    n_other = int(counts.sum()) - sum(known)
    return np.array([*profile.values.values(), 0]), np.array([*known, n_other])


def name_bin(profile: ColumnProfile, position: int) -> str:
    """Return a bin of a profile in words.

    Examples
    --------
    >>> profile = ColumnProfile("numeric", 30, 0, 1.0, 9.0, edges=(2.0, 5.0), counts=(10, 10, 10))
    >>> [name_bin(profile, position) for position in range(3)]
    ['below 2', '2 to below 5', '5 and above']
    >>> name_bin(ColumnProfile("nominal", 3, 0, values={"red": 3}), 1)
    'values not seen in training'
    """
    if not profile.is_number:
        values = [*profile.values, "values not seen in training"]
        return values[position]
    edges = [spell_number(profile, edge) for edge in profile.edges]
    if not edges:
        return "all cells"
    if position == 0:
        return f"below {edges[0]}"
    if position == len(edges):
        return f"{edges[-1]} and above"
    return f"{edges[position - 1]} to below {edges[position]}"


def spell_number(profile: ColumnProfile, number: float) -> str:
    """Return a number of a column, or the date that is so many days after 1970-01-01."""
    if profile.kind != DATE:
        return f"{number:.10g}"
    moment = EPOCH + timedelta(days=number)
    spelled = moment.strftime("%Y-%m-%d %H:%M:%S")
    return spelled.removesuffix(" 00:00:00")
