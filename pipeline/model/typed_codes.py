"""Codes such as 007 that arrive as the number 7, because pandas and JSON read them so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bakeoff.pipeline.stages.dataset import Column
from bakeoff.pipeline.stages.dataset.spelling import spell_cell

CODE = re.compile(r"0+(\d+)")
"""Digits with zeros in front."""


def restore_codes(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows with the codes of training in the place of the numbers that they were read as.

    A number is a code if one value of training alone reads as it, and the number itself is no value of training.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        As in training.
    """
    restored = {}
    for column in columns:
        code_of = find_codes(column.values)
        if code_of and _holds_numbers(frame[column.name]):
            restored[column.name] = _restore(frame[column.name], code_of)
    return frame.assign(**restored) if restored else frame


def find_codes(values: Sequence[str]) -> dict[str, str]:
    """Return the codes among values by the numbers that they read as.

    Examples
    --------
    >>> find_codes(["007", "12", "0012", "09", "9", "red"])
    {'7': '007'}
    """
    matches = {value: match for value in values if (match := CODE.fullmatch(value))}
    numbers = {value: str(int(match[1])) for value, match in matches.items()}
    counts = Counter(numbers.values())
    return {number: value for value, number in numbers.items() if counts[number] == 1 and number not in values}


def _holds_numbers(column: pd.Series[Any]) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return is_numeric_dtype(column.cat.categories.dtype)
    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def _restore(column: pd.Series[Any], code_of: dict[str, str]) -> pd.Series[Any]:
    cells = [None if pd.isna(cell) else spell_cell(cell) for cell in column]
    codes = [None if cell is None else code_of.get(cell, cell) for cell in cells]
    return pd.Series(codes, index=column.index, dtype=object)
