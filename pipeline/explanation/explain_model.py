"""From a model and the rows that it is explained on to an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.explanation.dependence import MAX_ROWS, Dependence, compute_dependence
from bakeoff.pipeline.explanation.importances import Importances, ScoredPart, measure_importances
from bakeoff.pipeline.explanation.learner_parts import LearnerParts, describe_learner
from bakeoff.pipeline.explanation.outputs import DECISION, ModelOutputs, find_outputs
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.text.words import count_nouns

MAX_DEPENDENCES = 8
"""Partial dependences are shown of as many columns, unless columns are named."""


@dataclass(frozen=True)
class Subject:
    """A model to explain, and the rows to explain it on.

    Attributes
    ----------
    name : str
    model : estimator
        Fitted; it takes the features of the dataset.
    record : TrainingRecord
    experiment : Experiment
        That of its run.
    rows : DataFrame of shape (m, d)
        Those of partial dependence.
    rows_words : str
    parts : sequence of ScoredPart
        Rows with their targets, for importances; empty if there are none.
    parts_words : str
        Which rows these are; where there are none, the reason.
    facts : tuple of str
        Further sentences.
    file_stem : str
        Of the file of the page.
    """

    name: str
    model: Any
    record: TrainingRecord
    experiment: Experiment
    rows: pd.DataFrame
    rows_words: str
    parts: Sequence[ScoredPart]
    parts_words: str
    facts: tuple[str, ...] = ()
    file_stem: str = "model"


@dataclass(frozen=True)
class Explanation:
    """The explanation of a model: every number that the terminal and the page show.

    Attributes
    ----------
    name : str
        The model.
    facts : tuple of str
        A sentence each: what the model is, on which rows it was fitted, what is explained.
    outputs : ModelOutputs
    importances : Importances or None
    importance_rows : str
        On which rows the importances are measured; where there are none, the reason.
    dependences : tuple of Dependence
        Of the most important columns, in this order.
    dependence_rows : str
        The rows that the means are of.
    dependence_note : str
        Which columns are not shown; empty if all are.
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


def explain_model(subject: Subject, columns: Sequence[str] = ()) -> Explanation:
    """Explain a model.

    Parameters
    ----------
    subject : Subject
    columns : sequence of str
        Those whose partial dependence is computed; by default the most important ones.
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
    explained = f"Explained is the {outputs.words}."
    if outputs.method == DECISION:
        explained += f" {parts.learner} gives no probabilities; with calibration=platt, a run has them."
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
    """Return the partial dependence on the first columns that have one, and which are not shown."""
    row_seed = derive_seed(seed, "explanation rows")
    shown: list[Dependence] = []
    for position, name in enumerate(columns):
        if len(shown) == most:
            left = count_nouns(len(columns) - position, "less important column is", "less important columns are")
            return tuple(shown), f"{left} not shown; columns=[…] names others"
        found = compute_dependence(outputs, rows, name, row_seed)
        if found is not None:
            shown.append(found)
    named = [each.column for each in shown]
    without = [name for name in columns if name not in named]
    note = f"not shown, because they hold text, dates or a single value: {', '.join(without)}" if without else ""
    return tuple(shown), note
