"""Columns that are not features: the target, and properties of rows such as groups, weights and times."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.cells import Cells
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.kinds import MAX_INTEGER_CLASSES, MAX_SHOWN_CELLS, find_date_format, list_cells
from bakeoff.pipeline.stages.dataset.source import MAX_EXACT_INTEGER
from bakeoff.pipeline.stages.dataset.spelling import format_list_key, parse_dates
from bakeoff.pipeline.text.wording import count_nouns

PARTS = ("train", "validation", "test")


def read_values(cells: Cells) -> pd.Series:
    """Return the cells (n,) of a target, group or fold column as int64, float64 or text; NaN where missing.

    Codes with leading zeros are text, and whole numbers are integers regardless of their spelling.

    Parameters
    ----------
    cells : Cells
    """
    numbers = cells.reading.values  # (n,)
    present = numbers[~np.isnan(numbers)]
    # As float64, different codes above 2**53 could become equal.
    is_long = cells.text is not None and bool((np.abs(present[np.isfinite(present)]) >= MAX_EXACT_INTEGER).any())
    is_code = bool(cells.leading_zero) or is_long or cells.is_boolean or cells.dates is not None
    if is_code or not cells.reading.is_pure:
        return pd.Series(cells.distinct.cells, name=cells.name, dtype=object)
    is_whole = (present == np.round(present)).all() and (np.abs(present) <= MAX_EXACT_INTEGER).all()
    series = pd.Series(numbers, name=cells.name)
    return series.astype(np.int64) if is_whole and present.size == numbers.size else series


def find_missing(cells: Cells) -> np.ndarray:
    """Return whether each cell of a target is missing, shape (n,); spellings such as ``?`` are values.

    Parameters
    ----------
    cells : Cells
    """
    # Finding the distinct values of many numbers takes longer than reading them.
    return np.isnan(cells.reading.values) if cells.reading.is_pure else cells.distinct.codes < 0


def read_target(cells: Cells, task: str | None) -> tuple[np.ndarray, str]:
    """Return the targets of shape (n,), and the task.

    Without a given task, text, Booleans and few distinct integers are classes. Their labels are integers or text.

    Parameters
    ----------
    cells : Cells
        The cells, none of which is missing.
    task : {"classification", "regression"} or None

    Raises
    ------
    UserError
        The cells do not fit the task, or it cannot be decided.
    """
    y = read_values(cells)
    if task is None:
        check_classes(cells)
        is_label = not is_numeric_dtype(y) or (y.nunique() <= MAX_INTEGER_CLASSES and (y == y.round()).all())
        task = "classification" if is_label else "regression"
    if task == "regression":
        return to_targets(cells), task
    return (y.to_numpy() if is_integer_dtype(y) else y.astype(str).to_numpy(dtype=str)), task


def to_targets(cells: Cells) -> np.ndarray:
    """Return the targets of a regression as float64, shape (n,).

    Parameters
    ----------
    cells : Cells

    Raises
    ------
    UserError
        The cells are not numbers, or not finite.
    """
    if not cells.reading.is_pure:
        others = cells.reading.all_others
        raise UserError(
            f"dataset.task=regression, but the target {cells.name!r} is not numeric: {list_cells(others)} of its cells "
            f"are not numbers. Correct them; or {_leave_out(others)} leaves out their rows."
        )
    targets = cells.reading.values  # (n,)
    if not np.isfinite(targets).all():
        raise UserError(f"the target {cells.name!r} holds {targets[~np.isfinite(targets)][0]}; targets must be finite.")
    return targets


def check_classes(cells: Cells) -> None:
    """Reject a target of numbers that would become classes because of a few other cells, such as ``?``.

    Parameters
    ----------
    cells : Cells

    Raises
    ------
    UserError
    """
    reading = cells.reading
    numbers = reading.values[~np.isnan(reading.values)]
    has_fractions = bool((numbers != np.round(numbers)).any())
    others = reading.all_others
    n_others = sum(others.values())
    is_mixed = 0 < n_others < numbers.size
    if is_mixed and (has_fractions or np.unique(numbers).size > MAX_INTEGER_CLASSES):
        raise UserError(
            f"dataset.target={cells.name!r}: {numbers.size} of {numbers.size + n_others} cells are numbers, the others "
            f"{list_cells(others)}. {_leave_out(others)} leaves out their rows; dataset.task=classification treats "
            "each number as a class."
        )


def _leave_out(others: Any) -> str:
    key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
    return f"{key} dataset.drop_missing_target=true"


def read_row_facts(cells_of: Mapping[str, Cells], rules: ColumnRules) -> dict[str, np.ndarray]:
    """Return properties of the rows that are given in columns: field of `Dataset` -> an array of shape (n,).

    Parameters
    ----------
    cells_of : mapping of str to Cells
        Role -> the column with that role.
    rules : ColumnRules

    Raises
    ------
    UserError
        A cell is missing, or does not fit the role.
    """
    facts = {}
    for key, cells in cells_of.items():
        if n_missing := cells.distinct.n_missing:
            missing = count_nouns(n_missing, "missing cell")
            raise UserError(f"dataset.{key}={cells.name!r} has {missing}; each row needs a value.")
        field, read = ROW_READERS[key]
        facts[field] = read(cells, rules)
    return facts


def _encode_groups(cells: Cells, rules: ColumnRules) -> np.ndarray:
    """Return the code of each row's group."""
    return np.unique(read_values(cells).astype(str), return_inverse=True)[1]


def _read_folds(cells: Cells, rules: ColumnRules) -> np.ndarray:
    """Return the fold of each row as given; rows with negative fold numbers are never tested."""
    values = read_values(cells)
    return values.to_numpy(dtype=np.int64) if is_integer_dtype(values) else _encode_groups(cells, rules)


def _read_weights(cells: Cells, rules: ColumnRules) -> np.ndarray:
    weights = cells.reading.values  # (n,)
    is_bad = ~np.isfinite(weights) | (weights < 0)
    if is_bad.any():
        row = int(is_bad.argmax())
        cell = cells.distinct.cells[row]
        raise UserError(
            f"dataset.weights={cells.name!r} holds {cell!r} in row {row + 1}; weights must be finite and non-negative."
        )
    if not weights.any():
        raise UserError(f"dataset.weights={cells.name!r} holds no weight above 0.")
    return weights


def _read_parts(cells: Cells, rules: ColumnRules) -> np.ndarray:
    """Return the part of each row: train, validation or test."""
    parts = [value.strip().lower() for value in cells.distinct.values]
    unknown = [value for value, part in zip(cells.distinct.values, parts, strict=True) if part not in PARTS]
    if unknown:
        raise UserError(
            f"dataset.split={cells.name!r} holds {unknown[0]!r}; allowed are train, validation and test, in upper "
            "or lower case."
        )
    return np.array(parts)[cells.distinct.codes]


def _read_times(cells: Cells, rules: ColumnRules) -> np.ndarray:
    """Return the times of the rows as float64 or datetime64, or the positions among them of long numbers."""
    if cells.dates is not None:
        return cells.dates.to_numpy()
    distinct = cells.distinct
    if cells.reading.is_pure:
        times = cells.reading.values  # (n,)
        if np.unique(times).size == len(distinct.values):
            return times
        # Numbers of many digits are equal as float64.
        exact = np.array(list(map(Decimal, distinct.values)), dtype=object)
        return np.unique(exact, return_inverse=True)[1][distinct.codes]
    claim = f"dataset.time={cells.name!r} must hold numbers or dates"
    date_format = find_date_format(cells, rules.get_date_format(cells.name), claim)
    dates = parse_dates(distinct.values, date_format).to_numpy()
    return np.asarray(dates[distinct.codes])


ROW_READERS: Mapping[str, tuple[str, Callable[[Cells, ColumnRules], np.ndarray]]] = {
    "groups": ("groups", _encode_groups),
    "weights": ("weights", _read_weights),
    "split": ("parts", _read_parts),
    "folds": ("folds", _read_folds),
    "time": ("times", _read_times),
}
"""Role of a column -> the field of `Dataset` that it fills, and the function that reads it."""
