"""The search space of a study: the choices for each job, as described by the command line and ``conf/space``."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import Composer, override_text

LEARNER_PREFIX = "learner."
LOG_TAG = "log"
Distribution: TypeAlias = CategoricalDistribution | FloatDistribution | IntDistribution


@dataclass(frozen=True)
class Dimension:
    """A key whose value a study chooses.

    Attributes
    ----------
    key : str
        The part of an override before the ``=``.
    name : str
        The name of the parameter in Optuna. It differs from the key if learners share the key: ``svm.C``.
    distribution : Distribution
    value_texts : tuple of str
        The values of a categorical dimension, as written in an override.
    is_group : bool
        Whether the dimension chooses an option of a group, such as ``learner``, which determines which files are read.
    """

    key: str
    name: str
    distribution: Distribution
    value_texts: tuple[str, ...] = ()
    is_group: bool = False

    def suggest_value(self, trial: Trial) -> Any:
        """Return the value that Optuna chooses for a trial."""
        given = self.distribution
        if isinstance(given, CategoricalDistribution):
            return trial.suggest_categorical(self.name, given.choices)
        suggest: Any = trial.suggest_int if isinstance(given, IntDistribution) else trial.suggest_float
        return suggest(self.name, given.low, given.high, step=given.step, log=given.log)

    @property
    def edge_values(self) -> tuple[Any, ...]:
        """All values of a categorical dimension, or the lowest and the highest number."""
        if isinstance(self.distribution, CategoricalDistribution):
            return tuple(self.distribution.choices)
        return (self.distribution.low, self.distribution.high)

    def format_override(self, value: Any) -> str:
        """Return ``key=value`` in Hydra's override grammar."""
        if isinstance(self.distribution, CategoricalDistribution):
            index = int(self.distribution.to_internal_repr(value))
            return f"{self.key}={self.value_texts[index]}"
        return f"{self.key}={value!r}"


ChooseValue = Callable[[Dimension], Any]
"""Returns a value of a dimension."""
Dimensions = tuple[Dimension, ...]


class Suggestion(NamedTuple):
    """A value of each dimension.

    Attributes
    ----------
    overrides : tuple of str
        The overrides from which the job is composed.
    values : mapping of str to Any
        The chosen values by key.
    """

    overrides: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True)
class SearchSpace:
    """All choices that a study can make.

    Attributes
    ----------
    fixed : tuple of str
        The fixed overrides shared by all jobs.
    dimensions : tuple of Dimension
        The dimensions shared by all jobs.
    find_learner_space : callable
        (overrides) -> the dimensions of the learner chosen by the overrides.
    """

    fixed: tuple[str, ...]
    dimensions: Dimensions
    find_learner_space: Callable[[tuple[str, ...]], Dimensions]

    def suggest(self, choose_value: ChooseValue) -> Suggestion:
        """Choose a value of each dimension."""
        # The dimensions of the learner come last, because they are unknown until the learner is chosen.
        shared = [(dimension, choose_value(dimension)) for dimension in self.dimensions]
        overrides = (*self.fixed, *(dimension.format_override(value) for dimension, value in shared))
        own = [(dimension, choose_value(dimension)) for dimension in self.find_learner_space(overrides)]
        values = {dimension.key.lstrip("+"): value for dimension, value in (*shared, *own)}
        return Suggestion((*overrides, *(dimension.format_override(value) for dimension, value in own)), values)

    def iterate_edges(self) -> Iterator[Suggestion]:
        """Yield suggestions that cover each option and both ends of each range; other values are the first ones."""
        for changed, values in _vary_one(self.dimensions):
            for _, own in _vary_one(self._list_own(values)):
                yield self.suggest(partial(_value_or_first, values | own))
                # Unless an option has changed, the learner is the same, and its edges have already been yielded.
                if changed is not None and not changed.is_group:
                    break

    def all_dimensions(self) -> dict[str, Dimension]:
        """Return the dimensions of all jobs and of all learners, keyed by their names in Optuna."""
        found = {dimension.name: dimension for dimension in self.dimensions}
        for _, values in _vary_one(self.dimensions):
            found |= {dimension.name: dimension for dimension in self._list_own(values)}
        return found

    def _list_own(self, values: Mapping[str, Any]) -> Dimensions:
        """Return the dimensions of the learner for given values of the shared dimensions."""
        overrides = [each.format_override(_value_or_first(values, each)) for each in self.dimensions]
        return self.find_learner_space((*self.fixed, *overrides))


def _value_or_first(values: Mapping[str, Any], dimension: Dimension) -> Any:
    """Return the value with the dimension's name, or the first value of the dimension if there is none."""
    return values.get(dimension.name, dimension.edge_values[0])


def _vary_one(dimensions: Sequence[Dimension]) -> Iterator[tuple[Dimension | None, dict[str, Any]]]:
    """Yield (None, {}) for the first values, then each other edge value of each dimension in turn."""
    yield None, {}
    for dimension in dimensions:
        for value in dimension.edge_values[1:]:
            yield dimension, {dimension.name: value}


def parse_space(overrides: Sequence[Override], composer: Composer, method: str) -> SearchSpace:
    """Return the searched and the fixed parts of the overrides.

    Parameters
    ----------
    overrides : sequence of Override
        The overrides, of which the last one for a key takes effect.
    composer : Composer
        Finds the search space of the chosen learner.
    method : str
        ``grid`` and the other methods search ``conf/space/<learner>.yaml`` as well; ``none`` does not.

    Raises
    ------
    UserError
        There is nothing to search, or a key cannot be searched.
    """
    latest = {override.key_or_group: override for override in overrides}
    dimensions = []
    fixed = []
    space_overrides = []  # "space.C=[1,10]" changes the search space, but is not part of a job
    for key, override in latest.items():
        text = str(override.input_line)
        if override.is_sweep_override():
            if key == "dataset":
                raise UserError("scores on different datasets cannot be compared; run a study for each dataset.")
            dimensions.append(replace(parse_dimension(override), is_group=composer.chooses_option(text)))
        elif text.lstrip("+~").startswith("space"):
            space_overrides.append(text)
        else:
            fixed.append(text)

    @cache
    def compose_space(options: tuple[str, ...]) -> Dimensions:
        spec, choices = composer.compose((*fixed, *space_overrides, *options))
        return parse_learner_space(str(choices.get("learner")), spec.get("space") or {}, tuple(latest))

    def find_learner_space(words: tuple[str, ...]) -> Dimensions:
        if method == "none":
            return ()
        # The space is composed once for each choice of options.
        return compose_space(tuple(word for word in words[len(fixed) :] if composer.chooses_option(word)))

    space = SearchSpace(tuple(fixed), tuple(dimensions), find_learner_space)
    if not space.all_dimensions():
        raise UserError(
            "there is nothing to search: specify 'learner.PARAMETER=interval(0,1)', range(1,9) or a,b,c, "
            "or use search=grid for a learner listed in conf/space."
        )
    return space


def parse_learner_space(learner: str, space: Any, given_keys: Sequence[str]) -> Dimensions:
    """Return the dimensions of a learner, as listed in ``conf/space/<learner>.yaml``.

    Parameters
    ----------
    learner : str
        The option, used as a prefix of names in Optuna, because learners may have a parameter ``C`` in common.
    space : mapping
        Parameter -> a list of values, or text in the override grammar.
    given_keys : sequence of str
        The keys set or searched by the command line, which are omitted here.

    Raises
    ------
    UserError
        The space is a list of grids, or a value is neither a list nor such a text.
    """
    if isinstance(space, list):
        raise UserError(
            f"the space of {learner} has {len(space)} grids, but a study supports only one; write one mapping."
        )
    searched = {name: values for name, values in space.items() if LEARNER_PREFIX + name not in given_keys}
    return tuple(_parse_parameter(name, f"{learner}.{name}", values) for name, values in searched.items())


def _parse_parameter(parameter: str, name: str, values: Any) -> Dimension:
    key = LEARNER_PREFIX + parameter
    if isinstance(values, list) and values:
        return make_categorical(key, name, values, [override_text(value) for value in values])
    override = OverridesParser.create().parse_override(f"{key}={values}") if isinstance(values, str) else None
    if override is None or not override.is_sweep_override():
        raise UserError(f"space.{parameter}={values!r} must be a list of values, or a string such as range(1,9).")
    return replace(parse_dimension(override), name=name)


def parse_dimension(override: Override) -> Dimension:
    """Return the dimension described by an override such as ``x=interval(0,1)``; ranges include their end.

    Parameters
    ----------
    override : Override
        An override with several values.

    Raises
    ------
    UserError
        There are no values, an end of a range is not finite, or a logarithmic range is not positive.
    """
    key = override.get_key_element()
    value: Any = override.value()
    try:
        if isinstance(value, IntervalSweep):
            return Dimension(key, key, _make_distribution(value.start, value.end, None, LOG_TAG in value.tags))
        if isinstance(value, RangeSweep):
            return Dimension(key, key, _make_distribution(value.start, value.stop, value.step, LOG_TAG in value.tags))
        return make_categorical(key, key, list(override.sweep_iterator()), list(override.sweep_string_iterator()))
    except (ArithmeticError, ValueError) as error:
        raise UserError(f"{override.input_line}: {str(error).rstrip('.')}.") from error


def make_categorical(key: str, name: str, values: Sequence[Any], texts: Sequence[str]) -> Dimension:
    """Return a dimension for a list of values, with their texts as written in overrides."""
    choices = []
    for value, text in zip(values, texts, strict=True):
        unquoted = getattr(value, "text", value)
        # Optuna stores None, numbers, Booleans and strings. Other values, such as lists, are stored as text.
        is_storable = unquoted is None or isinstance(unquoted, str | int | float)
        choices.append(unquoted if is_storable else text)
    return Dimension(key, name, CategoricalDistribution(choices), tuple(texts))


def _make_distribution(low: Any, high: Any, step: Any, is_log: bool) -> Distribution:
    given = [low, high] if step is None else [low, high, step]
    if not all(map(math.isfinite, given)):
        raise ValueError("the ends of an interval or range must be finite numbers")
    if all(isinstance(number, int) for number in given):
        return IntDistribution(low, high, log=is_log, step=step or 1)
    return FloatDistribution(float(low), float(high), log=is_log, step=step)
