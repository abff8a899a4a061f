"""The results of a study: in the terminal, and in ``optimization_results.yaml`` in the folder of the sweep."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from omegaconf import OmegaConf
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from bakeoff.pipeline.study.space import Dimension, SearchSpace
from bakeoff.pipeline.study.storage import FINISHED_STATES
from bakeoff.pipeline.study.study_key import Objective, StudyKey
from bakeoff.pipeline.study.trials import JOB, RUN
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.jobs import INVALID
from bakeoff.pipeline.sweep.planning import Plan
from bakeoff.pipeline.tables.output_file import replace_whole
from bakeoff.pipeline.text.wording import format_score

RESULTS_FILE = "optimization_results.yaml"


def show_start(key: StudyKey, n_finished: int, n_trials: int, display: SweepDisplay) -> None:
    """Print the objectives, and the number of finished trials."""
    aims = ", ".join(f"{objective.direction} {objective.name}" for objective in key.objectives)
    display.show(f"study {key.name}: {aims}; {n_finished} of {n_trials} trials are finished")


def show_space(space: SearchSpace, edge_plan: Plan, display: SweepDisplay) -> None:
    """Print the search space, and the invalid jobs at its edges."""
    dimensions = space.all_dimensions()
    width = max(map(len, dimensions))
    for name, dimension in dimensions.items():
        display.show(f"  {name:<{width}}  {_format_range(dimension)}")
    invalid = edge_plan.with_state(INVALID)
    display.show(f"{len(edge_plan.jobs)} jobs at the edges of this space were checked, {len(invalid)} cannot work")
    for job in invalid:
        display.show(f"  {job.name}: {job.reason}")


def show_results(study: optuna.Study, objectives: Sequence[Objective], folder: Path, display: SweepDisplay) -> None:
    """Print the best trial, or with several objectives the Pareto front, and write it to a file.

    Parameters
    ----------
    study : optuna.Study
    objectives : sequence of Objective
    folder : Path
        The folder of the sweep.
    display : SweepDisplay
    """
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        display.show(f"study {study.study_name}: no trial is finished, so there are no best parameters")
        return
    best = study.best_trials
    if len(objectives) == 1:
        best = [study.best_trial]
        display.show(f"Best parameters: {_format_params(best[0])}")
        display.show(f"Best value: {_format_values(best[0], objectives)}")
        display.show(f"bakeoff {shlex.join(best[0].user_attrs[JOB]['overrides'])}")
    else:
        display.show("Pareto front: the trials that no other trial beats in all objectives")
        for trial in best:
            display.show(f"  #{trial.number}  {_format_values(trial, objectives)}  {_format_params(trial)}")
    file = folder / RESULTS_FILE
    with replace_whole(file) as temporary:
        OmegaConf.save(OmegaConf.create(_make_results(study, best)), temporary)
    n_finished = len(study.get_trials(deepcopy=False, states=FINISHED_STATES))
    display.show(f"study {study.study_name}: {n_finished} trials are finished; written to {file}")


def _make_results(study: optuna.Study, best: Sequence[FrozenTrial]) -> dict[str, Any]:
    """Return the results under the keys of hydra-optuna-sweeper, with the study, runs and overrides as further keys."""
    solutions: list[Mapping[str, Any]] = [
        {
            "params": trial.user_attrs[JOB]["params"],
            "values": list(trial.values),
            "run_id": trial.user_attrs[RUN]["run_id"],
            "overrides": trial.user_attrs[JOB]["overrides"],
        }
        for trial in best
    ]
    head = {"name": "optuna", "study_name": study.study_name}
    if len(study.directions) > 1:
        return {**head, "solutions": solutions}
    solution = dict(solutions[0])
    return {**head, "best_params": solution.pop("params"), "best_value": solution.pop("values")[0], **solution}


def _format_values(trial: FrozenTrial, objectives: Sequence[Objective]) -> str:
    """Return the objectives of a trial, and in brackets its test scores."""
    values = zip((objective.name for objective in objectives), trial.values, strict=True)
    found = ", ".join(f"{name} {format_score(value)}" for name, value in values)
    scores = ", ".join(f"{name} {format_score(score)}" for name, score in trial.user_attrs[RUN]["recorded"].items())
    return f"{found}  ({scores})" if scores else found


def _format_params(trial: FrozenTrial) -> str:
    return " ".join(f"{key}={value}" for key, value in trial.user_attrs[JOB]["params"].items())


def _format_range(dimension: Dimension) -> str:
    given = dimension.distribution
    if isinstance(given, CategoricalDistribution):
        return ", ".join(map(str, given.choices))
    text = f"{given.low:g} to {given.high:g}"
    if given.step not in (None, 1):
        text += f", in steps of {given.step:g}"
    if given.log:
        text += ", on a logarithmic scale"
    return text
