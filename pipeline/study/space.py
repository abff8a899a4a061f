"""What a study may choose: override keys with the values that they may take, in the grammar of Hydra's overrides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from pipeline.refusal import Refusal

Distribution = CategoricalDistribution | FloatDistribution | IntDistribution
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
    """

    key: str
    name: str
    distribution: Distribution
    words: tuple[str, ...] = ()

    def suggest(self, trial: Trial) -> Any:
        """Let a trial choose."""
        given = self.distribution
        if isinstance(given, CategoricalDistribution):
            return trial.suggest_categorical(self.name, given.choices)
        if isinstance(given, IntDistribution):
            return trial.suggest_int(self.name, given.low, given.high, step=given.step, log=given.log)
        return trial.suggest_float(self.name, given.low, given.high, step=given.step, log=given.log)

    @property
    def values(self) -> tuple[Any, ...]:
        """All choices, or the lowest number."""
        given = self.distribution
        return given.choices if isinstance(given, CategoricalDistribution) else (given.low,)

    def override(self, value: Any) -> str:
        """Return ``key=value`` as Hydra reads it."""
        if isinstance(self.distribution, CategoricalDistribution):
            return f"{self.key}={self.words[int(self.distribution.to_internal_repr(value))]}"
        return f"{self.key}={value!r}"


@dataclass(frozen=True)
class Space:
    """Everything that a study may choose.

    Attributes
    ----------
    fixed : tuple of str
        Overrides of every job.
    dimensions : tuple of Dimension
        Of every job.
    own : callable
        (overrides) -> the dimensions that only the chosen learner has.
    """

    fixed: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    own: Callable[[tuple[str, ...]], tuple[Dimension, ...]]

    def choose(self, pick: Pick) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Choose a value of each dimension, those of the learner's own after the learner.

        Returns
        -------
        overrides : tuple of str
            Of a job.
        values : dict of str to Any
            What was chosen, by key.
        """
        overrides, values = _choose(self.dimensions, pick)
        overrides = (*self.fixed, *overrides)
        more, own = _choose(self.own(overrides), pick)
        return (*overrides, *more), values | own

    def examples(self) -> Iterator[tuple[str, ...]]:
        """Yield overrides of jobs in which each option of each group occurs: what composes or does not."""
        first = {dimension.name: dimension.values[0] for dimension in self.dimensions}
        options = [(each.name, value) for each in self.dimensions if "." not in each.key for value in each.values]
        for name, value in options or list(first.items())[:1] or [("", None)]:
            picked = {**first, name: value}
            yield self.choose(partial(_pick, picked))[0]


def _choose(dimensions: Sequence[Dimension], pick: Pick) -> tuple[tuple[str, ...], dict[str, Any]]:
    chosen = [(dimension, pick(dimension)) for dimension in dimensions]
    values = {dimension.key.lstrip("+"): value for dimension, value in chosen}
    return tuple(dimension.override(value) for dimension, value in chosen), values


def _pick(picked: Mapping[str, Any], dimension: Dimension) -> Any:
    return picked.get(dimension.name, dimension.values[0])


def read(override: Override) -> Dimension:
    """Return what an override such as ``x=interval(0,1)`` lets a study choose; ranges include their end.

    Raises
    ------
    Refusal
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
        raise Refusal(f"{override.input_line}: {error}") from error
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


def own_dimensions(
    learner: str, space: Any, taken: Sequence[str], parse: Callable[[str], Override]
) -> tuple[Dimension, ...]:
    """Return the dimensions of a learner's own space.

    Parameters
    ----------
    learner : str
        Its option, which Optuna's names begin with: the C of one learner is not another's.
    space : mapping
        Parameter -> a list of values, or a text in the grammar of overrides.
    taken : sequence of str
        Keys that are set or searched otherwise.
    parse : callable
        Reads an override.
    """
    if isinstance(space, list):
        raise Refusal(f"hydra.sweeper.spaces=true, but the space of {learner} is a list; write one mapping.")
    return tuple(
        _own(f"learner.{parameter}", f"{learner}.{parameter}", values, parse)
        for parameter, values in (space or {}).items()
        if f"learner.{parameter}" not in taken
    )


def _own(key: str, name: str, values: Any, parse: Callable[[str], Override]) -> Dimension:
    if isinstance(values, list) and values:
        return choice(key, name, values)
    override = parse(f"{key}={values}") if isinstance(values, str) else None
    if override is None or not override.is_sweep_override():
        parameter = key.removeprefix("learner.")
        raise Refusal(f"space.{parameter}={values!r} must be a list of values, or such as range(1,9).")
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
