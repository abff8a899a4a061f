"""A calculation by hand, in a form that each format renders."""

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bakeoff.learners.definitions.steps import Problem, Step


@dataclass(frozen=True)
class HandCalculation:
    """A calculation by hand, and the learner's own answer.

    Attributes
    ----------
    title : str
    table : DataFrame of shape (n, d + 1)
        The training rows as in the source, the target last; the index has their numbers, as in the other tables.
    queries : DataFrame of shape (m, d)
        The rows to predict.
    validation : DataFrame of shape (v, d + 1)
        The rows on which a tree is pruned.
    steps : tuple of Step
    answer : tuple of object
        The prediction of the calculation for each query.
    learner_answer : tuple of object
        The prediction of the learner for each query.
    notes : tuple of str
        Notes on the rows, and warnings of the learner.
    problem : Problem or None
        The rows after preprocessing, for drawings; None for a single step.
    learner : estimator or None
        The fitted learner, for drawings.
    header : tuple of str
        Lines below the title: the parameters of the learner, and on a sheet a line for the name of a student.
    """

    title: str
    steps: tuple[Step, ...]
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    queries: pd.DataFrame = field(default_factory=pd.DataFrame)
    validation: pd.DataFrame = field(default_factory=pd.DataFrame)
    answer: tuple[Any, ...] = ()
    learner_answer: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()
    problem: Problem | None = None
    learner: Any = None
    header: tuple[str, ...] = ()
