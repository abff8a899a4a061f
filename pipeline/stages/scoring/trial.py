"""A trial of a metric on predictions that are made up, so that one that cannot be computed is rejected before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.metrics import RESPONSES, Metric
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorer_formula import ScorerFormula

MAX_TRIAL_ROWS = 100
ROWS_PER_CLASS = 2
NO_WEIGHTS = "it cannot weight rows, and dataset.weights is given"
PROBABILITY = "predict_proba"
PROBABILITY_OF_PREDICTED = 0.6


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be predicted.

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
        """Whether there are predictions to make up: of at least two classes, or of finite numbers."""
        if self.classes is not None:
            return len(self.classes) > 1
        return bool(np.isfinite(self.y).all())


def make_trial(target: Target, methods: Sequence[str] = RESPONSES) -> Predictions:
    """Return predictions of a target, half of them wrong, with labels as positions among the classes.

    Parameters
    ----------
    target : Target
    methods : sequence of str
        ``predict_proba`` and ``decision_function``, if the predictions are to have their values.
    """
    trial = _make_number_trial(target.y) if target.classes is None else _make_class_trial(target, methods)
    if not target.has_weights:
        return trial
    return replace(trial, weights=np.ones(len(trial.truth)))


def make_scorer_metric(formula: ScorerFormula, greater_is_better: bool, is_bounded: bool, target: Target) -> Metric:
    """Return the metric of a scorer, with the methods that a trial shows it to need.

    Raises
    ------
    Exception
        Of the scorer, which cannot be computed for the target, whatever the model has.
    """
    formula.compute(make_trial(target))
    needs: tuple[str, ...] = ()
    if target.classes is not None and not _is_computed(formula, make_trial(target, ())):
        needs = tuple(method for method in RESPONSES if _is_computed(formula, make_trial(target, (method,))))
    formula = replace(formula, hides_decision=PROBABILITY in needs)
    return Metric(formula, greater_is_better, needs, is_bounded)


def try_metric(name: str, metric: Metric, target: Target, learner: object) -> None:
    """Reject a metric that is not defined for a target, or for a model with the methods that a learner has.

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
        # A scorer that is tolerant of errors on some rows is not tolerant of errors here.
        compute = metric.formula.compute if isinstance(metric.formula, ScorerFormula) else metric.formula
        score = compute(make_trial(target, methods))
    except (ValueError, TypeError) as error:
        is_of_weights = target.has_weights and isinstance(error, TypeError)
        reason = NO_WEIGHTS if is_of_weights else str(error).splitlines()[0]
        score = np.nan
    if np.isnan(score):
        raise UserError(
            f"evaluation.metrics names {name!r}, which is not defined for {_describe(target)} and "
            f"{type(learner).__name__}: {reason.rstrip('.')}. Remove it from the list."
        )


def _make_class_trial(target: Target, methods: Sequence[str]) -> Predictions:
    assert target.classes is not None
    n_classes = len(target.classes)
    truth = np.repeat(np.arange(n_classes), ROWS_PER_CLASS)  # (m,)
    predicted = np.roll(truth, 1)  # (m,)
    rest = (1 - PROBABILITY_OF_PREDICTED) / max(n_classes - 1, 1)
    probabilities = np.full((len(truth), n_classes), rest)  # (m, c)
    probabilities[np.arange(len(truth)), predicted] = PROBABILITY_OF_PREDICTED
    decision = probabilities[:, 1] - 0.5 if n_classes == 2 else probabilities
    positive = None
    if target.positive is not None:
        positive = int(np.flatnonzero(target.classes == target.positive)[0])
    return Predictions(
        truth,
        predicted,
        probabilities=probabilities if "predict_proba" in methods else None,
        decision=decision if "decision_function" in methods else None,
        classes=np.arange(n_classes),
        positive=positive,
    )


def _make_number_trial(y: np.ndarray) -> Predictions:
    """Return targets of a dataset, its extremes and that nearest to 0 included, each predicted as another one."""
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
    """Return why a score is not defined, as far as the metric says what it computes."""
    if target.classes is not None and len(target.classes) > 2 and metric.needs and PROBABILITY not in methods:
        return f"with more than two classes it needs {PROBABILITY}"
    return metric.sentence or "scikit-learn calls it undefined"


def _describe(target: Target) -> str:
    """Return the target in a few words."""
    if target.classes is not None:
        return f"{len(target.classes)} classes"
    return f"targets from {np.min(target.y):g} to {np.max(target.y):g}"
