"""Sentences about further rows, one or more for each column that differs from training, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bakeoff.pipeline.model.column_profile import ColumnProfile
from bakeoff.pipeline.model.drift import MIN_TESTED_ROWS
from bakeoff.pipeline.model.row_findings import ColumnFindings, RowFindings, Shift, compare_rows
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.convert import FurtherRows
from bakeoff.pipeline.stages.dataset.table import DATE
from bakeoff.pipeline.text.numbers import equate_p, format_percent, format_statistic
from bakeoff.pipeline.text.words import count_nouns, join_words

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
