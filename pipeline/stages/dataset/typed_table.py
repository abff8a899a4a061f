"""Tables whose cells have types: of Parquet and Arrow, of JSON, of Excel, and of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset.content import (
    name_source,
    open_bytes,
    read_bytes,
    read_characters,
    strip_compression,
)
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.number_signs import SIGN_KEYS, spell_text_cells
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns, require_memory_for_cells
from bakeoff.pipeline.stages.dataset.source import Source, arrow_to_column, make_source, require_different_names
from bakeoff.pipeline.stages.dataset.spelling import spell_cell

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""The name that pandas writes to a file for unnamed row numbers."""
JSON_KEYS = ("encoding", *SIGN_KEYS)
SHEET_KEYS = ("sheet", "header", "names", "strip", "skip_rows", *SIGN_KEYS)
ERROR = "e"
"""The openpyxl type of cells with an error such as #N/A."""
FORMULA = "f"
MAX_CELLS = 50_000_000
"""Of a sheet, empty ones included."""


def read_parquet(file: Path, layout: FileLayout) -> Source:
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
        return _make_arrow_source(parts.read(), *name_source(file))


def read_arrow(file: Path, layout: FileLayout) -> Source:
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
    ValueError
        It is neither.
    """
    from pyarrow import ipc

    layout.reject_keys(file, "Arrow")
    content = read_bytes(file)
    try:
        table = ipc.open_file(content).read_all()
    except pa.ArrowInvalid:
        try:
            table = ipc.open_stream(content).read_all()
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"it is neither an Arrow file nor an Arrow stream ({error})") from error
    return _make_arrow_source(table, *name_source(file))


def read_frame(table: Any, name: str = "frame") -> Source:
    """Read a table of Python.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table with ``__arrow_c_stream__``
        It is not changed.
    name : str
        Of the dataset.

    Returns
    -------
    Source
        Names of columns are text. The index of a DataFrame is left out, and a named one is mentioned in a note.

    Raises
    ------
    UserError
        It is no table, has no rows, or has two columns of one name.
    """
    require_table(table)
    frame = table if isinstance(table, pd.DataFrame) else pa.table(table)
    if len(frame) == 0:
        raise UserError(f"the table {name!r} has no rows.")
    if isinstance(frame, pa.Table):
        return _make_arrow_source(frame, name, "Python")
    require_different_names([str(column) for column in frame.columns], f"the table {name!r} has")
    levels = [repr(str(level)) for level in frame.index.names if level is not None]
    cure = "makes it a column" if len(levels) == 1 else "makes columns of it"
    notes = [f"The index {', '.join(levels)} is left out; frame.reset_index() {cure}."] if levels else []
    return make_source(frame, name, "Python", notes)


def require_table(table: Any) -> None:
    """Reject an object that is no table.

    Raises
    ------
    UserError
    """
    # A Series exports Arrow too, and is one column.
    if isinstance(table, pd.DataFrame) or (hasattr(table, "__arrow_c_stream__") and not isinstance(table, pd.Series)):
        return
    cures = {
        pd.Series: "; table.to_frame() makes one of it",
        dict: "; pandas.DataFrame(table) makes one of columns by their names",
        np.ndarray: "; pandas.DataFrame(table, columns=[...]) makes one with names of columns",
    }
    cure = next((cure for type_, cure in cures.items() if isinstance(table, type_)), "")
    raise UserError(
        f"a table must be a DataFrame of pandas, or a table of Arrow or polars, but a {type(table).__name__} was given"
        f"{cure}."
    )


def _make_arrow_source(table: pa.Table, name: str, origin: str) -> Source:
    """Return the cells of an Arrow table; raises UserError if two columns have one name."""
    require_different_names(table.column_names, f"{name} has")
    numbers = [column for column in table.column_names if PANDAS_INDEX.fullmatch(column)]
    kept = [column for column in table.column_names if column not in numbers]
    frame = pd.DataFrame({column: arrow_to_column(table[column]) for column in kept})
    notes = [f"Column {numbers[0]!r}, the row numbers of pandas, is left out."] if numbers else []
    return make_source(frame, name, origin, notes)


def read_json(file: Path, layout: FileLayout) -> Source:
    """Read a file with a list of objects, or with one object per line.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding and the signs of numbers in text.

    Returns
    -------
    Source
        A key of any object is a column; where an object does not have it, the cell is missing. Types of cells are
        those of JSON, and a column of several types is text.

    Raises
    ------
    ValueError
        A line or an item is not an object, or gives a key twice.
    """
    layout.reject_keys(file, "JSON", allowed=JSON_KEYS)
    rows = _parse_rows(read_characters(file, layout))
    names = list(dict.fromkeys(name for row in rows for name in row))
    require_few_columns(len(names), layout.max_columns, file.name)
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})
    frame, notes, guessed = spell_text_cells(frame, layout, file.name)
    n_short = sum(len(row) < len(names) for row in rows)
    if n_short:
        notes.append(f"{n_short} of {len(rows)} objects do not have all {len(names)} keys; those cells are missing.")
    source = make_source(frame, *name_source(file), notes, guessed)
    if names and not source.frame.shape[1]:
        raise ValueError(f"no column is left; {source.notes[len(notes)]}")
    return source


def _parse_rows(text: str) -> list[dict[str, Any]]:
    if text.lstrip().startswith("["):
        items = {f"item {number} of the list": row for number, row in enumerate(_parse(text, "the file"), start=1)}
    else:
        # Not splitlines(), which splits lines at characters within cells.
        lines = {f"line {number}": line for number, line in enumerate(StringIO(text, newline=None), start=1)}
        items = {where: _parse(line, where) for where, line in lines.items() if line.strip()}
    for where, row in items.items():
        if not isinstance(row, dict):
            raise ValueError(f'{where} is not an object such as {{"age": 29}}')
    return list(items.values())


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
    """Return an object; json would silently use the last value of a duplicate key."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"gives the key {name!r} twice")
        made[name] = value
    return made


def read_excel(file: Path, layout: FileLayout) -> Source:
    """Read a sheet of a workbook.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        The sheet, the rows above the table, whether there is a row of names, whether spaces are left out, and the
        signs of numbers in text.

    Returns
    -------
    Source
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
    sheet, notes = _choose_sheet(_open_workbook(file, has_values=True), layout, file)
    if sheet.max_row * sheet.max_column > MAX_CELLS:
        raise ValueError(
            f"sheet {sheet.title!r} spans {sheet.max_row:,} rows and {sheet.max_column:,} columns, which are more than "
            f"{MAX_CELLS:,} cells; delete cells that lie apart from the table, or save the sheet as CSV"
        )
    first = layout.skip_rows + 1
    for cell in (cell for row in _open_workbook(file, has_values=False)[sheet.title].iter_rows(first) for cell in row):
        if cell.data_type == FORMULA and sheet[cell.coordinate].value is None:
            raise ValueError(
                f"cell {cell.coordinate} holds the formula {cell.value} without its value; open the file in a "
                "spreadsheet program and save it"
            )
    cells = [list(row) for row in sheet.iter_rows(first)]
    n_errors = sum(cell.data_type == ERROR for row in cells for cell in row)
    if n_errors:
        notes.append(f"Cells with errors such as #N/A, which are missing: {n_errors}.")
    merged = [str(found) for found in sheet.merged_cells.ranges if found.max_row >= first]
    if merged:
        shown = f"Groups of merged cells: {len(merged)}, such as {merged[0]}"
        notes.append(f"{shown}; all but the first of each are missing.")
    values = pd.DataFrame([[_read_cell(cell, layout) for cell in row] for row in cells], dtype=object)
    frame, n_empty = _name_cells(values, layout)
    if n_empty:
        notes.append(f"Empty rows that are left out: {n_empty}.")
    frame, sign_notes, guessed = spell_text_cells(frame, layout, file.name)
    return make_source(frame, *name_source(file), [*notes, *sign_notes], guessed)


def _open_workbook(file: Path, has_values: bool) -> Any:
    """Return a workbook with the stored values of its formulas, or with the formulas."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise UserError(
            f"dataset.path={str(file)!r} is an Excel workbook, which needs the package openpyxl: "
            'pip install "bakeoff[excel]".'
        ) from None
    try:
        return openpyxl.load_workbook(file, data_only=has_values)
    except (BadZipFile, KeyError) as error:
        raise ValueError(f"it is not an Excel workbook, or it has a password ({error})") from error


def _choose_sheet(workbook: Any, layout: FileLayout, file: Path) -> tuple[Any, list[str]]:
    """Return the sheet to read, and a sentence if it was chosen among several."""
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    if layout.sheet is not None:
        if str(layout.sheet) not in sheets:
            hint = did_you_mean(str(layout.sheet), sheets)
            raise UserError(f"dataset.sheet={layout.sheet!r} is not a sheet of {file.name}. {hint}")
        return sheets[str(layout.sheet)], []
    visible = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
    chosen = (visible or workbook.worksheets)[0]
    others = ", ".join(title for title in sheets if title != chosen.title)
    note = f"Sheet {chosen.title!r} is read; dataset.sheet chooses another one: {others}."
    return chosen, [note] if others else []


def _read_cell(cell: Any, layout: FileLayout) -> Any:
    if cell.data_type == ERROR:
        return np.nan  # missing like None, but the cell is filled
    value = cell.value
    return (value.strip() or None) if layout.strip and isinstance(value, str) else value


def _name_cells(cells: pd.DataFrame, layout: FileLayout) -> tuple[pd.DataFrame, int]:
    """Return the filled rows below the row of names, and the number of empty rows among them."""
    from openpyxl.utils import get_column_letter

    is_filled = cells.map(lambda cell: cell is not None).to_numpy(dtype=bool)  # (n + 1, d)
    if not is_filled.any():
        raise ValueError("the sheet is empty")
    n_rows = int(np.flatnonzero(is_filled.any(axis=1))[-1]) + 1
    used = np.flatnonzero(is_filled.any(axis=0)).tolist()
    d = used[-1] + 1
    first_row = cells.iloc[0, :d].tolist()
    row = layout.skip_rows + 1
    if layout.header is None and not any(isinstance(cell, str) for cell in first_row):
        raise ValueError(
            f"row {row} looks like data; add dataset.header=false to read it as data, or dataset.header=true if it "
            "holds the names of the columns"
        )
    names = layout.choose_names(d, "the sheet")
    kept = list(range(d)) if names else used
    unnamed = [] if names else [position for position in kept if first_row[position] is None]
    if unnamed:
        raise ValueError(
            f"column {get_column_letter(unnamed[0] + 1)} has cells, but no name in row {row}; give it one, or leave "
            "out rows above the table with dataset.skip_rows=N"
        )
    names = names or [spell_cell(first_row[position]) for position in kept]
    require_different_names(names, "the sheet has")
    body = np.arange(n_rows) >= int(layout.has_names)
    is_row = body & is_filled[:n_rows].any(axis=1)
    frame = cells.iloc[np.flatnonzero(is_row), kept].set_axis(names, axis=1).reset_index(drop=True)
    return frame, int(body.sum() - is_row.sum())
