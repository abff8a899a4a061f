"""Parse the search space from the command line, from ``hydra.sweeper.params`` and from ``conf/space``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from optuna.distributions import CategoricalDistribution

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.dimension import Dimension, format_value, make_categorical, parse_dimension
from bakeoff.pipeline.study.space import LearnerSpace, SearchSpace
from bakeoff.pipeline.sweep.compose import Composer

SEARCH_METHODS = ("none", "grid")
"""The values of ``search`` with which Optuna chooses the jobs."""
LEARNER_PREFIX = "learner."

ParseOverride = Callable[[str], Override]


def format_params(params: Mapping[str, Any]) -> list[str]:
    """Return ``hydra.sweeper.params`` as overrides; dotted keys on the command line arrive as nested mappings."""
    overrides = []
    for key, value in _flatten_mapping(params):
        text = value if isinstance(value, str) else format_value(value)
        overrides.append(f"{key}={text}")
    return overrides


def parse_space(overrides: Sequence[Override], composer: Composer, method: str, has_custom_space: bool) -> SearchSpace:
    """Return what is searched and what is fixed.

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
    finder = _LearnerSpaceFinder(composer, (*fixed, *space_overrides), len(fixed), tuple(latest))
    find_learner_space = finder.find if method == "grid" else _find_nothing
    space = SearchSpace(tuple(fixed), tuple(dimensions), find_learner_space)
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
        grids.append(_parse_grid(mapping, prefix, given_keys, parse))
    if not has_choice:
        return LearnerSpace(tuple(grids))
    numbers = CategoricalDistribution(range(len(grids)))
    return LearnerSpace(tuple(grids), Dimension("", f"{learner}.grid", numbers))


def _parse_grid(
    mapping: Mapping[str, Any], prefix: str, given_keys: Sequence[str], parse: ParseOverride
) -> tuple[Dimension, ...]:
    grid = []
    for parameter, values in mapping.items():
        if LEARNER_PREFIX + parameter not in given_keys:
            grid.append(_parse_parameter(parameter, f"{prefix}.{parameter}", values, parse))
    return tuple(grid)


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


def _find_nothing(overrides: tuple[str, ...]) -> LearnerSpace:
    return LearnerSpace()


class _LearnerSpaceFinder:
    """Finds the space of a job's learner, once for each combination of options.

    Parameters
    ----------
    composer : Composer
    shared : tuple of str
        The overrides of every job, with those of ``space`` after them.
    n_fixed : int
        The number of overrides with which every job begins; those after them differ.
    given_keys : tuple of str
        The keys that the command line sets or searches.
    """

    def __init__(self, composer: Composer, shared: tuple[str, ...], n_fixed: int, given_keys: tuple[str, ...]) -> None:
        self._composer = composer
        self._shared = shared
        self._n_fixed = n_fixed
        self._given_keys = given_keys
        self._known: dict[tuple[str, ...], LearnerSpace] = {}

    def find(self, overrides: tuple[str, ...]) -> LearnerSpace:
        """Return the space of the learner that the overrides of a job choose."""
        own = overrides[self._n_fixed :]
        options = tuple(override for override in own if self._composer.chooses_option(override))
        if options not in self._known:
            self._known[options] = self._compose_space(options)
        return self._known[options]

    def _compose_space(self, options: tuple[str, ...]) -> LearnerSpace:
        spec, choices = self._composer.compose((*self._shared, *options))
        parse = OverridesParser.create().parse_override
        return parse_learner_space(str(choices.get("learner")), spec.get("space"), self._given_keys, parse)


def _flatten_mapping(mapping: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            for name, child in _flatten_mapping(value):
                yield f"{key}.{name}", child
        else:
            yield key, value
