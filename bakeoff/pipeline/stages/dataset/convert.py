"""Convert the cells of a source to columns of numbers, categories, dates and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.dataset.cells import Cells, read_cells
from bakeoff.pipeline.stages.dataset.keys import KIND_OF_KEY, ColumnRules
from bakeoff.pipeline.stages.dataset.kinds import (
    MIN_JUDGED_CELLS,
    find_date_format,
    find_kind,
    find_suspicions,
    find_useless_kind,
    fit_kind,
    suspect_classes,
)
from bakeoff.pipeline.stages.dataset.spelling import choose_spelling, find_date_formats, parse_dates
from bakeoff.pipeline.stages.dataset.table import (
    CONSTANT,
    DATE,
    FEATURE,
    IDENTIFIER,
    LEFT_OUT,
    NOMINAL,
    NUMERIC,
    ORDERED,
    TARGET,
    TEXT,
    Column,
)

LEFT_OUT_KINDS = {
    IDENTIFIER: ("identifiers", "keep"),
    DATE: ("dates", "dates"),
    TEXT: ("free text", "text"),
    CONSTANT: ("constants", "keep"),
}
"""Kind of column that is left out -> its noun, and the key that includes such columns."""
MIN_DATES = 3
"""With fewer different dates, the rows are not in their order."""
DECLARED = "declared by dataset."
KEPT = "kept by dataset.keep"
KINDS_WITH_VALUES = ("nominal", "ordered", "boolean")


@dataclass(frozen=True)
class ConvertedTable:
    """The columns of a source in canonical form.

    Attributes
    ----------
    frame : DataFrame of shape (n, d)
        The features: numeric columns are float64, nominal and Boolean ones categorical, ordered ones ordered
        categorical, dates datetime64[ns], and text ``string``; a missing cell is NaN, NaT or NA.
    columns : tuple of Column
        All columns of the source, including those that are left out.
    notes : tuple of str
        Sentences about how numbers were read.
    """

    frame: pd.DataFrame
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()


def convert_columns(
    frame: pd.DataFrame, rules: ColumnRules, declared: Mapping[str, tuple[str, ...]] | None = None
) -> ConvertedTable:
    """Decide the kind of each column, leave out identifiers, dates and free text, and convert the others.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        The table from the source: text as it is spelled, or typed columns.
    rules : ColumnRules
    declared : mapping of str to tuple of str
        Column -> the values that the source declares for it.

    Raises
    ------
    UserError
        A column does not agree with its declared kind.
    """
    columns = []
    features: dict[str, Any] = {}
    for name in frame.columns:
        cells = read_cells(frame[name], rules, declared)
        column = judge_column(cells, rules)
        columns.append(column)
        if column.role == FEATURE:
            features[column.name] = convert_cells(cells, column)
    return ConvertedTable(pd.DataFrame(features, index=pd.RangeIndex(len(frame))), tuple(columns))


def judge_column(cells: Cells, rules: ColumnRules) -> Column:
    """Return the inferred kind of a column and the reason; raise UserError if its declared kind does not fit.

    Parameters
    ----------
    cells : Cells
    rules : ColumnRules
    """
    name = cells.name
    kind = rules.declared_kinds.get(name)
    if kind is not None:
        key = next(key for key, each in KIND_OF_KEY.items() if each == kind)
        declared = Column(name, kind, f"{DECLARED}{key}", values=rules.get_ordered_values(name))
        fitted = fit_kind(cells, declared, f"dataset.{key} names {name!r}", rules.get_date_format(name))
        return describe_cells(cells, fitted)
    found = find_kind(cells)
    shown = find_useless_kind(cells, found.name) or found
    column = Column(name, shown.name, shown.reason)
    if shown.name in LEFT_OUT_KINDS and name not in rules.keep:
        column = replace(column, role=LEFT_OUT)
    elif shown.name in LEFT_OUT_KINDS:
        # Identifiers and constants keep the kind of their cells; free text remains text.
        kind = TEXT if shown.name == TEXT else found.name
        date_format = find_date_format(cells) if kind == DATE else ""
        column = replace(column, kind=kind, reason=f"{shown.reason}; {KEPT}", date_format=date_format)
    return describe_cells(cells, column)


def describe_cells(cells: Cells, column: Column) -> Column:
    """Return a column with the facts about its cells."""
    n_missing = _count_missing(cells, column.kind)
    n_distinct = pd.Series(cells.reading.values).nunique() if column.kind == NUMERIC else len(cells.distinct.values)
    values = column.values
    if column.kind in KINDS_WITH_VALUES and not values:
        present = {*cells.distinct.values}
        declared = cells.declared if cells.is_ordered else None
        values = tuple(value for value in declared or cells.distinct.values if value in present)
    is_chosen = column.reason.startswith(DECLARED) or column.reason.endswith(KEPT)
    is_judged = column.role in (FEATURE, LEFT_OUT)
    suspicions = find_suspicions(cells, column.kind, is_chosen) if is_judged else ()
    if column.role == TARGET and column.kind == NOMINAL:
        suspicions = suspect_classes(cells)
    if "%y" in column.date_format and cells.distinct.spellings:
        first = cells.distinct.spellings[0]
        year = parse_dates([first], column.date_format)[0].year
        sentence = f"years of two digits are read as 1969 to 2068, {first!r} as {year}; write four digits for others."
        suspicions += (f"{cells.name}: {sentence}",)
    described = replace(column, n_missing=n_missing, n_distinct=n_distinct, values=values, suspicions=suspicions)
    is_row_order = is_judged and column.kind == DATE and _follows_rows(cells, column)
    return replace(described, unit=cells.unit, is_row_order=is_row_order)


def _follows_rows(cells: Cells, column: Column) -> bool:
    """Return whether the dates of a column ascend or descend from row to row."""
    is_known = cells.dates is not None or column.date_format
    formats = [column.date_format] if is_known else find_date_formats(cells.distinct.spellings)
    return any(
        len(dates) >= MIN_JUDGED_CELLS
        and dates.nunique() >= MIN_DATES
        and (dates.is_monotonic_increasing or dates.is_monotonic_decreasing)
        for dates in (_convert_dates(cells, each).dropna() for each in formats)
    )


def _count_missing(cells: Cells, kind: str) -> int:
    return int(np.count_nonzero(np.isnan(cells.reading.values))) if kind == NUMERIC else cells.distinct.n_missing


def convert_cells(cells: Cells, column: Column) -> Any:
    """Return the cells of a feature as an array or a Series of shape (n,).

    Parameters
    ----------
    cells : Cells
    column : Column
        The column's kind and, if applicable, its values and the format of its dates.
    """
    if column.kind == NUMERIC:
        return cells.reading.values
    if column.kind == DATE:
        return _convert_dates(cells, column.date_format)
    distinct = cells.distinct
    if column.kind == TEXT:
        return pd.array(distinct.cells, dtype="string")
    values = pd.Index(list(column.values))
    codes = np.append(values.get_indexer(pd.Index(distinct.values)), -1)[distinct.codes]  # (n,)
    return pd.Categorical.from_codes(codes, values, column.kind == ORDERED)


def _convert_dates(cells: Cells, date_format: str) -> pd.Series:
    if cells.dates is not None:
        return cells.dates
    distinct = cells.distinct
    dates = parse_dates(distinct.values, date_format).to_numpy()
    return pd.Series(np.append(dates, np.datetime64("NaT"))[distinct.codes])


def convert_like(frame: pd.DataFrame, columns: Sequence[Column], rules: ColumnRules) -> ConvertedTable:
    """Convert the columns of further rows to their kinds in training, as described by `columns`.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        The columns as described in training.
    rules : ColumnRules
        The rules, of which the spellings of missing cells and of numbers are used.

    Raises
    ------
    UserError
        A cell is of another kind.
    """
    converted: dict[str, Any] = {}
    found = []
    for column in columns:
        # Values that differ only in their spelling were declared.
        declared = {column.name: column.values} if choose_spelling(column.values) is str else None
        cells = read_cells(frame[column.name], rules, declared)
        if column.kind in (NUMERIC, DATE, TEXT):
            known = fit_kind(cells, column, f"{column.name!r} was {column.kind} in training", column.date_format)
        else:
            # A value that did not occur in training is kept, and learners treat it as unseen.
            known = replace(column, values=tuple(dict.fromkeys((*column.values, *cells.distinct.values))))
        converted[column.name] = convert_cells(cells, known)
        suspicions = find_suspicions(cells, NUMERIC, is_chosen=True) if known.kind == NUMERIC else ()
        n_missing = _count_missing(cells, known.kind)
        found.append(replace(known, role=FEATURE, n_missing=n_missing, suspicions=suspicions))
    return ConvertedTable(pd.DataFrame(converted, index=pd.RangeIndex(len(frame))), tuple(found))
