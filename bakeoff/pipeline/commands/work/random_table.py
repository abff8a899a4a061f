"""Random tables for exercises: small numbers, and a calculation without ties.

Tables are drawn one after another until the steps of a calculation show no tie, so that the seed determines the table.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier

from bakeoff.learners.definitions.calculations import SOLVER_TOLERANCE
from bakeoff.learners.definitions.steps import Neighbours, Step
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.stages.dataset import Dataset

VALUES = {"outlook": ("cloudy", "rain", "sun"), "wind": ("strong", "weak"), "air": ("dry", "humid")}
"""The nominal columns of a random table, with their values."""
CLASSES = np.array(["no", "yes"])
NOMINAL_TARGET, NUMERIC_TARGET = "play", "y"
LEAST = -3
N_NUMBERS = 9
"""A numeric column has this number of different integers, from `LEAST`."""
MAX_TARGET = 20
MIN_DIFFERENCE = 0.02
"""The least difference between numbers of which a step chooses the largest or the smallest."""
MAX_STEPS = 40


def draw_tables(learner: Any, n_rows: int, seed: int, *, is_nominal: bool) -> Iterator[tuple[Dataset, str]]:
    """Yield random tables and a row to predict, as the key ``query`` gives it.

    Parameters
    ----------
    learner : estimator
    n_rows : int
    seed : int
    is_nominal : bool
        Whether the columns are nominal; otherwise they are two columns of integers.
    """
    rng = np.random.default_rng(seed)
    while True:
        rows = _draw_nominal(rng, n_rows) if is_nominal else _draw_numbers(rng, n_rows)
        X, query = rows.iloc[:-1], rows.iloc[-1]
        if is_classifier(learner):
            task = "classification"
            y = CLASSES[rng.integers(2, size=n_rows) if is_nominal else _draw_sides(rng, X.to_numpy())]
        else:
            task = "regression"
            y = rng.integers(MAX_TARGET, size=n_rows).astype(float)
        target = NOMINAL_TARGET if is_nominal else NUMERIC_TARGET
        cells = ", ".join(f"{name}: {cell}" for name, cell in query.items())
        yield Dataset(f"random table {seed}", X, y, task, target), f"{{{cells}}}"


def is_clear(calculation: HandCalculation) -> bool:
    """Whether a calculation is short and has no ties, and the learner has the same numbers."""
    *steps, last = calculation.steps
    is_short = len(steps) <= MAX_STEPS + len(calculation.table)
    is_same = last.values["difference"] <= SOLVER_TOLERANCE
    if not is_short or not is_same:
        return False
    if is_classifier(calculation.learner) and any(_is_close(step.response) for step in steps if step.response):
        return False
    n_neighbors = getattr(calculation.learner, "n_neighbors", 0)
    return not any(_has_tie(step, n_neighbors) for step in steps)


def _draw_nominal(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Return random rows of nominal cells, which are all different if there are enough different ones."""
    known = [*product(*VALUES.values())]
    drawn = rng.choice(len(known), n_rows + 1, replace=n_rows >= len(known))
    return pd.DataFrame([known[number] for number in drawn], columns=[*VALUES]).astype("category")


def _draw_numbers(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Return different random rows of two integers."""
    places = rng.choice(N_NUMBERS**2, n_rows + 1, replace=False)
    return pd.DataFrame(np.stack(np.divmod(places, N_NUMBERS), axis=1) + LEAST, columns=["x1", "x2"]).astype(float)


def _draw_sides(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Return random zeros and ones (n,), which in half of the tables a line separates."""
    if rng.integers(2):
        return rng.integers(2, size=len(X))
    heights = X @ rng.integers(-2, 3, size=2)  # (n,)
    return (heights > np.median(heights)).astype(int)


def _has_tie(step: Step, n_neighbors: int) -> bool:
    """Whether numbers are equal or close of which a step takes the largest or the smallest."""
    if isinstance(step.drawing, Neighbours):
        nearest = sorted(step.drawing.distances)[: n_neighbors + 1]
        return len(set(nearest)) < len(nearest)
    alternatives = {str(row[0]): row[-1] for row in step.table[1:]}
    if step.chosen not in alternatives:
        return False
    best = float(alternatives.pop(step.chosen))
    return any(abs(best - float(other)) < MIN_DIFFERENCE for other in alternatives.values())


def _is_close(response: Sequence[float]) -> bool:
    """Whether the two largest numbers differ too little, or a single one from 0."""
    lower, upper = sorted(response if len(response) > 1 else (0.0, *response))[-2:]
    return upper - lower < MIN_DIFFERENCE
