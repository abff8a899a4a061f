"""From the cells of a raw table to columns of numbers, categories, dates and text."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bakeoff.pipeline.stages.dataset.column import NOMINAL, NUMERIC, Column
from bakeoff.pipeline.stages.dataset.columns.kinds import set_column_types
from bakeoff.pipeline.stages.dataset.columns.rules import ColumnRules


@dataclass(frozen=True)
class ConvertedTable:
    """The columns of a source in canonical form.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        Numeric columns are float64, nominal and Boolean ones categorical, ordered ones ordered categorical, dates
        datetime64[ns], and text ``string``; a missing cell is NaN, NaT or NA.
    columns : tuple of Column, of length d
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]


def convert_columns(frame: pd.DataFrame, rules: ColumnRules) -> ConvertedTable:
    """Decide the kind of each column, and convert its cells.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        As the source gives it: text as it is spelled, or typed columns.
    rules : ColumnRules

    Raises
    ------
    UserError
        A column does not agree with its declared kind.
    """
    converted = set_column_types(frame, rules)
    columns = tuple(_describe_column(converted[name]) for name in converted.columns)
    return ConvertedTable(converted, columns)


def _describe_column(column: pd.Series) -> Column:
    is_nominal = isinstance(column.dtype, pd.CategoricalDtype)
    kind = NOMINAL if is_nominal else NUMERIC
    values = tuple(map(str, column.cat.categories)) if is_nominal else ()
    n_missing = int(column.isna().sum())
    return Column(str(column.name), kind, "", n_missing=n_missing, n_distinct=column.nunique(), values=values)
