"""What a study is after and what it found: on the screen, and as ``optimization_results.yaml`` beside the sweep."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.table import Table

from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Dimension, Space
from bakeoff.pipeline.study.trials import Trials
from bakeoff.pipeline.sweep.planning import INVALID, Plan

FILE = "optimization_results.yaml"


def announce(name: str, objectives: Sequence[Objective], finished: int, n_trials: int) -> None:
    """Say what is looked for, and how far it got."""
    aims = ", ".join(f"{objective.direction} {objective.name}" for objective in objectives)
    print(f"study {name}: {aims}; {finished} of {n_trials} trials are finished")


def preview(space: Space, plan: Plan) -> None:
    """Show what is searched, and what of it cannot work."""
    dimensions = space.all_dimensions()
    width = max(map(len, dimensions), default=0)
    for name, dimension in dimensions.items():
        print(f"  {name:<{width}}  {_range(dimension)}")
    invalid = plan.with_state(INVALID)
    print(f"{len(plan.entries)} jobs at the edges of this space were checked, {len(invalid)} cannot work")
    for row in invalid:
        print(f"  {row.name}: {row.reason}")


def conclude(study: optuna.Study, trials: Trials, objectives: Sequence[Objective], folder: Path) -> None:
    """Print the best parameters and write them down; of several objectives, all trials that no other beats."""
    best = best_trials(study)
    if not best:
        print(f"study {study.study_name}: no trial is finished, so there are no best parameters")
        return
    if len(objectives) == 1:
        _one(best[0], objectives[0])
    else:
        _front(best, objectives)
    OmegaConf.save(OmegaConf.create(as_mapping(study, best)), folder / FILE)
    print(f"study {study.study_name}: {trials.finished()} trials are finished; written to {folder / FILE}")


def best_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or those that no other beats in every objective; none where none is complete."""
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        return []
    return [study.best_trial] if len(study.directions) == 1 else study.best_trials


def as_mapping(study: optuna.Study, best: Sequence[FrozenTrial]) -> dict[str, Any]:
    """Return the results under hydra-optuna-sweeper's keys, with study, runs and overrides beside them."""
    found = [
        {
            "params": trial.user_attrs["job"]["params"],
            "values": list(trial.values),
            "run_id": trial.user_attrs["run"]["run_id"],
            "overrides": trial.user_attrs["job"]["overrides"],
        }
        for trial in best
    ]
    head = {"name": "optuna", "study_name": study.study_name}
    if len(study.directions) > 1:
        return {**head, "solutions": found}
    only = found[0]
    rest = {key: only[key] for key in ("run_id", "overrides")}
    return {**head, "best_params": only["params"], "best_value": only["values"][0], **rest}


def _one(trial: FrozenTrial, objective: Objective) -> None:
    recorded = [f"{name} {value:.6g}" for name, value in _recorded(trial).items()]
    print(f"Best parameters: {_params(trial)}")
    print(f"Best value: {objective.name} {trial.values[0]:.6g}" + (f"  ({', '.join(recorded)})" if recorded else ""))
    print(f"bakeoff {shlex.join(trial.user_attrs['job']['overrides'])}")


def _front(best: Sequence[FrozenTrial], objectives: Sequence[Objective]) -> None:
    """Show the trials that no other beats in every objective, the best of the first one first."""
    recorded = sorted({name for trial in best for name in _recorded(trial)} - {o.name for o in objectives})
    table = Table(title=f"{len(best)} trials that no other beats in all of the objectives", title_justify="left")
    for name in ("trial", *(objective.name for objective in objectives), *recorded):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("parameters", overflow="fold")
    ahead = -1 if objectives[0].direction == "maximize" else 1
    for trial in sorted(best, key=lambda each: (ahead * each.values[0], each.number)):
        others = [_recorded(trial).get(name, float("nan")) for name in recorded]
        table.add_row(f"#{trial.number}", *(f"{value:.4g}" for value in (*trial.values, *others)), _params(trial))
    Console(highlight=False, markup=False).print(table)


def _params(trial: FrozenTrial) -> str:
    return " ".join(f"{key}={value}" for key, value in trial.user_attrs["job"]["params"].items())


def _recorded(trial: FrozenTrial) -> dict[str, float]:
    """Return the test scores of a trial's run."""
    return dict(trial.user_attrs["run"]["recorded"])


def _range(dimension: Dimension) -> str:
    given = dimension.distribution
    if isinstance(given, CategoricalDistribution):
        return ", ".join(map(str, given.choices))
    steps = f", in steps of {given.step:g}" if given.step not in (None, 1) else ""
    return f"{given.low:g} to {given.high:g}{steps}{', by orders of magnitude' if given.log else ''}"
