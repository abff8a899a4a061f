"""Normalisation: all numeric columns on one scale, so that distances do not depend on their units.

    min-max     (x - min) / (max - min)       from 0 to 1 in the training rows
    z-score     (x - x̄) / s                   with mean 0 and standard deviation 1 in the training rows

where s is the square root of the mean squared deviation. Queries are scaled by the numbers of the training rows. A
constant column is not divided.

Cost: O(n d).

Reference: J. Han, M. Kamber, J. Pei, "Data Mining: Concepts and Techniques", 2011, section 3.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Step, bracket, tabulate

FORMULAS = {
    "min_max": "z = (x - min)/(max - min), min = {}, max - min = {}",
    "standardize": "z = (x - x̄)/s, x̄ = {}, s = {}",
}


def measure_scale(column: np.ndarray, method: str) -> tuple[float, float]:
    """Return what is subtracted from a column (n,), and the divisor: 1 if the column is constant."""
    if np.ptp(column) == 0:
        return column[0], 1.0
    if method == "min_max":
        return min(column), np.ptp(column)
    return column.mean(), column.std()


def scale(cells: np.ndarray, column: np.ndarray, method: str = "min_max") -> np.ndarray:
    """Return cells (m,) on the scale of the training cells of their column (n,).

    >>> scale(np.array([1.0, 5.0]), np.array([1.0, 2.0, 3.0]))
    array([0., 2.])
    """
    centre, spread = measure_scale(column, method)
    return (cells - centre) / spread


def work_scale(
    values: Any, method: str = "min_max", queries: Any = (), name: str = "x", rows: Sequence[int] = ()
) -> Step:
    """Return the step that scales the training cells (n,) of a column, and those of queries (m,)."""
    column = np.asarray(values, dtype=float)
    centre, spread = measure_scale(column, method)
    cells = np.concatenate([column, queries])
    terms = [f"({cell}-{bracket(centre)})/{spread}" for cell in cells]
    numbers = rows or range(1, len(column) + 1)
    labels = [*numbers, *(f"query {number + 1}" for number in range(len(queries)))]
    return Step(
        f"Scale {name}, by the numbers of the training rows.",
        FORMULAS[method].format(centre, spread),
        **tabulate("row", name, terms, scale(cells, column, method), labels),
    )
