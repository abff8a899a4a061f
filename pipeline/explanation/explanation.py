"""An explanation of a model: every number that the terminal and the page show."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.pipeline.explanation.dependence import Dependence
from bakeoff.pipeline.explanation.importances import Importances
from bakeoff.pipeline.explanation.learner_parts import LearnerParts
from bakeoff.pipeline.explanation.outputs import ModelOutputs


@dataclass(frozen=True)
class Explanation:
    """What is known of why a model predicts what it does.

    Attributes
    ----------
    name : str
        The model.
    facts : tuple of str
        A sentence each: what the model is, on which rows it was fitted, what is explained.
    outputs : ModelOutputs
    importances : Importances or None
    importance_rows : str
        On which rows the importances are measured; where there are none, why.
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
