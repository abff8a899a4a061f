"""Splits that the user gives: a part for each row, or a fold for each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.checks import require_whole_groups
from bakeoff.pipeline.stages.splitting.splits import TEST, TRAIN, VALIDATION, Split, SplitInput
from bakeoff.pipeline.stages.splitting.splitter import Splitter


@dataclass(frozen=True, kw_only=True)
class FixedSplit(Splitter):
    """The one split of a column or of two files.

    If the user names validation rows, these are the validation part, whatever ``validation`` is; otherwise that
    fraction of all rows is set aside from the training rows.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_parts: ClassVar[bool] = True

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the one split."""
        if data.parts is None:
            raise UserError(
                "evaluation=fixed needs to know which rows are tested; name a column with dataset.split=COLUMN, or a "
                "second file with dataset.test_path=FILE."
            )
        for part in (TRAIN, TEST):
            if not (data.parts == part).any():
                raise UserError(f"evaluation=fixed needs rows of the part {part!r}, but dataset.split has none.")
        require_whole_groups(data.groups, data.parts, "dataset.split or dataset.test_path")
        is_tested = data.parts == TEST  # (n,)
        yield np.flatnonzero(~is_tested), np.flatnonzero(is_tested)

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return None: the run's model is the one that was scored."""
        return None

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if not data.names_validation_rows:
            return super()._set_validation_aside(rest, data, seed)
        assert data.parts is not None
        is_validated = data.parts[rest] == VALIDATION
        return rest[~is_validated], rest[is_validated]


@dataclass(frozen=True, kw_only=True)
class FixedFolds(Splitter):
    """The folds of a column: the rows of each value are tested once, with a model fitted on all others.

    As in scikit-learn's ``PredefinedSplit``, rows of a negative fold are never tested.
    """

    keeps_groups: ClassVar[bool] = True
    keeps_folds: ClassVar[bool] = True

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of folds that are tested."""
        return None if data.folds is None else len(np.unique(data.folds[data.folds >= 0]))

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield a split for each fold, in the order of their numbers."""
        if data.folds is None:
            raise UserError("evaluation=fixed_folds needs the folds; name their column with dataset.folds=COLUMN.")
        numbers = np.unique(data.folds)
        if len(numbers) < 2 or numbers[-1] < 0:
            raise UserError(
                "evaluation=fixed_folds needs a fold to test and other rows to train on, but dataset.folds has "
                f"{'one value' if len(numbers) < 2 else 'negative values'} only."
            )
        require_whole_groups(data.groups, data.folds, "dataset.folds")
        yield from model_selection.PredefinedSplit(data.folds).split()
