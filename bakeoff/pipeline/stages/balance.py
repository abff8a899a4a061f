"""Class balance: give rows of rare classes more weight, or resample the classes to equal size.

It applies only to the training rows of a fit, after preprocessing. Validation and test rows keep the natural
proportions of the classes, so scores reflect the original data. The probabilities of a balanced learner are those for
balanced classes; calibration on the original proportions corrects them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from sklearn.base import clone

from bakeoff.pipeline.errors import UserError


@dataclass(frozen=True)
class BalancedRows:
    """The m rows on which the learner is fitted.

    Attributes
    ----------
    X : table of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
        None if all rows have equal weight.
    index : Index
        The numbers in the dataset of the rows that were taken or from which new rows were made.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    index: pd.Index


class Balance(ABC):
    """Abstract: change the rows of a fit so that its classes count more evenly."""

    name: str
    needs_weights: bool = False
    """Whether the learner must accept row weights."""
    makes_rows: bool = False
    """Whether there are new rows, which have no weights."""

    @abstractmethod
    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return the rows to fit on, made only from prepared training rows; the seed determines the random choices."""


@final
@dataclass(frozen=True)
class NoBalance(Balance):
    """Leave the rows as they are."""

    name = "none"

    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return the rows unchanged."""
        return rows


@final
@dataclass(frozen=True)
class ClassWeights(Balance):
    """Weight the rows so that all classes have the same total weight and the mean weight does not change.

    References
    ----------
    G. King and L. Zeng, "Logistic regression in rare events data", Political Analysis 9, 2001; scikit-learn implements
    it as ``class_weight="balanced"``.
    """

    name = "weights"
    needs_weights = True

    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return the rows with new weights."""
        classes, codes = np.unique(rows.y, return_inverse=True)
        weights = np.ones(len(codes)) if rows.weights is None else rows.weights  # (m,)
        totals = np.bincount(codes, weights=weights)  # (c,)
        # A class whose rows all have weight 0 has no weight to distribute.
        factors = np.divide(weights.sum(), len(classes) * totals, out=np.zeros(len(classes)), where=totals > 0)
        return BalancedRows(rows.X, rows.y, weights * factors[codes], rows.index)


@dataclass(frozen=True)
class Sampling(Balance):
    """Abstract: change the numbers of rows until the ratio of the rarest class to others is at least the given one."""

    ratio: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.ratio <= 1:
            raise UserError(f"balance.ratio={self.ratio!r} must be a number above 0 and at most 1; 1 is full balance.")


@final
@dataclass(frozen=True)
class Oversampling(Sampling):
    """Keep all rows and add rows of rare classes, drawn with replacement.

    Parameters
    ----------
    ratio : float
        The minimum number of rows of each class, as a fraction of the most frequent class; above 0, at most 1.
    """

    name = "oversample"

    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return all rows, followed by those that were drawn."""
        rng = np.random.default_rng(seed)
        members = _list_members(rows.y)
        wanted = round(self.ratio * max(map(len, members)))
        drawn = [np.arange(len(rows.y))]
        drawn += [rng.choice(own, wanted - len(own)) for own in members if len(own) < wanted]
        return _take_rows(rows, np.concatenate(drawn))


@final
@dataclass(frozen=True)
class Undersampling(Sampling):
    """Leave out randomly drawn rows of frequent classes.

    Parameters
    ----------
    ratio : float
        The minimum size of the rarest class, as a fraction of each other class; above 0, at most 1.
    """

    name = "undersample"

    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return the rows that are kept, in their order."""
        rng = np.random.default_rng(seed)
        members = _list_members(rows.y)
        allowed = round(min(map(len, members)) / self.ratio)
        kept = [own if len(own) <= allowed else rng.choice(own, allowed, replace=False) for own in members]
        return _take_rows(rows, np.sort(np.concatenate(kept)))


@final
@dataclass(frozen=True)
class Resampling(Balance):
    """Resample with an imbalanced-learn sampler, or any other with a ``fit_resample`` method, which may make new rows.

    Parameters
    ----------
    sampler : sampler
        Its ``random_state``, if it has one and it is None, is set from the seed of the experiment.
    """

    sampler: Any

    name = "resample"
    makes_rows = True

    def __post_init__(self) -> None:
        if not hasattr(self.sampler, "fit_resample"):
            raise UserError(
                f"balance.sampler={type(self.sampler).__name__} has no method fit_resample; choose a sampler from "
                "imbalanced-learn, such as imblearn.over_sampling.SMOTE."
            )

    def balance(self, rows: BalancedRows, seed: int) -> BalancedRows:
        """Return the rows that the sampler returns."""
        sampler = clone(self.sampler)
        if sampler.get_params().get("random_state", 0) is None:
            sampler.set_params(random_state=seed)
        X, y = sampler.fit_resample(rows.X, rows.y)
        return BalancedRows(X, np.asarray(y), None, rows.index)


def _list_members(y: np.ndarray) -> list[np.ndarray]:
    """Return the positions of the rows of each class, with the classes in sorted order."""
    return [np.flatnonzero(y == label) for label in np.unique(y)]


def _take_rows(rows: BalancedRows, positions: np.ndarray) -> BalancedRows:
    X = rows.X.iloc[positions] if isinstance(rows.X, pd.DataFrame) else rows.X[positions]
    weights = None if rows.weights is None else rows.weights[positions]
    return BalancedRows(X, rows.y[positions], weights, rows.index[positions])
