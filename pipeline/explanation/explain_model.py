"""From a model and the rows that it is explained on to an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.explanation.dependence import MAX_ROWS, Dependence, compute_dependence
from bakeoff.pipeline.explanation.explanation import Explanation
from bakeoff.pipeline.explanation.importances import Importances, Score, ScoredPart, measure_importances
from bakeoff.pipeline.explanation.learner_parts import describe_learner
from bakeoff.pipeline.explanation.outputs import DECISION, PREDICTION, ModelOutputs, find_outputs

MAX_DEPENDENCES = 8
"""Partial dependences are shown of as many columns, unless columns are named."""
TRIAL_ROWS = 2


@dataclass(frozen=True)
class Scoring:
    """How predictions are scored.

    Attributes
    ----------
    score : callable
    metric : str
    greater_is_better : bool
    """

    score: Score
    metric: str
    greater_is_better: bool


@dataclass(frozen=True)
class Subject:
    """A model to explain, and the rows to explain it on.

    Attributes
    ----------
    name : str
    model : estimator
        Fitted; it takes the features of the dataset.
    dataset : str
        Its name.
    fitted : str
        On how many rows it was fitted.
    target : str
    positive : str
        The positive class; empty if there is none.
    seed : int
    background : DataFrame of shape (b, d)
        Rows that the model was fitted on.
    rows : DataFrame of shape (m, d)
        Those of partial dependence.
    rows_words : str
    parts : sequence of ScoredPart
        Rows with their targets, for importances; empty if there are none.
    parts_words : str
        Which rows these are; where there are none, why.
    scoring : Scoring or None
        None if there are no parts.
    facts : tuple of str
        Further sentences.
    file_stem : str
        Of the file of the page.
    """

    name: str
    model: Any
    dataset: str
    fitted: str
    target: str
    positive: str
    seed: int
    background: pd.DataFrame
    rows: pd.DataFrame
    rows_words: str
    parts: Sequence[ScoredPart]
    parts_words: str
    scoring: Scoring | None = None
    facts: tuple[str, ...] = ()
    file_stem: str = "model"


def explain_model(subject: Subject, columns: Sequence[str] = ()) -> Explanation:
    """Explain a model.

    Parameters
    ----------
    subject : Subject
    columns : sequence of str
        Those whose partial dependence is computed; by default the most important ones.

    Returns
    -------
    Explanation

    Raises
    ------
    UserError
        A column does not exist.
    """
    known = [str(name) for name in subject.background.columns]
    require_columns(columns, known)
    outputs = find_outputs(subject.model, subject.target, subject.positive, subject.background.iloc[:TRIAL_ROWS])
    importances = _measure(subject)
    ranked = known if importances is None else [each.columns[0] for each in importances.columns]
    shown, note = _compute_dependences(subject, outputs, columns or ranked, has_choice=not columns)
    parts = describe_learner(subject.model, subject.background, subject.target)
    return Explanation(
        name=subject.name,
        facts=(*_state_facts(subject, outputs, parts.learner), *subject.facts),
        outputs=outputs,
        importances=importances,
        importance_rows=subject.parts_words,
        dependences=shown,
        dependence_rows=_describe_rows(subject),
        dependence_note=note,
        parts=parts,
    )


def require_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError if a column is not a feature of the model."""
    for name in columns:
        if name not in known:
            raise UserError(f"explain: columns={name!r} is not a column of the model. {did_you_mean(name, known)}")


def _measure(subject: Subject) -> Importances | None:
    if not subject.parts or subject.scoring is None:
        return None
    scoring = subject.scoring
    seed = derive_seed(subject.seed, "explanation")
    return measure_importances(subject.parts, scoring.score, scoring.metric, scoring.greater_is_better, seed)


def _compute_dependences(
    subject: Subject, outputs: ModelOutputs, columns: Sequence[str], *, has_choice: bool
) -> tuple[tuple[Dependence, ...], str]:
    """Return the partial dependence on the first columns that have one, and which are not shown."""
    seed = derive_seed(subject.seed, "explanation rows")
    shown: list[Dependence] = []
    without: list[str] = []
    for position, name in enumerate(columns):
        if has_choice and len(shown) == MAX_DEPENDENCES:
            n_left = len(columns) - position
            left = f"{n_left} less important columns are" if n_left > 1 else "1 less important column is"
            return tuple(shown), f"{left} not shown; columns=[…] names others"
        found = compute_dependence(outputs, subject.rows, name, seed)
        if found is None:
            without.append(name)
        else:
            shown.append(found)
    note = f"not shown, because they hold text or a single value: {', '.join(without)}" if without else ""
    return tuple(shown), note


def _describe_rows(subject: Subject) -> str:
    if len(subject.rows) <= MAX_ROWS:
        return subject.rows_words
    return f"{MAX_ROWS:,} rows, drawn from {subject.rows_words}"


def _state_facts(subject: Subject, outputs: ModelOutputs, learner: str) -> list[str]:
    """Return what the model is, and what of it is explained."""
    facts = [f"{learner} on {subject.dataset}, {subject.fitted}."]
    if not outputs.is_of_classes:
        return [*facts, f"Explained is the prediction of {subject.target}."]
    if outputs.method == PREDICTION:
        return [
            *facts,
            f"{learner} gives neither probabilities nor a decision value for each class: explained is which class is "
            "predicted, as 1 or 0.",
        ]
    if outputs.method == DECISION:
        return [
            *facts,
            f"{learner} gives no probabilities: explained are its decision values, which have no unit. With "
            "calibration=platt, a run has probabilities.",
        ]
    of = f"that {subject.target} is {outputs.names[0]}" if len(outputs.names) == 1 else f"of each {subject.target}"
    return [*facts, f"Explained is the probability {of}."]
