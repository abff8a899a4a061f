"""The rule of one standard error: the simplest candidate whose mean score is not clearly worse than the best one.

A space declares which values are simpler: ``simpler: {max_depth: smaller, min_samples_leaf: greater}``. Candidates are
ordered by the first parameter, equal ones by the second, and so on. Lists count by their sum, and null has no limit.

References
----------
Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and regression trees, section 3.4.3.
Hastie, T., Tibshirani, R. and Friedman, J. (2009). The elements of statistical learning, section 7.10.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.tuning.candidates import Grid

BEST = "best"
ONE_STANDARD_ERROR = "one_standard_error"
RULES = (BEST, ONE_STANDARD_ERROR)
SIGNS = {"smaller": 1, "greater": -1}
"""The words of a declaration, and the sign with which simpler values sort first."""


def require_order(grids: Sequence[Grid], simpler: Mapping[str, str], folds: int) -> None:
    """Reject candidates that cannot be ordered by simplicity, or whose scores have no standard error.

    Raises
    ------
    UserError
    """
    if folds == 0:
        raise UserError(
            "tuning.select=one_standard_error needs several scores of each candidate, but tuning.folds=0 scores on the "
            "validation part; set tuning.folds=5, or tuning.select=best."
        )
    known = [name for name in simpler if any(name in grid for grid in grids)]
    if not known:
        raise UserError(
            "tuning.select=one_standard_error needs a space that declares which values are simpler, but this one "
            "declares none of its parameters; add +space.simpler={PARAMETER: smaller} or greater, or set "
            "tuning.select=best."
        )
    for name in known:
        if simpler[name] not in SIGNS:
            raise UserError(f"space.simpler.{name}={simpler[name]!r} must be one of {', '.join(SIGNS)}.")
        for grid in grids:
            for value in grid.get(name, ()):
                _measure(name, value)


def find_simplest(
    candidates: Sequence[Mapping[str, Any]],
    is_close: np.ndarray,
    scores: np.ndarray,
    simpler: Mapping[str, str],
    greater_is_better: bool,
) -> int:
    """Return the position of the simplest candidate among those that are close to the best one.

    Equally simple candidates are ordered by their scores, and then by their positions.

    Parameters
    ----------
    candidates : sequence of mappings
        Parameter -> value.
    is_close : ndarray of bool of shape (number of candidates,)
    scores : ndarray of shape (number of candidates,)
    simpler : mapping of str to str
    greater_is_better : bool
    """
    sign = -1 if greater_is_better else 1

    def order(position: int) -> tuple[float, ...]:
        point = candidates[position]
        values = [SIGNS[word] * _measure(name, point[name]) for name, word in simpler.items() if name in point]
        return (*values, sign * float(scores[position]))

    return min(np.flatnonzero(is_close).tolist(), key=order)


def _measure(name: str, value: Any) -> float:
    """Return the size of a value; reject a value that has none."""
    if value is None:
        return math.inf
    numbers = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(number, int | float) for number in numbers):
        raise UserError(
            f"space.simpler.{name}: {value!r} is no number, so it has no order; leave the parameter out of simpler, or "
            "give numbers."
        )
    return float(sum(numbers))
