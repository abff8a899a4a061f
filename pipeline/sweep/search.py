"""Search: from the values on the command line and the spaces of the learners to the overrides of each job."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bakeoff.pipeline.errors import UserError

Axis = tuple[str, list[str]]
"""A key and its overrides: ("seed", ["seed=1", "seed=2"])."""


def combine_axes(axes: Sequence[Axis], method: str) -> list[tuple[str, ...]]:
    """Return the overrides of each job: every combination, the last axis fastest, or values side by side.

    Parameters
    ----------
    axes : sequence of Axis
        One override where a key does not vary.
    method : str
        ``zip`` goes side by side.

    Raises
    ------
    UserError
        zip of lists that are not equally long.

    Examples
    --------
    >>> axes = [("a", ["a=1", "a=2"]), ("b", ["b=0"]), ("c", ["c=3", "c=4"])]
    >>> len(combine_axes(axes, "none"))
    4
    >>> combine_axes(axes, "zip")
    [('a=1', 'b=0', 'c=3'), ('a=2', 'b=0', 'c=4')]
    """
    if method != "zip":
        return list(itertools.product(*(values for _, values in axes)))
    lengths = {key: len(values) for key, values in axes if len(values) > 1}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise UserError(f"search=zip wants equally many values of each key, but {told}.")
    jobs = max(lengths.values(), default=1)
    return list(zip(*(values * (jobs if len(values) == 1 else 1) for _, values in axes), strict=True))


def space_points(space: Any, method: str, n: int = 0, seed: int = 0) -> list[dict[str, Any]]:
    """Return points of a space.

    Parameters
    ----------
    space : mapping or sequence of mappings
        Parameter -> list of values; several mappings are several grids.
    method : {"grid", "random"}
    n : int
        How many points of ``random``, all different; a space that has no more is taken whole.
    seed : int

    Raises
    ------
    UserError
        The space does not hold lists.

    Examples
    --------
    >>> space_points({"k": [1, 3], "weights": ["uniform"]}, "grid")
    [{'k': 1, 'weights': 'uniform'}, {'k': 3, 'weights': 'uniform'}]
    >>> space_points({"k": list(range(1000)), "p": list(range(1000))}, "random", n=2) == space_points(
    ...     {"k": list(range(1000)), "p": list(range(1000))}, "random", n=2)
    True
    """
    grids = [space] if isinstance(space, Mapping) else list(space)
    for grid in grids:
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UserError(f"space.{name}={values!r} must be a list of values to try.")
    sizes = [math.prod(len(values) for values in grid.values()) for grid in grids]
    total = sum(sizes)
    if method == "grid" or n >= total:
        return [_point(grid, place) for grid, size in zip(grids, sizes, strict=True) for place in range(size)]
    return [_place(grids, sizes, place) for place in _draw(total, n, seed)]


def _draw(total: int, n: int, seed: int) -> Iterator[int]:
    """Yield n different numbers below total, which may be too many to write down."""
    generator = np.random.default_rng(seed)
    drawn: set[int] = set()
    while len(drawn) < n:
        place = int(generator.integers(total))
        if place not in drawn:
            drawn.add(place)
            yield place


def _place(grids: Sequence[Mapping[str, Any]], sizes: Sequence[int], place: int) -> dict[str, Any]:
    for grid, size in zip(grids, sizes, strict=True):
        if place < size:
            return _point(grid, place)
        place -= size
    raise IndexError(place)


def _point(grid: Mapping[str, Sequence[Any]], place: int) -> dict[str, Any]:
    """Return one point by its number, the last parameter fastest."""
    point = {}
    for name, values in reversed(list(grid.items())):
        place, digit = divmod(place, len(values))
        point[name] = values[digit]
    return dict(reversed(point.items()))
