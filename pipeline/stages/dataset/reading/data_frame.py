"""Tables that Python code hands over: of pandas, Arrow, or any library that exports Arrow, such as polars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.arrow_file import find_categories, make_raw_table
from bakeoff.pipeline.stages.dataset.reading.cells import unify_types
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable

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
