"""The input of a splitter, and the splits that it returns."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

DIGEST_BYTES = 8
TRAIN = "train"
VALIDATION = "validation"
TEST = "test"
TwoParts = tuple[np.ndarray, np.ndarray]
"""The numbers of the rows of two parts, such as those to fit on and those to score on."""


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
        The user-defined part of each row: ``train``, ``validation`` or ``test``.
    folds : ndarray of shape (n,), int, or None
        The fold in which each row is tested; a negative number means none.
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

    @cached_property
    def time_codes(self) -> np.ndarray:
        """The position of each row's time among the distinct times, shape (n,); without times, the row number."""
        if self.times is None:
            return np.arange(len(self.y))
        return np.unique(self.times, return_inverse=True)[1]


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts, which never overlap.

    Attributes
    ----------
    train, validation, test : ndarray of int
        ``validation`` may be empty; ``test`` is empty only for the fit on all rows. A row that was drawn several times
        also occurs several times in ``train``.
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
    def fitted(self) -> tuple[Split, ...]:
        """The splits on which a model is fitted: the scored ones, then the split of the run's model."""
        return self.folds if self.refit is None else (*self.folds, self.refit)

    @property
    def n_bytes(self) -> int:
        """The memory that the row numbers take, in bytes."""
        return sum(split.n_bytes for split in self.fitted)

    @property
    def min_train_rows(self) -> int:
        """The number of rows of the smallest training part of the scored splits."""
        return min(len(split.train) for split in self.folds)

    @property
    def mean_rows(self) -> dict[str, float]:
        """The number of distinct rows of each part, on average over the scored splits."""
        parts = (TRAIN, VALIDATION, TEST)
        # A bootstrap draws some rows several times.
        counts = {part: [np.count_nonzero(np.bincount(getattr(split, part))) for split in self.folds] for part in parts}
        return {part: float(np.mean(by_fold)) for part, by_fold in counts.items()}

    def digest(self) -> str:
        """Return a fingerprint of the test rows, and of the rows besides them, of each fold: 16 hexadecimal digits.

        Two runs can be compared fold by fold if their fingerprints are equal. Training and validation rows are not
        distinguished, because whether rows are set aside for pruning or tuning is part of the comparison.
        """
        fingerprint = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for split in self.folds:
            rest = np.concatenate([split.train, split.validation])
            for rows in (np.sort(split.test), np.sort(rest)):
                # The length distinguishes parts whose concatenated rows are the same.
                fingerprint.update(f"{len(rows)}\0".encode())
                fingerprint.update(rows.astype(np.int64).tobytes())
        return fingerprint.hexdigest()
