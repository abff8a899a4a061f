"""The points of a space: counted, drawn and looked up by arithmetic, so that a space of any size is never written out.

Points are numbered through all grids, in each as in scikit-learn's ``ParameterGrid``: parameters in alphabetical order,
the last one fastest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

Grid = Mapping[str, Sequence[Any]]
"""Parameter -> values; its candidates are all combinations."""


def count_grid_points(grid: Grid) -> int:
    """Return the number of combinations of a grid."""
    return math.prod(len(values) for values in grid.values())


def find_point(grids: Sequence[Grid], position: int) -> dict[str, Any]:
    """Return the point of a number.

    Parameters
    ----------
    grids : sequence of Grid
    position : int
        From 0, through all grids.

    Examples
    --------
    >>> find_point([{"k": [1, 3], "p": [1, 2]}, {"k": [9]}], 1), find_point([{"k": [1, 3]}, {"k": [9]}], 2)
    ({'k': 1, 'p': 2}, {'k': 9})
    """
    for grid in grids:
        n_points = count_grid_points(grid)
        if position < n_points:
            point: dict[str, Any] = ParameterGrid(dict(grid))[position]
            return dict(sorted(point.items()))
        position -= n_points
    raise IndexError(position)


def draw_positions(grids: Sequence[Grid], largest: Mapping[str, int], n: int | None, seed: int) -> list[int]:
    """Return the numbers of at most n points in ascending order, drawn without replacement; of all if n is None.

    Parameters
    ----------
    grids : sequence of Grid
    largest : mapping of str to int
        Parameter -> the largest value that a point may have.
    n : int or None
    seed : int

    Examples
    --------
    >>> draw_positions([{"k": [1, 3, 5], "p": [1, 2]}], {"k": 3}, n=None, seed=0)
    [0, 1, 2, 3]
    >>> space = {"a": range(10**6), "b": range(10**6)}
    >>> len(draw_positions([space], {}, n=20, seed=0))
    20
    """
    allowed = [_list_allowed(grid, largest) for grid in grids]
    counts = [math.prod(len(kept) for kept in by_name.values()) for by_name in allowed]
    n_possible = sum(counts)
    indices: Sequence[int] = range(n_possible)
    if n is not None and n < n_possible:
        drawn = np.random.default_rng(seed).choice(n_possible, size=n, replace=False)
        indices = np.sort(drawn).tolist()
    return [_find_position(grids, allowed, counts, index) for index in indices]


def _list_allowed(grid: Grid, largest: Mapping[str, int]) -> dict[str, list[int]]:
    """Return, for each parameter in alphabetical order, the places of the values that are allowed."""
    allowed = {}
    for name in sorted(grid):
        bound = largest.get(name, math.inf)
        is_allowed = [not (isinstance(value, int) and value > bound) for value in grid[name]]
        allowed[name] = [place for place, is_kept in enumerate(is_allowed) if is_kept]
    return allowed


def _find_position(
    grids: Sequence[Grid], allowed: Sequence[Mapping[str, list[int]]], counts: Sequence[int], index: int
) -> int:
    """Return the number of the point that is the index-th of those that are allowed."""
    n_before = 0
    for grid, kept, count in zip(grids, allowed, counts, strict=True):
        if index < count:
            return n_before + _find_position_in_grid(grid, kept, index)
        index -= count
        n_before += count_grid_points(grid)
    raise IndexError(index)


def _find_position_in_grid(grid: Grid, allowed: Mapping[str, list[int]], index: int) -> int:
    """Return the number, in its grid, of the point that is the index-th of those that are allowed."""
    position = 0
    # The places of the values are the digits of a point's number, and the last parameter is the lowest digit.
    unit = 1
    for name in reversed(list(allowed)):
        index, digit = divmod(index, len(allowed[name]))
        position += allowed[name][digit] * unit
        unit *= len(grid[name])
    return position
