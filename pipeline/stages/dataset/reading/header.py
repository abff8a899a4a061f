"""The first row of a text: names of columns, or data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.columns.missing import AMONG_NUMBERS, EVERYWHERE
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout

ROW_NAMES = "row_names"
"""The name of a first column that has none, because the rows have a cell more than the row of names."""
MISSING = pa.array(sorted({spelling.lower() for spelling in EVERYWHERE | AMONG_NUMBERS}), pa.large_string())
"""Spellings of a missing cell, in lower case."""


def split_names(table: pa.Table, layout: FileLayout, file: Path) -> tuple[list[str], pa.Table]:
    """Return the names of the columns and the rows below.

    Parameters
    ----------
    table : Table of shape (n, d)
        All rows as text.
    layout : FileLayout
    file : Path
        For messages.

    Raises
    ------
    UserError
        The first row looks like data although it should hold names, or ``names`` has the wrong length.
    """
    if not layout.has_names:
        return _choose_names(layout, table.num_columns, file), table
    first_row = [str(column[0]) for column in table.columns]
    below = table.slice(1)
    if layout.header is None and looks_like_data(first_row, below):
        raise UserError(
            f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
            "data, or dataset.header=true if it holds the names of the columns."
        )
    names = _choose_names(layout, table.num_columns, file) if layout.names else first_row
    return names, below


def name_unnamed(names: Sequence[str]) -> list[str]:
    """Return the names of columns, of which those without a name are called by their position: ``column_1``."""
    return [name if name.strip() else f"column_{number}" for number, name in enumerate(names, start=1)]


def require_different_names(names: Sequence[str], file: Path) -> None:
    """Reject columns of the same name."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        numbers = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        raise UserError(
            f"{file.name} has {len(numbers)} columns of the name {repeated[0]!r} (columns {', '.join(numbers)}); "
            "rename them in the file, or name all columns with dataset.header=true dataset.names=[…]."
        )


def looks_like_data(first_row: Sequence[str], below: pa.Table) -> bool:
    """Return whether the first row of a file seems to hold data instead of the names of the columns.

    It does if each cell is like the cells below it: a number above numbers, or text that occurs below. Numbers that
    count the columns are names.

    Parameters
    ----------
    first_row : sequence of str, of length d
        As the file spells it; empty cells do not count.
    below : Table of shape (n, d)
        The rows below, as text.
    """
    cells = [cell.strip() for cell in first_row]
    named = [cell for cell in cells if cell]
    if not named or below.num_rows == 0 or _count_up(named):
        return False
    pairs = zip(cells, below.columns, strict=True)
    return all(_fits_column(cell, column) for cell, column in pairs if cell)


def _choose_names(layout: FileLayout, d: int, file: Path) -> list[str]:
    """Return the names that the layout gives to d columns, or numbers them."""
    if not layout.names:
        return [f"column_{number}" for number in range(1, d + 1)]
    if len(layout.names) != d:
        raise UserError(f"dataset.names has {len(layout.names)} names, but {file.name} has {d} columns.")
    return [str(name) for name in layout.names]


def _fits_column(cell: str, column: pa.ChunkedArray) -> bool:
    """Return whether a cell is like the cells of a column."""
    occurs = pc.any(pc.equal(pc.utf8_trim_whitespace(column), cell)).as_py()
    # A column without any cell below the first row says nothing, and counts as one of numbers.
    return bool(occurs) or (_is_number(cell) and _holds_numbers(column))


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether all cells of a column are numbers, missing ones aside."""
    cells = pc.utf8_trim_whitespace(column)
    try:
        pc.cast(pc.if_else(pc.is_in(pc.utf8_lower(cells), MISSING), None, cells), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _count_up(cells: Sequence[str]) -> bool:
    """Return whether cells are consecutive integers: 0, 1, 2, … or years."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
