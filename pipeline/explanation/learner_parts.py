"""What can be read from a learner itself: the rules of a tree, or the coefficients of a linear model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.explanation.features import Feature, trace_features
from bakeoff.pipeline.explanation.rules import Rule, find_number_type, is_tree, list_rules

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class LearnerParts:
    """What can be read from a learner.

    Attributes
    ----------
    learner : str
        The name of its class.
    rules : tuple of Rule
        Empty unless it is a tree.
    coefficients : DataFrame or None
        Feature × output for one unit of what the learner receives, the largest first; the intercept is the last row.
    notes : tuple of str
        What a reader of them has to know.
    """

    learner: str
    rules: tuple[Rule, ...] = ()
    coefficients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def describe_learner(model: Any, X: pd.DataFrame, target: str) -> LearnerParts:
    """Return the interpretable parts of the learner of a fitted model.

    Parameters
    ----------
    model : estimator
        A pipeline, or what calibrates, divides or transforms its output.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    target : str
        The name of the target.
    """
    notes: list[str] = []
    restore: Callable[[float], float] = float
    while not isinstance(model, Pipeline):
        if isinstance(model, TransformedTargetRegressor):
            restore = partial(_restore_target, model.transformer_)
            notes.append("The learner is fitted on the transformed target; its numbers are shown in the target's unit.")
            model = model.regressor_
        elif hasattr(model, "calibrated_classifiers_"):
            notes.append("What follows is the learner before its probabilities are calibrated.")
            model = model.calibrated_classifiers_[0].estimator
        elif hasattr(model, "threshold"):
            notes.append("What follows is the learner before the run's threshold is applied.")
            model = model.estimator_
        elif hasattr(model, "estimator"):  # scikit-learn's FrozenEstimator
            model = model.estimator
        else:
            model = Pipeline([("learner", model)])
    learner: Any = model[-1]
    name = type(learner).__name__
    if is_tree(learner):
        features = trace_features(model, X, find_number_type(learner))
        return LearnerParts(name, rules=tuple(list_rules(learner, features, restore)), notes=tuple(notes))
    if getattr(learner, "coef_", None) is None:
        return LearnerParts(name)
    coefficients = _list_coefficients(learner, trace_features(model, X), target)
    return LearnerParts(name, coefficients=coefficients, notes=tuple(notes))


def _restore_target(transformer: Any, number: float) -> float:
    return float(transformer.inverse_transform(np.array([[number]])).ravel()[0])


def _list_coefficients(learner: Any, features: Sequence[Feature], target: str) -> pd.DataFrame | None:
    """Return the coefficients of a linear model with the names of its features; None if they are not of these."""
    coefficients = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))  # (outputs, k)
    if coefficients.shape[1] != len(features):
        return None
    order = np.argsort(-np.abs(coefficients).max(axis=0), kind="stable")
    outputs = _name_outputs(learner, len(coefficients), target)
    words = [features[position].words for position in order]
    table = pd.DataFrame(coefficients.T[order], index=words, columns=outputs)
    intercepts = np.ravel(getattr(learner, "intercept_", []))
    if len(intercepts) == len(outputs):
        table.loc[INTERCEPT] = intercepts
    return table


def _name_outputs(learner: Any, n_outputs: int, target: str) -> list[str]:
    """Return what each row of coefficients is about: a class, a pair of classes, or the target."""
    if not hasattr(learner, "classes_"):
        return [target]
    classes = [str(label) for label in learner.classes_]
    if n_outputs == 1:
        return [classes[-1]]
    # With three classes there are as many pairs as classes.
    is_of_pairs = hasattr(learner, "support_") and learner.get_params().get("multi_class", "ovo") == "ovo"
    if n_outputs == len(classes) and not is_of_pairs:
        return classes
    return [f"{one} or {other}" for i, one in enumerate(classes) for other in classes[i + 1 :]]
