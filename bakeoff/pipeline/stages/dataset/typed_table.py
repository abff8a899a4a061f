"""Tables with typed cells, from Parquet, Arrow, JSON, Excel and Python."""

import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import chain
from json import JSONDecoder
from operator import attrgetter
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError, did_you_mean, require_package
from bakeoff.pipeline.stages.dataset.content import limit_sizes, read_bytes, read_characters
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.source import (
    MAX_EXACT_INTEGER,
    Source,
    arrow_to_column,
    find_row_names,
    make_source,
    require_different_names,
)
from bakeoff.pipeline.stages.dataset.spelling import spell_cell
from bakeoff.pipeline.text.wording import name_first

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""The name that pandas writes to a file for unnamed row numbers."""
SHEET_KEYS = ("sheet", "header", "skip_rows")
ERROR = "e"
"""The openpyxl type of cells that contain an error such as #N/A."""
FORMULA = "f"
RECORDS = "orient='records'"
ROWS_OF_BATCH = 100_000
TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
MAX_CELLS = 50_000_000
"""The maximum number of cells in a sheet, including empty ones."""


def read_parquet(file: Path, layout: FileLayout) -> Source:
    """Read a Parquet file."""
    from pyarrow import parquet

    # The path is not passed, because pyarrow would derive columns from it: "year=2020/a.parquet".
    content = pa.BufferReader(read_bytes(file))
    schema = parquet.read_schema(content)
    # A small file may repeat a long text in many rows; such columns are not expanded before their size is known.
    reader = parquet.ParquetFile(content, read_dictionary=[each.name for each in schema if each.type in TEXT_TYPES])
    groups = map(reader.metadata.row_group, range(reader.num_row_groups))
    list(limit_sizes(groups, attrgetter("total_byte_size"), file))
    batches = limit_sizes(reader.iter_batches(ROWS_OF_BATCH), _measure_batch, file)
    return _make_arrow_source(pa.Table.from_batches(batches, reader.schema_arrow).cast(schema), file.name)


def read_arrow(file: Path, layout: FileLayout) -> Source:
    """Read an Arrow file, also called Feather."""
    from pyarrow import ipc

    reader = ipc.open_file(read_bytes(file))
    batches = map(reader.get_batch, range(reader.num_record_batches))
    table = pa.Table.from_batches(limit_sizes(batches, _measure_batch, file), reader.schema)
    return _make_arrow_source(table, file.name)


def _measure_batch(batch: pa.RecordBatch) -> int:
    """Return a number of bytes, one per number, with each text counted as often as it occurs."""
    batch.validate(full=True)  # damaged positions of text would end the process
    n_bytes = 0
    for cells in batch.columns:
        if pa.types.is_dictionary(cells.type) and cells.type.value_type in TEXT_TYPES:
            lengths = pc.binary_length(cells.dictionary).take(cells.indices)
            n_bytes += pc.sum(lengths).as_py() or 0
        else:
            n_bytes += len(cells) if pa.types.is_primitive(cells.type) else cells.nbytes
    return n_bytes


def read_frame(table: Any, name: str = "frame") -> Source:
    """Read a table from Python.

    Parameters
    ----------
    table : DataFrame of shape (n, d), or a table with ``__arrow_c_stream__``
        The table, which is not modified.
    name : str
        The name of the dataset.

    Returns
    -------
    Source
        The cells, with column names as text and without the index of a DataFrame.

    Raises
    ------
    UserError
        The object is not a table, has no rows, or has two columns with the same name.
    """
    # A Series also exports Arrow, but is a single column.
    if isinstance(table, pd.Series) or not (isinstance(table, pd.DataFrame) or hasattr(table, "__arrow_c_stream__")):
        raise UserError(
            f"a table must be a pandas DataFrame, or an Arrow or polars table, but a {type(table).__name__} was "
            "given; convert it with pandas.DataFrame(table)."
        )
    frame = table if isinstance(table, pd.DataFrame) else pa.table(table)
    if len(frame) == 0:
        raise UserError(f"the table {name!r} has no rows.")
    if isinstance(frame, pa.Table):
        return _make_arrow_source(frame, name, "Python")
    require_different_names([str(column) for column in frame.columns], f"the table {name!r} has")
    return make_source(frame, name, "Python")


def _make_arrow_source(table: pa.Table, name: str, origin: str = "") -> Source:
    """Return the cells of an Arrow table; raise UserError if two columns have the same name."""
    require_different_names(table.column_names, f"{name} has")
    numbers = [column for column in table.column_names if PANDAS_INDEX.fullmatch(column)]
    kept = [column for column in table.column_names if column not in numbers]
    frame = pd.DataFrame({column: arrow_to_column(table[column]) for column in kept})
    notes = [f"Column {numbers[0]!r}, the row numbers of pandas, is left out."] if numbers else []
    return make_source(frame, name, origin, notes)


def read_json(file: Path, layout: FileLayout) -> Source:
    """Read a file with a list of objects, with one object per line, or with one object in a form that pandas writes.

    Each key of any object becomes a column; if an object lacks it, the cell is missing. Cells have JSON types, and a
    column with several types becomes text. In addition to the common errors, an object may repeat a key.
    """
    values = _parse(read_characters(file, layout).strip())
    notes: list[str] = []
    first = values[0] if len(values) == 1 else values
    frame = _read_object(first, notes) if isinstance(first, dict) else _list_rows(first)
    require_different_names([str(name) for name in frame.columns], f"{file.name} has")
    return make_source(frame, notes=notes)


def _list_rows(rows: Sequence[Any]) -> pd.DataFrame:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise ValueError(f'item {number} is not an object such as {{"age": 29}}; pandas writes them with {RECORDS}')
    return pd.DataFrame(rows, dtype=object)


def _read_object(whole: dict[str, Any], notes: list[str]) -> pd.DataFrame:
    """Return the table in an object: rows under a key, columns, rows by label, or a single row."""
    parts = [*whole.values()]
    if {"columns", "data"} <= {*whole}:
        return pd.DataFrame(whole["data"], columns=whole["columns"], dtype=object)
    tables = [key for key, part in whole.items() if part and isinstance(part, list) and isinstance(part[0], dict)]
    if len(tables) == 1:
        notes.append(f"The rows are those of the key {tables[0]!r}.")
        return _list_rows(whole[tables[0]])
    types = {*map(type, parts)}
    if types == {list}:
        return pd.DataFrame(whole, dtype=object)
    if types != {dict}:
        return _list_rows([whole])
    # pandas numbers the rows unless they have labels; then the side with more labels is that of the rows.
    sides = [[*dict.fromkeys(chain(*parts))], [*whole]]
    labels = max(sides, key=lambda side: ("".join(side).isdigit(), len(side)))
    if not "".join(labels).isdigit():
        notes.append(f"The labels of the rows, such as {labels[0]!r}, are left out.")
    return pd.DataFrame.from_dict(whole, orient="index" if labels is sides[1] else "columns", dtype=object)


def _parse(text: str) -> list[Any]:
    """Return all values of a text."""
    decoder = JSONDecoder(object_pairs_hook=_make_object)
    values = []
    end = 0
    try:
        while end < len(text):
            value, end = decoder.raw_decode(text, end)
            values.append(value)
            while text[end : end + 1].isspace():
                end += 1
    except json.JSONDecodeError as error:
        raise ValueError(
            f"line {error.lineno} is not JSON: {error.msg} at character {error.colno}; a file contains one object per "
            f"line, or a list of objects, which pandas writes with {RECORDS}"
        ) from error
    except ValueError as error:
        line = text.count("\n", 0, end) + 1
        raise ValueError(f"line {line} {error}") from error
    return values


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

    Cells have the types of the sheet, and formulas have their stored values. Errors such as ``#N/A`` are missing cells.
    In addition to the common errors, the package openpyxl may be missing, there may be no such sheet, its column names
    may not be distinct, or a formula may have no stored value.
    """
    sheet, notes = _choose_sheet(_open_workbook(file, has_values=True), layout, file)
    if sheet.max_row * sheet.max_column > MAX_CELLS:
        raise ValueError(
            f"sheet {sheet.title!r} spans {sheet.max_row:,} rows and {sheet.max_column:,} columns, which are more than "
            f"{MAX_CELLS:,} cells; delete cells that lie apart from the table, or save the sheet as CSV"
        )
    first = layout.skip_rows + 1
    for cell in chain(*_open_workbook(file, has_values=False)[sheet.title].iter_rows(first)):
        if cell.data_type == FORMULA and sheet[cell.coordinate].value is None:
            raise ValueError(
                f"cell {cell.coordinate} holds the formula {cell.value} without its value; open the file in a "
                "spreadsheet program and save it"
            )
    rows = list(sheet.iter_rows(first))
    n_errors = sum(cell.data_type == ERROR for cell in chain(*rows))
    if n_errors:
        notes.append(f"Cells with errors such as #N/A are treated as missing: {n_errors}.")
    numbers = range(first, first + len(rows))
    cells = pd.DataFrame([list(map(_read_cell, row)) for row in rows], numbers, range(1, sheet.max_column + 1), object)
    is_filled = cells.map(lambda cell: cell is not None)  # (n + 1, d)
    cells = cells.loc[is_filled.any(axis=1), is_filled.any()].copy()
    if cells.empty:
        raise ValueError("the sheet is empty")
    notes += _fill_merged(cells, sheet.merged_cells.ranges, cells.index[0] + layout.has_names)
    names = _read_names(cells, layout) if layout.has_names else [f"column_{number}" for number in cells.columns]
    table = cells.set_axis(names, axis=1).iloc[int(layout.has_names) :]
    source = make_source(table.reset_index(drop=True), notes=notes)
    is_unnamed = layout.has_names and cells.iat[0, 0] is None
    return replace(source, row_names=find_row_names(source.frame) if is_unnamed else "")


def _fill_merged(cells: Any, areas: Iterable[Any], first: int) -> list[str]:
    """Fill merged cells in and below a row with the cell at their top, and return a sentence that names them."""
    inner = [area for area in areas if area.min_row >= first and area.size["rows"] > 1]
    for area in inner:
        if area.min_row in cells.index and area.min_col in cells.columns:
            cells.loc[area.min_row : area.max_row, area.min_col] = cells.at[area.min_row, area.min_col]
    listed = name_first([*map(str, sorted(inner, key=attrgetter("min_row", "min_col")))])
    return [f"Merged cells are filled down from the first one, but not to the right: {listed}."] if inner else []


def _read_cell(cell: Any) -> Any:
    # An error counts as missing, like None, but its cell is not empty.
    if cell.data_type == ERROR:
        return np.nan
    # Workbooks contain only floats, however they are spelled.
    is_long = isinstance(cell.value, int) and abs(cell.value) >= MAX_EXACT_INTEGER
    return float(cell.value) if is_long else cell.value


def _open_workbook(file: Path, has_values: bool) -> Any:
    """Return a workbook with the stored values of its formulas, or with the formulas."""
    require_package("openpyxl", f"dataset.path={str(file)!r}, an Excel workbook,", "excel")
    import openpyxl

    content = BytesIO(read_bytes(file))
    try:
        list(limit_sizes(ZipFile(content).infolist(), attrgetter("file_size"), file))
        with warnings.catch_warnings():
            # openpyxl warns of parts that it does not keep, such as formats, which hold no cells.
            warnings.simplefilter("ignore", UserWarning)
            return openpyxl.load_workbook(content, data_only=has_values)
    except (BadZipFile, KeyError) as error:
        raise ValueError(f"it is not an Excel workbook, or it is password-protected ({error})") from error


def _choose_sheet(workbook: Any, layout: FileLayout, file: Path) -> tuple[Any, list[str]]:
    """Return the sheet to read, and a sentence if it was chosen from several."""
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    first, *others = sheets
    chosen = first if layout.sheet is None else str(layout.sheet)
    if chosen not in sheets:
        raise UserError(f"dataset.sheet={chosen!r} is not a sheet of {file.name}. {did_you_mean(chosen, sheets)}")
    note = f"Sheet {first!r} is read; dataset.sheet chooses another one: {', '.join(others)}."
    return sheets[chosen], [note] if others and layout.sheet is None else []


def _read_names(cells: pd.DataFrame, layout: FileLayout) -> list[str]:
    """Return the names of the columns; raise ValueError or UserError if the first row does not contain them.

    The first columns may have no name, as the index of pandas.
    """
    row, first = cells.index[0], cells.iloc[0]
    is_named = first.notna()
    if layout.header is None and not any(isinstance(cell, str) for cell in first):
        raise ValueError(
            f"row {row} looks like data; add dataset.header=false to read it as data, or dataset.header=true if it "
            "holds the names of the columns"
        )
    if not is_named[is_named.idxmax() :].all():
        filled = cells.index[cells.notna().all(axis=1)]
        begin = f"if the table begins in row {filled[0]}, give dataset.skip_rows={filled[0] - 1}" if len(filled) else ""
        raise ValueError(f"a column has cells, but no name in row {row}; give it one" + f", or {begin}" * bool(begin))
    names = [f"column_{number}" if cell is None else spell_cell(cell) for number, cell in first.items()]
    require_different_names(names, "the sheet has")
    return names
