"""The input of a splitter, and the splits that it returns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

DIGEST_BYTES = 8


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
    """

    y: np.ndarray
    is_classification: bool
    groups: np.ndarray | None = None


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, which never overlap.

    Attributes
    ----------
    train, validation, test : ndarray of int
        ``validation`` may be empty; ``test`` is empty only for the fit on all rows.
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        return self.train.nbytes + self.validation.nbytes + self.test.nbytes


@dataclass(frozen=True)
class Splits:
    """All splits of an evaluation.

    Attributes
    ----------
    folds : tuple of Split
        The splits that are scored, in order.
    refit : Split or None
        The rows of the run's own model; None if that is the model of the only fold.
    """

    folds: tuple[Split, ...]
    refit: Split | None

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        refit_bytes = 0 if self.refit is None else self.refit.n_bytes
        return refit_bytes + sum(split.n_bytes for split in self.folds)

    @property
    def min_train_rows(self) -> int:
        """The number of rows of the smallest training part."""
        return min(len(split.train) for split in self.folds)

    @property
    def mean_rows(self) -> dict[str, float]:
        """The number of rows of each part, on average over the folds."""
        parts = ("train", "validation", "test")
        return {part: float(np.mean([len(getattr(split, part)) for split in self.folds])) for part in parts}

    def digest(self) -> str:
        """Return a fingerprint of the test rows, and of the rows besides them, of each fold: 16 hexadecimal digits.

        Two runs can be compared fold by fold if their fingerprints are equal. Training and validation rows are not
        told apart, because whether rows are set aside for pruning or tuning is a part of what is compared.
        """
        fingerprint = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for split in self.folds:
            rest = np.concatenate([split.train, split.validation])
            for rows in (np.sort(split.test), np.sort(rest)):
                # The length keeps apart parts whose rows, written one after the other, are the same.
                fingerprint.update(f"{len(rows)}\0".encode())
                fingerprint.update(rows.astype(np.int64).tobytes())
        return fingerprint.hexdigest()
