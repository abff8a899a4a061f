"""Optuna's sampler and pruner, and a user-defined function that suggests further keys."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution
from optuna.trial import Trial

from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.config.settle import settle_booleans
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Dimension, SearchSpace, Suggestion, format_value
from bakeoff.pipeline.study.study_key import StudyKey
from bakeoff.pipeline.study.trials import ExtendSuggestion
from bakeoff.pipeline.sweep.compose import Composer

GRID_SAMPLER = "optuna.samplers.GridSampler"


def settle_sampler(given: Mapping[str, Any], space: SearchSpace) -> dict[str, Any]:
    """Return the configuration of a sampler; that of a grid has the values of each dimension.

    Parameters
    ----------
    given : mapping
        The keys below ``hydra.sweeper.sampler``.
    space : SearchSpace

    Raises
    ------
    UserError
        A grid would have infinitely many points, or each learner another grid.
    """
    sampler = dict(given)
    if sampler.get("_target_") == GRID_SAMPLER and not sampler.get("search_space"):
        sampler["search_space"] = _make_grid(space)
    return sampler


def count_points(sampler: Mapping[str, Any]) -> float:
    """Return the number of different trials that a settled sampler can draw."""
    if sampler.get("_target_") != GRID_SAMPLER:
        return math.inf
    return math.prod(len(values) for values in sampler["search_space"].values())


def build_sampler(sampler: Mapping[str, Any], key: StudyKey, n_known: int = 0) -> Any:
    """Build a settled sampler; one without a seed gets the seed of the experiment.

    Parameters
    ----------
    sampler : mapping
    key : StudyKey
    n_known : int
        The number of trials that the study has already, whose draws must not be repeated.
    """
    settled = dict(sampler)
    if "seed" in settled:
        seed = key.seed if settled["seed"] is None else settled["seed"]
        if not isinstance(seed, int):
            raise UserError(f"hydra.sweeper.sampler.seed={seed!r} must be an integer, or null.")
        # The seed of a grid determines the order of its points, which must not change.
        settled["seed"] = seed if sampler.get("_target_") == GRID_SAMPLER else seed + n_known
    return _build_optuna_object(settled, "hydra.sweeper.sampler", key.trust)


def build_pruner(given: Mapping[str, Any], key: StudyKey, *, is_local: bool) -> Any:
    """Build a pruner; return None if it never stops a trial.

    Parameters
    ----------
    given : mapping
        The keys below ``hydra.sweeper.pruner``.
    key : StudyKey
    is_local : bool
        Whether the jobs run on this machine.

    Raises
    ------
    UserError
        It cannot be built, or cannot stop the jobs of this study.
    """
    pruner = _build_optuna_object(given, "hydra.sweeper.pruner", key.trust)
    if isinstance(pruner, optuna.pruners.NopPruner):
        return None
    _require_stoppable(key.objectives, is_local=is_local)
    return pruner


def _require_stoppable(objectives: Sequence[Objective], *, is_local: bool) -> None:
    if len(objectives) > 1:
        raise UserError(
            f"hydra.sweeper.pruner compares trials by one objective, but there are {len(objectives)}; "
            "set hydra/sweeper/pruner=none, or name one objective."
        )
    if not is_local:
        raise UserError(
            "hydra.sweeper.pruner stops jobs on this machine only; set hydra/sweeper/pruner=none, or run the same "
            "command without hydra/launcher on each machine, with hydra.sweeper.storage=postgresql://..."
        )


def _build_optuna_object(config: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return build_object(settle_booleans(config, (key,), trust), key, trust)


def find_extension(target: str | None, composer: Composer, trust: Sequence[str]) -> ExtendSuggestion:
    """Return a function that adds the keys suggested by ``hydra.sweeper.custom_search_space`` to a suggestion."""
    if target is None:
        return lambda trial, suggestion: suggestion
    function = find_target(target, "hydra.sweeper.custom_search_space", list(trust))

    def extend_suggestion(trial: Trial, suggestion: Suggestion) -> Suggestion:
        known_names = set(trial.params)
        spec, _ = composer.compose(suggestion.overrides)
        function(OmegaConf.create(spec), trial)
        # The function returns nothing. What it suggested are the parameters that the trial did not have before.
        added = {name: value for name, value in trial.params.items() if name not in known_names}
        added_overrides = tuple(f"{name}={format_value(value)}" for name, value in added.items())
        return Suggestion((*suggestion.overrides, *added_overrides), {**suggestion.values, **added})

    return extend_suggestion


def _make_grid(space: SearchSpace) -> dict[str, list[Any]]:
    """Return all values of each dimension, by its name."""
    shared = {dimension.name: dimension for dimension in space.dimensions}
    if len(space.all_dimensions()) > len(shared):
        raise UserError(
            "hydra/sweeper/sampler=grid cannot search each learner in its own space, but a plain sweep can: "
            "leave out hydra/sweeper=optuna and keep search=grid."
        )
    return {name: _list_values(dimension) for name, dimension in shared.items()}


def _list_values(dimension: Dimension) -> list[Any]:
    given = dimension.distribution
    if isinstance(given, CategoricalDistribution):
        return list(given.choices)
    if given.step is None or given.log:
        raise UserError(
            f"hydra/sweeper/sampler=grid: {dimension.key} has infinitely many values; "
            "give a list, or range(...,step=...)."
        )
    n_values = round((given.high - given.low) / given.step) + 1
    return [given.low + index * given.step for index in range(n_values)]
