"""Copies: test rows that are equal to training or validation rows in every column and in the target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.pipeline.audit.parts import list_fitted_rows
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Splits


def count_copies(dataset: Dataset, splits: Splits) -> Iterator[str]:
    """Yield a sentence if rows are tested by a model that was fitted on copies of them.

    A model can repeat the answer to such a row without having learned anything. In a small dataset of few or rounded
    values a copy may well be another case that happens to be equal, which is why it only gives a warning.

    Parameters
    ----------
    dataset : Dataset
    splits : Splits
    """
    codes = dataset.row_codes  # (n,)
    # Most datasets have no equal rows, and then the splits need not be looked at.
    is_repeated = np.bincount(codes)[codes] > 1  # (n,)
    if not is_repeated.any():
        return
    is_copy = np.zeros(len(codes), dtype=bool)  # (n,)
    is_tested = np.zeros(len(codes), dtype=bool)  # (n,)
    for split in splits.checked:
        is_known = np.zeros(codes.max() + 1, dtype=bool)  # by code
        is_known[codes[list_fitted_rows(split)]] = True
        is_tested[split.test] = True
        candidates = split.test[is_repeated[split.test]]
        has_known_copy = is_known[codes[candidates]]
        is_copy[candidates[has_known_copy]] = True
    n_copies = int(is_copy.sum())
    if n_copies:
        verb = "is" if n_copies == 1 else "are"
        yield (
            f"dataset={dataset.name}: {n_copies} of {is_tested.sum()} tested rows {verb} equal, target included, to "
            "rows of the training or validation part; if these are copies of one case, remove them."
        )
