"""The results of a repeat compared with the stored ones: every score of every fold, every table, every prediction.

Times are left out: they are the only results that no repeat can have again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.pipeline.card import report
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tracking.stored_runs import TABLES, Place

TIME_PREFIXES = ("time/", "fold/time/")
TIME_COLUMNS = ("fit_seconds",)
MISSING = "nothing"
"""Written in place of a value that is not there."""


@dataclass(frozen=True)
class Difference:
    """A value that the repeat does not share with the stored run.

    Attributes
    ----------
    name : str
        A metric, a column of a table, or an output of the model.
    place : str
        The fold, the step or the line; empty for a value that a run has once.
    stored, now : str
        The values at full precision.
    """

    name: str
    place: str
    stored: str
    now: str


@dataclass(frozen=True)
class Comparison:
    """Values of one kind, compared.

    Attributes
    ----------
    what : str
        What was compared, such as ``scores``.
    n_values : int
        The number of values.
    differences : tuple of Difference
    """

    what: str
    n_values: int
    differences: tuple[Difference, ...]


def measure_repeat(
    experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel | None
) -> dict[Place, float]:
    """Return the numbers that would be stored for a repeat, by the name of the metric and the step.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel or None
        None if the job failed or was stopped.

    Returns
    -------
    dict of (str, int) to float
        Times included, infinite values left out, as `MLflowRun` writes them.
    """
    values: dict[Place, float] = {}
    if folds:
        for name, mean in report.summarize_folds(experiment, folds).items():
            values[name, 0] = mean
    if len(folds) > 1:
        for fold in folds:
            for name, value in report.measure_fold(fold).items():
                values[f"fold/{name}", fold.number] = value
    if model is not None:
        for name, series in report.get_pruning_path(model).items():
            values |= {(name, step): float(value) for step, value in enumerate(series)}
    return {place: float(value) for place, value in values.items() if not np.isinf(value)}


def compare_metrics(stored: Mapping[Place, float], now: Mapping[Place, float]) -> Comparison:
    """Compare numbers bit by bit, times left out; NaN equals NaN.

    Parameters
    ----------
    stored, now : mapping of (str, int) to float
        (name, step) -> value.
    """
    n_values = 0
    differences = []
    # The places of both, because a value that only one of them has is a difference too.
    for place in {**stored, **now}:
        name, step = place
        if name.startswith(TIME_PREFIXES):
            continue
        n_values += 1
        then = stored.get(place)
        value = now.get(place)
        if not _is_same_number(then, value):
            differences.append(Difference(name, _describe_step(name, step), _show(then), _show(value)))
    return Comparison("scores", n_values, tuple(differences))


def _describe_step(name: str, step: int) -> str:
    """Return which value of a metric is meant, in words; empty for a metric with one value."""
    if name.startswith("pruning_path/"):
        return f"step {step}"
    is_series = "/" in name and not name.startswith(("pruning/", "threshold/"))
    return f"fold {step}" if is_series else ""


def compare_tables(
    stored: Mapping[str, str], experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel
) -> list[Comparison]:
    """Compare the stored tables, cell by cell, with those of a repeat.

    Parameters
    ----------
    stored : mapping of str to str
        The name of a table -> its text as CSV.
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
    """
    with TemporaryDirectory(prefix="bakeoff-") as name:
        folder = Path(name)
        report.write_tables(folder, experiment, folds, model)
        written = {table: (folder / table).read_text() for table in TABLES if (folder / table).is_file()}
    return [_compare_table(table, stored[table], written.get(table, "")) for table in TABLES if table in stored]


def compare_models(stored: Any, repeated: Any, dataset: Dataset) -> Comparison:
    """Compare the outputs of two fitted models for every row of a dataset.

    Parameters
    ----------
    stored, repeated : estimator
        Fitted.
    dataset : Dataset
        n rows.
    """
    differences: list[Difference] = []
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(stored, method) != hasattr(repeated, method):
            presence = [str(hasattr(model, method)) for model in (stored, repeated)]
            differences.append(Difference(f"has {method}", "", *presence))
        elif hasattr(stored, method):
            then = np.asarray(getattr(stored, method)(dataset.X))
            now = np.asarray(getattr(repeated, method)(dataset.X))
            differences += _compare_outputs(f"model.{method}", then, now)
    return Comparison("predictions of its model", len(dataset.y), tuple(differences))


def _compare_outputs(name: str, stored: np.ndarray, now: np.ndarray) -> Iterator[Difference]:
    """Yield the differences between two arrays whose first axis are rows, one for each row that differs."""
    if stored.shape != now.shape:
        yield Difference(name, "", f"shape {stored.shape}", f"shape {now.shape}")
        return
    is_equal = stored == now
    # Only floats can be NaN, which does not equal itself; labels may be text.
    if stored.dtype.kind == "f" and now.dtype.kind == "f":
        is_equal |= np.isnan(stored) & np.isnan(now)
    rows_equal = is_equal.reshape(len(is_equal), -1).all(axis=1)  # (n,)
    for row in np.flatnonzero(~rows_equal):
        yield Difference(name, f"row {row}", str(stored[row].tolist()), str(now[row].tolist()))


def _compare_table(table: str, stored: str, now: str) -> Comparison:
    """Compare two tables cell by cell; a cell holds the shortest text that reads as the same number."""
    stored_rows = _read_cells(stored)
    rows = _read_cells(now)
    names = stored_rows[0] if stored_rows else []
    differences: list[Difference] = []
    n_values = 0
    no_cells: list[str] = []
    for line, (stored_row, row) in enumerate(zip_longest(stored_rows, rows, fillvalue=no_cells), start=1):
        for position, (then, cell) in enumerate(zip_longest(stored_row, row, fillvalue=MISSING)):
            column = names[position] if position < len(names) else f"column {position + 1}"
            if column in TIME_COLUMNS:
                continue
            n_values += line > 1
            if not _is_same_cell(then, cell):
                differences.append(Difference(f"{table} {column}", f"line {line}", then, cell))
    return Comparison(f"cells of {table}", n_values, tuple(differences))


def _read_cells(table: str) -> list[list[str]]:
    return list(csv.reader(StringIO(table, newline="")))


def _is_same_cell(stored: str, now: str) -> bool:
    if stored == now:
        return True
    # Another version of pandas may spell the same number in another way.
    try:
        return _is_same_number(float(stored), float(now))
    except ValueError:
        return False


def _is_same_number(stored: float | None, now: float | None) -> bool:
    if stored is None or now is None:
        return False
    return stored == now or (np.isnan(stored) and np.isnan(now))


def _show(value: float | None) -> str:
    return MISSING if value is None else repr(float(value))


def count_differences(comparisons: Sequence[Comparison]) -> int:
    """Return the number of values that differ."""
    return sum(len(comparison.differences) for comparison in comparisons)
