"""What every learner shares: checked input, encoded labels, and one ``predict`` over one hook.

A learner stores its parameters in ``__init__`` and declares what each may be in ``_parameter_constraints``; ``fit``
begins with ``_check_fit``, every ``predict*`` with ``_check_query``.  Between the two a learner sees only clean
arrays: a float table, class codes 0..c-1 or float targets, and positive weights.

Letters, everywhere: n rows, d features, c classes, m query rows.
"""

from __future__ import annotations

from abc import abstractmethod
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, _safe_indexing, column_or_1d, compute_class_weight, get_tags
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from bakeoff.learners.base.input_checks import distinct, plain_column, plain_table, small_integers
from bakeoff.learners.base.nominal_columns import Categories, encode, learn_categories


class Learner(BaseEstimator):
    """Abstract: parameters, and a table of n rows and d features checked once.

    A learner that takes nominal columns has a parameter ``categorical_features`` (``"from_dtype"``, a mask, indices or
    names, or None) and receives them as codes; see `bakeoff.learners.base.nominal_columns`.

    Attributes
    ----------
    categories_ : list of length d
        For a nominal column its values, an array whose positions are the codes; for a numeric column None.
        Only on learners with ``categorical_features``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    _defaults: ClassVar[dict[str, Any]]
    """Of each parameter; kept, since to read a constructor's signature takes as long as to fit a few rows."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}

    def _validate_params(self) -> None:
        """Check the parameters that were given; a constructor's own defaults are valid, which a test makes sure of."""
        values = {name: getattr(self, name) for name in self._defaults}
        given = {name: value for name, value in values.items() if not _same(value, self._defaults[name])}
        validate_parameter_constraints(self._parameter_constraints, given, caller_name=type(self).__name__)

    def _check_table(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return X as float64 of shape (n, d); nominal cells are codes, missing cells NaN, unseen values -1."""
        if hasattr(self, "categorical_features"):
            if reset:
                self.categories_: Categories = learn_categories(X, self.categorical_features)
                self._any_nominal = any(values is not None for values in self.categories_)
            if self._any_nominal:
                validate_data(self, X, reset=reset, skip_check_array=True)
                allow_nan = get_tags(self).input_tags.allow_nan
                return encode(X, self.categories_, allow_nan=allow_nan, owner=type(self).__name__)
        table = self._check_numbers(X, reset=reset)
        if reset and hasattr(self, "categorical_features"):
            self.categories_ = [None] * table.shape[1]
        return table

    def _check_numbers(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return a table without nominal columns as float64; a plain array takes the short way, to the same end.

        So does a DataFrame with the columns of training.
        """
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            table = plain_table(X)
            if table is not None and reset:
                self.n_features_in_ = table.shape[1]
            if table is not None and table.shape[1] == self.n_features_in_:
                return table
        elif not reset and hasattr(X, "iloc") and np.array_equal(np.asarray(X.columns), names):
            table = plain_table(X.to_numpy())
            if table is not None:
                return table
        finite: bool | str = "allow-nan" if get_tags(self).input_tags.allow_nan else True
        try:
            checked: np.ndarray = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            cure = ", or name them in categorical_features" if hasattr(self, "categorical_features") else ""
            raise ValueError(
                f"X holds text where {type(self).__name__} wants numbers ({error}): encode such columns{cure}."
            ) from error
        return checked

    def _check_query(self, X: Any) -> np.ndarray:
        """Return the query rows as `_check_table` does, of shape (m, d); raises NotFittedError before ``fit``."""
        if "n_features_in_" not in vars(self):  # else scikit-learn would find it fitted, too, after a longer search
            check_is_fitted(self)
        return self._check_table(X, reset=False)

    def _check_target(self, y: Any, n: int) -> np.ndarray:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        plain = plain_column(y, n)
        if plain is not None:
            return plain
        y = column_or_1d(y, warn=True)
        if y.shape[0] != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {y.shape[0]}."
            )
        if y.dtype.kind in "fc":
            assert_all_finite(y, input_name="y")
        return y

    def _check_weight(self, sample_weight: Any, X: np.ndarray) -> np.ndarray:
        if sample_weight is None:
            return np.ones(X.shape[0])
        weight: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        check_consistent_length(X, weight)
        if not weight.any():
            raise ValueError("sample_weight: every weight is zero; at least one row must count.")
        return weight

    def _weighted_rows(
        self, given: Any, X: np.ndarray, y: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return X, y and weights without the rows of weight zero, and without nominal values found in no other row.

        Where all rows stay X may still be the caller's own array: read it, never write to it.
        """
        weight = self._check_weight(sample_weight, X)
        if sample_weight is None or (counts := weight > 0).all():
            return X, y, weight
        if getattr(self, "_any_nominal", False):
            X = self._check_table(_safe_indexing(given, np.flatnonzero(counts)), reset=True)
        else:
            X = X[counts]
        return X, y[counts], weight[counts]


class Classifier(ClassifierMixin, Learner):
    """Abstract: labels are encoded once, and the class of the largest score is predicted (ties: the smallest class).

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels, sorted; position is the code.
    """

    def _check_fit(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Validate everything and learn ``classes_``.

        Returns
        -------
        X : ndarray of shape (n, d)
        codes : ndarray of shape (n,), int
        weight : ndarray of shape (n,)
            ``sample_weight`` times the class's weight.  Rows of weight zero are gone from all three.
        """
        X, codes, weight = self._check_rows(X, y, sample_weight)
        if getattr(self, "class_weight", None) is not None:
            weight = weight * self._class_factors(codes, weight)
        return X, codes, weight

    def _check_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do as `_check_fit` does, with weights that leave the classes' out."""
        self._validate_params()
        given, X = X, self._check_table(X, reset=True)
        y = self._check_target(y, X.shape[0])
        known = y.dtype.kind in "iubU" or small_integers(y) is not None  # labels at a glance: no need of a long look
        if not known:
            with np.errstate(invalid="ignore"):  # floats too large for an integer are no labels: that is said anyway
                check_classification_targets(y)
        X, y, weight = self._weighted_rows(given, X, y, sample_weight)
        self.classes_, codes = distinct(y)
        if known and self.classes_.size > y.size // 2:
            check_classification_targets(y)  # warns of labels that look like numbers to be estimated
        return X, codes, weight

    def _class_factors(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return what ``class_weight`` makes of each row, given its class and its own weight: all (n,)."""
        class_weight, labels = getattr(self, "class_weight", None), self.classes_[codes]
        factor = compute_class_weight(class_weight, classes=self.classes_, y=labels, sample_weight=weight)
        return np.asarray(factor)[codes]

    @abstractmethod
    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        """Score each class for checked rows X of shape (m, d): shape (m, c), larger is likelier."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest class of each row.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        scores = self._class_scores(self._check_query(X))
        return self.classes_[np.argmax(scores, axis=1)]


class ProbabilisticClassifier(Classifier):
    """Abstract: a classifier whose scores are probabilities."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, c)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        return self._class_scores(self._check_query(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the natural logarithm of `predict_proba`, of shape (m, c); -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class Regressor(RegressorMixin, Learner):
    """Abstract: float targets, one value predicted per row."""

    def _check_fit(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Validate everything; return X (n, d), y (n,) and weight (n,), without the rows of weight zero."""
        self._validate_params()
        given, X = X, self._check_table(X, reset=True)
        y = self._check_target(y, X.shape[0]).astype(np.float64)
        return self._weighted_rows(given, X, y, sample_weight)

    @abstractmethod
    def _values(self, X: np.ndarray) -> np.ndarray:
        """Predict for checked rows X of shape (m, d): shape (m,)."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted value of each row.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._values(self._check_query(X))


def with_input_tags(tags: Tags, *, allow_nan: bool = False, categorical: bool = False) -> Tags:
    """Return the tags with what a learner of tables declares of its input (missing cells, nominal columns)."""
    tags.input_tags.allow_nan = allow_nan
    tags.input_tags.categorical = categorical
    return tags


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter is left at its default, as far as a glance can tell."""
    return value is default or (type(value) is type(default) and type(value) in (str, int, float) and value == default)
