"""Checked outputs of a fitted model: labels that are classes, finite numbers, probabilities that sum to 1.

Anything else would yield a meaningless number that looks like a score. scikit-learn checks some of this, but only for
some metrics; a label that is not a class would be counted as the class before which it sorts.
"""

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import InvalidPredictions
from bakeoff.pipeline.text.wording import name_first

FOREIGN = -1
NUMBERS = "biuf"
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
            f"({_count_of(is_wrong, n_rows, part)}); those of a row must lie between 0 and 1 and sum to 1."
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
    if values.dtype.kind not in "biuf":
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
