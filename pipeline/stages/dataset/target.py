"""Columns that are no features: the target, and what others say about rows: groups, weights, parts, folds and times."""

from __future__ import annotations

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.cells import MAX_EXACT_INTEGER, Cells
from bakeoff.pipeline.stages.dataset.kinds import find_date_format, find_kind
from bakeoff.pipeline.stages.dataset.spelling import find_date_formats, format_list_key, parse_dates
from bakeoff.pipeline.stages.dataset.suspicions import describe_similar_values, list_cells
from bakeoff.pipeline.text.words import count_nouns

MAX_INTEGER_CLASSES = 20
"""A target of integers with at most this many distinct values is interpreted as classes."""
MIN_ROWS_PER_CLASS = 2
"""With fewer rows of a class on average, the target is probably a name."""
MAX_SHOWN_CELLS = 3


def read_values(cells: Cells) -> pd.Series:
    """Return the cells of a target, of groups or of folds, shape (n,): int64, float64, or text; NaN where missing.

    Codes with leading zeros are text, and whole numbers are integers however they are spelled.

    Parameters
    ----------
    cells : Cells
    """
    reading = cells.reading
    # As float64, different long codes would be equal, the first of them to 2**53 itself.
    finite = reading.values[np.isfinite(reading.values)]
    is_long = cells.text is not None and bool((np.abs(finite) >= MAX_EXACT_INTEGER).any())
    is_code = bool(cells.leading_zero) or is_long or cells.is_boolean or cells.dates is not None
    is_numeric = reading.is_complete and not reading.missing_spellings and not is_code
    if not is_numeric:
        distinct = cells.distinct
        text = np.array([*distinct.values, None], dtype=object)[distinct.codes]  # (n,)
        return pd.Series(text, name=cells.name, dtype=object)
    numbers = reading.values  # (n,)
    present = numbers[~np.isnan(numbers)]
    is_whole = (present == np.round(present)).all() and (np.abs(present) <= MAX_EXACT_INTEGER).all()
    series = pd.Series(numbers, name=cells.name)
    return series.astype(np.int64) if is_whole and present.size == numbers.size else series


def find_missing(cells: Cells) -> np.ndarray:
    """Return which cells of a target are missing, shape (n,); spellings such as ``?`` are values.

    Parameters
    ----------
    cells : Cells
    """
    # The distinct values of many numbers take longer than the numbers.
    return np.isnan(cells.reading.values) if _has_numbers_alone(cells) else cells.distinct.codes < 0


def looks_like_classes(y: pd.Series) -> bool:
    """Return whether a target without missing cells seems to hold classes: text, Booleans, or few distinct integers."""
    if not is_numeric_dtype(y):
        return True
    return y.nunique() <= MAX_INTEGER_CLASSES and bool((y == y.round()).all())


def to_labels(y: pd.Series) -> np.ndarray:
    """Return class labels, shape (n,): integers, or text."""
    if is_integer_dtype(y):
        return y.to_numpy(dtype=np.int64)
    return y.astype(str).to_numpy(dtype=str)


def to_targets(cells: Cells) -> np.ndarray:
    """Return the targets of a regression as float64, shape (n,).

    Parameters
    ----------
    cells : Cells

    Raises
    ------
    UserError
        They are not numbers, or not finite.
    """
    if not cells.reading.is_complete or cells.reading.missing_spellings:
        others = {**cells.reading.others, **cells.reading.missing_spellings}
        raise UserError(
            f"dataset.task=regression, but the target {cells.name!r} is not numeric: {list_cells(others)} of its cells "
            f"are not numbers. Correct them; or {_leave_out(others)} leaves out their rows."
        )
    targets = cells.reading.values  # (n,)
    if not np.isfinite(targets).all():
        raise UserError(f"the target {cells.name!r} holds {targets[~np.isfinite(targets)][0]}; targets must be finite.")
    return targets


def check_classes(cells: Cells) -> None:
    """Reject a target whose task is not clear: dates, or numbers that a few other cells, such as ``?``, make classes.

    Parameters
    ----------
    cells : Cells

    Raises
    ------
    UserError
    """
    values = cells.reading.values  # (n,)
    has_fractions = _has_numbers_alone(cells) and bool((values != np.round(values))[~np.isnan(values)].any())
    if has_fractions:
        return
    distinct = cells.distinct
    is_date = cells.dates is not None or bool(find_date_formats(distinct.spellings))
    if is_date and len(distinct.values) > MAX_INTEGER_CLASSES:
        raise UserError(
            f"dataset.target={cells.name!r} holds {len(distinct.values)} dates such as {distinct.values[0]!r}; "
            "regression needs numbers, and dataset.task=classification takes each date for a class."
        )
    reading = cells.reading
    others = {**reading.others, **reading.missing_spellings}
    numbers = reading.values[~np.isnan(reading.values)]
    n_others = sum(others.values())
    is_mixed = 0 < n_others < numbers.size
    if not is_mixed:
        return
    looks_continuous = np.unique(numbers).size > MAX_INTEGER_CLASSES or not (numbers == np.round(numbers)).all()
    if looks_continuous:
        raise UserError(
            f"dataset.target={cells.name!r}: {numbers.size} of {numbers.size + n_others} cells are numbers, the others "
            f"{list_cells(others)}. {_leave_out(others)} leaves out their rows; dataset.task=classification takes each "
            "number for a class."
        )


def suspect_classes(cells: Cells) -> tuple[str, ...]:
    """Return sentences about classes such as ``?`` that may stand for missing cells, and about rare classes."""
    distinct = cells.distinct
    sentences = []
    found = [cell for cell in distinct.spellings if cells.rule.covers_among_numbers(cell)]
    if found:
        shown = list_cells({cell: distinct.count(cell) for cell in found})
        count = "counts as a class" if len(found) == 1 else "count as classes"
        cure = _leave_out(dict.fromkeys(found, 1))
        sentences.append(f"{cells.name}: {shown} {count} of the target. {cure} leaves out such rows.")
    similar = describe_similar_values(distinct.values)
    if similar:
        sentences.append(f"{cells.name}: the classes {similar}")
    n_classes = len(distinct.values)
    if n_classes > MAX_INTEGER_CLASSES and n_classes * MIN_ROWS_PER_CLASS > distinct.n_present:
        sentences.append(f"{cells.name}: the target has {n_classes} classes in {distinct.n_present} rows.")
    return tuple(sentences)


def _has_numbers_alone(cells: Cells) -> bool:
    """Return whether all cells are numbers, those aside that are missing in any column."""
    return cells.reading.is_complete and not cells.reading.missing_spellings


def _leave_out(others: dict[str, int]) -> str:
    key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
    return f"{key} dataset.drop_missing_target=true"


PARTS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
    "testing": "test",
}
"""Cells of a split column, in lower case -> part."""


def encode_groups(cells: Cells) -> np.ndarray:
    """Return the code of each row's group, shape (n,)."""
    _require_full(cells, "groups")
    return np.unique(read_values(cells).astype(str), return_inverse=True)[1]


def read_folds(cells: Cells) -> np.ndarray:
    """Return the fold of each row, shape (n,): whole numbers as they are, of which negative ones are never tested."""
    _require_full(cells, "folds")
    values = read_values(cells)
    if is_integer_dtype(values):
        return values.to_numpy(dtype=np.int64)
    return np.unique(values.astype(str), return_inverse=True)[1]


def note_untested_rows(folds: np.ndarray | None) -> tuple[str, ...]:
    """Return a sentence about the rows that are never tested; nothing if there are none."""
    n_untested = 0 if folds is None else int((folds < 0).sum())
    if n_untested == 0:
        return ()
    return (f"dataset.folds: {n_untested} rows have a negative fold, so they are trained on and never tested.",)


def read_weights(cells: Cells) -> np.ndarray:
    """Return the weights of the rows, shape (n,)."""
    _require_full(cells, "weights")
    weights = cells.reading.values  # (n,)
    others = {**cells.reading.others, **cells.reading.missing_spellings}
    if others:
        raise UserError(f"dataset.weights={cells.name!r} holds {list_cells(others)}; weights must be numbers from 0.")
    is_bad = ~np.isfinite(weights) | (weights < 0)
    if is_bad.any():
        row = int(np.flatnonzero(is_bad)[0])
        raise UserError(
            f"dataset.weights={cells.name!r} holds {weights[row]:g} in row {row + 1}; weights must be finite numbers "
            "from 0."
        )
    if not weights.any():
        raise UserError(f"dataset.weights={cells.name!r} holds no weight above 0.")
    return weights


def read_parts(cells: Cells) -> np.ndarray:
    """Return the part of each row, shape (n,): train, validation or test."""
    _require_full(cells, "split")
    distinct = cells.distinct
    spelled = [value.strip().lower() for value in distinct.values]
    for value, key in zip(distinct.values, spelled, strict=True):
        if key not in PARTS:
            raise UserError(
                f"dataset.split={cells.name!r} holds {value!r}; allowed are train, validation and test, in capitals or "
                "not."
            )
    return np.array([PARTS[key] for key in spelled])[distinct.codes]


def read_times(cells: Cells, date_format: str = "") -> np.ndarray:
    """Return the times of the rows, shape (n,), as float64 or datetime64[ns].

    Parameters
    ----------
    cells : Cells
    date_format : str
        That is given for the column; empty if it is to be found.

    Raises
    ------
    UserError
        A cell is missing, or is neither a number nor a date; or day and month cannot be told apart.
    """
    _require_full(cells, "time")
    if cells.dates is not None:
        return cells.dates.to_numpy(dtype="datetime64[ns]")
    if cells.reading.is_complete and not cells.reading.missing_spellings:
        return cells.reading.values
    if not date_format and find_kind(cells).name != "date":
        other = next(iter(cells.reading.others or cells.reading.missing_spellings))
        raise UserError(
            f"dataset.time={cells.name!r} holds {other!r}; each cell must be a number, or a date in a known format. "
            f'Give it: dataset.dates={{{cells.name}: "%d.%m.%Y"}}.'
        )
    distinct = cells.distinct
    dates = parse_dates(distinct.values, find_date_format(cells, date_format)).to_numpy()
    return np.asarray(dates[distinct.codes], dtype="datetime64[ns]")


def _require_full(cells: Cells, key: str) -> None:
    n_missing = int(np.count_nonzero(cells.distinct.codes < 0))
    if n_missing:
        missing = count_nouns(n_missing, "missing cell")
        raise UserError(f"dataset.{key}={cells.name!r} has {missing}; each row needs a value.")
