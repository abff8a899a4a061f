"""What further rows hold that the training rows of a model did not: missing cells, values, ranges, distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.column_profile import ColumnProfile, to_numbers
from bakeoff.pipeline.model.drift import Drift, adjust_by_holm, measure_drift, name_shift
from bakeoff.pipeline.stages.dataset.convert import FurtherRows
from bakeoff.pipeline.stages.dataset.table import NUMERIC, Column


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
    adjusted = dict(zip(drifts, adjust_by_holm([drift.p_value for drift in drifts.values()]), strict=True))
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
