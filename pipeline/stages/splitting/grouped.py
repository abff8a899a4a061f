"""Splits that keep the rows of a group together: grouped k-fold and leave-one-group-out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn import model_selection

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.checks import require_count, require_rows_per_fold
from bakeoff.pipeline.stages.splitting.splits import SplitInput
from bakeoff.pipeline.stages.splitting.splitter import Splitter


@dataclass(frozen=True, kw_only=True)
class GroupKFold(Splitter):
    """k-fold cross-validation in which the rows of a group stay in one fold.

    Parameters
    ----------
    folds : int
        k, at least 2.
    repeats : int
        The number of repeats, each with a different shuffle; at least 1.
    """

    folds: int = 5
    repeats: int = 1

    keeps_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("folds", self.folds, at_least=2)
        require_count("repeats", self.repeats, at_least=1)

    def count_splits(self, data: SplitInput) -> int | None:
        """Return ``folds`` × ``repeats``."""
        return self.folds * self.repeats

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``folds`` × ``repeats`` splits."""
        if data.groups is None:
            raise UserError("evaluation=group_kfold needs groups; name their column with dataset.groups=COLUMN.")
        n_groups = len(np.unique(data.groups))
        if n_groups < self.folds:
            raise UserError(f"evaluation.folds={self.folds}, but there are {n_groups} groups; use fewer folds.")
        strata = self.make_strata(data)
        require_rows_per_fold(data, self.folds, strata)
        k_fold = model_selection.GroupKFold if strata is None else model_selection.StratifiedGroupKFold
        for repeat in range(self.repeats):
            splitter = k_fold(self.folds, shuffle=True, random_state=seed + repeat)
            yield from splitter.split(data.y, strata, data.groups)


@dataclass(frozen=True, kw_only=True)
class LeaveOneGroupOut(Splitter):
    """A split for each group, whose rows are tested with a model fitted on the rows of all others."""

    keeps_groups: ClassVar[bool] = True

    def count_splits(self, data: SplitInput) -> int | None:
        """Return the number of groups."""
        return None if data.groups is None else len(np.unique(data.groups))

    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield as many splits as there are groups."""
        if data.groups is None:
            raise UserError(
                "evaluation=leave_one_group_out needs groups; name their column with dataset.groups=COLUMN."
            )
        if len(np.unique(data.groups)) < 2:
            raise UserError("evaluation=leave_one_group_out needs at least 2 groups, but dataset.groups has one value.")
        yield from model_selection.LeaveOneGroupOut().split(data.y, groups=data.groups)
