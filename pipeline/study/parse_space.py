"""From the command line and ``hydra.sweeper.params`` to a space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.space import Branch, Space, branch_of, read, word
from bakeoff.pipeline.sweep.compose import Composer

SEARCHES = ("none", "grid")
"""Values of ``search`` that leave the choice to Optuna."""


def words_of(params: Mapping[str, Any]) -> list[str]:
    """Return ``hydra.sweeper.params`` as overrides; on the command line dotted keys have made nested mappings."""
    return [f"{key}={value if isinstance(value, str) else word(value)}" for key, value in _flat(params)]


def read_space(overrides: Sequence[Override], composer: Composer, method: str, has_more: bool) -> Space:
    """Return what is searched and what is fixed; of two overrides of one key the later counts.

    Parameters
    ----------
    overrides : sequence of Override
    composer : Composer
        Finds the space that goes with the chosen learner.
    method : str
        ``search.method``: ``grid`` lets each learner have its own space too.
    has_more : bool
        Whether something is searched that does not stand in overrides.

    Raises
    ------
    UserError
        Nothing to search, or something that cannot be.
    """
    if method not in SEARCHES:
        raise UserError(
            f"search={method} says which jobs to run, but those of a study Optuna chooses; set search=grid, which lets "
            "it choose from conf/space/<learner>.yaml too, or none."
        )
    latest = {override.key_or_group: override for override in overrides}
    searched = [override for override in latest.values() if override.is_sweep_override()]
    for override in searched:
        _require_searchable(override.key_or_group)
    given = tuple(str(override.input_line) for override in latest.values() if not override.is_sweep_override())
    about_spaces = tuple(each for each in given if each.lstrip("+~").startswith("space"))
    fixed = tuple(each for each in given if each not in about_spaces)
    dimensions = tuple(
        replace(read(override), is_group=composer.chooses_option(str(override.input_line))) for override in searched
    )
    branches = _Branches(composer, (*fixed, *about_spaces), len(fixed), tuple(latest))
    space = Space(fixed, dimensions, branches if method == "grid" else _none)
    if not has_more and not space.all_dimensions():
        raise UserError(
            "there is nothing to search: give 'learner.PARAMETER=interval(0,1)', range(1,9) or a,b,c, "
            "or search=grid for a learner of conf/space."
        )
    return space


def _require_searchable(key: str) -> None:
    if key == "dataset":
        raise UserError("dataset is searched, but scores on different data do not compare; run a study for each.")
    if key.startswith("space."):
        raise UserError(f"{key} is searched, but it is itself a space; search learner.{key[6:]}.")


def _none(overrides: tuple[str, ...]) -> Branch:
    return Branch()


class _Branches:
    """Finds the space of a job's learner; once for each choice of options.

    Parameters
    ----------
    composer : Composer
    given : tuple of str
        Overrides that all jobs share, those of spaces among them.
    fixed : int
        How many of the overrides of each job are shared.
    taken : tuple of str
        Keys that are set or searched otherwise.
    """

    def __init__(self, composer: Composer, given: tuple[str, ...], fixed: int, taken: tuple[str, ...]) -> None:
        self._composer = composer
        self._given = given
        self._fixed = fixed
        self._taken = taken
        self._known: dict[tuple[str, ...], Branch] = {}

    def __call__(self, overrides: tuple[str, ...]) -> Branch:
        groups = tuple(each for each in overrides[self._fixed :] if self._composer.chooses_option(each))
        if groups not in self._known:
            self._known[groups] = self._found(groups)
        return self._known[groups]

    def _found(self, groups: tuple[str, ...]) -> Branch:
        spec, choices = self._composer.compose((*self._given, *groups))
        parse = OverridesParser.create().parse_override
        return branch_of(str(choices.get("learner")), spec.get("space"), self._taken, parse)


def _flat(params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in params.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", child) for name, child in _flat(value))
        else:
            yield key, value
