"""Excel workbooks: a sheet with a row of names and rows of cells that have types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.reading.cells import spell_cell, unify_types
from bakeoff.pipeline.stages.dataset.reading.compressed import strip_compression
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.text_numbers import SIGN_KEYS, spell_text_cells

KEYS = ("sheet", "header", "names", "strip", "skip_rows", *SIGN_KEYS)
ERROR = "e"
FORMULA = "f"
MAX_CELLS = 50_000_000
"""Of a sheet, empty ones included."""
"""The types that openpyxl gives to cells with an error such as #N/A, and to those with a formula."""


def read_excel(file: Path, layout: FileLayout) -> RawTable:
    """Read a sheet of a workbook.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        The sheet, the rows above the table, whether there is a row of names, whether spaces are left out, and the
        signs of numbers in text.

    Returns
    -------
    RawTable
        Cells have the types of the sheet; of a formula, its stored value. Errors such as ``#N/A`` are missing cells.

    Raises
    ------
    UserError
        The package openpyxl is missing, there is no such sheet, or a key was set that a workbook does not have.
    ValueError
        The sheet is empty, its columns have no different names, or a formula has no stored value.
    """
    layout.reject_keys(file, "an Excel workbook", allowed=KEYS)
    if strip_compression(file) != file:
        raise UserError(f"dataset.path={str(file)!r}: a workbook is compressed in itself; decompress the file.")
    openpyxl = _import_openpyxl(file)
    with closing(_open_workbook(openpyxl, file)) as workbook:
        sheet, sheet_note = _choose_sheet(workbook, layout, file)
        rows, error_note = _read_cells(sheet, layout)
    has_gaps = any(cell is None for row in rows for cell in row)
    gap_notes = _explain_gaps(openpyxl.load_workbook(file)[sheet.title], rows, layout) if has_gaps else ()
    frame, frame_notes = _make_frame(rows, layout)
    spelled, sign_notes, guessed = spell_text_cells(frame, layout, file.name)
    unified, type_notes = unify_types(spelled)
    notes = (*sheet_note, *error_note, *gap_notes, *frame_notes, *sign_notes, *type_notes)
    return RawTable(unified, file.stem, str(file.resolve()), notes, guessed=guessed)


def _import_openpyxl(file: Path) -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise UserError(
            f"dataset.path={str(file)!r} is an Excel workbook, which needs the package openpyxl: "
            'pip install "bakeoff[excel]".'
        ) from None
    return openpyxl


def _open_workbook(openpyxl: Any, file: Path) -> Any:
    try:
        return openpyxl.load_workbook(file, read_only=True, data_only=True)
    except (BadZipFile, KeyError) as error:
        raise ValueError(f"it is not an Excel workbook, or it has a password ({error})") from error


def _choose_sheet(workbook: Any, layout: FileLayout, file: Path) -> tuple[Any, tuple[str, ...]]:
    """Return the sheet to read, and a sentence if it was chosen among several."""
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if layout.sheet is not None:
        if str(layout.sheet) not in sheets:
            hint = did_you_mean(str(layout.sheet), sheets)
            raise UserError(f"dataset.sheet={layout.sheet!r} is not a sheet of {file.name}. {hint}")
        return sheets[str(layout.sheet)], ()
    visible = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
    chosen = (visible or workbook.worksheets)[0]
    others = [title for title in sheets if title != chosen.title]
    if not others:
        return chosen, ()
    return chosen, (f"Sheet {chosen.title!r} is read; dataset.sheet chooses another one: {', '.join(others)}.",)


def _read_cells(sheet: Any, layout: FileLayout) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Return the cells of a sheet without empty rows and columns at the end, and a sentence about its errors."""
    n_errors = 0
    rows = []
    # A sheet may claim to have more cells than it holds, each of which would be made.
    sheet.reset_dimensions()
    for cells in sheet.iter_rows(min_row=layout.skip_rows + 1):
        n_errors += sum(cell.data_type == ERROR for cell in cells)
        rows.append([_clean_cell(cell, layout) for cell in cells])
    while rows and _is_empty(rows[-1]):
        rows.pop()
    width = max((1 + last for row in rows for last in [_find_last(row)]), default=0)
    if len(rows) * width > MAX_CELLS:
        raise ValueError(
            f"sheet {sheet.title!r} spans {len(rows):,} rows and {width:,} columns, which are more than {MAX_CELLS:,} "
            "cells; delete cells that lie apart from the table, or save the sheet as CSV"
        )
    # Rows of a sheet may have different lengths.
    table = [[*row[:width], *[None] * (width - len(row))] for row in rows]
    if not n_errors:
        return table, ()
    return table, (f"Cells with errors such as #N/A, which are missing: {n_errors}.",)


def _clean_cell(cell: Any, layout: FileLayout) -> Any:
    if cell.data_type == ERROR:
        return math.nan  # missing like None, but no gap: a formula has this value
    value = cell.value
    if layout.strip and isinstance(value, str):
        return value.strip() or None
    return value


def _is_empty(row: Sequence[Any]) -> bool:
    return all(cell is None for cell in row)


def _find_last(row: Sequence[Any]) -> int:
    """Return the position of the last cell with a value; -1 if there is none."""
    return max((position for position, cell in enumerate(row) if cell is not None), default=-1)


def _explain_gaps(sheet: Any, rows: Sequence[Sequence[Any]], layout: FileLayout) -> tuple[str, ...]:
    """Reject formulas whose values are not stored, and return a sentence about merged cells.

    Both are empty cells for a reader of values.

    Parameters
    ----------
    sheet : Worksheet
        With formulas instead of their values.
    rows : sequence of sequence of object
        The values, without rows and columns at the end that have none.
    layout : FileLayout
    """
    for row in sheet.iter_rows(min_row=layout.skip_rows + 1):
        for cell in row:
            if cell.data_type == FORMULA and not _has_value(rows, cell.row - layout.skip_rows - 1, cell.column - 1):
                raise ValueError(
                    f"cell {cell.coordinate} holds the formula {cell.value} without its value; open the file in a "
                    "spreadsheet program and save it"
                )
    merged = [str(cells) for cells in sheet.merged_cells.ranges if cells.max_row > layout.skip_rows]
    if not merged:
        return ()
    return (f"Groups of merged cells: {len(merged)}, such as {merged[0]}; all but the first of each are missing.",)


def _has_value(rows: Sequence[Sequence[Any]], row: int, column: int) -> bool:
    return row < len(rows) and column < len(rows[row]) and rows[row][column] is not None


def _make_frame(rows: Sequence[Sequence[Any]], layout: FileLayout) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the table below a row of names, and sentences about what was left out."""
    if not rows:
        raise ValueError("the sheet is empty")
    first = layout.skip_rows + 1
    body = rows[1:] if layout.has_names else rows
    if layout.header is None and not any(isinstance(cell, str) for cell in rows[0]):
        raise ValueError(
            f"row {first} looks like data; add dataset.header=false to read it as data, or dataset.header=true if it "
            "holds the names of the columns"
        )
    names = _name_columns(rows, layout)
    filled = [row for row in body if not _is_empty(row)]
    kept = [position for position, name in enumerate(names) if name is not None]
    columns = {str(names[position]): pd.Series([row[position] for row in filled], dtype=object) for position in kept}
    n_empty = len(body) - len(filled)
    note = (f"Empty rows that are left out: {n_empty}.",) if n_empty else ()
    return pd.DataFrame(columns, index=pd.RangeIndex(len(filled))), note


def _name_columns(rows: Sequence[Sequence[Any]], layout: FileLayout) -> list[str | None]:
    """Return the names of the columns; None for a column without name and cells."""
    from openpyxl.utils import get_column_letter

    d = len(rows[0])
    if layout.names:
        if len(layout.names) != d:
            raise ValueError(f"dataset.names has {len(layout.names)} names, but the sheet has {d} columns")
        return [str(name) for name in layout.names]
    if not layout.has_names:
        return [f"column_{number}" for number in range(1, d + 1)]
    names: list[str | None] = []
    for position, cell in enumerate(rows[0]):
        is_empty = all(row[position] is None for row in rows)
        if cell is None and not is_empty:
            letter = get_column_letter(position + 1)
            raise ValueError(
                f"column {letter} has cells, but no name in row {layout.skip_rows + 1}; give it one, or leave out rows "
                "above the table with dataset.skip_rows=N"
            )
        names.append(None if is_empty else spell_cell(cell))
    repeated = sorted({name for name in names if name is not None and names.count(name) > 1})
    if repeated:
        raise ValueError(f"two columns have the name {repeated[0]!r}; rename one of them")
    return names
