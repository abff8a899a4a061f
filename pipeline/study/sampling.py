"""What draws trials and what stops them: Optuna's samplers and pruners, and a function of one's own."""

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
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.open_study import Question
from bakeoff.pipeline.study.space import Dimension, Point, Space, word
from bakeoff.pipeline.sweep.compose import Composer
from bakeoff.pipeline.sweep.plugin import SweepCommand

GRID = "optuna.samplers.GridSampler"
TRUSTED = "optuna"


@dataclass(frozen=True)
class Tools:
    """What draws trials and what stops them.

    Attributes
    ----------
    sampler : callable
        (how many trials there are) -> an Optuna sampler: a study that goes on must not repeat its first draws.
    pruner : optuna.pruners.BasePruner
    prunes : bool
        Whether it ever stops a trial.
    more : callable
        (trial, point) -> the point with what else is chosen.
    most : float
        How many different trials the sampler has.
    """

    sampler: Callable[[int], Any]
    pruner: Any
    prunes: bool
    more: Callable[[Trial, Point], Point]
    most: float

    @classmethod
    def of(cls, settings: Any, question: Question, space: Space, command: SweepCommand) -> Tools:
        """Build them, as ``hydra.sweeper`` says.

        Raises
        ------
        UserError
        """
        pruner = _built(settings.pruner, "hydra.sweeper.pruner", question.trust)
        prunes = not isinstance(pruner, optuna.pruners.NopPruner)
        if prunes:
            _require_prunable(question.objectives, command.launch is None)
        node, most = dict(settings.sampler), math.inf
        if node.get("_target_") == GRID:
            node["search_space"] = node.get("search_space") or _grid(space)
            most = math.prod(len(values) for values in node["search_space"].values())
        sampler = partial(_sampler, node, question)
        sampler(0)  # refused now, or not at all
        more = _more(settings.custom_search_space, command.composer, question.trust)
        return cls(sampler, pruner, prunes, more, most)


def _sampler(node: Mapping[str, Any], question: Question, known: int) -> Any:
    """Build the sampler; the experiment's seed serves one that has none."""
    settled, is_grid = dict(node), node.get("_target_") == GRID
    if "seed" in settled:
        seed = question.seed if settled["seed"] is None else settled["seed"]
        if not isinstance(seed, int):
            raise UserError(f"hydra.sweeper.sampler.seed={seed!r} must be a whole number, or null.")
        settled["seed"] = seed if is_grid else seed + known  # a grid's seed is its order
    return _built(settled, "hydra.sweeper.sampler", question.trust)


def _require_prunable(objectives: Sequence[Objective], here: bool) -> None:
    if len(objectives) > 1:
        raise UserError(
            "hydra.sweeper.pruner compares trials by one objective, and there are "
            f"{len(objectives)}; set hydra/sweeper/pruner=none, or name one objective."
        )
    if not here:
        raise UserError(
            "hydra.sweeper.pruner stops jobs of this machine only; set hydra/sweeper/pruner=none, or give the same "
            "command without hydra/launcher on each machine, with hydra.sweeper.storage=postgresql://..."
        )


def _more(target: str | None, composer: Composer, trust: Sequence[str]) -> Callable[[Trial, Point], Point]:
    """Return what chooses further values of a trial: ``hydra.sweeper.custom_search_space``, or nothing."""
    if target is None:
        return lambda trial, point: point
    function = find_target(target, "hydra.sweeper.custom_search_space", list(trust))

    def more(trial: Trial, point: Point) -> Point:
        before = set(trial.params)
        function(OmegaConf.create(composer.compose(point.overrides)[0]), trial)
        own = {name: value for name, value in trial.params.items() if name not in before}
        words = tuple(f"{name}={word(value)}" for name, value in own.items())
        return Point((*point.overrides, *words), {**point.values, **own})

    return more


def _built(node: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return build_object(node, key, [*trust, TRUSTED])


def _grid(space: Space) -> dict[str, list[Any]]:
    everywhere = {dimension.name: dimension for dimension in space.dimensions}
    if len(space.all_dimensions()) > len(everywhere):
        raise UserError(
            "hydra/sweeper/sampler=grid knows no spaces of single learners; the plain sweep does: "
            "leave out hydra/sweeper=optuna and keep search=grid."
        )
    return {name: _every_value(dimension) for name, dimension in everywhere.items()}


def _every_value(dimension: Dimension) -> list[Any]:
    given = dimension.distribution
    if isinstance(given, CategoricalDistribution):
        return list(given.choices)
    if given.step is None or given.log:
        raise UserError(
            f"hydra/sweeper/sampler=grid: {dimension.key} has no end of values; give a list, or range(...,step=...)."
        )
    count = round((given.high - given.low) / given.step) + 1
    return [given.low + place * given.step for place in range(count)]
