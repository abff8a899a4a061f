"""What a study found: on the screen, and as ``optimization_results.yaml`` in the folder of the sweep."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial, TrialState

from pipeline.study.objectives import Objective
from pipeline.study.trials import Trials

FILE = "optimization_results.yaml"


def announce(study: optuna.Study, trials: Trials, objectives: Sequence[Objective]) -> None:
    """Say what is about to run."""
    aims = ", ".join(f"{objective.direction} {objective.name}" for objective in objectives)
    print(f"study {study.study_name}: {aims}; {trials.finished()} of {trials.n_trials} trials are finished")


def conclude(study: optuna.Study, trials: Trials, objectives: Sequence[Objective], folder: Path) -> None:
    """Print the best parameters and write them down; of several objectives, all trials that no other beats."""
    best = best_trials(study)
    if not best:
        print(f"study {study.study_name}: no trial is finished, so there are no best parameters")
        return
    for trial in best:
        values = [f"{o.name} {value:.6g}" for o, value in zip(objectives, trial.values, strict=True)]
        recorded = [f"{name} {value:.6g}" for name, value in trial.user_attrs["recorded"].items()]
        print(f"Best parameters: {' '.join(f'{key}={value}' for key, value in trial.user_attrs['params'].items())}")
        print(f"Best value: {', '.join(values)}" + (f"  ({', '.join(recorded)})" if recorded else ""))
        print(f"bakeoff {shlex.join(trial.user_attrs['overrides'])}")
    folder.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(OmegaConf.create(as_mapping(study, best)), folder / FILE)
    print(f"study {study.study_name}: {trials.finished()} trials are finished; written to {folder / FILE}")


def best_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or those that no other beats in every objective; none where none is complete."""
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        return []
    return [study.best_trial] if len(study.directions) == 1 else study.best_trials


def as_mapping(study: optuna.Study, best: Sequence[FrozenTrial]) -> dict[str, Any]:
    """Return the results under hydra-optuna-sweeper's keys, with the study and the runs beside them."""
    found = [
        {"params": trial.user_attrs["params"], "values": list(trial.values), "run_id": trial.user_attrs["run_id"]}
        for trial in best
    ]
    head = {"name": "optuna", "study_name": study.study_name}
    if len(study.directions) > 1:
        return {**head, "solutions": found}
    only = found[0]
    return {**head, "best_params": only["params"], "best_value": only["values"][0], "run_id": only["run_id"]}
