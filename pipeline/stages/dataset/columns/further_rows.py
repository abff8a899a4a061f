"""Further rows: cells that get the kinds that their columns had in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bakeoff.pipeline.stages.dataset.column import DATE, FEATURE, NUMERIC, TEXT, Column
from bakeoff.pipeline.stages.dataset.columns.cells import Cells
from bakeoff.pipeline.stages.dataset.columns.convert import convert_cells, describe_cells, read_column
from bakeoff.pipeline.stages.dataset.columns.declared import check_declared_kind, find_date_format
from bakeoff.pipeline.stages.dataset.columns.rules import ColumnRules


@dataclass(frozen=True)
class FurtherRows:
    """The features of m rows that were not in training.

    Attributes
    ----------
    frame : DataFrame of shape (m, d)
    columns : tuple of Column, of length d
        With the facts about these rows.
    unseen : mapping of str to mapping of str to int
        Column -> value that training did not have -> number of cells; only columns that have such values.
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    unseen: Mapping[str, Mapping[str, int]]


def convert_like(frame: pd.DataFrame, columns: Sequence[Column], rules: ColumnRules) -> FurtherRows:
    """Convert the columns of further rows to the kinds that they had in training.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        As in training.
    rules : ColumnRules
        Of which the spellings of missing cells count.

    Raises
    ------
    UserError
        A cell is of another kind.
    """
    converted: dict[str, Any] = {}
    found = []
    unseen = {}
    for column in columns:
        cells = read_column(frame[column.name], rules)
        known = _fit_column(cells, column)
        converted[column.name] = convert_cells(cells, known)
        found.append(describe_cells(cells, replace(known, role=FEATURE)))
        counts = count_unseen(cells, column)
        if counts:
            unseen[column.name] = counts
    return FurtherRows(pd.DataFrame(converted, index=pd.RangeIndex(len(frame))), tuple(found), unseen)


def count_unseen(cells: Cells, column: Column) -> dict[str, int]:
    """Return the values of cells that a nominal column did not have in training, with the numbers of their cells.

    Parameters
    ----------
    cells : Cells
    column : Column
        As in training; nothing is unseen if it has no values.
    """
    distinct = cells.distinct if column.values else None
    if distinct is None:
        return {}
    counts = Counter(distinct.codes[distinct.codes >= 0].tolist())
    return {value: counts[code] for code, value in enumerate(distinct.values) if value not in column.values}


def _fit_column(cells: Cells, column: Column) -> Column:
    """Return a column with the values and the format of dates of these cells; raises UserError if they do not fit."""
    claim = f"{column.name!r} was {column.kind} in training"
    if column.kind == DATE:
        return replace(column, date_format=find_date_format(cells, column.date_format, claim))
    if column.kind in (NUMERIC, TEXT):
        check_declared_kind(cells, column.kind, claim)
        return column
    # A value that training did not have is kept: a learner treats it as unseen.
    own_values = tuple(value for value in cells.distinct.values if value not in column.values)
    return replace(column, values=(*column.values, *own_values))
