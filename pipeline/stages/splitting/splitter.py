"""What all splitters share: the validation part, and the split of the run's own model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.splitting.checks import require_fraction
from bakeoff.pipeline.stages.splitting.partition import partition_rows
from bakeoff.pipeline.stages.splitting.splits import Split, SplitInput, Splits


@dataclass(frozen=True, kw_only=True)
class Splitter(ABC):
    """Abstract: generate splits.

    Parameters
    ----------
    validation : float
        The fraction of all rows set aside, from the training rows of each split, for pruning or tuning.
    stratify : bool
        Keep each class's proportion in every part.
    """

    validation: float = 0.0
    stratify: bool = True

    keeps_groups: ClassVar[bool] = False
    """Whether the rows of a group stay in one part."""
    keeps_order: ClassVar[bool] = False
    """Whether the rows are in chronological order, and each part follows the rows that it is predicted from."""

    def __post_init__(self) -> None:
        require_fraction("validation", self.validation, allow_zero=True)

    @abstractmethod
    def iter_outer_splits(self, data: SplitInput, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows for training and validation, and the rows for testing, of each split."""

    def make_splits(self, data: SplitInput, seed: int) -> Splits:
        """Return all splits of an evaluation.

        Parameters
        ----------
        data : SplitInput
            Of n rows.
        seed : int
            The same seed gives the same splits.

        Raises
        ------
        UserError
            There are too few rows for the parts, or the parts would separate rows of a group.
        """
        if data.groups is not None and not self.keeps_groups:
            raise UserError(
                "dataset.groups is given, and this evaluation would split groups; "
                "use evaluation=group_kfold or holdout, or remove dataset.groups."
            )
        folds = []
        for rest, test in self.iter_outer_splits(data, seed):
            train, validation = self._set_validation_aside(rest, data, seed)
            folds.append(Split(train, validation, test))
        return Splits(tuple(folds), self._make_refit_split(data, seed))

    def _make_refit_split(self, data: SplitInput, seed: int) -> Split | None:
        """Return the split that trains on all rows but a validation part; None if the model is not fitted again."""
        all_rows = np.arange(len(data.y))  # (n,)
        train, validation = self._set_validation_aside(all_rows, data, seed)
        return Split(train, validation, test=np.empty(0, dtype=np.intp))

    def _set_validation_aside(self, rest: np.ndarray, data: SplitInput, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Divide the rows that are not tested into training and validation rows."""
        if self.validation == 0:
            return rest, np.empty(0, dtype=np.intp)
        n_validation = self._count_validation_rows(len(data.y), len(rest))
        return partition_rows(rest, n_validation, data, stratify=self.stratify, key="validation", seed=seed)

    def _count_validation_rows(self, n: int, n_rest: int) -> int:
        n_validation = round(self.validation * n)
        if not 0 < n_validation < n_rest:
            raise UserError(
                f"evaluation.validation={self.validation} is {n_validation} of {n} rows, and {n_rest} remain "
                "besides the test part; choose a fraction that leaves rows for both parts."
            )
        return n_validation
