"""Search: which job runs next, and the points of the spaces that grid, random and zip list."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.jobs import Job, JobOutcome

Axis = tuple[str, list[str]]
"""A key and its overrides: ("seed", ["seed=1", "seed=2"])."""
Grid = Mapping[str, Sequence[Any]]
"""Parameter -> list of values."""
Point = dict[str, Any]
"""Parameter -> value."""
RecordOutcome = Callable[[JobOutcome], object]
"""Records how a job ended that need not run."""


class Search(ABC):
    """Chooses the jobs of a sweep: it is asked for each when a process is free, and told how it ended.

    Attributes
    ----------
    n_jobs : int
        The largest number of jobs.
    batch_size : int or None
        The number of jobs that another launcher gets at a time; None for all of them.
    """

    n_jobs: int
    batch_size: int | None = None

    @abstractmethod
    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs to run, each chosen when it is asked for.

        Parameters
        ----------
        record : callable
            Takes the outcome of a job that was chosen and need not run.
        """

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """Take the outcome of a job, and return it as it is kept and shown."""
        return outcome


@final
@dataclass
class ListedJobs(Search):
    """Jobs that are all known before the first one runs: those of a grid, of random points, or of paired values."""

    jobs: Sequence[Job]

    def __post_init__(self) -> None:
        self.n_jobs = len(self.jobs)

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs in order."""
        return iter(self.jobs)


def combine_axes(axes: Sequence[Axis], method: str) -> list[tuple[str, ...]]:
    """Return the overrides of each job: every combination, the last axis fastest, or the values pairwise.

    Parameters
    ----------
    axes : sequence of Axis
        A key that does not vary has one override.
    method : str
        ``zip`` pairs the values; every other method combines them.

    Raises
    ------
    UserError
        ``zip`` was asked for with lists of different lengths.

    Examples
    --------
    >>> axes = [("a", ["a=1", "a=2"]), ("b", ["b=0"]), ("c", ["c=3", "c=4"])]
    >>> len(combine_axes(axes, "none"))
    4
    >>> combine_axes(axes, "zip")
    [('a=1', 'b=0', 'c=3'), ('a=2', 'b=0', 'c=4')]
    """
    if method != "zip":
        return list(itertools.product(*(overrides for _, overrides in axes)))
    # A key with one value is not an axis: its override is repeated in every job.
    lengths = {key: len(overrides) for key, overrides in axes if len(overrides) > 1}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise UserError(f"search=zip needs the same number of values for each key, but {given}.")
    n_jobs = max(lengths.values(), default=1)
    columns = [overrides if len(overrides) > 1 else overrides * n_jobs for _, overrides in axes]
    return list(zip(*columns, strict=True))


def space_points(space: Any, method: str, n: int = 0, seed: int = 0) -> list[Point]:
    """Return points of a search space.

    Parameters
    ----------
    space : mapping or sequence of mappings
        Parameter -> list of values; several mappings are several grids.
    method : {"grid", "random"}
    n : int
        The number of points for ``random``, all different; if the space has no more, all of it is returned.
    seed : int

    Raises
    ------
    UserError
        The values of a parameter are not a list.

    Examples
    --------
    >>> space_points({"k": [1, 3], "weights": ["uniform"]}, "grid")
    [{'k': 1, 'weights': 'uniform'}, {'k': 3, 'weights': 'uniform'}]
    >>> space_points({"k": list(range(1000)), "p": list(range(1000))}, "random", n=2) == space_points(
    ...     {"k": list(range(1000)), "p": list(range(1000))}, "random", n=2)
    True
    """
    grids: list[Grid] = [space] if isinstance(space, Mapping) else list(space)
    require_lists(grids)
    n_points = count_points(grids)
    indices: Iterable[int] = range(n_points)
    if method == "random" and n < n_points:
        # The points are drawn by index, so that a space of any size is never written out.
        indices = _draw_indices(n_points, n, seed)
    return [_space_point(grids, index) for index in indices]


def require_lists(grids: Iterable[Grid]) -> None:
    """Reject a grid in which the values of a parameter are not a list.

    Parameters
    ----------
    grids : iterable of Grid

    Raises
    ------
    UserError
    """
    for grid in grids:
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise UserError(f"space.{name}={values!r} must be a list of values to try.")


def count_points(grids: Sequence[Grid]) -> int:
    """Return the number of points of several grids."""
    return sum(_count_points(grid) for grid in grids)


def _count_points(grid: Grid) -> int:
    return math.prod(len(values) for values in grid.values())


def _draw_indices(n_points: int, n: int, seed: int) -> Iterator[int]:
    """Yield n different indices below `n_points`, which may be too large a number for a permutation."""
    generator = np.random.default_rng(seed)
    drawn: set[int] = set()
    while len(drawn) < n:
        index = int(generator.integers(n_points))
        if index not in drawn:
            drawn.add(index)
            yield index


def _space_point(grids: Sequence[Grid], index: int) -> Point:
    """Return the point of an index in a space of several grids, one after the other."""
    for grid in grids:
        n_points = _count_points(grid)
        if index < n_points:
            return _grid_point(grid, index)
        index -= n_points
    raise IndexError(index)


def _grid_point(grid: Grid, index: int) -> Point:
    """Return the point of an index, in the order in which the last parameter varies fastest."""
    point = {}
    # The positions of the values are the digits of the index, and the last parameter is the lowest digit.
    for name, values in reversed(list(grid.items())):
        index, position = divmod(index, len(values))
        point[name] = values[position]
    return dict(reversed(point.items()))
