"""Results as JSON for programs: the only place that converts values to JSON, and what a command answers.

JSON has no NaN and no infinity: both are null. Numbers have all digits that restore them, and every letter outside
ASCII is escaped, so that a document is the same in each encoding.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

JSON_WORD = "to=json"
"""The word of a command whose answer is for programs."""
FORMAT_VERSION = 1
"""The version of JSON documents, incremented when a key changes its meaning or is removed, but not for new keys."""


@dataclass(frozen=True)
class Answer:
    """What a command answers.

    Attributes
    ----------
    kind : str
        The name of the document, which is also that of its schema in ``docs/schemas/``.
    values : callable
        Returns the keys and values of the document; it is called only if a program asks for it.
    status : int
        The exit code.
    """

    kind: str
    values: Callable[[], Mapping[str, Any]]
    status: int = 0

    @cached_property
    def document(self) -> str:
        """The document as JSON."""
        return render_document(self.kind, {"status": self.status, **self.values()})


def render_document(kind: str, values: Mapping[str, Any]) -> str:
    """Return values as JSON with the name and the version of their format."""
    document = make_plain({"format": f"bakeoff.{kind}", "format_version": FORMAT_VERSION, **values})
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def format_json(value: Any) -> str:
    """Return a plain value as JSON in one line, with floats at full precision.

    Examples
    --------
    >>> format_json({"é": 0.1 + 0.2})
    '{"é": 0.30000000000000004}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def make_plain(value: Any) -> Any:
    """Return a value in the types of JSON.

    A dataclass or a named tuple becomes a mapping of its fields, and a table a list of its rows, with its index if that
    has a name.

    Raises
    ------
    TypeError
        The value has no form in JSON.

    Examples
    --------
    >>> import numpy as np
    >>> make_plain({"scores": np.array([0.5, np.nan]), 1: (np.int64(3), True)})
    {'scores': [0.5, None], '1': [3, True]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): make_plain(child) for key, child in value.items()}
    if hasattr(value, "_asdict"):
        return make_plain(value._asdict())
    if isinstance(value, list | tuple):
        return [make_plain(child) for child in value]
    if is_dataclass(value):
        return {each.name: make_plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "tolist"):  # of NumPy, or a column
        return make_plain(value.tolist())
    if hasattr(value, "columns"):
        return list(make_records(value if value.index.name is None else value.reset_index()))
    return _make_plain_cell(value)


def _make_plain_cell(value: Any) -> str | None:
    import pandas as pd  # loaded only for what tables contain

    if pd.isna(value):
        return None
    return value.isoformat() if isinstance(value, date) else os.fspath(value)


def make_records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row of a table as a mapping of JSON values; missing or infinite cells become None.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
        A table with unique column names.

    Examples
    --------
    >>> import pandas as pd
    >>> list(make_records(pd.DataFrame({"a": [1, 2], "b": [0.1, float("nan")]})))
    [{'a': 1, 'b': 0.1}, {'a': 2, 'b': None}]
    """
    names = [str(name) for name in table.columns]
    columns = [make_plain(table[name].tolist()) for name in table.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))
