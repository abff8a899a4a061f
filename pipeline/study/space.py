"""What a study may choose: override keys with the values that they may take, in the grammar of Hydra's overrides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from bakeoff.pipeline.errors import UserError

Distribution: TypeAlias = CategoricalDistribution | FloatDistribution | IntDistribution
Pick = Callable[["Dimension"], Any]
"""Choose a value of a dimension."""


@dataclass(frozen=True)
class Dimension:
    """One key that a study sets.

    Attributes
    ----------
    key : str
        As before the = of an override.
    name : str
        Optuna's name of it; not the key where learners share keys, such as ``svm.C``.
    distribution : Distribution
    words : tuple of str
        Of a choice: each value as it stands in an override.
    is_group : bool
        Whether it chooses an option of a group, such as ``learner``, on which files depend.
    """

    key: str
    name: str
    distribution: Distribution
    words: tuple[str, ...] = ()
    is_group: bool = False

    def suggest(self, trial: Trial) -> Any:
        """Let a trial choose."""
        given = self.distribution
        if isinstance(given, CategoricalDistribution):
            return trial.suggest_categorical(self.name, given.choices)
        if isinstance(given, IntDistribution):
            return trial.suggest_int(self.name, given.low, given.high, step=given.step, log=given.log)
        return trial.suggest_float(self.name, given.low, given.high, step=given.step, log=given.log)

    @property
    def edges(self) -> tuple[Any, ...]:
        """All choices, or the lowest and the highest number."""
        given = self.distribution
        return given.choices if isinstance(given, CategoricalDistribution) else (given.low, given.high)

    def override(self, value: Any) -> str:
        """Return ``key=value`` as Hydra reads it."""
        if isinstance(self.distribution, CategoricalDistribution):
            return f"{self.key}={self.words[int(self.distribution.to_internal_repr(value))]}"
        return f"{self.key}={value!r}"


@dataclass(frozen=True)
class Point:
    """What was chosen.

    Attributes
    ----------
    overrides : tuple of str
        With which the job is composed.
    values : mapping of str to Any
        By key.
    """

    overrides: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Branch:
    """What only one learner has to choose: a point of one of its grids.

    Attributes
    ----------
    grids : tuple of tuple of Dimension
    which : Dimension or None
        Chooses the grid, where there are several.
    """

    grids: tuple[tuple[Dimension, ...], ...] = ((),)
    which: Dimension | None = None

    def choose(self, pick: Pick) -> tuple[Dimension, ...]:
        """Return the dimensions that are left to choose."""
        return self.grids[0 if self.which is None else pick(self.which)]


@dataclass(frozen=True)
class Space:
    """Everything that a study may choose.

    Attributes
    ----------
    fixed : tuple of str
        Overrides of every job.
    dimensions : tuple of Dimension
        Of every job.
    branch : callable
        (overrides) -> what the chosen learner alone has to choose.
    """

    fixed: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    branch: Callable[[tuple[str, ...]], Branch]

    def choose(self, pick: Pick) -> Point:
        """Choose a value of each dimension, those of the learner's own after the learner."""
        overrides, values = _chosen(self.dimensions, pick)
        overrides = (*self.fixed, *overrides)
        more, own = _chosen(self.branch(overrides).choose(pick), pick)
        return Point((*overrides, *more), values | own)

    def edges(self) -> Iterator[Point]:
        """Yield points in which each option and each end of a range occurs, the others at their first."""
        for dimension, picked in _variants(self.dimensions):
            overrides = (*self.fixed, *_chosen(self.dimensions, partial(_pick, picked))[0])
            branch = self.branch(overrides)
            for place, grid in enumerate(branch.grids):
                chosen = picked if branch.which is None else {**picked, branch.which.name: place}
                for _, own in _variants(grid):
                    yield self.choose(partial(_pick, {**chosen, **own}))
                    if dimension is not None and not dimension.is_group:
                        break  # the learner is the same, and its own edges were there before

    def all_dimensions(self) -> dict[str, Dimension]:
        """Return every dimension that some point has, by Optuna's name."""
        found = {dimension.name: dimension for dimension in self.dimensions}
        for _, picked in _variants(self.dimensions):
            branch = self.branch((*self.fixed, *_chosen(self.dimensions, partial(_pick, picked))[0]))
            own = [dimension for grid in branch.grids for dimension in grid]
            found |= {dimension.name: dimension for dimension in [*([branch.which] if branch.which else []), *own]}
        return found


def _chosen(dimensions: Sequence[Dimension], pick: Pick) -> tuple[tuple[str, ...], dict[str, Any]]:
    chosen = [(dimension, pick(dimension)) for dimension in dimensions]
    values = {dimension.key.lstrip("+"): value for dimension, value in chosen}
    return tuple(dimension.override(value) for dimension, value in chosen), values


def _pick(picked: Mapping[str, Any], dimension: Dimension) -> Any:
    return picked.get(dimension.name, dimension.edges[0])


def _variants(dimensions: Sequence[Dimension]) -> Iterator[tuple[Dimension | None, dict[str, Any]]]:
    """Yield values by name: none, which is the first of all; then each other one of each dimension alone."""
    yield None, {}
    for dimension in dimensions:
        for value in dimension.edges[1:]:
            yield dimension, {dimension.name: value}


def read(override: Override) -> Dimension:
    """Return what an override such as ``x=interval(0,1)`` lets a study choose; ranges include their end.

    Raises
    ------
    UserError
        An empty range, or a logarithm of what is not positive.
    """
    key, value = override.get_key_element(), override.value()
    try:
        if isinstance(value, IntervalSweep):
            assert value.start is not None
            assert value.end is not None
            return Dimension(key, key, _numbers(value.start, value.end, None, "log" in value.tags))
        if isinstance(value, RangeSweep) and not value.shuffle:
            assert value.start is not None
            assert value.stop is not None
            return Dimension(key, key, _numbers(value.start, value.stop, value.step, "log" in value.tags))
    except ValueError as error:
        raise UserError(f"{override.input_line}: {error}") from error
    return choice(key, key, list(override.sweep_iterator()), tuple(override.sweep_string_iterator()))


def choice(key: str, name: str, values: Sequence[Any], words: tuple[str, ...] = ()) -> Dimension:
    """Return the choice between values; Optuna keeps numbers, truth values and texts, and lists as they are written."""
    words = words or tuple(word(value) for value in values)
    plain = [getattr(value, "text", value) for value in values]  # of a quoted string
    kept = [
        value if value is None or isinstance(value, str | int | float) else said
        for value, said in zip(plain, words, strict=True)
    ]
    return Dimension(key, name, CategoricalDistribution(kept), words)


def branch_of(learner: str, space: Any, taken: Sequence[str], parse: Callable[[str], Override]) -> Branch:
    """Return what a learner has to choose by itself.

    Parameters
    ----------
    learner : str
        Its option, which Optuna's names begin with: the C of one learner is not another's.
    space : mapping or list of mapping
        Parameter -> a list of values, or a text in the grammar of overrides; several mappings are several grids.
    taken : sequence of str
        Keys that are set or searched otherwise.
    parse : callable
        Reads an override.
    """
    several = isinstance(space, list) and len(space) > 1
    grids = []
    for place, grid in enumerate(space if isinstance(space, list) else [space or {}]):
        prefix = f"{learner}.{place}" if several else learner
        keys = {parameter: f"learner.{parameter}" for parameter in grid}
        own = [
            _own(key, f"{prefix}.{parameter}", grid[parameter], parse)
            for parameter, key in keys.items()
            if key not in taken
        ]
        grids.append(tuple(own))
    which = Dimension("", f"{learner}.grid", CategoricalDistribution(range(len(grids)))) if several else None
    return Branch(tuple(grids), which)


def _own(key: str, name: str, values: Any, parse: Callable[[str], Override]) -> Dimension:
    if isinstance(values, list) and values:
        return choice(key, name, values)
    override = parse(f"{key}={values}") if isinstance(values, str) else None
    if override is None or not override.is_sweep_override():
        parameter = key.removeprefix("learner.")
        raise UserError(f"space.{parameter}={values!r} must be a list of values, or such as range(1,9).")
    found = read(override)
    return Dimension(key, name, found.distribution, found.words)


def word(value: Any) -> str:
    """Write a value as it stands in an override.

    Examples
    --------
    >>> [word(value) for value in (None, True, 1e-9, "a b", [50, 50])]
    ['null', 'true', '1e-09', '"a b"', '[50,50]']
    """
    if isinstance(value, list):
        return f"[{','.join(map(word, value))}]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{word(child)}" for key, child in value.items()) + "}"
    return repr(value) if isinstance(value, float) else json.dumps(value)


def _numbers(low: float, high: float, step: float | None, log: bool) -> Distribution:
    whole = all(isinstance(number, int) for number in (low, high, 1 if step is None else step))
    if whole:
        return IntDistribution(int(low), int(high), log=log, step=int(step or 1))
    return FloatDistribution(float(low), float(high), log=log, step=step)
