"""Sentences about further rows, one or more for each column that differs from training, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.column_profile import ColumnProfile, to_numbers
from bakeoff.pipeline.model.drift import MIN_TESTED_ROWS, Drift, adjust_by_holm, measure_drift, name_shift
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.convert import FurtherRows
from bakeoff.pipeline.stages.dataset.table import DATE, NUMERIC, Column
from bakeoff.pipeline.text.numbers import equate_p, format_percent, format_statistic
from bakeoff.pipeline.text.words import count_nouns, join_words


@dataclass(frozen=True)
class Shift:
    """How the distribution of a column differs from that of training.

    Attributes
    ----------
    size : str
        ``moderate`` or ``large``.
    index : float
        The population stability index, as `drift.Drift` has it.
    p_value : float
        Adjusted for all columns that were tested.
    position : int
        The bin of which the frequency changed most.
    before, after : float
        The fraction of cells in it: in training, and of the further rows.
    """

    size: str
    index: float
    p_value: float
    position: int
    before: float
    after: float


@dataclass(frozen=True)
class ColumnFindings:
    """What m further rows hold in one column.

    Attributes
    ----------
    name : str
    n_rows : int
        m.
    n_missing : int
    profile : ColumnProfile or None
        Of the training rows; None if the model was stored without one.
    had_missing : bool
        Whether cells were missing in training.
    unseen : mapping of str to int
        Value that training did not have -> number of cells.
    n_below, n_above : int
        Cells below the minimum and above the maximum of training.
    lowest, highest : float or None
        Of the cells, dates in days since 1970-01-01; None if there are no numbers.
    shift : Shift or None
    doubts : tuple of str
        A sentence each about cells whose meaning is uncertain.
    """

    name: str
    n_rows: int
    n_missing: int
    profile: ColumnProfile | None = None
    had_missing: bool = True
    unseen: Mapping[str, int] = field(default_factory=dict)
    n_below: int = 0
    n_above: int = 0
    lowest: float | None = None
    highest: float | None = None
    shift: Shift | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowFindings:
    """What m further rows hold.

    Attributes
    ----------
    n_rows : int
        m.
    columns : tuple of ColumnFindings, of length d
    n_tested : int
        The number of columns whose distribution was compared with that of training.
    """

    n_rows: int
    columns: tuple[ColumnFindings, ...]
    n_tested: int = 0


def compare_rows(features: Sequence[Column], profiles: Mapping[str, ColumnProfile], rows: FurtherRows) -> RowFindings:
    """Compare further rows with those of training, column by column.

    Parameters
    ----------
    features : sequence of Column, of length d
        As in training.
    profiles : mapping of str to ColumnProfile
        Of the training rows, by column; columns without one are compared by their values alone.
    rows : FurtherRows

    References
    ----------
    See `bakeoff.pipeline.model.drift`.
    """
    findings = []
    drifts: dict[str, Drift] = {}
    for trained, found in zip(features, rows.columns, strict=True):
        profile = profiles.get(trained.name)
        cells = rows.frame[trained.name]
        column = ColumnFindings(trained.name, len(cells), found.n_missing, profile, bool(trained.n_missing))
        column = replace(column, unseen=rows.unseen.get(trained.name, {}), doubts=_list_doubts(trained, found))
        if profile is not None:
            column = _compare_cells(column, profile, cells)
            drift = _measure_column(profile, cells)
            drifts |= {trained.name: drift} if drift is not None else {}
        findings.append(column)
    p_values = np.array([drift.p_value for drift in drifts.values()])
    adjusted = dict(zip(drifts, adjust_by_holm(p_values).tolist(), strict=True))
    for position, column in enumerate(findings):
        drift = drifts.get(column.name)
        if drift is not None and column.profile is not None:
            shift = _judge_drift(column.profile, rows.frame[column.name], drift, adjusted[column.name])
            findings[position] = replace(column, shift=shift)
    return RowFindings(len(rows.frame), tuple(findings), len(drifts))


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


def _list_doubts(trained: Column, found: Column) -> tuple[str, ...]:
    if trained.kind != NUMERIC:
        return ()
    # The cure of a training file, which follows the key, is none for the rows of a model.
    return tuple(sentence.partition(" dataset.")[0] for sentence in found.suspicions)


def _compare_cells(column: ColumnFindings, profile: ColumnProfile, cells: pd.Series[Any]) -> ColumnFindings:
    """Return findings with the range, the values and the missing cells that the profile decides on."""
    column = replace(column, had_missing=profile.n_missing > 0)
    if profile.is_number:
        return _compare_range(column, profile, cells)
    if not profile.values:  # text
        return column
    counts = cells.value_counts()
    # Values of the dataset that no training row has are as unseen as others.
    unseen = {str(value): int(count) for value, count in counts.items() if count and not profile.values.get(str(value))}
    return replace(column, unseen=unseen)


def _compare_range(column: ColumnFindings, profile: ColumnProfile, cells: pd.Series[Any]) -> ColumnFindings:
    numbers = to_numbers(cells)
    present = numbers[~np.isnan(numbers)]
    if not len(present) or profile.minimum is None or profile.maximum is None:
        return column
    return replace(
        column,
        n_below=int(np.count_nonzero(present < profile.minimum)),
        n_above=int(np.count_nonzero(present > profile.maximum)),
        lowest=float(present.min()),
        highest=float(present.max()),
    )


def _measure_column(profile: ColumnProfile, cells: pd.Series[Any]) -> Drift | None:
    if not profile.is_number and not profile.values:  # text
        return None
    training, further = count_bins(profile, cells)
    return measure_drift(training, further, has_tenths=profile.is_number)


def _judge_drift(profile: ColumnProfile, cells: pd.Series[Any], drift: Drift, adjusted_p_value: float) -> Shift | None:
    size = name_shift(drift.index, adjusted_p_value)
    if not size:
        return None
    training, further = count_bins(profile, cells)
    before = training / training.sum()  # (k,)
    after = further / further.sum()  # (k,)
    position = int(np.argmax(np.abs(after - before)))
    return Shift(
        size, drift.index, adjusted_p_value, position, before=float(before[position]), after=float(after[position])
    )


MAX_SHOWN_VALUES = 5
MAX_CHANCE = 0.1
"""Missing cells are said if, with the rate of training, so many of them occur in at most this fraction of files."""
MIN_EXCESS = 0.05
MIN_RATIO = 2.0
"""And if their fraction exceeds that of training by so much, or so many times: in a large file, chance is small."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def find_differences(record: TrainingRecord, rows: FurtherRows) -> RowFindings:
    """Compare further rows with the training rows of a model.

    Parameters
    ----------
    record : TrainingRecord
    rows : FurtherRows
        The features, converted to the kinds of training.
    """
    return compare_rows(record.feature_columns, record.profiles, rows)


def report_rows(record: TrainingRecord, rows: FurtherRows) -> list[str]:
    """Return sentences about what further rows hold that training did not, in the order of the features.

    Parameters
    ----------
    record : TrainingRecord
    rows : FurtherRows
        The features, converted to the kinds of training.
    """
    return describe_findings(find_differences(record, rows))


def describe_findings(findings: RowFindings) -> list[str]:
    """Return a sentence for each difference, in the order of the features."""
    return [sentence for column in findings.columns for sentence in describe_column(column)]


def describe_test(findings: RowFindings) -> str:
    """Return a sentence that says whether distributions were compared, and that none differs if this is so.

    Examples
    --------
    >>> describe_test(RowFindings(5, (ColumnFindings("age", 5, 0, profile=ColumnProfile("numeric", 9, 0)),)))
    'The distributions of the columns are not compared with training: that takes 50 rows, and there are 5.'
    """
    if not any(column.profile is not None for column in findings.columns):
        return ""
    if findings.n_rows < MIN_TESTED_ROWS:
        return (
            "The distributions of the columns are not compared with training: that takes "
            f"{MIN_TESTED_ROWS} rows, and there are {findings.n_rows}."
        )
    if not findings.n_tested:
        return f"No column has {MIN_TESTED_ROWS} cells in training and here, so that distributions are not compared."
    if any(column.shift for column in findings.columns):
        return ""
    columns = count_nouns(findings.n_tested, "column")
    return f"The distributions of {columns} were compared with training; none has shifted."


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
    shown = ", ".join(unknown[:MAX_SHOWN_VALUES])
    n_more = len(unknown) - MAX_SHOWN_VALUES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"Columns that training did not have are not used: {shown}{more}."


def describe_column(column: ColumnFindings) -> list[str]:
    """Return the sentences about a column, each of which begins with its name."""
    sentences = [*column.doubts]
    if column.unseen:
        sentences.append(f"{column.name}: {list_unseen(column.unseen, column.n_rows)}")
    sentences += _describe_missing(column)
    sentences += _describe_range(column)
    sentences += _describe_shift(column)
    return sentences


def list_unseen(unseen: Mapping[str, int], m: int) -> str:
    """Return which values were not seen in training, the most frequent first.

    Examples
    --------
    >>> list_unseen({"x": 1, "MALE": 2}, 5)
    '3 of 5 rows hold values not seen in training: MALE, x'
    """
    ranked = sorted(unseen, key=lambda value: -unseen[value])
    # A value with spaces around it cannot be told from one without them unless it is quoted.
    shown = ", ".join(repr(value) if value != value.strip() else value for value in ranked[:MAX_SHOWN_VALUES])
    n_more = len(ranked) - MAX_SHOWN_VALUES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{sum(unseen.values())} of {m} rows hold values not seen in training: {shown}{more}"


def list_differences(findings: RowFindings) -> dict[str, dict[str, Any]]:
    """Return the differences as data that JSON can hold: column -> difference -> numbers.

    Columns without a difference are left out.
    """
    differences = {column.name: _list_column(column) for column in findings.columns}
    return {name: found for name, found in differences.items() if found}


def _list_column(column: ColumnFindings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if _describe_missing(column):
        found["missing"] = column.n_missing
    if column.unseen:
        found["unseen"] = dict(column.unseen)
    if column.n_below:
        found["below_minimum"] = column.n_below
    if column.n_above:
        found["above_maximum"] = column.n_above
    if column.shift is not None:
        found["shift"] = {
            "size": column.shift.size,
            "stability_index": column.shift.index,
            "p_value": column.shift.p_value,
        }
    if column.doubts:
        found["doubts"] = [*column.doubts]
    return found


def _describe_missing(column: ColumnFindings) -> list[str]:
    if not column.n_missing:
        return []
    are_missing = f"{column.name}: {column.n_missing} of {column.n_rows} cells are missing"
    if not column.had_missing:
        return [f"{are_missing}; none was missing in training."]
    profile = column.profile
    if profile is None or not profile.n:
        return []
    rate = profile.n_missing / profile.n
    if not _is_excessive(column, rate):
        return []
    return [f"{are_missing}; {format_percent(rate)} were in training."]


def _is_excessive(column: ColumnFindings, rate: float) -> bool:
    """Return whether more cells are missing than the rate of training and chance explain."""
    from scipy.stats import binom

    fraction = column.n_missing / column.n_rows
    is_large = fraction - rate >= MIN_EXCESS or fraction >= MIN_RATIO * rate
    chance = float(binom.sf(column.n_missing - 1, column.n_rows, rate))
    return is_large and chance <= MAX_CHANCE


def _describe_range(column: ColumnFindings) -> list[str]:
    n_outside = column.n_below + column.n_above
    profile = column.profile
    if not n_outside or profile is None:
        return []
    ends = []
    if column.n_below:
        ends.append(f"the lowest is {spell_number(profile, column.lowest)}")
    if column.n_above:
        ends.append(f"the highest is {spell_number(profile, column.highest)}")
    lie = "lies" if column.n_rows == 1 else "lie"
    span = f"{spell_number(profile, profile.minimum)} to {spell_number(profile, profile.maximum)}"
    outside = f"{n_outside} of {column.n_rows} cells {lie} outside the range of training, {span}"
    return [f"{column.name}: {outside}; {join_words(ends)}."]


def _describe_shift(column: ColumnFindings) -> list[str]:
    shift = column.shift
    if shift is None or column.profile is None:
        return []
    changed = f"{name_bin(column.profile, shift.position)}, {_compare_percents(shift)}"
    facts = f"a {shift.size} shift: stability index {format_statistic(shift.index)}, {equate_p(shift.p_value)}"
    return [f"{column.name}: distributed otherwise than in training ({facts}); most changed: {changed}."]


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


def _compare_percents(shift: Shift) -> str:
    return f"{format_percent(shift.after)} of the cells in place of {format_percent(shift.before)}"


def spell_number(profile: ColumnProfile, number: float | None) -> str:
    """Return a number of a column, or the date that is so many days after 1970-01-01."""
    if number is None:
        return "nothing"
    if profile.kind != DATE:
        return f"{number:.10g}"
    moment = EPOCH + timedelta(days=number)
    spelled = moment.strftime("%Y-%m-%d %H:%M:%S")
    return spelled.removesuffix(" 00:00:00")
