"""The base classes of all learners: checked input, encoded labels, and ``predict`` on top of one abstract method.

A learner stores its parameters in ``__init__`` and declares their valid values in ``_parameter_constraints``; ``fit``
begins with ``_check_fit``, every ``predict*`` with ``_check_query``. These return validated arrays: a float table,
class codes 0..c-1 or float targets, and positive weights.

Notation, in all learners: n rows, d features, c classes, m query rows.

*One against the rest*: a classification with c classes is reduced to c binary problems with labels +1 and -1, each
class against the rest, and the class with the largest score is predicted. Two classes need only one problem, in which
the second class has the label +1.

Reference: R. Rifkin and A. Klautau, "In defense of one-vs-all classification", JMLR 5, 2004.

Tools that check the type treat a learner as scikit-learn's class of the same name. A single rule chooses the prediction
if several classes have the largest score.
"""

from __future__ import annotations

import sys
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import _safe_indexing, column_or_1d, compute_class_weight, get_tags
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from bakeoff.learners.base.input_checks import (
    Categories,
    as_plain_column,
    as_plain_table,
    as_small_integers,
    encode_distinct,
    encode_table,
    find_nominal_columns,
    is_default,
    learn_categories,
    split_columns,
)


class Learner(BaseEstimator):
    """Abstract: checks parameters and the table of n rows and d features.

    A learner that supports nominal columns has a parameter ``categorical_features`` (``"from_dtype"``, a mask,
    indices or names, or None) and receives them as codes; see `bakeoff.learners.base.input_checks`.

    Attributes
    ----------
    categories_ : list of length d
        For a nominal column, an array of its values, whose positions are the codes; None for a numeric column.
        Available only for learners with ``categorical_features``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    scale_sensitive: ClassVar[bool] = True
    """Whether the result depends on the units of the numeric columns."""

    _defaults: ClassVar[dict[str, Any]]
    """The default of each parameter, stored because reading a signature takes as long as fitting a few rows."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls._defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep` changes nothing, because none of them is an estimator.

        scikit-learn reads the signature at each call, which takes a twentieth of a small job.
        """
        return {name: getattr(self, name) for name in sorted(self._defaults)}

    def _validate_params(self) -> None:
        """Check the parameters that differ from their defaults; a test verifies that the defaults are valid."""
        values = {name: getattr(self, name) for name in self._defaults}
        changed = {name: value for name, value in values.items() if not is_default(value, self._defaults[name])}
        for name, value in changed.items():
            # Python treats True as the number 1, so a Boolean is checked as text.
            if isinstance(value, bool) and "boolean" not in self._parameter_constraints[name]:
                changed[name] = str(value)
        validate_parameter_constraints(self._parameter_constraints, changed, caller_name=type(self).__name__)

    def _check_table(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return X as float64 of shape (n, d); nominal cells are codes, missing cells NaN, unseen values -1."""
        if hasattr(self, "categorical_features"):
            if reset:
                is_nominal = find_nominal_columns(X, self.categorical_features)  # (d,)
                self._any_nominal = bool(is_nominal.any())
            if self._any_nominal:
                if not self._recognize_columns(X, reset=reset):
                    validate_data(self, X, reset=reset, skip_check_array=True)
                columns = split_columns(X)
                if reset:
                    self.categories_: Categories = learn_categories(columns, is_nominal)
                allow_nan = get_tags(self).input_tags.allow_nan
                return encode_table(columns, self.categories_, allow_nan=allow_nan, owner=type(self).__name__)
        table = self._check_numbers(X, reset=reset)
        if reset and hasattr(self, "categorical_features"):
            self.categories_ = [None] * table.shape[1]
        return table

    def _check_numbers(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return a table without nominal columns as float64.

        Plain arrays and DataFrames skip scikit-learn's slower checks.
        """
        table: np.ndarray | None = None
        if self._recognize_columns(X, reset=reset):
            is_sparse = reset and hasattr(X, "sparse")  # the slower check rejects sparse tables
            table = None if is_sparse else as_plain_table(X.to_numpy())
        elif not hasattr(self, "feature_names_in_"):
            table = as_plain_table(X)
            if table is not None and reset:
                self.n_features_in_ = table.shape[1]
        if table is not None and table.shape[1] == self.n_features_in_:
            return table
        allow_nan = get_tags(self).input_tags.allow_nan
        ensure_all_finite: bool | str = "allow-nan" if allow_nan else True
        try:
            checked: np.ndarray = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite=ensure_all_finite
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            alternative = ", or name them in categorical_features" if hasattr(self, "categorical_features") else ""
            raise ValueError(
                f"X contains text, but {type(self).__name__} accepts numbers only ({error}): encode such "
                f"columns, as preprocessing=one_hot does{alternative}."
            ) from error
        return checked

    def _recognize_columns(self, X: Any, *, reset: bool) -> bool:
        """Store the names of the columns of X, or compare them; False if scikit-learn's slower check must decide."""
        if not hasattr(X, "iloc") or X.ndim != 2 or 0 in X.shape:
            return False
        names = X.columns.tolist()
        if not reset:
            return names == list(getattr(self, "feature_names_in_", []))
        is_text = all(type(name) is str for name in names)
        if not is_text or len(set(names)) < len(names):
            return False
        self.feature_names_in_ = np.array(names, dtype=object)  # (d,)
        self.n_features_in_ = len(names)
        return True

    def _check_query(self, X: Any) -> np.ndarray:
        """Return the query rows as `_check_table` does, of shape (m, d); raises NotFittedError before ``fit``."""
        # This attribute only exists after `fit`; scikit-learn's function would search longer.
        if "n_features_in_" not in vars(self):
            check_is_fitted(self)
        return self._check_table(X, reset=False)

    def _check_target(self, y: Any, n: int) -> np.ndarray:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        plain_column = as_plain_column(y, n)
        if plain_column is not None:
            return plain_column
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
            raise ValueError("sample_weight: every weight is zero; at least one must be positive.")
        return weight

    def _drop_weightless_rows(
        self, given_X: Any, X: np.ndarray, y: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return X, y and weights without rows of weight zero, and without nominal values that occur only there.

        If no row is dropped, X may be the caller's array, which must not be modified.
        """
        weight = self._check_weight(sample_weight, X)
        if sample_weight is None:
            return X, y, weight
        is_kept = weight > 0  # (n,)
        if is_kept.all():
            return X, y, weight
        if getattr(self, "_any_nominal", False):
            kept_rows = _safe_indexing(given_X, np.flatnonzero(is_kept))
            X = self._check_table(kept_rows, reset=True)
        else:
            X = X[is_kept]
        return X, y[is_kept], weight[is_kept]


class Classifier(ClassifierMixin, Learner):
    """Abstract: encodes the labels, and predicts the class with the largest score.

    Ties go to the smallest class or, for learners with ``class_order``, to the class that comes first in it.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The labels, sorted; the position of a label is its code.
    """

    def _check_fit(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Check parameters and data, and set ``classes_``.

        Returns
        -------
        X : ndarray of shape (n, d)
        codes : ndarray of shape (n,), int
        weight : ndarray of shape (n,)
            ``sample_weight`` times the weight of the class. Rows of weight zero are dropped from all three.
        """
        X, codes, weight = self._check_rows(X, y, sample_weight)
        if getattr(self, "class_weight", None) is not None:
            weight = weight * self._compute_class_weight(codes, weight)
        return X, codes, weight

    def _check_rows(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do the same as `_check_fit`, except that the weights do not include ``class_weight``."""
        self._validate_params()
        table = self._check_table(X, reset=True)
        y = self._check_target(y, table.shape[0])
        # Integers, booleans and strings are labels; other types need scikit-learn's slower check.
        is_label_type = y.dtype.kind in "iubU" or as_small_integers(y) is not None
        if not is_label_type:
            with np.errstate(invalid="ignore"):  # the check rejects floats too large for an integer
                check_classification_targets(y)
        table, y, weight = self._drop_weightless_rows(X, table, y, sample_weight)
        self.classes_, codes = encode_distinct(y)
        if getattr(self, "class_order", None) is not None:
            self.ranking_ = rank_classes(self.class_order, self.classes_)
        else:
            self.__dict__.pop("ranking_", None)
        has_many_classes = self.classes_.size > y.size // 2
        if is_label_type and has_many_classes:
            check_classification_targets(y)  # warns about labels that look like regression targets
        return table, codes, weight

    def _compute_class_weight(self, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the factor of ``class_weight`` for each row, of shape (n,), from its class and weight (n,)."""
        class_weight = getattr(self, "class_weight", None)
        if class_weight == "balanced_subsample":
            class_weight = "balanced"  # relative to all rows, for a forest whose trees use all of them
        labels = self.classes_[codes]  # (n,)
        factors = compute_class_weight(class_weight, classes=self.classes_, y=labels, sample_weight=weight)
        return np.asarray(factors)[codes]

    @abstractmethod
    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        """Return a score for each class, of shape (m, c), for checked rows X of shape (m, d)."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score for each row.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        scores = self._class_scores(self._check_query(X))
        return self.classes_[self._choose_classes(scores)]

    def _choose_classes(self, scores: np.ndarray) -> np.ndarray:
        """Return the code of the class with the best score (m, c) in each row, shape (m,)."""
        return choose_classes(scores, getattr(self, "ranking_", None))


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
    """Abstract: predicts one number for each row."""

    def _check_fit(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Check parameters and data; return X (n, d), y (n,) and weight (n,), without the rows of weight zero."""
        self._validate_params()
        table = self._check_table(X, reset=True)
        y = self._check_target(y, table.shape[0]).astype(np.float64)
        return self._drop_weightless_rows(X, table, y, sample_weight)

    @abstractmethod
    def _values(self, X: np.ndarray) -> np.ndarray:
        """Return the prediction, of shape (m,), for checked rows X of shape (m, d)."""

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


def label_one_against_rest(codes: np.ndarray, c: int) -> np.ndarray:
    """Label the rows of each two-class problem.

    Parameters
    ----------
    codes : ndarray of shape (n,), int
        Class codes 0..c-1.
    c : int
        Number of classes, at least 2.

    Returns
    -------
    ndarray of shape (k, n)
        +1.0 for rows of the class of the problem, else -1.0; k is c, or 1 (class 1 against class 0) if c is 2.

    Examples
    --------
    >>> label_one_against_rest(np.array([0, 1, 1]), 2)
    array([[-1.,  1.,  1.]])
    """
    positive_class = np.arange(c)[:, None] if c > 2 else np.array([[1]])  # (k, 1)
    return np.where(codes == positive_class, 1.0, -1.0)


class SklearnCounterpart:
    """Mixin: ``isinstance`` with scikit-learn's class holds as soon as that class has been imported.

    ``plot_tree``, SHAP and dtreeviz only accept models of scikit-learn's classes. Registering a virtual subclass
    requires importing that class, whose package takes a quarter of a second to load. A program that uses such a tool
    has loaded it, possibly after the model was fitted. The class is registered when ``isinstance`` requests the class
    of an object.
    """

    _counterpart: ClassVar[tuple[str, str]]
    """The package, and the name of the class within it."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[Self]:
        """The class of the object."""
        own = type(self)
        package, name = own._counterpart
        theirs = getattr(sys.modules.get(package), name, None)
        if isinstance(theirs, ABCMeta) and not issubclass(own, theirs):
            theirs.register(own)
        return own


VOTE_ROUNDING = 1e-12
"""The relative error allowed in a sum of votes or a product of probabilities."""


def rank_classes(class_order: Iterable[Any] | None, classes: np.ndarray) -> np.ndarray | None:
    """Return the class codes in the order that breaks ties, or None for the order of the codes.

    Parameters
    ----------
    class_order : iterable of labels, optional
        The order, which may contain further labels.
    classes : ndarray of shape (c,)
        The labels by code.

    Returns
    -------
    ndarray of shape (c,), int, or None

    Raises
    ------
    ValueError
        A class is missing from the order, or a label occurs twice.
    """
    if class_order is None:
        return None
    order = list(class_order)
    position = {label: place for place, label in enumerate(order)}
    if len(position) < len(order):
        raise ValueError(f"class_order names a class twice: {order}.")
    labels = classes.tolist()
    missing = [label for label in labels if label not in position]
    if missing:
        raise ValueError(
            f"class_order={order} lacks the class {missing[0]!r}; name all classes, {labels}, or give "
            "class_order=None for their sorted order."
        )
    return np.argsort([position[label] for label in labels])


def choose_classes(scores: np.ndarray, ranking: np.ndarray | None) -> np.ndarray:
    """Return the code of the largest score in each row (m, c), with ties resolved by the ranking, in shape (m,).

    Scores are equal if they differ by at most `VOTE_ROUNDING` of the largest, so votes of .1 and .2 equal one of .3.
    """
    scores = np.ascontiguousarray(scores.T)  # (c, m), whose inner loops are long
    largest = scores.max(axis=0)  # (m,)
    is_largest = scores >= largest - VOTE_ROUNDING * np.abs(largest)
    if ranking is None:
        return np.argmax(is_largest, axis=0)
    place = np.argmax(is_largest[ranking], axis=0)
    return ranking[place]
