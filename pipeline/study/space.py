"""The search space of a study: what every job chooses, and what the chosen learner adds to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bakeoff.pipeline.study.dimension import Dimension

ChooseValue = Callable[[Dimension], Any]
"""Returns a value of a dimension."""


@dataclass(frozen=True)
class Suggestion:
    """A value of each dimension.

    Attributes
    ----------
    overrides : tuple of str
        The overrides that the job is composed from.
    values : mapping of str to Any
        The chosen values by key.
    """

    overrides: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class LearnerSpace:
    """The dimensions of one learner: one grid or several, of which a trial chooses one.

    Attributes
    ----------
    grids : tuple of tuple of Dimension
    grid_choice : Dimension or None
        Chooses the grid, where there are several.
    """

    grids: tuple[tuple[Dimension, ...], ...] = ((),)
    grid_choice: Dimension | None = None

    def choose_grid(self, choose_value: ChooseValue) -> tuple[Dimension, ...]:
        """Return the dimensions of one grid."""
        if self.grid_choice is None:
            return self.grids[0]
        return self.grids[choose_value(self.grid_choice)]

    def list_dimensions(self) -> list[Dimension]:
        """Return the dimensions of all grids, after the one that chooses the grid."""
        dimensions = [] if self.grid_choice is None else [self.grid_choice]
        for grid in self.grids:
            dimensions.extend(grid)
        return dimensions


@dataclass(frozen=True)
class SearchSpace:
    """Everything that a study can choose.

    Attributes
    ----------
    fixed : tuple of str
        The overrides that all jobs share.
    dimensions : tuple of Dimension
        The dimensions that all jobs share.
    find_learner_space : callable
        (overrides) -> `LearnerSpace` of the learner that they choose.
    """

    fixed: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    find_learner_space: Callable[[tuple[str, ...]], LearnerSpace]

    def suggest(self, choose_value: ChooseValue) -> Suggestion:
        """Choose a value of each dimension."""
        # The learner's own dimensions come last: they are not known before the learner is chosen.
        overrides, values = _choose_values(self.dimensions, choose_value)
        overrides = (*self.fixed, *overrides)
        grid = self.find_learner_space(overrides).choose_grid(choose_value)
        own_overrides, own_values = _choose_values(grid, choose_value)
        return Suggestion((*overrides, *own_overrides), values | own_values)

    def iterate_edges(self) -> Iterator[Suggestion]:
        """Yield suggestions in which each option and each end of a range occurs, with first values elsewhere."""
        for changed, values in _vary_one(self.dimensions):
            learner_space = self._learner_space_at(values)
            for number, grid in enumerate(learner_space.grids):
                shared = dict(values)
                if learner_space.grid_choice is not None:
                    shared[learner_space.grid_choice.name] = number
                for _, own in _vary_one(grid):
                    yield self.suggest(partial(_value_or_first, {**shared, **own}))
                    # Unless an option changed, the learner is the same, and its own edges were yielded before.
                    if changed is not None and not changed.is_group:
                        break

    def all_dimensions(self) -> dict[str, Dimension]:
        """Return the dimensions of all jobs and of all learners, keyed by their names in Optuna."""
        found = {dimension.name: dimension for dimension in self.dimensions}
        for _, values in _vary_one(self.dimensions):
            for dimension in self._learner_space_at(values).list_dimensions():
                found[dimension.name] = dimension
        return found

    def _learner_space_at(self, values: Mapping[str, Any]) -> LearnerSpace:
        overrides, _ = _choose_values(self.dimensions, partial(_value_or_first, values))
        return self.find_learner_space((*self.fixed, *overrides))


def _choose_values(
    dimensions: Sequence[Dimension], choose_value: ChooseValue
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the overrides and, by key, the values."""
    overrides = []
    values = {}
    for dimension in dimensions:
        value = choose_value(dimension)
        overrides.append(dimension.format_override(value))
        values[dimension.key.lstrip("+")] = value
    return tuple(overrides), values


def _value_or_first(values: Mapping[str, Any], dimension: Dimension) -> Any:
    """Return the value under the dimension's name, or else the first one of the dimension."""
    return values.get(dimension.name, dimension.edge_values[0])


def _vary_one(dimensions: Sequence[Dimension]) -> Iterator[tuple[Dimension | None, dict[str, Any]]]:
    """Yield (None, {}), which stands for the first values; then each other edge value of each dimension alone."""
    yield None, {}
    for dimension in dimensions:
        for value in dimension.edge_values[1:]:
            yield dimension, {dimension.name: value}
