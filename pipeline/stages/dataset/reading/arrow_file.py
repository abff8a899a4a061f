"""Parquet and Arrow (Feather) files, whose columns have types."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.column_limit import require_few_columns
from bakeoff.pipeline.stages.dataset.reading.cells import arrow_to_column, unify_types
from bakeoff.pipeline.stages.dataset.reading.compressed import open_bytes, strip_compression
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.size_limits import require_memory_for_cells

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
