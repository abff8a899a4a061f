"""Rows of a table as objects of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def make_records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row of a table as a mapping of cells that JSON can hold; a missing or infinite cell is None.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
        With different names.

    Examples
    --------
    >>> list(make_records(pd.DataFrame({"a": [1, 2], "b": [0.1, float("nan")]})))
    [{'a': 1, 'b': 0.1}, {'a': 2, 'b': None}]
    """
    names = [str(name) for name in table.columns]
    columns = [[_make_json_cell(cell) for cell in table[name]] for name in table.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))


def format_json(value: Any) -> str:
    """Return a value as JSON; floats have all their digits.

    Examples
    --------
    >>> format_json({"é": 0.1 + 0.2})
    '{"é": 0.30000000000000004}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _make_json_cell(cell: Any) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(cell, float) and not np.isfinite(cell):
        return None  # JSON has no such numbers
    if pd.isna(cell):
        return None
    if isinstance(cell, np.generic):
        return _make_json_cell(cell.item())
    if isinstance(cell, date):
        return cell.isoformat()
    return cell
