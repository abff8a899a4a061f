"""The items of ``evaluation.metrics``: bakeoff's metrics, scikit-learn's scorers, and user-defined metrics.

A scorer takes a model and rows. Here it receives a model that returns stored predictions, so the same scorer object
computes the same number, and the original model predicts only once for all metrics. A scorer such as ``neg_max_error``
is minus an error, so that greater is better. The same error is available under its own name, ``max_error``, as a
positive number, so that lower is better.

A user-defined metric is a mapping with a ``_target_``, which names a scorer or a function (y_true, y_pred), and may
give the sign and needs of the function and its additional arguments. A dotted name alone means ``{_target_: NAME}``.

Scorers and user-defined metrics are tried on simulated predictions before anything is fitted.
"""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import signature
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.utils.metaestimators import available_if

from bakeoff.pipeline.errors import UserError, first_line, name_error
from bakeoff.pipeline.stages.scoring.metrics import (
    ANY_NUMBER,
    CLASSIFICATION,
    ERROR,
    FRACTION,
    REGRESSION,
    RESPONSES,
    SKILL,
    Bounds,
    Metric,
)
from bakeoff.pipeline.stages.scoring.names import COST
from bakeoff.pipeline.stages.scoring.predictions import Predictions, encode_labels


class StoredModel(BaseEstimator):
    """A model that returns given predictions; it lacks the methods for which there are none."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        self.classes_ = predictions.classes

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predicted labels or numbers, shape (m,)."""
        return self.predictions.predicted

    @available_if(lambda model: model.predictions.probabilities is not None)
    def predict_proba(self, X: np.ndarray) -> np.ndarray | None:
        """Return the probabilities, shape (m, c)."""
        return self.predictions.probabilities

    @available_if(lambda model: model.predictions.decision is not None)
    def decision_function(self, X: np.ndarray) -> np.ndarray | None:
        """Return the decision values, shape (m,) or (m, c)."""
        return self.predictions.decision


class StoredClassifier(ClassifierMixin, StoredModel):
    """A classifier that returns given predictions."""


class StoredRegressor(RegressorMixin, StoredModel):
    """A regressor that returns given predictions."""


@dataclass(frozen=True, eq=False)
class ScorerFormula:
    """The formula of a metric that a scorer computes.

    Parameters
    ----------
    scorer : callable
        (model, X, y, sample_weight) -> float, as returned by scikit-learn's ``make_scorer``.
    sign : int
        1, or -1 for the error whose negative the scorer returns.
    labels : ndarray of shape (c,) or None
        The labels of the dataset, for a user-defined scorer. A scikit-learn scorer receives positions among the classes
        instead, with the positive one of two classes at 1, because it treats 1 as the positive label.
    hides_decision : bool
        Whether decision values are left out where there are probabilities, so that the score does not depend on which
        other metrics are computed.
    name : str
        The name of a scikit-learn scorer, whose errors on some rows become undefined scores with a warning; empty for a
        user-defined scorer, whose errors are raised.
    """

    scorer: Callable[..., Any]
    sign: int = 1
    labels: np.ndarray | None = None
    hides_decision: bool = False
    name: str = ""

    def __call__(self, predictions: Predictions) -> float:
        """Return the score of predictions whose labels are positions among the classes; NaN if it is not defined."""
        try:
            return self.compute(predictions)
        except ValueError as error:
            if not self.name:
                raise
            reason = first_line(error)
            warnings.warn(f"{self.name} is not defined on some rows: {reason}", stacklevel=2)
            return float("nan")

    def compute(self, predictions: Predictions) -> float:
        """Return the score, with the errors of the scorer; NaN if scikit-learn warns that it is not defined."""
        if self.hides_decision and predictions.probabilities is not None:
            predictions = replace(predictions, decision=None)
        stored = self._label(predictions)
        model = StoredRegressor(stored) if stored.classes is None else StoredClassifier(stored)
        rows = np.arange(len(stored.truth)).reshape(-1, 1)  # (m, 1)
        arguments = {} if stored.weights is None else {"sample_weight": stored.weights}
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            try:
                score = self.scorer(model, rows, stored.truth, **arguments)
            except UndefinedMetricWarning:
                return float("nan")
        return self.sign * float(score)

    def _label(self, predictions: Predictions) -> Predictions:
        """Return the predictions with the labels that the scorer expects."""
        if predictions.classes is None:
            return predictions
        if self.labels is not None:
            truth = self.labels[predictions.truth]
            return replace(predictions, truth=truth, predicted=self.labels[predictions.predicted], classes=self.labels)
        is_reversed = len(predictions.classes) == 2 and predictions.positive == 0
        return _swap_classes(predictions) if is_reversed else predictions


def _swap_classes(predictions: Predictions) -> Predictions:
    """Return predictions for two classes with the order of the classes reversed."""
    probabilities = predictions.probabilities
    decision = predictions.decision
    return replace(
        predictions,
        truth=1 - predictions.truth,
        predicted=1 - predictions.predicted,
        probabilities=None if probabilities is None else probabilities[:, ::-1],
        decision=None if decision is None else -decision,
        positive=1,
    )


MAX_TRIAL_ROWS = 100
ROWS_PER_CLASS = 2
PROBABILITY = "predict_proba"
PROBABILITY_OF_PREDICTED = 0.6


@dataclass(frozen=True, eq=False)
class Target:
    """The kind of prediction task.

    Attributes
    ----------
    y : ndarray of shape (n,)
    classes : ndarray of shape (c,) or None
        The class labels, sorted; None for regression.
    positive : object or None
        The positive class, if there is one.
    has_weights : bool
        Whether the rows have weights.
    """

    y: np.ndarray
    classes: np.ndarray | None = None
    positive: object | None = None
    has_weights: bool = False

    @property
    def can_be_tried(self) -> bool:
        """Whether predictions can be simulated: there are at least two classes, or finite numbers."""
        if self.classes is not None:
            return len(self.classes) > 1
        return bool(np.isfinite(self.y).all())


def make_trial(target: Target, methods: Sequence[str] = RESPONSES) -> Predictions:
    """Return simulated predictions of a target, half of them wrong, with positions among the classes as labels.

    Parameters
    ----------
    target : Target
    methods : sequence of str
        Any of ``predict_proba`` and ``decision_function``, whose values the predictions will have.
    """
    trial = _make_number_trial(target.y) if target.classes is None else _make_class_trial(target)
    return replace(
        trial,
        probabilities=trial.probabilities if PROBABILITY in methods else None,
        decision=trial.decision if "decision_function" in methods else None,
        weights=np.ones(len(trial.truth)) if target.has_weights else None,
    )


NEED_SPREAD = frozenset(
    getattr(metrics, name)
    for name in (
        "adjusted_mutual_info_score",
        "adjusted_rand_score",
        "average_precision_score",
        "cohen_kappa_score",
        "completeness_score",
        "d2_absolute_error_score",
        "d2_brier_score",
        "d2_log_loss_score",
        "d2_pinball_score",
        "d2_tweedie_score",
        "explained_variance_score",
        "fowlkes_mallows_score",
        "homogeneity_score",
        "matthews_corrcoef",
        "mutual_info_score",
        "normalized_mutual_info_score",
        "r2_score",
        "rand_score",
        "v_measure_score",
    )
)
"""The functions of scikit-learn's scorers whose values say nothing if all rows have the same target."""


def make_scorer_metric(formula: ScorerFormula, greater_is_better: bool, bounds: Bounds, target: Target) -> Metric:
    """Return the metric of a scorer, with the methods that it needs according to a trial.

    Raises
    ------
    Exception
        The error of a scorer that cannot be computed for the target with any model.
    """
    formula.compute(make_trial(target))
    needs: tuple[str, ...] = ()
    if target.classes is not None and not _is_computed(formula, make_trial(target, ())):
        needs = tuple(method for method in RESPONSES if _is_computed(formula, make_trial(target, (method,))))
    formula = replace(formula, hides_decision=PROBABILITY in needs)
    needs_spread = getattr(formula.scorer, "_score_func", None) in NEED_SPREAD
    return Metric(formula, greater_is_better, needs, bounds, needs_spread=needs_spread)


def try_metric(name: str, metric: Metric, target: Target, learner: object) -> None:
    """Reject a metric that is not defined for a target, or for a model with the methods of a learner.

    Parameters
    ----------
    name : str
        For messages.
    metric : Metric
    target : Target
    learner : estimator

    Raises
    ------
    UserError
    """
    methods = [method for method in RESPONSES if hasattr(learner, method)]
    reason = _explain(metric, target, methods)
    try:
        # Scorers that tolerate errors on some rows must not do so here.
        strict = replace(metric, formula=getattr(metric.formula, "compute", metric.formula))
        score = strict.compute(make_trial(target, methods))
    except (ValueError, TypeError) as error:
        reason = first_line(error)
        score = np.nan
    if np.isnan(score):
        raise UserError(
            f"evaluation.metrics names {name!r}, which is not defined for {_describe(target)} and "
            f"{type(learner).__name__}: {reason.rstrip('.')}. Remove it from the list."
        )


def _make_class_trial(target: Target) -> Predictions:
    """Return two rows of each class, one of which is predicted as the previous class, with all outputs of a model."""
    assert target.classes is not None
    n_classes = len(target.classes)
    codes = np.repeat(np.arange(n_classes), ROWS_PER_CLASS)  # (m,)
    predicted = np.roll(codes, 1)  # (m,)
    rest = (1 - PROBABILITY_OF_PREDICTED) / (n_classes - 1)
    probabilities = np.full((len(codes), n_classes), rest)  # (m, c)
    probabilities[np.arange(len(codes)), predicted] = PROBABILITY_OF_PREDICTED
    decision = probabilities[:, 1] - 0.5 if n_classes == 2 else probabilities
    truth = target.classes[codes]
    labelled = Predictions(truth, target.classes[predicted], probabilities, decision, target.classes, target.positive)
    return encode_labels(labelled)


def _make_number_trial(y: np.ndarray) -> Predictions:
    """Return targets of a dataset, including the extremes and the one nearest to 0, each predicted as another one."""
    by_value = np.argsort(y, kind="stable")  # (n,)
    places = np.linspace(0, len(y) - 1, min(len(y), MAX_TRIAL_ROWS)).astype(int)
    rows = np.union1d(by_value[places], np.argmin(np.abs(y)))
    return Predictions(y[rows], np.roll(y[rows], 1))


def _is_computed(formula: ScorerFormula, predictions: Predictions) -> bool:
    try:
        formula.compute(predictions)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def _explain(metric: Metric, target: Target, methods: Sequence[str]) -> str:
    """Return why a score is not defined, if the metric describes its computation."""
    if target.classes is not None and len(target.classes) > 2 and metric.needs and PROBABILITY not in methods:
        return f"with more than two classes it needs {PROBABILITY}"
    return metric.sentence or "it is undefined in scikit-learn"


def _describe(target: Target) -> str:
    """Return the target in a few words."""
    if target.classes is not None:
        return f"{len(target.classes)} classes"
    return f"targets from {np.min(target.y):g} to {np.max(target.y):g}"


NEGATIVE = "neg_"
MULTILABEL_END = "_samples"
"""The suffix of scorers for multiple labels per row, which datasets do not have."""
UNBOUNDED = (NEGATIVE, "mutual_info_score", "positive_likelihood_ratio")
"""Beginnings of the names of scorers whose values, without ``neg_``, are at least 0 and have no upper bound."""
SKILLS = ("d2_", "adjusted_", "explained_variance")
"""Beginnings of the names of scorers that may be negative."""
TWO_CLASSES = Target(np.arange(2), np.arange(2))
BETTER_DEFINED = {
    "matthews_corrcoef": "mcc",
    "neg_log_loss": "log_loss",
    "neg_brier_score": "brier",
    "neg_max_error": "max_error",
    "neg_mean_absolute_percentage_error": "mape",
}
"""Scorers for which bakeoff's formula is used: it returns the same number, but is defined if a class is absent or rows
have weights, or undefined where scikit-learn divides by a tiny number instead of 0."""
NUMBERS = Target(np.array([0.5, 1.25, 2.75]))
"""Targets for which every scorer of a task can be computed."""


def list_scorer_names(task: str) -> tuple[str, ...]:
    """Return the names of scikit-learn's scorers of a task, including the names of errors without ``neg_``."""
    names = [name for name in list_scorers() if not name.endswith(MULTILABEL_END)]
    return tuple(sorted(name for name in names if _get_task(list_scorers()[name][0]) == task))


@cache
def list_scorers() -> dict[str, tuple[str, int]]:
    """Return the scorer of each name of a score, and the sign by which its values are multiplied.

    Examples
    --------
    >>> list_scorers()["neg_max_error"], list_scorers()["max_error"]
    (('neg_max_error', 1), ('neg_max_error', -1))
    """
    names = get_scorer_names()
    errors = {name.removeprefix(NEGATIVE): (name, -1) for name in names if name.startswith(NEGATIVE)}
    return errors | {name: (name, 1) for name in names}


def is_metric_name(name: str) -> bool:
    """Return whether a name belongs to a bakeoff metric, or to a scikit-learn scorer with or without ``neg_``."""
    return name in CLASSIFICATION or name in REGRESSION or name in list_scorers()


@cache
def find_metric(name: str) -> Metric:
    """Return bakeoff's metric with a name, or else the metric of a scikit-learn scorer.

    Raises
    ------
    KeyError
        There is no such metric.
    """
    known = {**CLASSIFICATION, **REGRESSION}
    if name in known:
        return known[name]
    scorer_name, sign = list_scorers()[name]
    is_negative = name.startswith(NEGATIVE)
    if scorer_name in BETTER_DEFINED:
        metric = known[BETTER_DEFINED[scorer_name]]
        if is_negative:
            metric = replace(metric, formula=partial(_negate, metric.formula), greater_is_better=True)
    else:
        is_skill = scorer_name.startswith(SKILLS)
        bounds = ERROR if scorer_name.startswith(UNBOUNDED) else SKILL if is_skill else FRACTION
        formula = ScorerFormula(get_scorer(scorer_name), sign, name=name)
        target = TWO_CLASSES if _get_task(scorer_name) == "classification" else NUMBERS
        metric = make_scorer_metric(formula, sign > 0, bounds, target)
    low, high = metric.bounds
    return replace(metric, bounds=(-high, -low)) if is_negative else metric


def _negate(formula: Callable[[Predictions], float], predictions: Predictions) -> float:
    return -formula(predictions)


@cache
def _get_task(scorer_name: str) -> str:
    """Return the task of a scorer: scikit-learn's scores of labels reject targets that are not integers."""
    formula = ScorerFormula(get_scorer(scorer_name))
    with warnings.catch_warnings():
        # The scores of clusterings accept such targets with a warning.
        warnings.simplefilter("error")
        try:
            formula.compute(make_trial(NUMBERS))
        except (ValueError, AttributeError, UserWarning):
            return "classification"
    return "regression"


KEY = "evaluation.metrics"
PREDICT = "predict"
NAME_PATTERN = r"[A-Za-z][A-Za-z0-9_]*"
RESERVED_ENDS = ("_std", "_before", "_after")
"""Suffixes of the names of other numbers that a run stores."""
POSITIVE = "pos_label"
"""The name of an argument of scikit-learn's functions."""

FindFunction = Callable[[str], Any]
"""A function that returns the object with a dotted name, if it is trusted."""


def name_entry(entry: Any) -> str:
    """Return the score name of an item of ``evaluation.metrics``.

    Examples
    --------
    >>> name_entry("f1"), name_entry({"_target_": "mine.metrics.profit"})
    ('f1', 'profit')
    """
    if not isinstance(entry, Mapping):
        return str(entry)
    default = str(entry.get("_target_", "")).rpartition(".")[2]
    return str(entry.get("name") or default)


def is_greater_better(score: str, entries: Sequence[Any] = ()) -> bool:
    """Whether greater values of a score are better.

    Comparisons, leaderboards, studies and the choice of the best run all use this function.

    Parameters
    ----------
    score : str
        The name of a metric.
    entries : sequence
        The ``evaluation.metrics`` of the run, for user-defined metrics.

    Raises
    ------
    KeyError
        There is no metric with this name.

    Examples
    --------
    >>> is_greater_better("accuracy"), is_greater_better("neg_max_error"), is_greater_better("cost")
    (True, True, False)
    """
    own = _find_own(score, entries)
    if own is not None:
        return own.get("greater_is_better") is not False
    return score != COST and find_metric(score).greater_is_better


def find_bounds(score: str, entries: Sequence[Any] = ()) -> Bounds:
    """Return the least and the greatest value of a score; a user-defined metric and a cost may have any value.

    The parameters are those of `is_greater_better`.
    """
    is_known = _find_own(score, entries) is None and is_metric_name(score)
    return find_metric(score).bounds if is_known else ANY_NUMBER


def has_fixed_scale(bounds: Bounds) -> bool:
    """Whether differences of a score are comparable across datasets: a bound other than 0 fixes its scale.

    Examples
    --------
    >>> has_fixed_scale(find_bounds("r2")), has_fixed_scale(find_bounds("rmse"))
    (True, False)
    """
    return any(bound != 0 and math.isfinite(bound) for bound in bounds)


def describe_definition(score: str, entries: Sequence[Any], costs: Any) -> str:
    """Return the definition of a score beyond its name; runs with different definitions must not be compared."""
    if score == COST:
        return f"costs {costs}"
    own = _find_own(score, entries)
    return "" if own is None else str(dict(own))


def _find_own(score: str, entries: Sequence[Any]) -> Mapping[str, Any] | None:
    mappings = (entry for entry in entries if isinstance(entry, Mapping))
    return next((entry for entry in mappings if name_entry(entry) == score), None)


def make_own_metric(entry: Mapping[str, Any], target: Target, find_function: FindFunction) -> Metric:
    """Return the metric that a mapping in ``evaluation.metrics`` describes.

    A function receives the labels of the dataset. If it accepts ``pos_label`` and none is given, it receives the
    positive class of the dataset. For two classes it receives the probabilities of one class, as with scikit-learn's
    scorers.

    Parameters
    ----------
    entry : mapping
    target : Target
    find_function : callable
        (dotted name) -> the scorer or function.

    Raises
    ------
    UserError
        A key is invalid, the target is neither a scorer nor a function of two arguments, or calling it on sample data
        fails.
    """
    _require_name(entry)
    dotted_name = str(entry["_target_"])
    found = find_function(dotted_name)
    given = {key: value for key, value in entry.items() if key not in ("_target_", "name")}
    # All scorers returned by make_scorer have the same class, which is not public.
    is_scorer = isinstance(found, type(get_scorer("accuracy")))
    if is_scorer and given:
        raise UserError(
            f"{KEY}: {dotted_name} is a scorer, which already sets {next(iter(given))}; remove it, or name "
            "the function instead of the scorer."
        )
    greater_is_better = given.pop("greater_is_better", True if is_scorer else None)
    if not isinstance(greater_is_better, bool):
        raise UserError(
            f"{KEY}: {dotted_name} is a function, which does not specify whether greater values are better; write "
            f"{{_target_: {dotted_name}, greater_is_better: true}} or false."
        )
    try:
        scorer = found if is_scorer else _make_scorer(found, given, target)
        formula = ScorerFormula(scorer, labels=target.classes)
        return make_scorer_metric(formula, greater_is_better, ANY_NUMBER, target)
    except Exception as error:  # user-defined code may raise any error
        raise UserError(
            f"{KEY}: {dotted_name} fails on made-up predictions for this dataset: {name_error(error)}"
        ) from error


def _make_scorer(function: Callable[..., Any], given: Mapping[str, Any], target: Target) -> Any:
    """Return the scorer of a function with the given arguments, and the positive class if it accepts one."""
    arguments = dict(given)
    needs = arguments.pop("needs", PREDICT)
    if target.positive is not None and POSITIVE in signature(function).parameters:
        arguments.setdefault(POSITIVE, target.positive)
    return make_scorer(function, response_method=needs, **arguments)


def _require_name(entry: Mapping[str, Any]) -> None:
    """Reject a mapping without a target, and a name that is invalid or used by another metric."""
    target = entry.get("_target_")
    if not target:
        raise UserError(
            f"{KEY} holds {dict(entry)!r}, which has no _target_: it must name a scorer or a function (y_true, y_pred)."
        )
    name = name_entry(entry)
    if not re.fullmatch(NAME_PATTERN, name) or name.endswith(RESERVED_ENDS):
        raise UserError(
            f"{KEY}: name={name!r} of {target} must consist of letters, digits and underscores, and must not end with "
            f"{', '.join(RESERVED_ENDS)}."
        )
    if name == COST or is_metric_name(name):
        raise UserError(
            f"{KEY}: {target} would be called {name!r}, which is the name of another metric; add name: to its mapping, "
            f"such as {{_target_: {target}, name: my_{name}}}."
        )
