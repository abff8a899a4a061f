"""Checks of the learner, its parameters, its pruning, and the candidates and rows of its tuning."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from bakeoff import learners
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment, builder, loop
from bakeoff.pipeline.stages.pruning import MAX_CONFIDENCE, METHODS, NoPruning
from bakeoff.pipeline.stages.scoring.metrics import is_available
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning

NESTING = "__"
PROCESS_PARAMETER = "n_jobs"


def check_seed(experiment: Experiment) -> None:
    """Require a seed that NumPy accepts."""
    if not 0 <= experiment.seed < 2**32:
        raise UserError(f"seed={experiment.seed} must be an integer from 0 to 4294967295.")


def check_target(experiment: Experiment) -> None:
    """Require at least two classes, or finite targets."""
    dataset = experiment.dataset
    if dataset.is_classification:
        if len(dataset.classes) < 2:
            raise UserError(
                f"dataset.target={dataset.target!r} has only one class, {str(dataset.classes[0])!r}; a classifier "
                "needs at least two."
            )
    elif not np.isfinite(dataset.y).all():
        raise UserError(f"dataset.target={dataset.target!r} contains infinite values; remove those rows.")


def check_learner(experiment: Experiment) -> None:
    """Require a classifier for classes and a regressor for numbers, with valid parameters and numbers of processes."""
    learner = experiment.learner
    learner_name = type(learner).__name__
    if not isinstance(learner, BaseEstimator):
        raise UserError(f"learner: {learner_name} is not a scikit-learn estimator.")
    is_suitable = is_classifier if experiment.dataset.is_classification else is_regressor
    if not is_suitable(learner):
        dataset = experiment.dataset
        wanted = "classifier" if dataset.is_classification else "regressor"
        cure = f"choose one of {list_options(lambda each: is_suitable(each()))}"
        # The task of other targets is not in doubt.
        if dataset.columns and dataset.y.dtype.kind in "if" and (dataset.y == np.round(dataset.y)).all():
            task, meaning = ("regression", "amounts") if dataset.is_classification else ("classification", "classes")
            cure += f"; if the whole numbers of {dataset.target!r} are {meaning}, give dataset.task={task}"
        raise UserError(
            f"dataset={dataset.name} is for {dataset.task}, but learner {learner_name} is not a {wanted}; {cure}."
        )
    check_parameters(learner, "learner")
    check_processes(learner, "learner")
    if hasattr(experiment.preprocessing, "get_params"):
        check_processes(experiment.preprocessing, "preprocessing")


def list_options(is_suitable: Callable[[type[BaseEstimator]], bool]) -> str:
    """Return the bakeoff learners that satisfy a condition, by the names used in overrides."""
    return f"learner={','.join(name for name, learner in learners.REGISTRY.items() if is_suitable(learner))}"


def check_parameters(learner: BaseEstimator, key: str) -> None:
    """Require that parameters have the types and ranges that the learner declares, if any."""
    if not hasattr(learner, "_parameter_constraints"):
        return
    try:
        learner._validate_params()
    except (ValueError, TypeError) as error:
        parameter = re.match(r"The '(\w+)' parameter of ", str(error))
        place = f"{key}.{parameter[1]}" if parameter else key
        raise UserError(f"{place}: {error}") from error


def check_processes(estimator: Any, key: str) -> None:
    """Reject an estimator that would itself start very many processes or threads."""
    for name, value in estimator.get_params(deep=True).items():
        is_count = name.rpartition(NESTING)[2] == PROCESS_PARAMETER and isinstance(value, int)
        if is_count and value > 1 and value > (n_most := loop.count_most_processes()):
            raise UserError(
                f"{key}.{name.replace(NESTING, '.')}={value} would start more than {loop.MAX_PROCESSES_PER_CORE} "
                f"processes or threads per core; use at most {n_most}, or -1 for one per core."
            )


def check_pruning(experiment: Experiment) -> None:
    """Require a learner that can be pruned, and a method that exists, suits the task and accepts the options."""
    pruning = experiment.pruning
    if isinstance(pruning, NoPruning):
        return
    method = pruning.method
    if method not in METHODS:
        raise UserError(f"pruning.method={method!r} is not a method. {did_you_mean(str(method), METHODS)}")
    if not hasattr(experiment.learner, "prune"):
        options = list_options(lambda learner: hasattr(learner, "prune"))
        raise UserError(
            f"pruning={method}, but {type(experiment.learner).__name__} cannot be pruned; "
            f"use pruning=none, or one of {options}."
        )
    if method == "pessimistic" and not is_classifier(experiment.learner):
        raise UserError(
            "pruning=pessimistic counts misclassified rows; for regression use pruning=best_first or bottom_up."
        )
    confidence = pruning.confidence
    if confidence is not None and method != "pessimistic":
        raise UserError(
            f"pruning.confidence={confidence} applies to pruning=pessimistic only, but pruning.method={method}; "
            "remove it, or use pruning=pessimistic."
        )
    if confidence is not None and not 0 < confidence <= MAX_CONFIDENCE:
        raise UserError(
            f"pruning.confidence={confidence} must be above 0 and at most {MAX_CONFIDENCE}; C4.5 uses 0.25, and "
            "smaller values prune more."
        )


def check_tuning(experiment: Experiment) -> None:
    """Require candidates that set parameters of the learner to values that it accepts, and that can be scored."""
    if not isinstance(experiment.tuning, GridTuning):
        return
    known = experiment.learner.get_params()
    for grid in (*experiment.tuning.grids, experiment.tuning.simpler):
        for name in grid:
            if name not in known:
                raise UserError(
                    f"space.{name} is not a parameter of {type(experiment.learner).__name__}. "
                    f"{did_you_mean(str(name), known)}"
                )
    for candidate in _iter_candidates(experiment):
        learner = clone(experiment.learner).set_params(**candidate)
        check_parameters(learner, "space")
        check_processes(learner, "space")
    # Candidates are not calibrated.
    if not is_available(experiment.headline_metric, experiment.learner):
        raise UserError(
            f"tuning selects by {experiment.headline}, the first of evaluation.metrics, before calibration, but "
            f"{type(experiment.learner).__name__} has no predict_proba; list another metric first."
        )


def check_validation_rows(experiment: Experiment) -> None:
    """Require validation rows for each stage that makes a choice on them, and that no two stages share rows."""
    pruning = experiment.pruning
    tuning = experiment.tuning
    if pruning.needs_rows and tuning.needs_rows:
        raise UserError(
            f"pruning={pruning.method} and tuning with tuning.folds=0 would choose on the same validation rows; "
            "set tuning.folds to 2 or more, so that tuning uses inner folds of the training rows."
        )
    if experiment.has_validation_rows:
        return
    for key, stage in {f"pruning={pruning.method}": pruning, "tuning.folds=0": tuning}.items():
        if stage.needs_rows:
            raise UserError(
                f"{key} needs a validation part, but evaluation.validation=0; set evaluation.validation=0.2."
            )


def check_inner_folds(experiment: Experiment, splits: Splits) -> None:
    """Require at most as many inner folds as the smallest training part has rows, groups or points in time."""
    inner_folds = experiment.tuning.folds
    if inner_folds:
        smallest = min(splits.fitted, key=lambda split: len(split.train))
        experiment.splitter.make_inner_folds(experiment.split_input, smallest.train, inner_folds, seed=0)


def check_row_bounds(experiment: Experiment, splits: Splits) -> None:
    """Require that parameters such as the number of neighbours do not exceed the number of training rows."""
    bounded = builder.get_row_bounded_parameters(experiment.learner)
    if not bounded:
        return
    own_params = experiment.learner.get_params()
    n_rows = splits.min_train_rows
    n_inner_rows = builder.count_smallest_inner_part(experiment, splits)
    candidates = list(_iter_candidates(experiment))
    for name in bounded:
        # Tuning replaces the learner's value only in the candidates that set it.
        for candidate in candidates:
            key = "space" if name in candidate else "learner"
            _require_rows(f"{key}.{name}", candidate.get(name, own_params[name]), n_inner_rows)
        if not candidates:
            _require_rows(f"learner.{name}", own_params[name], n_rows)


def _require_rows(key: str, value: Any, n_rows: int) -> None:
    if isinstance(value, int) and value > n_rows:
        raise UserError(
            f"{key}={value}, but the smallest training part has {n_rows} rows; "
            f"use at most {n_rows}, or more rows for training."
        )


def _iter_candidates(experiment: Experiment) -> Iterator[dict[str, Any]]:
    if isinstance(experiment.tuning, GridTuning):
        yield from experiment.tuning.candidates
