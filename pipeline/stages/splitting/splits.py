"""The input of a splitter, and the splits that it returns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import overload

import numpy as np

DIGEST_BYTES = 8
TRAIN = "train"
VALIDATION = "validation"
TEST = "test"
MAX_LISTED_ROWS = 250_000_000
"""The row numbers of all splits, 2 GB, that are kept in memory; if there are more, the splits are made one by one."""
MAX_CHECKED_SPLITS = 100
"""Splits that are checked before the first fit if they are not kept in memory."""


@dataclass(frozen=True)
class SplitInput:
    """The information about n rows that a splitter may use.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Class labels, or float64 targets.
    is_classification : bool
        Whether y holds class labels.
    groups : ndarray of shape (n,) or None
        Rows with equal values belong together.
    parts : ndarray of shape (n,) or None
        ``train``, ``validation`` or ``test``: the part that the user gives each row.
    folds : ndarray of shape (n,), int, or None
        The fold in which each row is tested; a negative number stands for none.
    times : ndarray of shape (n,) or None
        Dates or numbers: the time of each row.
    """

    y: np.ndarray
    is_classification: bool
    groups: np.ndarray | None = None
    parts: np.ndarray | None = None
    folds: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def names_validation_rows(self) -> bool:
        """Whether the user assigns rows to the validation part."""
        return self.parts is not None and bool((self.parts == VALIDATION).any())

    def digest(self) -> str:
        """Return a fingerprint of all that splits may depend on: 16 hexadecimal digits."""
        fingerprint = hashlib.blake2b(f"{self.is_classification}".encode(), digest_size=DIGEST_BYTES)
        for values in (self.y, self.groups, self.parts, self.folds, self.times):
            codes = None if values is None else np.unique(values, return_inverse=True)[1]  # (n,)
            fingerprint.update(b"none" if codes is None else codes.astype(np.int64).tobytes())
        return fingerprint.hexdigest()

    @cached_property
    def time_codes(self) -> np.ndarray:
        """The position of each row's time among the distinct ones, shape (n,); without times, the row's number."""
        if self.times is None:
            return np.arange(len(self.y))
        return np.unique(self.times, return_inverse=True)[1]


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, which never overlap.

    Attributes
    ----------
    train, validation, test : ndarray of int
        ``validation`` may be empty; ``test`` is empty only for the fit on all rows. A row occurs several times in
        ``train`` if it was drawn several times.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        return self.train.nbytes + self.validation.nbytes + self.test.nbytes


class FoldStream(Sequence[Split]):
    """Splits that are made whenever they are read, because all of them together would not fit into memory.

    Parameters
    ----------
    make_folds : callable
        Returns an iterator over the splits, the same each time.
    n_folds : int
        Their number.
    """

    def __init__(self, make_folds: Callable[[], Iterator[Split]], n_folds: int) -> None:
        self._make_folds = make_folds
        self._n_folds = n_folds

    def __len__(self) -> int:
        """Return the number of splits."""
        return self._n_folds

    def __iter__(self) -> Iterator[Split]:
        """Make the splits one after the other."""
        return self._make_folds()

    @overload
    def __getitem__(self, index: int) -> Split: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Split]: ...

    def __getitem__(self, index: int | slice) -> Split | Sequence[Split]:
        """Return a split, or several; those before it are made as well."""
        places = range(self._n_folds)[index]
        if isinstance(places, int):
            return next(islice(self, places, None))
        made = dict(zip(range(max(places, default=-1) + 1), self, strict=False))
        return [made[place] for place in places]


@dataclass(frozen=True)
class Splits:
    """All splits of an evaluation.

    Attributes
    ----------
    folds : sequence of Split
        The splits that are scored, in order.
    refit : Split or None
        The rows of the run's own model; None if that is the model of the only fold.
    definition : str
        What decides all splits, as a text; only if they are too many to be kept in memory.
    """

    folds: Sequence[Split]
    refit: Split | None
    definition: str = ""

    @property
    def is_listed(self) -> bool:
        """Whether all splits, and the models that are fitted on them, are kept in memory."""
        return not isinstance(self.folds, FoldStream)

    @cached_property
    def checked(self) -> Sequence[Split]:
        """The splits that are checked before the first fit: all of them, or the first ones of very many."""
        return self.folds if self.is_listed else self.folds[:MAX_CHECKED_SPLITS]

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        refit_bytes = 0 if self.refit is None else self.refit.n_bytes
        return refit_bytes + sum(split.n_bytes for split in self.checked)

    @property
    def fitted(self) -> tuple[Split, ...]:
        """The checked splits on which a model is fitted: the scored ones, then the split of the run's model."""
        return tuple(self.checked) if self.refit is None else (*self.checked, self.refit)

    @property
    def min_train_rows(self) -> int:
        """The number of rows of the smallest training part of the checked splits."""
        return min(len(split.train) for split in self.checked)

    @property
    def mean_rows(self) -> dict[str, float]:
        """The number of distinct rows of each part, on average over the checked splits."""
        parts = (TRAIN, VALIDATION, TEST)
        counts = {part: [_count_distinct(getattr(split, part)) for split in self.checked] for part in parts}
        return {part: float(np.mean(by_fold)) for part, by_fold in counts.items()}

    def digest(self) -> str:
        """Return a fingerprint of the test rows, and of the rows besides them, of each fold: 16 hexadecimal digits.

        Two runs can be compared fold by fold if their fingerprints are equal. Training and validation rows are not
        told apart, because whether rows are set aside for pruning or tuning is a part of what is compared. Splits
        that are not kept in memory have the fingerprint of what decides them.
        """
        fingerprint = hashlib.blake2b(self.definition.encode(), digest_size=DIGEST_BYTES)
        if not self.is_listed:
            return fingerprint.hexdigest()
        for split in self.folds:
            rest = np.concatenate([split.train, split.validation])
            for rows in (np.sort(split.test), np.sort(rest)):
                # The length keeps apart parts whose rows, written one after the other, are the same.
                fingerprint.update(f"{len(rows)}\0".encode())
                fingerprint.update(rows.astype(np.int64).tobytes())
        return fingerprint.hexdigest()


def _count_distinct(rows: np.ndarray) -> int:
    """Return the number of distinct rows, since a bootstrap draws some rows several times."""
    return int(np.count_nonzero(np.bincount(rows)))
