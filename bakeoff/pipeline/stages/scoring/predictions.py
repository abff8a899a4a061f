"""The predictions of a fitted model for some rows, checked and encoded, with the true values of the rows.

Predictions are labels that are classes, finite numbers, and probabilities that sum to 1. Anything else would yield a
meaningless number that looks like a score. scikit-learn checks some of this, but only for some metrics; a label that is
not a class would be counted as the class before which it sorts.
"""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import InvalidPredictions
from bakeoff.pipeline.text.wording import name_first

FOREIGN = -1
NUMBERS = "biuf"
"""NumPy type kinds of numbers: Booleans, integers and floats."""
MAX_LISTED_CLASSES = 10


def find_codes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label (m,) among the sorted classes (c,), shape (m,); -1 if it is not a class.

    Examples
    --------
    >>> find_codes(np.array(["no", "maybe", "yes"]), np.array(["no", "yes"])).tolist()
    [0, -1, 1]
    """
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if kinds != {"U"} and not kinds <= set(NUMBERS):
        return _look_up(labels, classes)
    codes = np.searchsorted(classes, labels)  # (m,)
    codes[codes == len(classes)] = 0
    return np.where(classes[codes] == labels, codes, FOREIGN)


def locate_labels(labels: np.ndarray, classes: np.ndarray, what: str = "a prediction") -> np.ndarray:
    """Return the position of each label (m,) among the sorted classes (c,), shape (m,).

    Parameters
    ----------
    labels : ndarray of shape (m,)
    classes : ndarray of shape (c,)
    what : str
        What the labels are, for the message.

    Raises
    ------
    InvalidPredictions
        A label is no class.
    """
    codes = find_codes(labels, classes)
    is_foreign = codes == FOREIGN  # (m,)
    if is_foreign.any():
        raise InvalidPredictions(f"{what} is {explain_foreign_label(labels[is_foreign][0], classes)}.")
    return codes


def explain_foreign_label(label: Any, classes: np.ndarray) -> str:
    """Return a label with the classes, none of which it matches.

    Examples
    --------
    >>> explain_foreign_label(np.str_("maybe"), np.array(["no", "yes"]))
    "'maybe', which is not one of the classes 'no', 'yes'"
    """
    listed = name_first(map(_quote, classes), MAX_LISTED_CLASSES)
    return f"{_quote(label)}, which is not one of the classes {listed}"


def _look_up(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the positions of labels of any type, hashable or not, shape (m,): 1 and '1' differ."""
    known = classes.tolist()
    codes = [known.index(label) if label in known else FOREIGN for label in labels.tolist()]
    return np.array(codes, dtype=np.intp)


def _quote(label: Any) -> str:
    """Return a label as Python writes it, without NumPy's types."""
    return repr(label.item() if isinstance(label, np.generic) else label)


MAX_SUM_ERROR = 3.5e-4
"""The tolerance for the sum of probabilities: the square root of the float32 epsilon, as in scikit-learn."""
MAX_SHOWN_VALUES = 4


def predict_values(model: Any, X: Any, classes: np.ndarray | None, part: str = "") -> np.ndarray:
    """Return the predictions of a fitted model for rows X (m, d), shape (m,); a column (m, 1) is flattened.

    Parameters
    ----------
    model : estimator
    X : table of shape (m, d)
    classes : ndarray of shape (c,) or None
        The labels that a prediction may have, sorted; None for regression.
    part : str
        Which rows these are, for messages.

    Raises
    ------
    InvalidPredictions
        The predictions have the wrong shape, or contain a label that is not a class or a number that is not finite.
    """
    predicted = np.asarray(model.predict(X))
    learner = name_learner(model)
    n_rows = X.shape[0]
    if predicted.shape == (n_rows, 1):
        predicted = predicted.ravel()
    _require_shape(f"{learner}.predict", predicted, (n_rows,), part)
    if classes is None:
        _require_finite(learner, predicted, part)
        return predicted
    is_foreign = find_codes(predicted, classes) < 0  # (m,)
    if is_foreign.any():
        counted = _count_of(is_foreign, n_rows, part)
        reason = explain_foreign_label(predicted[is_foreign][0], classes)
        raise InvalidPredictions(
            f"{learner} predicts {reason} ({counted}); its method predict must return labels that fit was given."
        )
    return predicted


def predict_probabilities(model: Any, X: Any, part: str = "") -> np.ndarray:
    """Return the probabilities of a fitted classifier for rows X (m, d), a column for each of its ``classes_``.

    Raises
    ------
    InvalidPredictions
        The probabilities have the wrong shape, are not between 0 and 1, or do not sum to 1.
    """
    probabilities = np.asarray(model.predict_proba(X))  # (m, c)
    learner = name_learner(model)
    method = f"{learner}.predict_proba"
    n_rows = X.shape[0]
    _require_shape(method, probabilities, (n_rows, len(get_classes(model))), part)
    if probabilities.dtype.kind == "f" and _are_probabilities(probabilities):
        return probabilities
    _require_finite(method, probabilities, part)
    is_wrong = np.array([not _are_probabilities(row[np.newaxis]) for row in probabilities], dtype=bool)  # (m,)
    if is_wrong.any():
        example = probabilities[is_wrong][0]  # (c,)
        values = ", ".join(f"{value:.6g}" for value in example[:MAX_SHOWN_VALUES])
        more = ", …" if len(example) > MAX_SHOWN_VALUES else ""
        raise InvalidPredictions(
            f"{method} returns probabilities such as ({values}{more}), whose sum is {example.sum():.6g} "
            f"({_count_of(is_wrong, n_rows, part)}); the probabilities of a row must lie between 0 and 1 and sum to 1."
        )
    return probabilities


def _are_probabilities(table: np.ndarray) -> bool:
    """Return whether each row of a table (m, c) consists of probabilities with sum 1; False if a cell is NaN."""
    if not len(table):
        return True
    is_inside = table.min() >= -MAX_SUM_ERROR and table.max() <= 1 + MAX_SUM_ERROR
    return bool(is_inside and np.abs(table.sum(axis=1) - 1).max() <= MAX_SUM_ERROR)


def compute_decision(model: Any, X: Any, part: str = "") -> np.ndarray:
    """Return the decision values of a fitted classifier for rows X (m, d), shape (m,), (m, c) or (m, pairs of classes).

    Raises
    ------
    InvalidPredictions
        The values have the wrong shape or are not finite.
    """
    decision = np.asarray(model.decision_function(X))
    method = f"{name_learner(model)}.decision_function"
    n_rows = X.shape[0]
    has_columns = decision.ndim == 2 and len(get_classes(model)) > 2
    _require_shape(method, decision, (n_rows, decision.shape[1]) if has_columns else (n_rows,), part)
    _require_finite(method, decision, part)
    return decision


def get_classes(model: Any) -> np.ndarray:
    """Return the ``classes_`` of a fitted classifier, shape (c,), the columns of its probabilities.

    Raises
    ------
    InvalidPredictions
        There are no classes, or they are not sorted, as scikit-learn and the metrics assume.
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InvalidPredictions(
            f"{name_learner(model)} has no classes_ after fit, so that it is not known which class each column of its "
            "probabilities belongs to; set self.classes_ = np.unique(y) in fit."
        )
    classes = np.asarray(classes)
    if not (classes[:-1] < classes[1:]).all():
        raise InvalidPredictions(
            f"{name_learner(model)} has the classes_ {', '.join(map(str, classes))}, which must be sorted; set "
            "self.classes_ = np.unique(y) in fit."
        )
    return classes


def name_learner(model: Any) -> str:
    """Return the class of the learner inside a predictor.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> name_learner(Pipeline([("learner", DummyClassifier())]))
    'DummyClassifier'
    """
    while (inner := _find_inner(model)) is not None:
        model = inner
    return type(model).__name__


def _find_inner(model: Any) -> Any:
    """Return the estimator wrapped by a pipeline, a calibration, a threshold or a transformation of the target."""
    if isinstance(model, Pipeline):
        return model[-1]
    if isinstance(model, FrozenEstimator):
        return model.estimator
    wrapped = getattr(model, "regressor", getattr(model, "estimator", None))
    return wrapped if isinstance(wrapped, FrozenEstimator) else None


def _require_shape(method: str, values: np.ndarray, shape: tuple[int, ...], part: str) -> None:
    if values.shape != shape:
        raise InvalidPredictions(
            f"{method} returns an array of shape {values.shape} for {shape[0]}{_space(part)} rows, where {shape} is "
            "required."
        )


def _require_finite(source: str, values: np.ndarray, part: str) -> None:
    """Reject values (m,) or (m, c) that are not finite numbers."""
    if values.dtype.kind not in NUMBERS:
        raise InvalidPredictions(f"{source} returns {values.ravel()[0]!r}, which is not a number.")
    is_finite = np.isfinite(values)
    if is_finite.all():
        return
    is_wrong = ~is_finite.reshape(len(values), -1).all(axis=1)  # (m,)
    example = values[~is_finite][0]
    raise InvalidPredictions(
        f"{source} returns {example} ({_count_of(is_wrong, len(values), part)}), where finite numbers are required; "
        "scaled columns (preprocessing=standardize) or other parameters of the learner may prevent it."
    )


def _count_of(is_wrong: np.ndarray, n_rows: int, part: str) -> str:
    return f"{np.count_nonzero(is_wrong)} of {n_rows}{_space(part)} rows"


def _space(part: str) -> str:
    return f" {part}" if part else ""


ROW_FIELDS = ("truth", "predicted", "probabilities", "decision", "weights")
"""The attributes of predictions that contain one or more values for each row."""


def count_pairs(truth: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray | None) -> np.ndarray:
    """Count the rows of each pair of a true class (rows) and a predicted class (columns), or add up their weights.

    Parameters
    ----------
    truth, predicted : ndarray of int of shape (m,)
        Positions of classes.
    n_classes : int
    weights : ndarray of shape (m,) or None

    Returns
    -------
    ndarray of shape (c, c)
    """
    codes = truth * n_classes + predicted  # (m,)
    return np.bincount(codes, weights, n_classes * n_classes).reshape(n_classes, n_classes)


def divide_counts(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the ratios, shape (c,), NaN where the total is 0."""
    ratios = np.full(len(counts), np.nan)
    np.divide(counts, totals, out=ratios, where=totals != 0)
    return ratios


@dataclass(frozen=True)
class Predictions:
    """The predictions of a model for m rows, and their true values.

    Attributes
    ----------
    truth, predicted : ndarray of shape (m,)
    probabilities : ndarray of shape (m, c) or None
        One column for each class of the dataset, in sorted order; 0 for a class absent from the training rows.
    decision : ndarray of shape (m,) or (m, c) or None
        Decision values, if the model has no probabilities or a metric needs them.
    classes : ndarray of shape (c,) or None
        None for regression.
    positive : object or None
        The positive class, if there is one.
    seconds : float
        Wall time of ``predict``.
    weights : ndarray of shape (m,) or None
        The weight of each row in every score, at least 0; None if all count equally.
    """

    truth: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    decision: np.ndarray | None = None
    classes: np.ndarray | None = None
    positive: object | None = None
    seconds: float = 0.0
    weights: np.ndarray | None = None

    @cached_property
    def class_scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Precision, recall and F1 of each class, each of shape (c,), NaN where one is 0/0; labels must be encoded."""
        assert self.classes is not None
        n_classes = len(self.classes)
        correct = np.diagonal(count_pairs(self.truth, self.predicted, n_classes, self.weights))  # (c,)
        # The sums match scikit-learn's: with weights, another order of summation and differences would be rounded.
        true = correct + (np.bincount(self.truth, self.weights, n_classes) - correct)  # (c,)
        predicted = correct + (np.bincount(self.predicted, self.weights, n_classes) - correct)  # (c,)
        f1 = divide_counts(2.0 * correct, true + predicted)
        return divide_counts(correct, predicted), divide_counts(correct, true), f1


def predict_rows(
    model: Any,
    X: Any,
    truth: np.ndarray,
    classes: np.ndarray | None,
    positive: object | None,
    *,
    weights: np.ndarray | None = None,
    labels_only: bool = False,
    with_decision: bool = False,
    part: str = "",
) -> Predictions:
    """Return the predictions of a fitted model, with the time they took.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : table of shape (m, d)
    truth : ndarray of shape (m,)
    classes : ndarray of shape (c,) or None
        All classes of the dataset; the training rows may have had fewer.
    positive : object or None
    weights : ndarray of shape (m,), optional
        The weight of each row in the scores.
    labels_only : bool
        Whether to leave out probabilities and decision values, because no metric needs them.
    with_decision : bool
        Whether a metric needs decision values, even if the model has probabilities.
    part : str
        Which rows these are, for messages.

    Raises
    ------
    InvalidPredictions
        The model returns a label that is not a class, a number that is not finite, or an array of the wrong shape.
    """
    started = time.perf_counter()
    predicted = predict_values(model, X, classes, part)  # (m,)
    seconds = time.perf_counter() - started
    probabilities = None
    decision = None
    if classes is not None and not labels_only:
        if hasattr(model, "predict_proba"):
            by_training_class = predict_probabilities(model, X, part)
            columns = locate_labels(get_classes(model), classes, f"one of the classes_ of {name_learner(model)}")
            probabilities = np.zeros((len(predicted), len(classes)))  # (m, c)
            probabilities[:, columns] = by_training_class
        if hasattr(model, "decision_function") and (with_decision or probabilities is None):
            decision = compute_decision(model, X, part)  # (m,) or (m, c)
    return Predictions(truth, predicted, probabilities, decision, classes, positive, seconds, weights)


def select_counted_rows(predictions: Predictions) -> Predictions:
    """Return the predictions of the rows whose weight is not 0."""
    weights = predictions.weights
    if weights is None or weights.all():
        return predictions
    of_rows = {name: getattr(predictions, name) for name in ROW_FIELDS}
    counted = {name: values[weights > 0] for name, values in of_rows.items() if values is not None}
    return replace(predictions, **counted)


def encode_labels(predictions: Predictions) -> Predictions:
    """Return the predictions with each label replaced by its position among the classes.

    scikit-learn would sort text labels again for each score.

    Raises
    ------
    InvalidPredictions
        A label is no class.
    """
    classes = predictions.classes
    if classes is None:
        return predictions
    positive_code = None
    if predictions.positive is not None:
        positive_code = int(np.flatnonzero(classes == predictions.positive)[0])
    return replace(
        predictions,
        truth=locate_labels(predictions.truth, classes),
        predicted=locate_labels(predictions.predicted, classes),
        classes=np.arange(len(classes)),
        positive=positive_code,
    )
