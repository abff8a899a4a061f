"""Naive Bayes: count or measure each feature within each class, as if features were independent there.

    P(class | x)  ∝  P(class) · Π_j P(x_j | class)

A nominal feature is counted, with a pseudo-count α for every value of its domain, so that no value is impossible
merely because a small sample lacks it; the prior is smoothed in the same way, or left a plain fraction:

    P(x_j = v | class) = (count(v, class) + α) / Σ_v' (count(v', class) + α)

A numeric feature is Gaussian within each class.  Products are sums of logarithms throughout.

Cost: O(nd) to fit; O(m·d·c) to predict; memory O(c·(d + number of nominal values)).

Reference: R. O. Duda, P. E. Hart, "Pattern Classification and Scene Analysis", Wiley, 1973; for the pseudo-count as a
Dirichlet prior, T. M. Mitchell, "Machine Learning", McGraw-Hill, 1997, chapter 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import Classifier, with_input_tags
from bakeoff.learners.base.nominal_columns import UNSEEN
from bakeoff.learners.base.paths import require_path_parameter
from bakeoff.learners.naive_bayes.gaussian import add_gaussian_evidence, fit_gaussians
from bakeoff.learners.naive_bayes.nominal import add_value_evidence, count_values, fractions, log, smoothed_log
from bakeoff.learners.naive_bayes.row_tiles import columns_of


class NaiveBayesClassifier(Classifier):
    """Naive Bayes on nominal columns, numeric columns, or both in one table.

    Parameters
    ----------
    alpha : float, default=1.0
        The pseudo-count of every nominal value in every class; 0 leaves plain fractions.
    feature_alpha : dict, optional
        Dirichlet parameters for single nominal columns in place of ``alpha``: column name or position -> a number, one
        per value (shape (k,)), or one per class and value (shape (c, k)), values in the order of ``categories_[j]``.
    smooth_prior : bool, default=True
        Whether each class's count gets ``alpha`` too.
    class_prior : array-like of shape (c,), optional
        The probabilities of the classes, in sorted order; nothing is then estimated or smoothed.
    var_smoothing : float, default=1e-9
        This fraction of the largest variance of a numeric column is added to every variance.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What a nominal value outside the domain does when predicting: its column says nothing about that row, or an
        error.
    handle_missing : {"ignore", "error"}, default="ignore"
        The same for a missing cell; in training an ignored cell is not counted.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None, default="from_dtype"
        The nominal columns; strings are taken as they are.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    class_count_ : ndarray of shape (c,)
        Weight of the training rows of each class.
    class_prior_ : ndarray of shape (c,)
    categories_ : list of length d
        The domain of each nominal column (an array of its k values), None for a numeric column.
    category_count_, feature_log_prob_ : list of length d
        For each nominal column an array of shape (c, k): weight of the rows, and ln P(value | class); None if numeric.
    numeric_features_ : ndarray of shape (q,), int
        Positions of the numeric columns.
    theta_, var_ : ndarray of shape (c, q)
        Mean (the column's unit) and smoothed variance (its square) of each numeric column in each class.
    epsilon_ : float
        What was added to every variance.

    Notes
    -----
    Where the table leaves nothing to go by, less is assumed rather than NaN returned.  A value to which every class
    gives probability 0 (``alpha=0``) is treated as unknown; a row that every class calls impossible is
    predicted by the prior.  A class without any cell in a column borrows the column's figures over all classes.

    Examples
    --------
    >>> fruit = [["yellow", 20.0], ["yellow", 18.0], ["red", 8.0], ["green", 7.0]]
    >>> model = NaiveBayesClassifier(categorical_features=[0]).fit(fruit, ["banana", "banana", "apple", "apple"])
    >>> model.predict([["red", 9.0]])
    array(['apple'], dtype='<U6')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "feature_alpha": [dict, None],
        "smooth_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "handle_unknown": [StrOptions({"ignore", "error"})],
        "handle_missing": [StrOptions({"ignore", "error"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    }

    path_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        feature_alpha: dict[Any, Any] | None = None,
        smooth_prior: bool = True,
        class_prior: Any = None,
        var_smoothing: float = 1e-9,
        handle_unknown: str = "ignore",
        handle_missing: str = "ignore",
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.alpha = alpha
        self.feature_alpha = feature_alpha
        self.smooth_prior = smooth_prior
        self.class_prior = class_prior
        self.var_smoothing = var_smoothing
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count values and measure means and variances within each class.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A prior or Dirichlet parameter of the wrong length or sign; missing cells with ``handle_missing="error"``;
            numeric columns whose variance is zero, or too large or small for a float.
        """
        self._count(*self._check_fit(X, y, sample_weight))
        self._smooth()
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Count once for many pseudo-counts (see `bakeoff.learners.base.paths`)."""
        require_path_parameter(self, parameter)
        counted = clone(self).set_params(alpha=values[0])
        counted._count(*counted._check_fit(X, y, sample_weight))
        for alpha in values:
            fitted = copy(counted).set_params(alpha=alpha)
            fitted._validate_params()
            fitted._smooth()
            yield fitted

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return ln P(class) + Σ_j ln p(x_j | class), of shape (m, c); -inf where a class calls a row impossible."""
        return self._joint_log(self._check_query(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return ln P(class | x), of shape (m, c), exact even where the probability is too small for a float."""
        scores = self._class_scores(self._check_query(X))  # (m, c)
        scores -= scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(class | x), of shape (m, c); columns in the order of ``classes_``, rows sum to 1."""
        return np.exp(self.predict_log_proba(X))

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        scores = self._joint_log(X)
        doubtful = np.flatnonzero(np.isneginf(scores[:, 0]))
        impossible = doubtful[np.isneginf(scores[doubtful]).all(axis=1)]
        scores[impossible] = log(self.class_prior_)
        return scores

    def _prior(self) -> np.ndarray:
        c = self.class_count_.shape[0]
        if self.class_prior is None:
            smoothed = self.class_count_ + (self.alpha if self.smooth_prior else 0.0)
            return fractions(smoothed)
        prior = np.array(self.class_prior, dtype=np.float64)
        if prior.shape != (c,) or not (prior >= 0).all() or not np.isclose(prior.sum(), 1.0):
            raise ValueError(
                f"class_prior is {prior.tolist()}, but must be {c} probabilities that sum to 1, one for each of "
                f"the classes {self.classes_.tolist()}."
            )
        return prior

    def _count(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        """Learn from checked rows all that no pseudo-count has a part in."""
        self.class_count_ = np.bincount(codes, weights=weight)  # (c,)
        self.category_count_: list[np.ndarray | None] = [None] * X.shape[1]
        sizes = {j: len(values) for j, values in enumerate(self.categories_) if values is not None}
        if sizes:
            nominal, k = columns_of(X, list(sizes)), np.array(list(sizes.values()))
            counts = count_values(nominal, codes, weight, k, self.classes_.shape[0])
            for j, count in zip(sizes, counts, strict=True):
                self.category_count_[j] = count
        self._fit_numeric(X, codes, weight)

    def _smooth(self) -> None:
        self.class_prior_ = self._prior()
        given = self._pseudo_counts()
        self.feature_log_prob_: list[np.ndarray | None] = [
            None if count is None else smoothed_log(count, np.broadcast_to(given.get(j, self.alpha), count.shape))
            for j, count in enumerate(self.category_count_)
        ]

    def _pseudo_counts(self) -> dict[int, np.ndarray]:
        """Read ``feature_alpha``: column position -> array that broadcasts to (c, k)."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        found: dict[int, np.ndarray] = {}
        for column, given in (self.feature_alpha or {}).items():
            j = names.index(column) if column in names else column
            values = self.categories_[j] if isinstance(j, int) and 0 <= j < self.n_features_in_ else None
            if values is None:
                raise ValueError(f"feature_alpha names {column!r}, which is no nominal column of X.")
            pseudo = np.array(given, dtype=np.float64)
            c, k = self.class_count_.shape[0], len(values)
            if pseudo.shape not in {(), (k,), (c, k)} or not (np.isfinite(pseudo) & (pseudo >= 0)).all():
                raise ValueError(
                    f"feature_alpha for column {column!r} must be finite numbers ≥ 0: one, one per value ({k}), or one "
                    f"per class and value ({c}, {k}); given shape {pseudo.shape}, smallest {pseudo.min(initial=0.0)}."
                )
            found[j] = pseudo
        return found

    def _fit_numeric(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        self.numeric_features_ = np.flatnonzero([values is None for values in self.categories_])
        self.theta_, self.var_, self.epsilon_ = fit_gaussians(
            columns_of(X, self.numeric_features_), codes, weight, self.classes_.shape[0], self.var_smoothing
        )
        if not self.var_.all():
            code, column = np.argwhere(self.var_ == 0)[0]
            raise ValueError(
                f"Class {self.classes_[code]!s} has variance 0 in column {self._name(self.numeric_features_[column])}: "
                "give var_smoothing > 0, or multiply columns of tiny values by a constant."
            )

    def _name(self, j: int) -> str:
        return repr(str(self.feature_names_in_[j])) if hasattr(self, "feature_names_in_") else str(j)

    def _joint_log(self, X: np.ndarray) -> np.ndarray:
        """Return ln P(class) + Σ_j ln p(x_j | class) for checked rows: shape (m, c)."""
        joint = np.empty((X.shape[0], self.classes_.shape[0]))  # (m, c)
        joint[:] = log(self.class_prior_)
        nominal = {j: log_prob for j, log_prob in enumerate(self.feature_log_prob_) if log_prob is not None}
        if nominal:
            table = columns_of(X, list(nominal))
            self._check_known(table, list(nominal))
            add_value_evidence(table, list(nominal.values()), joint)
        if self.numeric_features_.size:
            add_gaussian_evidence(columns_of(X, self.numeric_features_), self.theta_, self.var_, joint)
        return joint

    def _check_known(self, table: np.ndarray, nominal: list[int]) -> None:
        if self.handle_unknown == "error" and (table == UNSEEN).any():
            j = nominal[int((table == UNSEEN).any(axis=0).argmax())]
            raise ValueError(
                f"Column {self._name(j)} holds a value that training did not know, where handle_unknown='error'; "
                "give handle_unknown='ignore' to leave such cells out."
            )

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), allow_nan=self.handle_missing == "ignore", categorical=True)
