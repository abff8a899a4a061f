"""Preflight: everything that can be refused before the first fit is refused here, with the cure.

Each check is a function of the experiment that raises a `UserError` or returns; `check` runs them in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from bakeoff import learners
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.pruning import METHODS, NoPruning
from bakeoff.pipeline.stages.splitting import Split, TimeSeries
from bakeoff.pipeline.stages.tuning import GridTuning

PROBE = 100
"""Rows on which preprocessing is tried where every column is numeric and full: its steps work, or they do not."""


def check(experiment: Experiment) -> list[Split]:
    """Refuse what cannot work; return the splits, which had to be made to see that.

    Raises
    ------
    UserError
    """
    check_seed(experiment)
    check_target(experiment)
    check_kind(experiment)
    check_parameters(experiment.learner, "learner")
    check_pruning(experiment)
    check_space(experiment)
    check_choices_have_rows(experiment)
    splits = experiment.splits()
    check_inner_folds(experiment, splits)
    check_n_neighbors(experiment, splits)
    check_cells(experiment, splits[0])
    return splits


def check_seed(experiment: Experiment) -> None:
    """A seed is a whole number that NumPy takes."""
    if not 0 <= experiment.seed < 2**32:
        raise UserError(f"seed={experiment.seed} must be a whole number from 0 to 4294967295.")


def check_target(experiment: Experiment) -> None:
    """At least two classes to tell apart; finite targets."""
    dataset = experiment.dataset
    if dataset.task == "classification" and len(dataset.classes) < 2:
        raise UserError(
            f"dataset.target={dataset.target!r} has one class only, {str(dataset.classes[0])!r}; "
            "there is nothing to tell apart."
        )
    if dataset.task == "regression" and not np.isfinite(dataset.y).all():
        raise UserError(f"dataset.target={dataset.target!r} holds infinite values; remove those rows.")


def check_kind(experiment: Experiment) -> None:
    """Classes want a classifier, numbers a regressor."""
    if not isinstance(experiment.learner, BaseEstimator):
        raise UserError(f"learner: {type(experiment.learner).__name__} is not an estimator in scikit-learn's sense.")
    wanted = is_classifier if experiment.dataset.task == "classification" else is_regressor
    if wanted(experiment.learner):
        return
    kind = "classifier" if wanted is is_classifier else "regressor"
    names = [name for name, learner in learners.REGISTRY.items() if wanted(learner())]
    raise UserError(
        f"dataset={experiment.dataset.name} is {experiment.dataset.task}, but learner "
        f"{type(experiment.learner).__name__} is no {kind}; choose one of learner={','.join(names)}."
    )


def check_parameters(learner: BaseEstimator, key: str) -> None:
    """Each parameter is of a type and in a range that the learner declares, if it does."""
    if not hasattr(learner, "_parameter_constraints"):
        return
    try:
        learner._validate_params()
    except (ValueError, TypeError) as error:
        raise UserError(f"{key}: {error}") from error


def check_pruning(experiment: Experiment) -> None:
    """The learner can be pruned, by a method that exists."""
    if isinstance(experiment.pruning, NoPruning):
        return
    method = experiment.pruning.method
    if method not in METHODS:
        raise UserError(f"pruning.method={method!r} is not a method. {did_you_mean(str(method), METHODS)}")
    if not hasattr(experiment.learner, "prune"):
        names = [name for name, learner in learners.REGISTRY.items() if hasattr(learner, "prune")]
        raise UserError(
            f"pruning={method}, but {type(experiment.learner).__name__} cannot be pruned; "
            f"use pruning=none, or one of learner={','.join(names)}."
        )
    if method == "pessimistic" and not is_classifier(experiment.learner):
        raise UserError(
            "pruning=pessimistic counts errors of classes; for regression use pruning=best_first or bottom_up."
        )


def check_space(experiment: Experiment) -> None:
    """Each candidate of the space is a parameter of the learner with a value that it takes."""
    if not isinstance(experiment.tuning, GridTuning):
        return
    known = experiment.learner.get_params()
    for grid in experiment.tuning.grids:
        for name in grid:
            if name not in known:
                raise UserError(
                    f"space.{name} is not a parameter of {type(experiment.learner).__name__}. "
                    f"{did_you_mean(str(name), known)}"
                )
    for candidate in _candidates(experiment):
        check_parameters(clone(experiment.learner).set_params(**candidate), "space")


def check_choices_have_rows(experiment: Experiment) -> None:
    """Whatever chooses on validation rows has some, and has them for itself."""
    pruning, tuning = experiment.pruning, experiment.tuning
    if pruning.needs_rows and tuning.needs_rows:
        raise UserError(
            f"pruning={pruning.method} and tuning with tuning.folds=0 would choose on the same validation rows; "
            "set tuning.folds to 2 or more, so that tuning uses inner folds of the training rows."
        )
    for wants, key in ((pruning.needs_rows, f"pruning={pruning.method}"), (tuning.needs_rows, "tuning.folds=0")):
        if wants and experiment.splitter.validation == 0:
            raise UserError(
                f"{key} needs a validation part, but evaluation.validation=0; set evaluation.validation=0.2."
            )


def check_inner_folds(experiment: Experiment, splits: list[Split]) -> None:
    """No more inner folds than the smallest training part has rows, and none where rows belong together."""
    bound = experiment.dataset.groups is not None or isinstance(experiment.splitter, TimeSeries)
    if experiment.tuning.folds and bound:
        raise UserError(
            f"tuning.folds={experiment.tuning.folds} would mix groups, or past and future, in its inner folds; "
            "set tuning.folds=0 to tune on a validation part, which keeps them apart."
        )
    rows = min(len(split.train) for split in splits)
    if experiment.tuning.folds > rows:
        raise UserError(
            f"tuning.folds={experiment.tuning.folds}, but the smallest training part has {rows} rows; use fewer folds."
        )


def check_n_neighbors(experiment: Experiment, splits: list[Split]) -> None:
    """No more neighbours than the smallest training part has rows."""
    rows = min(len(split.train) for split in splits)
    inner = experiment.tuning.folds
    tuned = rows if inner == 0 else rows - -(-rows // inner)
    own = experiment.learner.get_params().get("n_neighbors")
    asked = [
        (candidate.get("n_neighbors", own), tuned, "space" if "n_neighbors" in candidate else "learner")
        for candidate in _candidates(experiment)
    ] or [(own, rows, "learner")]
    for k, available, key in asked:
        if isinstance(k, int) and k > available:
            raise UserError(
                f"{key}.n_neighbors={k}, but the smallest training part has {available} rows; "
                f"use at most {available}, or more rows for training."
            )


def check_cells(experiment: Experiment, split: Split) -> None:
    """After preprocessing, the learner can take every column and every missing cell."""
    X = experiment.dataset.X
    infinite = [name for name, column in X.select_dtypes("number").items() if np.isinf(column.to_numpy()).any()]
    if infinite:
        raise UserError(
            f"dataset: column {infinite[0]!r} holds infinite values; make them missing, or drop the column."
        )
    nominal = experiment.dataset.nominal
    plain = not nominal and not X.isna().to_numpy().any()
    if experiment.preprocessing is not None:
        train = split.train[:PROBE] if plain else split.train
        X = _try_preprocessing(experiment, train, X.iloc[train] if plain else X)
    if plain:
        return
    tags = get_tags(experiment.learner).input_tags
    name = type(experiment.learner).__name__
    left = [str(column) for column in X.columns if str(X[column].dtype) in ("category", "object", "str")]
    if left and not reads_nominal_columns(experiment.learner):
        raise UserError(
            f"column {left[0]!r} is nominal, and {name} takes numbers only; add preprocessing=one_hot "
            "(with missing cells too: preprocessing=full)."
        )
    missing = [str(column) for column in X.columns if X[column].isna().any()]
    if missing and not tags.allow_nan:
        cure = "full" if nominal and not reads_nominal_columns(experiment.learner) else "impute"
        raise UserError(
            f"column {missing[0]!r} has missing cells, and {name} does not take them; add preprocessing={cure}."
        )


def _try_preprocessing(experiment: Experiment, train: np.ndarray, X: pd.DataFrame) -> pd.DataFrame:
    """Try the preprocessing on training rows, for what it makes of the columns, or for its error."""
    dataset = experiment.dataset
    steps = clone(experiment.preprocessing)
    try:
        return steps.fit(dataset.X.iloc[train], dataset.y[train]).transform(X)
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"preprocessing: {str(error).splitlines()[0]}") from error


def reads_nominal_columns(learner: Any) -> bool:
    """Whether the learner reads categorical columns of a table by itself."""
    return learner.get_params().get("categorical_features") is not None


def _candidates(experiment: Experiment) -> Iterator[dict[str, Any]]:
    if isinstance(experiment.tuning, GridTuning):
        yield from ParameterGrid([dict(grid) for grid in experiment.tuning.grids])
