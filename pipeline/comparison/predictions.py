"""Predictions of single rows for the pictures of a page, where they apply: datasets with two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline.comparison.comparison import Cell, Comparison, RowPredictions
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import read_predictions

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "probability_"
N_CLASSES = 2
"""ROC and calibration curves are drawn for two classes."""


def add_predictions(comparison: Comparison, store: Store) -> Comparison:
    """Return a comparison whose cells hold their predictions, on datasets with two classes.

    A row that represents several configurations has none, and neither has a run whose file was deleted.
    """
    skipped: set[str] = set()
    cells: list[Cell] = []
    for cell in comparison.cells:
        if cell.reason or cell.chosen or cell.dataset in skipped:
            cells.append(cell)
            continue
        read = [read_predictions(store, run_id) for run_id in cell.run_ids]
        tables = [table for table in read if table is not None]
        predictions = _join_tables(tables) if len(tables) == len(read) else None
        # One file shows that a dataset has more classes, so that the others need not be read.
        if tables and predictions is None and _count_classes(tables[0]) > N_CLASSES:
            skipped.add(cell.dataset)
        cells.append(replace(cell, predictions=predictions))
    return replace(comparison, cells=tuple(cells))


def _join_tables(tables: Sequence[pd.DataFrame]) -> RowPredictions | None:
    """Return the predictions over all seeds; None if there are no probabilities of two classes."""
    columns = [str(column) for column in tables[0].columns if str(column).startswith(PREFIX)]
    if len(columns) != N_CLASSES or any(set(columns) - set(table.columns) for table in tables):
        return None
    n_folds = [int(table["fold"].max()) + 1 for table in tables]
    # Each seed numbers its folds from 0; over all seeds, each fold needs a number of its own.
    firsts = np.cumsum([0, *n_folds[:-1]])
    folds = [table["fold"].to_numpy() + first for table, first in zip(tables, firsts, strict=True)]
    return RowPredictions(
        fold=np.concatenate(folds),
        truth=np.concatenate([table["truth"].to_numpy() for table in tables]),
        predicted=np.concatenate([table["predicted"].to_numpy() for table in tables]),
        classes=tuple(column.removeprefix(PREFIX) for column in columns),
        probabilities=np.concatenate([table[columns].to_numpy() for table in tables]),
    )


def _count_classes(table: pd.DataFrame) -> int:
    """Return the number of classes; in regression, that of the distinct targets."""
    return int(table["truth"].nunique())
