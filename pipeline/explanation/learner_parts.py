"""What a learner says of itself: the rules of a tree, coefficients, the impurity that its splits remove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.explanation.origins import Origin
from bakeoff.pipeline.explanation.trace_steps import sum_by_column, trace_features
from bakeoff.pipeline.explanation.tree_paths import is_tree
from bakeoff.pipeline.explanation.tree_rules import TreeRules, list_rules, read_tree

IMPURITY = "impurity"
GAIN = "gain"
MEASURES = {
    IMPURITY: "share of the impurity that the splits on a column remove",
    GAIN: "share of the gain that the splits on a column bring",
    "split": "share of the splits that ask about a column",
}
"""In words, by the name that LightGBM and XGBoost give to what they count; other ensembles measure impurity."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a linear model.

    Attributes
    ----------
    feature : str
        In words, such as ``age`` or ``sex = male``.
    values : tuple of k float
        For one unit of what the learner receives.
    per_unit : tuple of k float
        For one unit of the column; empty where a unit of the column is not always as much for the learner.
    """

    feature: str
    values: tuple[float, ...]
    per_unit: tuple[float, ...] = ()


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a linear model, the largest first.

    Attributes
    ----------
    outputs : tuple of k str
        What each score is of: a class, a pair of classes, or the target.
    intercepts : tuple of k float
        Empty if the learner has none.
    rows : tuple of Coefficient
    are_scaled : bool
        Whether some column was scaled, so that the two kinds of coefficients differ.
    """

    outputs: tuple[str, ...]
    intercepts: tuple[float, ...]
    rows: tuple[Coefficient, ...]
    are_scaled: bool

    def keep_outputs(self, n: int) -> Coefficients:
        """Return the coefficients of the first n outputs."""
        rows = tuple(replace(row, values=row.values[:n], per_unit=row.per_unit[:n]) for row in self.rows)
        return replace(self, outputs=self.outputs[:n], intercepts=self.intercepts[:n], rows=rows)


@dataclass(frozen=True)
class Impurities:
    """The share of each column in the splits of trees, the largest first.

    Attributes
    ----------
    shares : tuple of (str, float)
    measure : str
        What they are shares of.
    trees : str
        How many trees there are, and how large; empty if it is not known.
    """

    shares: tuple[tuple[str, float], ...]
    measure: str
    trees: str = ""


@dataclass(frozen=True)
class LearnerParts:
    """What a learner says of itself; each is None if it has none.

    Attributes
    ----------
    learner : str
        The name of its class.
    rules : TreeRules or None
    coefficients : Coefficients or None
    impurities : Impurities or None
    notes : tuple of str
        What is to be known for reading them.
    """

    learner: str
    rules: TreeRules | None = None
    coefficients: Coefficients | None = None
    impurities: Impurities | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the learner says nothing."""
        return self.rules is None and self.coefficients is None and self.impurities is None


@dataclass(frozen=True)
class UnwrappedModel:
    """The pipeline inside of what predicts, and what is done to its output.

    Attributes
    ----------
    pipeline : Pipeline
    notes : tuple of str
    restore_target : callable
        Turns a target of the learner into the unit of the dataset's.
    """

    pipeline: Pipeline
    notes: tuple[str, ...]
    restore_target: Callable[[float], float]


def unwrap_model(model: Any) -> UnwrappedModel:
    """Return the pipeline of preprocessing and learner that a fitted model of a run consists of.

    Parameters
    ----------
    model : estimator
        A pipeline, or what calibrates, divides or transforms its output.
    """
    notes: list[str] = []
    restore: Callable[[float], float] = float
    while not isinstance(model, Pipeline):
        if isinstance(model, TransformedTargetRegressor):
            restore = _make_restore(model.transformer_)
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
    return UnwrappedModel(model, tuple(notes), restore)


def _make_restore(transformer: Any) -> Callable[[float], float]:
    def restore(number: float) -> float:
        return float(transformer.inverse_transform(np.array([[number]])).ravel()[0])

    return restore


def describe_learner(model: Any, X: pd.DataFrame, target: str) -> LearnerParts:
    """Return what the learner of a fitted model says of itself.

    Parameters
    ----------
    model : estimator
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    target : str
        The name of the target.
    """
    inner = unwrap_model(model)
    learner: Any = inner.pipeline[-1]
    origins = trace_features(inner.pipeline, X)
    notes = [*inner.notes, *_describe_fills(origins, X)]
    name = type(learner).__name__
    if is_tree(learner):
        tree = read_tree(inner.pipeline, origins, X, inner.restore_target)
        return LearnerParts(name, list_rules(tree, target), notes=tuple(notes))
    if getattr(learner, "coef_", None) is not None:
        coefficients = list_coefficients(learner, origins, target)
        return LearnerParts(name, coefficients=coefficients, notes=tuple(notes))
    if hasattr(learner, "feature_importances_"):
        return LearnerParts(name, impurities=_sum_impurities(learner, origins), notes=tuple(notes))
    return LearnerParts(name)


def _describe_fills(origins: Sequence[Origin], X: pd.DataFrame) -> list[str]:
    """Return what the missing cells of columns are replaced by, as a sentence; nothing if no cell is missing."""
    incomplete = {str(name) for name in X.columns if X[name].isna().any()}
    filled = {origin.column: origin.filled_by for origin in origins if origin.filled_by and origin.column in incomplete}
    if not filled:
        return []
    return [f"Missing cells count as: {', '.join(f'{column} {value}' for column, value in filled.items())}."]


def list_coefficients(learner: Any, origins: Sequence[Origin], target: str) -> Coefficients | None:
    """Return the coefficients of a linear model with the names of its features.

    Parameters
    ----------
    learner : estimator
        Fitted; it has ``coef_``.
    origins : sequence of k Origin
    target : str

    Returns
    -------
    Coefficients or None
        None if the coefficients are not of the features.
    """
    coefficients = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))  # (outputs, k)
    if coefficients.shape[1] != len(origins):
        return None
    outputs = _name_outputs(learner, len(coefficients), target)
    rows = [_make_coefficient(origin, column) for origin, column in zip(origins, coefficients.T, strict=True)]
    rows.sort(key=lambda row: -max(abs(value) for value in row.values))
    intercepts = np.atleast_1d(np.asarray(getattr(learner, "intercept_", []), dtype=np.float64))
    are_scaled = any(row.per_unit and row.per_unit != row.values for row in rows)
    return Coefficients(tuple(outputs), tuple(intercepts.tolist()), tuple(rows), are_scaled)


def _make_coefficient(origin: Origin, values: np.ndarray) -> Coefficient:
    units = origin.units_per_step
    per_unit = () if not units else tuple((values / units).tolist())
    return Coefficient(origin.words, tuple(values.tolist()), per_unit)


def _name_outputs(learner: Any, n_outputs: int, target: str) -> list[str]:
    """Return what each row of coefficients is of."""
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


def _sum_impurities(learner: Any, origins: Sequence[Origin]) -> Impurities | None:
    importances = np.asarray(learner.feature_importances_, dtype=np.float64)
    if len(importances) != len(origins):
        return None
    # Some learners count splits, which do not add up to 1.
    total = importances.sum()
    sums = sum_by_column(origins, importances / total if total > 0 else importances)
    ranked = sorted(sums.items(), key=lambda item: -item[1])
    kind = _find_measure(learner)
    return Impurities(tuple(ranked), MEASURES.get(kind, f"share of the {kind} of a column"), _describe_trees(learner))


def _find_measure(learner: Any) -> str:
    """Return what the importances of an ensemble count."""
    # bakeoff's boosted trees, which count rounds, report the fall of their loss.
    if hasattr(learner, "n_rounds_"):
        return GAIN
    return getattr(learner, "importance_type", IMPURITY) or GAIN


def _describe_trees(learner: Any) -> str:
    """Return the number of trees of an ensemble, and their mean size."""
    members = [member for member in np.ravel(getattr(learner, "estimators_", [])) if hasattr(member, "get_n_leaves")]
    if not members:
        return ""
    sizes = [(member.get_n_leaves(), member.get_depth()) for member in members]
    leaves, depth = np.mean(sizes, axis=0)
    return f"{len(members)} trees with {leaves:.0f} leaves and a depth of {depth:.1f} on average"
