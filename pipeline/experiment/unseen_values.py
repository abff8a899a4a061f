"""Test rows with nominal values that no training row has, which a model cannot have learnt anything about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Split


@dataclass(frozen=True)
class UnseenValues:
    """How many test rows hold values of nominal columns that the training rows lack.

    Attributes
    ----------
    n_rows : int
        The rows with such a value in any column.
    n_rows_by_column : mapping of str to int
        Only columns with such values.
    """

    n_rows: int
    n_rows_by_column: Mapping[str, int]


def find_unseen_values(dataset: Dataset, split: Split) -> UnseenValues:
    """Count the test rows of a split whose nominal values no training row has; missing cells do not count."""
    is_affected = np.zeros(len(split.test), dtype=bool)  # (m,)
    counts: dict[str, int] = {}
    for name in dataset.nominal:
        column = dataset.X[name].cat
        is_known = np.zeros(len(column.categories) + 1, dtype=bool)
        # The code of a missing cell is -1, which is the last place.
        codes = column.codes.to_numpy()
        is_known[codes[split.train]] = True
        is_known[-1] = True
        is_unseen = ~is_known[codes[split.test]]  # (m,)
        if is_unseen.any():
            counts[name] = int(is_unseen.sum())
            is_affected |= is_unseen
    return UnseenValues(int(is_affected.sum()), counts)
