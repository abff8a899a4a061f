"""What can be read from a learner itself: the rules of a tree, coefficients, the impurity that splits remove."""

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
from bakeoff.pipeline.explanation.rules import TreeRules, find_number_type, is_tree, list_rules

IMPURITY = "impurity"
GAIN = "gain"
MEASURES = {
    IMPURITY: "share of the impurity that the splits on a column remove",
    GAIN: "share of the gain that the splits on a column bring",
    "split": "share of the splits that ask about a column",
}
"""In words, by the name that LightGBM and XGBoost give to what they count; other ensembles measure impurity."""


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a linear model of k outputs, the largest first.

    Attributes
    ----------
    fitted : DataFrame
        Feature × output: for one unit of what the learner receives.
    per_unit : DataFrame
        Of the same shape: for one unit of the column; NaN where that is not always as much for the learner.
    intercepts : tuple of k float
        Empty if the learner has none.
    """

    fitted: pd.DataFrame
    per_unit: pd.DataFrame
    intercepts: tuple[float, ...]

    @property
    def outputs(self) -> list[str]:
        """What each column of coefficients is of: a class, a pair of classes, or the target."""
        return list(self.fitted.columns)

    @property
    def are_scaled(self) -> bool:
        """Whether some column was scaled, so that the two kinds of coefficients differ."""
        return not np.allclose(self.per_unit.fillna(self.fitted), self.fitted, atol=0)


@dataclass(frozen=True)
class Shares:
    """The share of each column in the splits of an ensemble, the largest first, with sentences on what they measure."""

    of_columns: pd.Series
    measure: str
    trees: str


@dataclass(frozen=True)
class LearnerParts:
    """What can be read from a learner; each is None if it has none.

    Attributes
    ----------
    learner : str
        The name of its class.
    rules : TreeRules or None
    coefficients : Coefficients or None
    shares : Shares or None
    notes : tuple of str
        What a reader of them has to know.
    """

    learner: str
    rules: TreeRules | None = None
    coefficients: Coefficients | None = None
    shares: Shares | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be read."""
        return self.rules is None and self.coefficients is None and self.shares is None


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
    has_coefficients = getattr(learner, "coef_", None) is not None
    if not (is_tree(learner) or has_coefficients or hasattr(learner, "feature_importances_")):
        return LearnerParts(name)
    features = trace_features(model, X, find_number_type(learner))
    if is_tree(learner):
        return LearnerParts(name, rules=list_rules(learner, features, target, restore), notes=tuple(notes))
    if has_coefficients:
        return LearnerParts(name, coefficients=_list_coefficients(learner, features, target), notes=tuple(notes))
    return LearnerParts(name, shares=_sum_shares(learner, features), notes=tuple(notes))


def _restore_target(transformer: Any, number: float) -> float:
    return float(transformer.inverse_transform(np.array([[number]])).ravel()[0])


def _list_coefficients(learner: Any, features: Sequence[Feature], target: str) -> Coefficients | None:
    """Return the coefficients of a linear model with the names of its features; None if they are not of these."""
    coefficients = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))  # (outputs, k)
    if coefficients.shape[1] != len(features):
        return None
    outputs = _name_outputs(learner, len(coefficients), target)
    order = np.argsort(-np.abs(coefficients).max(axis=0), kind="stable")
    words = pd.Index([features[position].words for position in order])
    slopes = np.array([features[position].slope for position in order])
    fitted = pd.DataFrame(coefficients.T[order], index=words, columns=outputs)
    intercepts = np.ravel(getattr(learner, "intercept_", [])).astype(np.float64)
    return Coefficients(fitted, fitted.mul(slopes, axis=0), tuple(intercepts.tolist()))


def _name_outputs(learner: Any, n_outputs: int, target: str) -> list[str]:
    """Return the subject of each row of coefficients."""
    if not hasattr(learner, "classes_"):
        return [target]
    classes = [str(label) for label in learner.classes_]
    if n_outputs == 1:
        return [classes[-1]]
    if n_outputs == len(classes):
        # With three classes there are as many pairs as classes.
        is_of_pairs = hasattr(learner, "support_") and learner.get_params().get("multi_class", "ovo") == "ovo"
        if not is_of_pairs:
            return classes
    return [f"{one} or {other}" for i, one in enumerate(classes) for other in classes[i + 1 :]]


def _sum_shares(learner: Any, features: Sequence[Feature]) -> Shares | None:
    """Return the importances that an ensemble has measured in its fit, by column."""
    importances = np.asarray(learner.feature_importances_, dtype=np.float64)
    if len(importances) != len(features):
        return None
    columns = [feature.column or feature.label for feature in features]
    # Some learners count splits, which do not add up to 1.
    shares = pd.Series(importances / (importances.sum() or 1.0)).groupby(columns, sort=False).sum()
    kind = getattr(learner, "importance_type", IMPURITY) or GAIN
    measure = MEASURES.get(kind, f"share of the {kind} of a column")
    return Shares(shares.sort_values(ascending=False, kind="stable"), measure, _describe_trees(learner))


def _describe_trees(learner: Any) -> str:
    """Return the number of trees of an ensemble, and their mean size."""
    members = [member for member in np.ravel(getattr(learner, "estimators_", [])) if hasattr(member, "get_n_leaves")]
    if not members:
        return ""
    sizes = [(member.get_n_leaves(), member.get_depth()) for member in members]
    leaves, depth = np.mean(sizes, axis=0)
    return f"{len(members)} trees with {leaves:.0f} leaves and a depth of {depth:.1f} on average"
