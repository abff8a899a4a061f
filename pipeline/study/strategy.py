"""How a study searches: Optuna's sampler and pruner, and a function of the user that suggests further keys."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import optuna
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution
from optuna.trial import Trial

from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.config.settle import settle_booleans
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.dimension import Dimension, format_value
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.settings import StudySettings
from bakeoff.pipeline.study.space import SearchSpace, Suggestion
from bakeoff.pipeline.study.study_key import StudyKey
from bakeoff.pipeline.study.trials import ExtendSuggestion
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.plugin import SweepCommand

GRID_SAMPLER = "optuna.samplers.GridSampler"


@dataclass(frozen=True)
class SearchStrategy:
    """How a study searches.

    Attributes
    ----------
    make_sampler : callable
        (number of trials in the study) -> an Optuna sampler; a study that continues must not repeat its first draws.
    pruner : optuna.pruners.BasePruner
    stops_trials : bool
        Whether the pruner ever stops a trial.
    extend_suggestion : callable
    max_trials : float
        The number of different trials that the sampler can draw.
    """

    make_sampler: Callable[[int], Any]
    pruner: Any
    stops_trials: bool
    extend_suggestion: ExtendSuggestion
    max_trials: float


def build_strategy(settings: StudySettings, key: StudyKey, space: SearchSpace, command: SweepCommand) -> SearchStrategy:
    """Build the sampler, the pruner and the function of the user that ``hydra.sweeper`` names.

    Parameters
    ----------
    settings : StudySettings
    key : StudyKey
    space : SearchSpace
    command : SweepCommand

    Raises
    ------
    UserError
        One of them cannot be built, or the pruner cannot stop the jobs of this study.
    """
    pruner = _build_optuna_object(settings.pruner, "hydra.sweeper.pruner", key.trust)
    stops_trials = not isinstance(pruner, optuna.pruners.NopPruner)
    if stops_trials:
        _require_stoppable(key.objectives, is_local=command.launch is None)
    sampler_config = dict(settings.sampler)
    max_trials = math.inf
    if sampler_config.get("_target_") == GRID_SAMPLER:
        grid = sampler_config.get("search_space") or _make_grid(space)
        sampler_config["search_space"] = grid
        max_trials = math.prod(len(values) for values in grid.values())
    make_sampler = partial(_build_sampler, sampler_config, key)
    make_sampler(0)  # an invalid sampler is rejected now, before anything runs
    extend = _find_extension(settings.custom_search_space, command.composer, key.trust)
    return SearchStrategy(make_sampler, pruner, stops_trials, extend, max_trials)


def _build_sampler(config: Mapping[str, Any], key: StudyKey, n_known: int) -> Any:
    """Build a sampler; one without a seed gets the seed of the experiment.

    Parameters
    ----------
    config : mapping
        The keys below ``hydra.sweeper.sampler``.
    key : StudyKey
    n_known : int
        The number of trials that the study has already.
    """
    settled = dict(config)
    if "seed" in settled:
        seed = settled["seed"]
        if seed is None:
            seed = key.seed
        if not isinstance(seed, int):
            raise UserError(f"hydra.sweeper.sampler.seed={seed!r} must be an integer, or null.")
        # With another seed, a study that continues draws other trials. The seed of a grid determines the order of its
        # points, which must not change.
        is_grid = config.get("_target_") == GRID_SAMPLER
        settled["seed"] = seed if is_grid else seed + n_known
    return _build_optuna_object(settled, "hydra.sweeper.sampler", key.trust)


def _build_optuna_object(config: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return build_object(settle_booleans(config, (key,), trust), key, trust)


def _require_stoppable(objectives: Sequence[Objective], is_local: bool) -> None:
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


def _find_extension(target: str | None, composer: Composer, trust: Sequence[str]) -> ExtendSuggestion:
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
