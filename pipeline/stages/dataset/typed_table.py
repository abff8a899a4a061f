"""Tables whose cells have types: of Arrow and Parquet, JSON, Excel, and of Python."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.content import open_bytes, read_characters, strip_compression
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.number_signs import SIGN_KEYS, spell_text_cells
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns, require_memory_for_cells
from bakeoff.pipeline.stages.dataset.source import RawTable, arrow_to_column, spell_cell, unify_types

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""The name that pandas gives in a file to row numbers that have none."""


def read_parquet(file: Path, layout: FileLayout) -> RawTable:
    """Read a Parquet file.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values, because the file says itself how it holds the table.

    Raises
    ------
    UserError
        A key of the layout was set, or two columns have one name.
    """
    from pyarrow import parquet

    layout.reject_keys(file, "Parquet")
    # Not by its path, from which pyarrow would make columns: "year=2020/a.parquet".
    with open_bytes(file) as stream:
        parts = parquet.ParquetFile(stream)
        require_few_columns(parts.metadata.num_columns, layout.max_columns, file.name)
        require_memory_for_cells(parts.metadata.num_rows, parts.metadata.num_columns, file)
        table = parts.read()
    return make_raw_table(table, strip_compression(file).stem, str(file.resolve()))


def read_arrow(file: Path, layout: FileLayout) -> RawTable:
    """Read an Arrow file, also called Feather, or an Arrow stream.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values, because the file says itself how it holds the table.

    Raises
    ------
    UserError
        A key of the layout was set, or two columns have one name.
    """
    from pyarrow import feather

    layout.reject_keys(file, "Arrow")
    try:
        with open_bytes(file) as stream:
            table = feather.read_table(stream, memory_map=False)
    except pa.ArrowInvalid:
        table = _read_stream(file)
    return make_raw_table(table, strip_compression(file).stem, str(file.resolve()))


def _read_stream(file: Path) -> pa.Table:
    """Return the table of an Arrow stream, which has no list of its parts at the end."""
    from pyarrow import ipc

    try:
        with open_bytes(file) as stream:
            return ipc.open_stream(stream).read_all()
    except (pa.ArrowInvalid, OSError) as error:
        raise ValueError(f"it is neither an Arrow file nor an Arrow stream ({error})") from error


def make_raw_table(table: pa.Table, name: str, source: str) -> RawTable:
    """Return the cells of an Arrow table.

    Parameters
    ----------
    table : Table of shape (n, d)
    name, source : str
        Of the dataset.

    Raises
    ------
    UserError
        Two columns have one name.
    """
    repeated = sorted(column for column, count in Counter(table.column_names).items() if count > 1)
    if repeated:
        raise UserError(f"{name} has two columns of the name {repeated[0]!r}; rename one of them.")
    kept = [column for column in table.column_names if not PANDAS_INDEX.fullmatch(column)]
    numbers = [column for column in table.column_names if column not in kept]
    frame = pd.DataFrame({column: arrow_to_column(table[column]) for column in kept})
    unified, notes = unify_types(frame)
    if numbers:
        notes = (*notes, f"Column {numbers[0]!r}, the row numbers of pandas, is left out.")
    return RawTable(unified, name, source, notes, find_categories(unified))


def find_categories(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the values that the types of columns declare, in order, by column."""
    return {
        str(name): tuple(column.cat.categories)
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    }


KEYS = ("encoding", *SIGN_KEYS)


def read_json_lines(file: Path, layout: FileLayout) -> RawTable:
    """Read a file with an object in each line.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding and the signs of numbers in text.

    Returns
    -------
    RawTable
        A key of any object is a column; where an object does not have it, the cell is missing. Types of cells are
        those of JSON, and a column of several types is text.

    Raises
    ------
    ValueError
        A line is not an object, or gives a key twice.
    """
    layout.reject_keys(file, "JSON lines", allowed=KEYS)
    return _make_table(_parse_lines(read_characters(file, layout)), file, layout)


def read_json(file: Path, layout: FileLayout) -> RawTable:
    """Read a file that holds a list of objects, or an object in each line.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding and the signs of numbers in text.

    Raises
    ------
    ValueError
        The file holds something else.
    """
    layout.reject_keys(file, "JSON", allowed=KEYS)
    text = read_characters(file, layout)
    if not text.lstrip().startswith("["):
        return _make_table(_parse_lines(text), file, layout)
    rows = _parse(text, "the file")
    for number, row in enumerate(rows, start=1):
        _require_object(row, f"item {number} of the list")
    return _make_table(rows, file, layout)


def _parse_lines(text: str) -> list[dict[str, Any]]:
    # Not splitlines(), which takes signs within cells for ends of lines.
    lines = enumerate(StringIO(text, newline=None), start=1)
    return [_parse_row(line, f"line {number}") for number, line in lines if line.strip()]


def _parse_row(text: str, where: str) -> dict[str, Any]:
    row = _parse(text, where)
    _require_object(row, where)
    return row


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_make_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{where} is not JSON: {error.msg} at character {error.pos + 1}; a file holds an object a line, or a list "
            "of objects"
        ) from error
    except RecursionError:
        raise ValueError(f"{where} holds too many lists or objects inside one another; a cell is a value") from None
    except ValueError as error:
        raise ValueError(f"{where} {error}") from error


def _make_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; json would silently take the last value of a key that is given twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"gives the key {twice!r} twice")
    return made


def _require_object(row: Any, where: str) -> None:
    if not isinstance(row, dict):
        raise ValueError(f'{where} is not an object such as {{"age": 29}}')


def _make_table(rows: Iterable[dict[str, Any]], file: Path, layout: FileLayout) -> RawTable:
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    require_few_columns(len(names), layout.max_columns, file.name)
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in listed], dtype=object) for name in names})
    spelled, sign_notes, guessed = spell_text_cells(frame, layout, file.name)
    unified, notes = unify_types(spelled)
    if notes and not unified.shape[1]:
        raise ValueError(f"no column is left; {notes[0]}")
    all_notes = (*sign_notes, *notes, *_count_absent(listed, names))
    return RawTable(unified, strip_compression(file).stem, str(file.resolve()), all_notes, guessed=guessed)


def _count_absent(rows: Sequence[dict[str, Any]], names: Iterable[str]) -> list[str]:
    """Return a sentence about the keys that some objects do not have, if there are any."""
    n_columns = len(list(names))
    n_short = sum(len(row) < n_columns for row in rows)
    if not n_short:
        return []
    return [f"{n_short} of {len(rows)} objects do not have all {n_columns} keys; those cells are missing."]


SOURCE = "Python"


def read_frame(table: Any, name: str = "frame") -> RawTable:
    """Read a table of Python.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table with ``__arrow_c_stream__``
        It is not changed.
    name : str
        Of the dataset.

    Returns
    -------
    RawTable
        Names of columns are text. The index of a DataFrame is left out, and a named one is mentioned in a note.

    Raises
    ------
    UserError
        It is no table, has no rows, or has two columns of one name.
    """
    if not isinstance(table, pd.DataFrame):
        return _read_arrow(table, name)
    frame = table.copy(deep=False)
    frame.columns = pd.Index([str(column) for column in table.columns])
    _require_rows(len(frame), name)
    repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
    if repeated:
        raise UserError(f"the table {name!r} has two columns of the name {repeated[0]!r}; rename one of them.")
    index_names = [str(level) for level in table.index.names if level is not None]
    unified, notes = unify_types(frame)
    if index_names:
        shown = ", ".join(map(repr, index_names))
        cure = "makes it a column" if len(index_names) == 1 else "makes columns of it"
        notes = (*notes, f"The index {shown} is left out; frame.reset_index() {cure}.")
    return RawTable(unified, name, SOURCE, notes, find_categories(unified))


def require_table(table: Any) -> None:
    """Reject an object that is no table.

    Raises
    ------
    UserError
    """
    # A Series exports Arrow too, and is one column.
    is_table = hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.Series)
    if isinstance(table, pd.DataFrame) or is_table:
        return
    raise UserError(
        f"a table must be a DataFrame of pandas, or a table of Arrow or polars, but a {type(table).__name__} was given"
        f"{_suggest_frame(table)}."
    )


def _suggest_frame(table: Any) -> str:
    """Return how to make a DataFrame of an object, or nothing."""
    if isinstance(table, pd.Series):
        return "; table.to_frame() makes one of it"
    if isinstance(table, dict):
        return "; pandas.DataFrame(table) makes one of columns by their names"
    if isinstance(table, np.ndarray):
        return "; pandas.DataFrame(table, columns=[...]) makes one with names of columns"
    return ""


def _read_arrow(table: Any, name: str) -> RawTable:
    require_table(table)
    converted = pa.table(table)
    _require_rows(len(converted), name)
    return make_raw_table(converted, name, SOURCE)


def _require_rows(n: int, name: str) -> None:
    if n == 0:
        raise UserError(f"the table {name!r} has no rows.")


SHEET_KEYS = ("sheet", "header", "names", "strip", "skip_rows", *SIGN_KEYS)
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
    layout.reject_keys(file, "an Excel workbook", allowed=SHEET_KEYS)
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
