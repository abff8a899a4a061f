"""Columns that say something about rows instead of being features: groups, weights, parts, folds and times."""

from __future__ import annotations

import numpy as np
from pandas.api.types import is_integer_dtype

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.columns.cells import Cells
from bakeoff.pipeline.stages.dataset.columns.dates import parse_dates
from bakeoff.pipeline.stages.dataset.columns.declared import find_date_format
from bakeoff.pipeline.stages.dataset.columns.infer import find_kind
from bakeoff.pipeline.stages.dataset.columns.suspicions import list_cells
from bakeoff.pipeline.stages.dataset.columns.target import read_values
from bakeoff.pipeline.text.words import count_nouns

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
