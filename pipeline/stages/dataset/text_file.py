"""Tables of text: how their cells are separated, and whether the first row holds names or data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class TextLayout:
    """How a text file holds its table.

    Parameters
    ----------
    separator : str
        The character between the cells of a row.
    header : bool, optional
        Whether the first row holds the names of the columns. By default it does, and a first row that looks like data
        is an error.
    names : sequence of str
        The names of the columns of a file without them; by default ``column_1``, ``column_2``, ….
    strip : bool
        Whether to leave out spaces around cells.
    """

    separator: str = ","
    header: bool | None = None
    names: Sequence[str] = ()
    strip: bool = False

    def __post_init__(self) -> None:
        for key, value in {"header": self.header, "strip": self.strip}.items():
            if value is not None and not isinstance(value, bool):
                raise UserError(f"dataset.{key}={value!r} must be true or false.")
        if isinstance(self.names, str):
            raise UserError(f"dataset.names={self.names!r} must be a list of columns: dataset.names=[{self.names}].")
        if self.names and self.header is not False:
            raise UserError("dataset.names is for files without a row of names; add dataset.header=false.")
        repeated = sorted({str(name) for name in self.names if list(self.names).count(name) > 1})
        if repeated:
            raise UserError(f"dataset.names gives {', '.join(map(repr, repeated))} to more than one column.")

    @property
    def has_names(self) -> bool:
        """Whether the first row holds the names of the columns."""
        return self.header is not False


def read_text(file: Path, layout: TextLayout, nominal: Sequence[str] = ()) -> pd.DataFrame:
    """Read numbers as numbers, and all other cells as the file spells them.

    Parameters
    ----------
    file : Path
    layout : TextLayout
    nominal : sequence of str
        Columns whose cells remain text as the file spells them: 007 is not 7.

    Raises
    ------
    UserError
        The first row looks like data although it should hold names, or ``names`` has the wrong length.
    """
    options = _parser_options(layout)
    # pandas numbers the columns of a file without names, and would take wrong names for an index if it were given them.
    keys = pd.read_csv(file, nrows=1, dtype=str, **options).columns
    names = _name_columns(keys, layout, file)
    text_columns: dict[Any, type] = {key: str for key, name in zip(keys, names, strict=True) if name in nominal}
    frame = pd.read_csv(file, dtype=text_columns, low_memory=False, **options)
    frame = _restore_spelling(frame, file, options)
    if layout.header is None:
        _require_names(frame, file, options)
    frame.columns = pd.Index(names)
    return _strip_cells(frame) if layout.strip else frame


def count_columns(file: Path, layout: TextLayout) -> int:
    """Return the number of cells in the first row of a file; 0 if it has none."""
    try:
        return int(_read_first_row(file, _parser_options(layout)).size)
    except pd.errors.EmptyDataError:
        return 0


def _parser_options(layout: TextLayout) -> dict[str, Any]:
    """Return the arguments of pandas for a layout."""
    options: dict[str, Any] = {"sep": layout.separator, "skipinitialspace": layout.strip}
    if not layout.has_names:
        options["header"] = None
    return options


def _name_columns(keys: Iterable[Any], layout: TextLayout, file: Path) -> list[str]:
    """Return the names of the columns that pandas calls by `keys`: names of the file, or positions."""
    keys = [str(key).strip() if layout.strip else str(key) for key in keys]
    if layout.has_names:
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise UserError(
                f"dataset.strip=true gives two columns of {file.name} the name {repeated[0]!r}; rename one in the file."
            )
        return keys
    if not layout.names:
        return [f"column_{number}" for number in range(1, len(keys) + 1)]
    if len(layout.names) != len(keys):
        raise UserError(f"dataset.names has {len(layout.names)} names, but {file.name} has {len(keys)} columns.")
    return [str(name) for name in layout.names]


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


def _require_names(frame: pd.DataFrame, file: Path, options: dict[str, Any]) -> None:
    """Reject a first row that should hold names and looks like data."""
    if looks_like_data(_read_first_row(file, options), frame):
        raise UserError(
            f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
            "data, or dataset.header=true if it holds the names of the columns."
        )


def _read_first_row(file: Path, options: dict[str, Any]) -> pd.Series:
    """Return the cells of the first row as text, shape (d,)."""
    return pd.read_csv(file, nrows=1, dtype=str, **{**options, "header": None}).iloc[0]


def _restore_spelling(frame: pd.DataFrame, file: Path, options: dict[str, Any]) -> pd.DataFrame:
    """Return the table with the cells of its columns of text as the file spells them."""
    # pandas parses "true" as True, which would be spelled "True" as text, so such columns are read again.
    positions = [
        position
        for position, (_, column) in enumerate(frame.items())
        if is_bool_dtype(column) or column.dtype == object
    ]
    if not positions:
        return frame
    # If the rows have one cell more than the names, pandas makes an index of the first, and positions do not apply.
    has_plain_index = isinstance(frame.index, pd.RangeIndex)
    text = pd.read_csv(file, dtype=str, usecols=positions if has_plain_index else None, **options)
    for name in frame.columns[positions]:
        frame[name] = text[name]
    return frame


def _strip_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table without spaces around cells of text; a cell of spaces alone is missing."""
    for name, column in frame.items():
        if not is_numeric_dtype(column):
            stripped = column.str.strip()
            frame[name] = stripped.mask(stripped == "")
    return frame
