"""Candidates: which points of a space tuning tries, and how they are fitted together along a path."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator, clone

from bakeoff.pipeline.stages.tuning.points import Grid, count_grid_points, find_point


@runtime_checkable
class PathEstimator(Protocol):
    """A learner that fits many values of one parameter for little more than the cost of one.

    The k nearest neighbours are among the k + 1 nearest, and a shallow tree is the top of a deeper one: such work is
    done once. Each estimator is equal to one that is fitted anew with that value (to the solver's tolerance, if one
    solution is the starting point of the next), and does not change when the iterator advances. A table of numbers
    may be given as a plain array.
    """

    path_parameters: ClassVar[tuple[str, ...]]

    def path(
        self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None
    ) -> Iterator[BaseEstimator]:
        """Yield a fitted estimator for each value, in the order given; the learner itself does not change."""


def keep_model(model: Any) -> Any:
    """Return a model as it is."""
    return model


@dataclass(frozen=True)
class FitRows:
    """What a learner is fitted on: prepared rows of its training part, which may be balanced.

    Attributes
    ----------
    X : table of shape (n, d)
    y : ndarray of shape (n,)
        Class labels, or targets, which may be transformed.
    weights : ndarray of shape (n,) or None
    complete : callable
        (fitted learner) -> an estimator that predicts in the units of the target.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None = None
    complete: Callable[[Any], Any] = keep_model


def fit_candidates(
    learner: BaseEstimator,
    grids: Sequence[Grid],
    X: Any,
    y: np.ndarray,
    positions: Collection[int] | None = None,
    weights: np.ndarray | None = None,
) -> Iterator[tuple[int, BaseEstimator, float]]:
    """Fit the learner with the combinations of the grids, along a path if it is a `PathEstimator`.

    Parameters
    ----------
    learner : estimator
        It does not change.
    grids : sequence of mappings
        Parameter -> values.
    X : table of shape (n, d)
    y : ndarray of shape (n,)
    positions : collection of int, optional
        Of the candidates to fit; all of them by default.
    weights : ndarray of shape (n,), optional
        Of the rows; all count alike by default.

    Yields
    ------
    position : int
        The candidate's position in scikit-learn's ``ParameterGrid(grids)``; each comes once, in any order.
    fitted : estimator
    seconds : float
        Wall time of its fit; the first of a path includes the work that the path shares.
    """
    n_before = 0
    wanted = None if positions is None else sorted(positions)
    for grid in grids:
        n_points = count_grid_points(grid)
        numbers = range(n_points) if wanted is None else [i - n_before for i in wanted if 0 <= i - n_before < n_points]
        parameter = _choose_path_parameter(learner, grid)
        for group in _group_candidates(grid, parameter, numbers):
            # All candidates of a group share the parameters of its first one, except the one along the path.
            points = [find_point([grid], number) for number in group]
            shared = clone(learner).set_params(**points[0])
            has_path = parameter is not None and len(group) > 1
            values = [point[str(parameter)] for point in points] if has_path else []
            # A value of the grid may be an estimator, which must not be fitted itself.
            fits = _iter_fits(clone(shared), parameter if has_path else None, values, FitRows(X, y, weights))
            for number in group:
                started = time.perf_counter()
                fitted = next(fits)
                yield n_before + number, fitted, time.perf_counter() - started
        # Positions count through all grids, as in ParameterGrid.
        n_before += n_points


def _iter_fits(learner: Any, parameter: str | None, values: Sequence[Any], rows: FitRows) -> Iterator[BaseEstimator]:
    """Yield the fitted learner, or one for each value of the parameter."""
    weighting = {} if rows.weights is None else {"sample_weight": rows.weights}
    if parameter is None:
        yield learner.fit(rows.X, rows.y, **weighting)
    else:
        yield from learner.path(rows.X, rows.y, parameter, values, **weighting)


def _choose_path_parameter(learner: Any, grid: Grid) -> str | None:
    """Return the parameter with the most values among those that the learner has a path along, or None."""
    if not isinstance(learner, PathEstimator):
        return None
    names = [name for name in sorted(grid) if name in learner.path_parameters and len(grid[name]) > 1]
    return max(names, key=lambda name: len(grid[name]), default=None)


def _group_candidates(grid: Grid, parameter: str | None, positions: Sequence[int]) -> list[list[int]]:
    """Group candidates, by position in their grid, that differ in one parameter only; each alone if None.

    Parameters
    ----------
    grid : Grid
    parameter : str or None
    positions : sequence of int
        In ascending order.

    Examples
    --------
    >>> _group_candidates({"depth": [1, 2, 3], "weights": ["equal", "distance"]}, "depth", [0, 1, 2, 4, 5])
    [[0, 2, 4], [1, 5]]
    """
    if parameter is None:
        return [[position] for position in positions]
    names = sorted(grid)  # the order of ParameterGrid, the last parameter fastest
    n_faster = math.prod(len(grid[name]) for name in names[names.index(parameter) + 1 :])
    n_values = len(grid[parameter])
    groups: dict[tuple[int, int], list[int]] = {}
    for position in positions:
        slower, place = divmod(position, n_faster * n_values)
        groups.setdefault((slower, place % n_faster), []).append(position)
    return [groups[key] for key in sorted(groups)]
