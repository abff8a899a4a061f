"""The explanation of a model on given rows: the effects of its columns, and the interpretable parts of its learner.

The rules of a tree and the coefficients of a linear model are taken from the learner itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.commands.explain.effects import (
    MAX_ROWS,
    Dependence,
    Importances,
    ModelOutputs,
    compute_dependence,
    find_outputs,
    measure_importances,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.model import permutation, training_record
from bakeoff.pipeline.model.tree_rules import Feature, Rule, list_rules, trace_features
from bakeoff.pipeline.stages.calibration import DECISION
from bakeoff.pipeline.text.wording import count_nouns

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class LearnerParts:
    """The interpretable parts of a fitted learner.

    Attributes
    ----------
    learner : str
        The name of its class.
    rules : tuple of Rule
        The rules; empty unless the learner is one of bakeoff's trees.
    coefficients : DataFrame or None
        Feature × output, per unit of the feature as the learner receives it, the largest first; the intercept is last.
    notes : tuple of str
        Notes on how to interpret these parts.
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
        A pipeline, or a wrapper that calibrates, thresholds or transforms its output.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    target : str
        The name of the target.
    """
    notes: list[str] = []
    while not isinstance(model, Pipeline):
        if isinstance(model, TransformedTargetRegressor):
            notes.append("The following describes the learner, which predicts the transformed target.")
            model = model.regressor_
        elif hasattr(model, "calibrated_classifiers_"):
            notes.append("The following describes the learner before its probabilities are calibrated.")
            model = model.calibrated_classifiers_[0].estimator
        elif hasattr(model, "threshold"):
            notes.append("The following describes the learner before the run's threshold is applied.")
            model = model.estimator_
        elif hasattr(model, "estimator"):  # scikit-learn's FrozenEstimator
            model = model.estimator
        else:
            model = Pipeline([("learner", model)])
    learner: Any = model[-1]
    name = type(learner).__name__
    if hasattr(learner, "fitted_tree_"):
        rules = list_rules(learner, trace_features(model, X))
        return LearnerParts(name, rules=tuple(rules), notes=tuple(notes))
    if getattr(learner, "coef_", None) is None:
        return LearnerParts(name)
    coefficients = _list_coefficients(learner, trace_features(model, X), target)
    return LearnerParts(name, coefficients=coefficients, notes=tuple(notes))


def _list_coefficients(learner: Any, features: Sequence[Feature], target: str) -> pd.DataFrame | None:
    """Return the coefficients of a linear model with its feature names, or None if the names do not match."""
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
    """Return the class, the pair of classes, or the target to which each row of coefficients refers."""
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


MAX_DEPENDENCES = 8
"""The number of columns whose partial dependence is shown, unless columns are named."""


@dataclass(frozen=True)
class Subject:
    """A model to explain, with the rows on which it is explained.

    Attributes
    ----------
    name : str
    model : estimator
        A fitted estimator that takes the features of the dataset.
    record : TrainingRecord
    experiment : Experiment
        The experiment of its run.
    rows : DataFrame of shape (m, d)
        The rows used for partial dependence.
    rows_words : str
    parts : sequence of ScoredPart
        Rows with their targets, used for importances; empty if there are none.
    parts_words : str
        A description of these rows, or the reason why there are none.
    facts : tuple of str
        Further sentences on the model.
    """

    name: str
    model: Any
    record: training_record.TrainingRecord
    experiment: Experiment
    rows: pd.DataFrame
    rows_words: str
    parts: Sequence[permutation.ScoredPart]
    parts_words: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The explanation of a model, with all numbers shown in the terminal and on the page.

    Attributes
    ----------
    name : str
        The name of the model.
    facts : tuple of str
        Sentences on what the model is, on which rows it was fitted, and what is explained.
    outputs : ModelOutputs
    importances : Importances or None
    importance_rows : str
        The rows on which the importances are measured, or the reason why there are none.
    dependences : tuple of Dependence
        The partial dependences on the most important columns, in this order.
    dependence_rows : str
        The rows over which the means are taken.
    dependence_note : str
        Which columns are not shown; empty if all are shown.
    parts : LearnerParts
    """

    name: str
    facts: tuple[str, ...]
    outputs: ModelOutputs
    importances: Importances | None
    importance_rows: str
    dependences: tuple[Dependence, ...]
    dependence_rows: str
    dependence_note: str
    parts: LearnerParts


def require_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError if a column is not a feature of the model."""
    for name in columns:
        if name not in known:
            raise UserError(f"explain: columns={name!r} is not a column of the model. {did_you_mean(name, known)}")


def explain_model(subject: Subject, columns: Sequence[str]) -> Explanation:
    """Explain a model.

    Parameters
    ----------
    subject : Subject
    columns : sequence of str
        The columns whose partial dependence is computed; by default the most important ones.
    """
    record, experiment = subject.record, subject.experiment
    outputs = find_outputs(subject.model, record.target, record.positive)
    importances = None
    ranked = list(record.features)
    if subject.parts:
        importances = measure_importances(
            subject.parts,
            partial(score_headline, experiment),
            experiment.headline,
            experiment.headline_metric.greater_is_better,
            derive_seed(experiment.seed, "explanation"),
        )
        ranked = [str(name) for name in importances.columns.index]
    dependences, note = _compute_dependences(
        outputs, subject.rows, columns or ranked, len(columns) or MAX_DEPENDENCES, experiment.seed
    )
    drawn = f"{MAX_ROWS:,} rows, drawn from " if len(subject.rows) > MAX_ROWS else ""
    parts = describe_learner(subject.model, experiment.dataset.X, record.target)
    explained = f"This explains the {outputs.words}."
    if outputs.method == DECISION:
        explained += f" {parts.learner} has no predict_proba; use calibration=platt for probabilities."
    return Explanation(
        name=subject.name,
        facts=(f"{parts.learner} on {record.dataset}, {record.describe_rows()}.", explained, *subject.facts),
        outputs=outputs,
        importances=importances,
        importance_rows=subject.parts_words,
        dependences=dependences,
        dependence_rows=f"{drawn}{subject.rows_words}",
        dependence_note=note,
        parts=parts,
    )


def _compute_dependences(
    outputs: ModelOutputs, rows: pd.DataFrame, columns: Sequence[str], most: int, seed: int
) -> tuple[tuple[Dependence, ...], str]:
    """Return the partial dependence on the first columns that have one, and the columns not shown."""
    row_seed = derive_seed(seed, "explanation rows")
    shown: list[Dependence] = []
    for position, name in enumerate(columns):
        if len(shown) == most:
            left = count_nouns(len(columns) - position, "less important column is", "less important columns are")
            return tuple(shown), f"{left} not shown; choose columns with columns=[…]"
        found = compute_dependence(outputs, rows, name, row_seed)
        if found is not None:
            shown.append(found)
    named = [each.column for each in shown]
    without = [name for name in columns if name not in named]
    note = f"not shown, because they hold text, dates or a single value: {', '.join(without)}" if without else ""
    return tuple(shown), note
