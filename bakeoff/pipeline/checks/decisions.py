"""Checks of weights, balance, target, calibration and threshold."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import has_fit_parameter

from bakeoff.pipeline.checks.learner import list_options
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import (
    Experiment,
    list_decision_rows,
    list_inner_splits,
)
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.target import TransformedTarget

SCORE_METHODS = ("predict_proba", "decision_function")


def check_balance(experiment: Experiment) -> None:
    """Require classes to balance, and a learner that accepts the row weights of the dataset or balance."""
    name = experiment.balance.name
    if name != "none" and not experiment.dataset.is_classification:
        raise UserError(
            f"balance={name} balances classes, but dataset={experiment.dataset.name} is for regression; "
            "use balance=none."
        )
    if experiment.dataset.weights is not None:
        _require_weighted_fit(experiment, "dataset.weights", "remove the weights")
        if experiment.balance.makes_rows:
            raise UserError(
                f"balance={name} creates new rows, which have no weights, but dataset.weights is given; use "
                "balance=weights or oversample."
            )
    if experiment.balance.needs_weights:
        _require_weighted_fit(experiment, f"balance={name}", "use balance=oversample")


def _require_weighted_fit(experiment: Experiment, key: str, cure: str) -> None:
    if has_fit_parameter(experiment.learner, "sample_weight"):
        return
    of_task = is_classifier(experiment.learner)
    options = list_options(
        lambda learner: is_classifier(learner()) == of_task and has_fit_parameter(learner, "sample_weight")
    )
    raise UserError(
        f"{key} weights the rows, and {type(experiment.learner).__name__} does not accept weights; {cure}, or choose "
        f"one of {options}."
    )


def check_target_transformation(experiment: Experiment) -> None:
    """Require numeric targets for which the transformation and its inverse are defined."""
    target = experiment.target
    if not isinstance(target, TransformedTarget):
        return
    dataset = experiment.dataset
    if dataset.is_classification:
        raise UserError(
            f"target transforms a numeric target, but dataset={dataset.name} is for classification; use target=none."
        )
    target.check(dataset.y, dataset.target)


def check_calibration(experiment: Experiment) -> None:
    """Require a classifier with a score for each class."""
    if not experiment.calibration.is_on:
        return
    learner = experiment.learner
    learner_name = type(learner).__name__
    dataset = experiment.dataset
    if not dataset.is_classification:
        raise UserError(
            f"calibration needs probabilities, but dataset={dataset.name} is for regression; use calibration=none."
        )
    if not _has_scores(learner):
        raise UserError(
            f"calibration needs probabilities or decision values, and {learner_name} has neither; use calibration=none."
        )


def check_threshold(experiment: Experiment) -> None:
    """Require two classes, scores of one of them, and a metric that depends on the threshold."""
    threshold = experiment.threshold
    if not threshold.is_on:
        return
    dataset = experiment.dataset
    learner_name = type(experiment.learner).__name__
    name = "tuned" if threshold.is_chosen else "fixed"
    if not dataset.is_classification or len(dataset.classes) != 2:
        kind = f"has {len(dataset.classes)} classes" if dataset.is_classification else "is for regression"
        raise UserError(
            f"threshold={name} separates two classes, but dataset={dataset.name} {kind}; use threshold=none."
        )
    has_probabilities = hasattr(experiment.scored_learner, "predict_proba")
    if not threshold.is_chosen and not has_probabilities:
        raise UserError(
            f"threshold=fixed needs probabilities, but {learner_name} has no predict_proba; add calibration=platt, "
            "or use threshold=tuned, which also supports decision values."
        )
    if not has_probabilities and not _has_scores(experiment.learner):
        raise UserError(
            f"threshold={name} needs probabilities or decision values, and {learner_name} has neither; "
            "use threshold=none."
        )
    metric = experiment.threshold_metric or experiment.headline_metric
    if threshold.is_chosen and metric.needs:
        metric_name = threshold.metric or experiment.headline
        raise UserError(
            f"threshold=tuned would maximize {metric_name}, which scores probabilities or rankings and does not "
            "depend on a threshold; set threshold.metric to a label metric, such as accuracy or f1."
        )


def check_decision_rows(experiment: Experiment) -> None:
    """Require rows for calibration and threshold that no other choice uses, and that are the same for both."""
    folds = experiment.decision_folds
    if folds is None:
        return
    key = "calibration" if experiment.calibration.is_on else "threshold"
    if experiment.threshold.is_chosen and experiment.threshold.folds != folds:
        raise UserError(
            f"calibration.folds={folds} and threshold.folds={experiment.threshold.folds} differ, but both are "
            "fitted on the same rows; set both to the same number."
        )
    if folds:
        return
    if not experiment.has_validation_rows:
        raise UserError(
            f"{key}.folds=0 needs a validation part, but evaluation.validation=0; set evaluation.validation=0.2, or "
            f"{key}.folds=5, which uses inner folds of the training rows."
        )
    for other, stage in {"pruning": experiment.pruning, "tuning": experiment.tuning}.items():
        if stage.needs_rows:
            raise UserError(
                f"{key}.folds=0 and {other} would use the same validation rows; set {key}.folds=5, which uses inner "
                "folds of the training rows."
            )


def check_decision_splits(experiment: Experiment, splits: Splits) -> None:
    """Require that all classes of the training rows occur in the rows on which calibration and threshold are learnt."""
    folds = experiment.decision_folds
    if folds is None:
        return
    key = "calibration" if experiment.calibration.is_on else "threshold"
    for number, split in enumerate(splits.fitted):
        missing = _find_missing_class(experiment, split)
        if missing is not None:
            part = "an inner fold of the training rows" if folds else "the validation part"
            cure = f"{key}.folds=0" if folds else f"{key}.folds=5, evaluation.stratify=true"
            raise UserError(
                f"{key} needs rows of every class, but {part} of fold {number} has no rows of class "
                f"{str(missing)!r}; use {cure}, or a larger part, or {key}=none."
            )


def _find_missing_class(experiment: Experiment, split: Split) -> object | None:
    """Return a class that is missing from the rows to fit on or unknown to a model fitted for them, or None."""
    y = experiment.dataset.y
    known = np.unique(y[split.train])
    fitted = [inner.train for inner in list_inner_splits(experiment, split)] if experiment.decision_folds else []
    for rows in [list_decision_rows(experiment, split), *fitted]:
        differing = np.setxor1d(known, np.unique(y[rows]))
        if len(differing):
            return differing[0]
    return None


def _has_scores(learner: Any) -> bool:
    return any(hasattr(learner, method) for method in SCORE_METHODS)
