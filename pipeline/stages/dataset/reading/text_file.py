"""Tables of text: how their cells are separated, and whether the first row holds names or data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from pyarrow import csv

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable

DEFAULT_SEPARATOR = ","
QUOTE = b'"'


def read_text(file: Path, layout: FileLayout) -> RawTable:
    """Read the cells of a text file as the file spells them.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The first row looks like data although it should hold names, or ``names`` has the wrong length.
    """
    rows = _read_rows(file, layout)
    if layout.strip:
        rows = rows.apply(lambda column: column.str.strip())
    first_row = rows.iloc[0]
    if not layout.has_names:
        frame = rows
        frame.columns = pd.Index(_choose_names(layout, rows.shape[1], file))
        return RawTable(frame, file.stem, str(file.resolve()))
    frame = rows.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index([str(name) for name in first_row])
    below = rows.iloc[1:].apply(_guess_numbers)
    if layout.header is None and looks_like_data(first_row[first_row != ""], below.loc[:, first_row != ""]):
        raise UserError(
            f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
            "data, or dataset.header=true if it holds the names of the columns."
        )
    _require_different_names(list(frame.columns), file)
    return RawTable(frame, file.stem, str(file.resolve()))


def count_columns(file: Path, layout: FileLayout) -> int:
    """Return the number of cells in the first row of a file; 0 if it has none."""
    return 0 if file.stat().st_size == 0 else _read_rows(file, layout).shape[1]


def _read_rows(file: Path, layout: FileLayout) -> pd.DataFrame:
    """Return all rows of a file as text, the row of names included."""
    if file.read_bytes().count(QUOTE) % 2:
        raise UserError(f"dataset.path={str(file)!r} cannot be read as a table: a quotation mark is not closed.")
    separator = layout.separator or DEFAULT_SEPARATOR
    read_options = csv.ReadOptions(autogenerate_column_names=True, encoding=layout.encoding or "utf-8")
    parse_options = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    names = csv.open_csv(file, read_options, parse_options).schema.names
    convert_options = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    table = csv.read_csv(file, read_options, parse_options, convert_options)
    return table.to_pandas(types_mapper={pa.string(): pd.StringDtype("pyarrow")}.get)


def _choose_names(layout: FileLayout, d: int, file: Path) -> list[str]:
    """Return the names of the d columns of a file without a row of names."""
    if not layout.names:
        return [f"column_{number}" for number in range(1, d + 1)]
    if len(layout.names) != d:
        raise UserError(f"dataset.names has {len(layout.names)} names, but {file.name} has {d} columns.")
    return [str(name) for name in layout.names]


def _require_different_names(names: Sequence[str], file: Path) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UserError(f"{file.name} has two columns of the name {repeated[0]!r}; rename one in the file.")


def _guess_numbers(column: pd.Series) -> pd.Series:
    """Return a column as numbers if all its cells that are not empty are numbers."""
    cells = column.mask(column == "")
    try:
        return pd.to_numeric(cells)
    except (ValueError, TypeError):
        return cells


def looks_like_data(first_row: pd.Series, frame: pd.DataFrame) -> bool:
    """Return whether the first row of a file seems to hold data instead of the names of the columns.

    It does if each cell is like the cells below it: a number above numbers, or text that occurs below. Numbers that
    count the columns are names.

    Parameters
    ----------
    first_row : Series of shape (d,)
        As the file spells it.
    frame : DataFrame of shape (n, d)
        The rows below.
    """
    cells = [str(cell).strip() for cell in first_row if isinstance(cell, str)]
    if not cells or len(first_row) != frame.shape[1] or _count_up(cells):
        return False
    pairs = zip(first_row, frame.items(), strict=True)
    return all(_fits_column(str(cell).strip(), column) for cell, (_, column) in pairs if isinstance(cell, str))


def _fits_column(cell: str, column: pd.Series) -> bool:
    """Return whether a cell is like the cells of a column."""
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        # A column without any cell below the first row says nothing.
        return _is_number(cell)
    return cell in set(column.dropna().astype(str).str.strip())


def _count_up(cells: Sequence[str]) -> bool:
    """Return whether cells are consecutive integers: 0, 1, 2, … or years."""
    if not all(cell.isdigit() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
