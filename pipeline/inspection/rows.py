"""What is suspect about the rows of a table: copies, contradictions, and an order by the target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bakeoff.pipeline.stages.dataset import Dataset


def find_row_suspicions(frame: pd.DataFrame, dataset: Dataset | None) -> Iterator[str]:
    """Yield sentences about copied rows, and with a target about equal rows of different targets and sorted rows.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        All columns of the source.
    dataset : Dataset or None
        None if no target is named.
    """
    hashes = pd.util.hash_pandas_object(frame, index=False)
    n_copies = int(hashes.duplicated().sum())
    if n_copies:
        verb = "is" if n_copies == 1 else "are"
        yield f"{n_copies} of {len(frame)} rows {verb} equal to an earlier row in every column."
    if dataset is None:
        return
    n_contradicting = _count_contradictions(dataset)
    if n_contradicting:
        yield (
            f"{n_contradicting} of {len(dataset.y)} rows have the same features as another row with another target, so "
            "that no learner can predict all of them."
        )
    if _is_sorted(dataset.y):
        yield (
            f"The rows are sorted by {dataset.target}: a column that counts rows would give it away, and folds must "
            "be shuffled, which they are by default."
        )


def _count_contradictions(dataset: Dataset) -> int:
    """Return the number of rows whose features occur with several targets; for numbers this is usual, and 0."""
    if not dataset.is_classification:
        return 0
    hashes = pd.util.hash_pandas_object(dataset.X, index=False)
    n_targets = pd.Series(dataset.y).groupby(hashes.to_numpy()).transform("nunique")
    return int((n_targets > 1).sum())


def _is_sorted(y: np.ndarray) -> bool:
    """Return whether equal classes follow one another, or numbers increase or decrease."""
    if y.dtype.kind == "f":
        differences = np.diff(y)
        return len(np.unique(y)) > 2 and bool((differences >= 0).all() or (differences <= 0).all())
    n_changes = int((y[1:] != y[:-1]).sum())
    n_classes = len(np.unique(y))
    return 1 < n_classes < len(y) / 2 and n_changes == n_classes - 1
