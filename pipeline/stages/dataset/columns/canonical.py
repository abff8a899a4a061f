"""The one spelling of each value of a nominal column, in whatever form it arrives.

``true``, ``True``, ``TRUE`` and a Boolean are one value, and so are 1 and 1.0. A code such as 007 is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

BOOLEANS = {"true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false"}
WHOLE_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)\.0+")
"""A whole number with zeros after the point; leading zeros belong to a code."""


def spell_cell(cell: object) -> str:
    """Return the canonical spelling of a cell that is not missing.

    Parameters
    ----------
    cell : object
        Text, a Boolean, a number or a date.

    Examples
    --------
    >>> [spell_cell(cell) for cell in ("True", True, "1.0", 1.0, 1, "007", 2.5)]
    ['true', 'true', '1', '1', '1', '007', '2.5']
    """
    if isinstance(cell, str):
        return _spell_text(cell)
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, datetime | date | np.datetime64):
        return _spell_date(pd.Timestamp(cell))
    if isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return _spell_number(cell)
    return str(cell)


def spell_cells(cells: Sequence[Any]) -> list[str]:
    """Return the canonical spelling of each cell; none of them may be missing."""
    return [spell_cell(cell) for cell in cells]


def find_merged_spellings(cells: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of spellings among distinct cells of text that are one value, such as ``1`` and ``1.0``."""
    first: dict[str, str] = {}
    merged = []
    for cell in cells:
        value = spell_cell(cell)
        if value in first:
            merged.append((first[value], cell))
        else:
            first[value] = cell
    return merged


def find_similar_values(values: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two values that differ in capitals and spaces alone; None if there are none.

    Examples
    --------
    >>> find_similar_values(["Yes", "no", "yes"])
    ('Yes', 'yes')
    """
    first: dict[str, str] = {}
    for value in values:
        key = " ".join(value.casefold().split())
        if key in first:
            return first[key], value
        first[key] = value
    return None


def _spell_text(cell: str) -> str:
    if cell in BOOLEANS:
        return BOOLEANS[cell]
    match = WHOLE_NUMBER.fullmatch(cell)
    spelling = match[1] + match[2] if match else cell
    return "0" if spelling == "-0" else spelling


def _spell_number(cell: Any) -> str:
    if cell != cell or cell in (float("inf"), float("-inf")):
        return str(cell)
    # str() of NumPy's floats is their shortest spelling, for 32 bits as well.
    return str(int(cell)) if cell == int(cell) else str(cell)


def _spell_date(time: pd.Timestamp) -> str:
    return time.strftime("%Y-%m-%d") if time == time.normalize() else str(time)
