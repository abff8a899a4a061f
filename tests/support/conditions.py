"""Conditions on columns, as rules and groups of rows write them, read without the code that wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

OR_MISSING = " (or missing)"
SIGNS = {"<": np.less, "≤": np.less_equal, ">": np.greater, "≥": np.greater_equal}


def find_rows(conditions: Iterable[str], rows: pd.DataFrame) -> np.ndarray:
    """Return whether each row meets all conditions: (m,)."""
    holds = np.ones(len(rows), dtype=bool)
    for condition in conditions:
        holds &= _is_true(condition, rows)
    return holds


def _is_true(condition: str, rows: pd.DataFrame) -> np.ndarray:
    """Return whether a condition holds for each row: (m,)."""
    text = condition.removesuffix(OR_MISSING)
    (name,) = (each for each in rows.columns if re.search(rf"(^| ){each}( |$)", text))
    cells = rows[name]
    is_missing = cells.isna().to_numpy()
    if text in (f"{name} is missing", f"{name} is not missing"):
        return is_missing if text.endswith("is missing") else ~is_missing
    values = re.fullmatch(rf"{name} ([=≠]) (.*)", text)
    if values:
        listed = re.split(r", (?=\w)| or ", values[2])
        is_in = cells.astype(object).where(cells.notna(), "missing").isin(listed).to_numpy()
        return is_in if values[1] == "=" else ~is_in
    bounds = re.fullmatch(rf"(?:(\S+) ([<≤]) )?{name}(?: ([<≤>≥]) (\S+))?", text)
    assert bounds, condition
    numbers = cells.to_numpy(dtype=float)
    holds = ~is_missing
    if bounds[1]:
        holds &= SIGNS[bounds[2]](float(bounds[1]), numbers)
    if bounds[4]:
        holds &= SIGNS[bounds[3]](numbers, float(bounds[4]))
    return holds | (is_missing & condition.endswith(OR_MISSING))
