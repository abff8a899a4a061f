"""Gradient boosting: an additive model of trees, each fitted to the gradient of the loss at the sum of those before.

    F_t(x) = F_{t-1}(x) + η · h_t(x),    h_t ≈ −∂L/∂F at F_{t-1}

The trees are grown by another library. Here is what both libraries share: the codes of labels and of nominal values,
rows that are set aside to stop early, and the model as an array of bytes in the library's own format, so that a stored
model holds no object of the library and can be read by its later versions. A nominal value that no training row holds
is treated as a missing cell.

Cost, with t trees of depth h: fit O(t · n · d), predict O(m · t · h).

References
----------
J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions

from bakeoff.learners.base.estimator import Learner, ProbabilisticClassifier, Regressor
from bakeoff.learners.base.input_checks import check_path_values, with_input_tags
from bakeoff.learners.base.nominal_columns import UNSEEN

MAX_SEED = 2**31 - 1
AT_LEAST_0 = Interval(Real, 0, None, closed="left")
ABOVE_0 = Interval(Real, 0, None, closed="neither")
FRACTION = Interval(Real, 0, 1, closed="right")
COUNT = Interval(Integral, 1, None, closed="left")
SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "n_estimators": [COUNT],
    "learning_rate": [ABOVE_0],
    "subsample": [FRACTION],
    "colsample_bytree": [FRACTION],
    "reg_alpha": [AT_LEAST_0],
    "reg_lambda": [AT_LEAST_0],
    "max_bin": [Interval(Integral, 2, None, closed="left")],
    "early_stopping_rounds": [COUNT, None],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "n_jobs": [COUNT, Options(Integral, {-1}), None],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Rows:
    """Rows to grow trees on, or to stop by.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Codes of nominal values, NaN for missing cells.
    y : ndarray of shape (n,)
        Class codes or targets.
    weight : ndarray of shape (n,)
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def take(self, positions: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[positions], self.y[positions], self.weight[positions])


class BoostedTrees(Learner):
    """Abstract: trees that another library grows, kept as the bytes of the library's format.

    Attributes
    ----------
    model_ : ndarray of uint8
        The trees, in the format in which the library stores them.
    feature_importances_ : ndarray of shape (d,)
        The share of each column in the fall of the loss by all splits; they sum to 1, or are 0 without splits.
    n_rounds_ : int
        The rounds that were kept; each grows one tree, or one for each class if there are more than two.
    """

    scale_sensitive: ClassVar[bool] = False
    required_package: ClassVar[str]
    """The package that grows the trees, which is also the name of the extra that installs it."""
    path_parameters: ClassVar[tuple[str, ...]] = ("n_estimators",)

    n_estimators: int
    early_stopping_rounds: int | None
    validation_fraction: float
    n_jobs: int | None
    random_state: Any

    def __sklearn_tags__(self) -> Tags:
        takes_nominal = getattr(self, "categorical_features", None) is not None
        return with_input_tags(super().__sklearn_tags__(), allow_nan=True, categorical=takes_nominal)

    @abstractmethod
    def _grow(self, rows: Rows, held_out: Rows | None, n_classes: int, seed: int) -> Any:
        """Return the library's model of n_estimators rounds, or fewer if it stopped by the rows held out.

        `n_classes` is 0 for regression.
        """

    @abstractmethod
    def _write(self, grown: Any, n_rounds: int) -> bytes:
        """Return the first rounds of the library's model in its format."""

    @abstractmethod
    def _read(self, written: bytes) -> Any:
        """Return the library's model, to predict with."""

    @abstractmethod
    def _count_rounds(self, grown: Any) -> int:
        """Return the rounds of the library's model that are to be kept."""

    @abstractmethod
    def _sum_gains(self, model: Any) -> np.ndarray:
        """Return the fall of the loss by the splits of each column, of shape (d,)."""

    @abstractmethod
    def _predict_with(self, model: Any, X: np.ndarray) -> np.ndarray:
        """Return the outputs of the library's model for checked rows X (m, d)."""

    def _fit_trees(self, rows: Rows, n_classes: int) -> Self:
        random = check_random_state(self.random_state)
        held_out = None
        if self.early_stopping_rounds is not None:
            order = random.permutation(len(rows.y))  # (n,)
            n_held_out = int(np.ceil(self.validation_fraction * len(order)))
            if n_held_out == len(order):
                raise ValueError(f"early_stopping_rounds sets rows aside, but there is only n_samples={len(order)}.")
            held_out = rows.take(np.sort(order[:n_held_out]))
            rows = rows.take(np.sort(order[n_held_out:]))
        grown = self._grow(rows, held_out, n_classes, int(random.randint(MAX_SEED)))
        return self._keep(grown, self._count_rounds(grown))

    def _keep(self, grown: Any, n_rounds: int) -> Self:
        self.n_rounds_ = n_rounds
        self.model_ = np.frombuffer(self._write(grown, n_rounds), dtype=np.uint8)
        # The model in memory is the one that was written, so that a stored model predicts the same to the last bit.
        self._trees = self._read(self.model_.tobytes())
        gains = self._sum_gains(self._trees)  # (d,)
        total = gains.sum()
        self.feature_importances_ = gains / total if total > 0 else gains
        return self

    @property
    def _is_nominal(self) -> np.ndarray:
        """Which columns are nominal, of shape (d,)."""
        categories = getattr(self, "categories_", [None])
        given = [values is not None for values in categories]
        return np.array(given if len(given) == self.n_features_in_ else [False] * self.n_features_in_)

    def read_trees(self) -> Any:
        """Return the library's model, which is read once from the bytes that are stored.

        Raises
        ------
        Exception
            Of the library: the bytes are not a model.
        """
        if "_trees" not in vars(self):
            self._trees = self._read(self.model_.tobytes())
        return self._trees

    def _predict_trees(self, X: np.ndarray) -> np.ndarray:
        return self._predict_with(self.read_trees(), X)

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Yield a fitted learner for each number of rounds: the first rounds of more are the rounds of fewer.

        Parameters
        ----------
        X : table of shape (n, d)
        y : array-like of shape (n,)
        parameter : {"n_estimators"}
        values : sequence of int
        sample_weight : array-like of shape (n,), optional
        """
        counts = check_path_values(self, parameter, values)
        if self.early_stopping_rounds is not None:
            # When growing stops depends on all rounds, so that each value is fitted for itself.
            for count in counts:
                yield clone(self).set_params(n_estimators=count).fit(X, y, sample_weight)
            return
        longest = clone(self).set_params(n_estimators=max(counts)).fit(X, y, sample_weight)
        for count in counts:
            yield copy(longest).set_params(n_estimators=count)._keep(longest._trees, count)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_trees", None)
        return state


class BoostedTreesClassifier(ProbabilisticClassifier, BoostedTrees):
    """Abstract: a classifier of boosted trees.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Of a single class there are no trees, and its probability is 1.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table of shape (n, d)
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
        """
        table, codes, weight = self._check_fit(X, y, sample_weight)
        if len(self.classes_) > 1:
            self._fit_trees(Rows(table, codes, weight), len(self.classes_))
        else:
            self.n_rounds_ = 0
            self.feature_importances_ = np.zeros(table.shape[1])
        return self

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 1:
            return np.ones((len(X), 1))
        outputs = self._predict_trees(X).astype(np.float64)
        if outputs.ndim == 1:
            return np.column_stack([1 - outputs, outputs])
        return outputs / outputs.sum(axis=1, keepdims=True)


class BoostedTreesRegressor(Regressor, BoostedTrees):
    """Abstract: a regressor of boosted trees."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        table, targets, weight = self._check_fit(X, y, sample_weight)
        return self._fit_trees(Rows(table, targets, weight), 0)

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._predict_trees(X).astype(np.float64)


def mask_unseen(X: np.ndarray, nominal: np.ndarray) -> np.ndarray:
    """Return a table (m, d) with missing cells where a nominal column holds a value that no training row holds.

    Parameters
    ----------
    X : ndarray of shape (m, d)
        Codes in the nominal columns, `UNSEEN` for unknown values.
    nominal : ndarray of bool, of shape (d,)
    """
    return np.where(nominal & (X == UNSEEN), np.nan, X)
