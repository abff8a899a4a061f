"""The search space of a study: the choices of each job, described by the command line and ``conf/space``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import Composer

SEARCH_METHODS = ("none", "grid")
"""The values of ``search`` with which Optuna chooses the jobs."""
LEARNER_PREFIX = "learner."
LOG_TAG = "log"
Distribution: TypeAlias = CategoricalDistribution | FloatDistribution | IntDistribution
ParseOverride = Callable[[str], Override]


@dataclass(frozen=True)
class Dimension:
    """One key that a study sets.

    Attributes
    ----------
    key : str
        The part of an override before its ``=``.
    name : str
        The name of the parameter in Optuna. It differs from the key where learners share a key: ``svm.C``.
    distribution : Distribution
    value_texts : tuple of str
        The values of a categorical dimension, each as written in an override.
    is_group : bool
        Whether the dimension chooses an option of a group, such as ``learner``, which decides what files are read.
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
        if isinstance(given, IntDistribution):
            return trial.suggest_int(self.name, given.low, given.high, step=given.step, log=given.log)
        return trial.suggest_float(self.name, given.low, given.high, step=given.step, log=given.log)

    @property
    def edge_values(self) -> tuple[Any, ...]:
        """All values of a categorical dimension, or the lowest and the highest number."""
        if isinstance(self.distribution, CategoricalDistribution):
            return tuple(self.distribution.choices)
        return (self.distribution.low, self.distribution.high)

    def format_override(self, value: Any) -> str:
        """Return ``key=value`` in the grammar of Hydra's overrides."""
        if isinstance(self.distribution, CategoricalDistribution):
            index = int(self.distribution.to_internal_repr(value))
            return f"{self.key}={self.value_texts[index]}"
        return f"{self.key}={value!r}"


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
    """The dimensions of one learner: one grid, or several among which a trial chooses.

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
        # The dimensions of the learner come last: they are unknown until the learner is chosen.
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
                    # Unless an option changed, the learner is the same, and its edges have already been yielded.
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
    """Yield (None, {}) for the first values, then each other edge value of each dimension separately."""
    yield None, {}
    for dimension in dimensions:
        for value in dimension.edge_values[1:]:
            yield dimension, {dimension.name: value}


def format_params(params: Mapping[str, Any]) -> list[str]:
    """Return ``hydra.sweeper.params`` as overrides; dotted keys on the command line arrive as nested mappings."""
    overrides = []
    for key, value in _flatten_mapping(params):
        text = value if isinstance(value, str) else format_value(value)
        overrides.append(f"{key}={text}")
    return overrides


def parse_space(overrides: Sequence[Override], composer: Composer, method: str, has_custom_space: bool) -> SearchSpace:
    """Return the searched and the fixed parts.

    Parameters
    ----------
    overrides : sequence of Override
        The last override of a key counts.
    composer : Composer
        Finds the space of the chosen learner.
    method : str
        ``search.method``; with ``grid`` each learner is searched in its own space as well.
    has_custom_space : bool
        Whether a function of the user suggests further keys.

    Raises
    ------
    UserError
        There is nothing to search, or a key that cannot be searched.
    """
    if method not in SEARCH_METHODS:
        raise UserError(
            f"search={method} lists the jobs of a sweep, but Optuna chooses the jobs of a study; set search=grid, "
            "which adds conf/space/<learner>.yaml to the search, or search=none."
        )
    latest = {override.key_or_group: override for override in overrides}
    dimensions = []
    fixed = []
    space_overrides = []  # "space.C=[1,10]" changes what is searched, but is not part of a job
    for key, override in latest.items():
        text = str(override.input_line)
        if override.is_sweep_override():
            _require_searchable(key)
            dimension = parse_dimension(override)
            dimensions.append(replace(dimension, is_group=composer.chooses_option(text)))
        elif text.lstrip("+~").startswith("space"):
            space_overrides.append(text)
        else:
            fixed.append(text)
    find_learner_space = (
        _make_space_finder(composer, fixed, space_overrides, tuple(latest)) if method == "grid" else None
    )
    space = SearchSpace(tuple(fixed), tuple(dimensions), find_learner_space or (lambda overrides: LearnerSpace()))
    if not has_custom_space and not space.all_dimensions():
        raise UserError(
            "there is nothing to search: give 'learner.PARAMETER=interval(0,1)', range(1,9) or a,b,c, "
            "or search=grid for a learner of conf/space."
        )
    return space


def parse_learner_space(learner: str, space: Any, given_keys: Sequence[str], parse: ParseOverride) -> LearnerSpace:
    """Return the dimensions of one learner, as ``conf/space/<learner>.yaml`` lists them.

    Parameters
    ----------
    learner : str
        The option, with which names in Optuna begin: the ``C`` of one learner is not the ``C`` of another.
    space : mapping or list of mapping
        Parameter -> a list of values, or a text in the grammar of overrides. Several mappings are several grids.
    given_keys : sequence of str
        The keys that the command line sets or searches, and which are left out here.
    parse : callable
        Parses an override.

    Raises
    ------
    UserError
        A value of the space is neither a list nor such a text.
    """
    mappings = space if isinstance(space, list) else [space or {}]
    has_choice = len(mappings) > 1
    grids = []
    for number, mapping in enumerate(mappings):
        prefix = f"{learner}.{number}" if has_choice else learner
        searched = {name: values for name, values in mapping.items() if LEARNER_PREFIX + name not in given_keys}
        grids.append(tuple(_parse_parameter(name, f"{prefix}.{name}", each, parse) for name, each in searched.items()))
    if not has_choice:
        return LearnerSpace(tuple(grids))
    numbers = CategoricalDistribution(range(len(grids)))
    return LearnerSpace(tuple(grids), Dimension("", f"{learner}.grid", numbers))


def _parse_parameter(parameter: str, name: str, values: Any, parse: ParseOverride) -> Dimension:
    key = LEARNER_PREFIX + parameter
    if isinstance(values, list) and values:
        return make_categorical(key, name, values)
    override = parse(f"{key}={values}") if isinstance(values, str) else None
    if override is None or not override.is_sweep_override():
        raise UserError(f"space.{parameter}={values!r} must be a list of values, or a string such as range(1,9).")
    return replace(parse_dimension(override), name=name)


def _require_searchable(key: str) -> None:
    if key == "dataset":
        raise UserError(
            "dataset is searched, but scores on different data cannot be compared; run a study for each dataset."
        )
    if key.startswith("space."):
        parameter = key.removeprefix("space.")
        raise UserError(f"{key} is searched, but it is itself a search space; search learner.{parameter} instead.")


def _make_space_finder(
    composer: Composer, fixed: Sequence[str], space_overrides: Sequence[str], given_keys: Sequence[str]
) -> Callable[[tuple[str, ...]], LearnerSpace]:
    """Return a function (overrides of a job) -> the space of its learner, composed once for each choice of options."""
    parse = OverridesParser.create().parse_override

    @cache
    def compose_space(options: tuple[str, ...]) -> LearnerSpace:
        spec, choices = composer.compose((*fixed, *space_overrides, *options))
        return parse_learner_space(str(choices.get("learner")), spec.get("space"), given_keys, parse)

    def find_learner_space(overrides: tuple[str, ...]) -> LearnerSpace:
        chosen = overrides[len(fixed) :]
        return compose_space(tuple(override for override in chosen if composer.chooses_option(override)))

    return find_learner_space


def _flatten_mapping(mapping: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            for name, child in _flatten_mapping(value):
                yield f"{key}.{name}", child
        else:
            yield key, value


def parse_dimension(override: Override) -> Dimension:
    """Return the dimension that an override such as ``x=interval(0,1)`` describes; ranges include their end.

    Parameters
    ----------
    override : Override
        With several values.

    Raises
    ------
    UserError
        The range is empty, a logarithmic range is not positive, or nothing reads a tag.
    """
    key = override.get_key_element()
    value = override.value()
    _require_read_tags(override)
    if isinstance(value, IntervalSweep) or (isinstance(value, RangeSweep) and not value.shuffle):
        stop, step = (value.end, None) if isinstance(value, IntervalSweep) else (value.stop, value.step)
        assert value.start is not None
        assert stop is not None
        try:
            return Dimension(key, key, _make_number_distribution(value.start, stop, step, LOG_TAG in value.tags))
        except ValueError as error:
            raise UserError(f"{override.input_line}: {error}") from error
    values = list(override.sweep_iterator())
    texts = tuple(override.sweep_string_iterator())
    return make_categorical(key, key, values, texts)


def _require_read_tags(override: Override) -> None:
    value = override.value()
    read = {LOG_TAG} if isinstance(value, IntervalSweep | RangeSweep) else set()
    unread = sorted({str(tag) for tag in getattr(value, "tags", ())} - read)
    if unread:
        raise UserError(
            f"{override.input_line}: nothing reads the tag {unread[0]}; a study reads tag({LOG_TAG},...) of an "
            "interval or a range."
        )


def make_categorical(key: str, name: str, values: Sequence[Any], value_texts: tuple[str, ...] = ()) -> Dimension:
    """Return a dimension with a list of values.

    Parameters
    ----------
    key : str
    name : str
    values : sequence
    value_texts : tuple of str, optional
        The values as written in overrides; made from the values if left out.
    """
    texts = value_texts or tuple(format_value(value) for value in values)
    choices = []
    for value, text in zip(values, texts, strict=True):
        unquoted = getattr(value, "text", value)
        # Optuna stores None, numbers, Booleans and strings. Other values, such as lists, are stored as text.
        is_storable = unquoted is None or isinstance(unquoted, str | int | float)
        choices.append(unquoted if is_storable else text)
    return Dimension(key, name, CategoricalDistribution(choices), texts)


def format_value(value: Any) -> str:
    """Write a value in the grammar of Hydra's overrides.

    Examples
    --------
    >>> [format_value(value) for value in (None, True, 1e-9, "a b", [50, 50])]
    ['null', 'true', '1e-09', '"a b"', '[50,50]']
    """
    if isinstance(value, list):
        return f"[{','.join(map(format_value, value))}]"
    if isinstance(value, Mapping):
        items = [f"{key}:{format_value(child)}" for key, child in value.items()]
        return "{" + ",".join(items) + "}"
    # json.dumps would write infinity as Infinity, which Hydra reads as a string.
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _make_number_distribution(low: float, high: float, step: float | None, is_log: bool) -> Distribution:
    given = [low, high] if step is None else [low, high, step]
    if all(isinstance(number, int) for number in given):
        return IntDistribution(int(low), int(high), log=is_log, step=int(step or 1))
    return FloatDistribution(float(low), float(high), log=is_log, step=step)
