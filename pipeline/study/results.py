"""The results of a study: in the terminal, and in ``optimization_results.yaml`` in the folder of the sweep."""

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

from bakeoff.pipeline.study.objectives import Objective
from bakeoff.pipeline.study.space import Dimension, SearchSpace
from bakeoff.pipeline.study.storage import FINISHED_STATES
from bakeoff.pipeline.study.trials import JOB, RUN
from bakeoff.pipeline.sweep.planning import INVALID, Plan
from bakeoff.pipeline.tables.output_file import replace_whole
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, make_table
from bakeoff.pipeline.tables.terminal import render_text
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import count_nouns

RESULTS_FILE = "optimization_results.yaml"


def open_console(quiet: bool) -> Console:
    """Return where the results are printed, as they are; nothing is printed if it is quiet."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True, quiet=quiet)


def show_start(name: str, objectives: Sequence[Objective], n_finished: int, n_trials: int, out: Console) -> None:
    """Print the objectives, and the number of finished trials."""
    aims = ", ".join(f"{objective.direction} {objective.name}" for objective in objectives)
    out.print(f"study {name}: {aims}; {n_finished} of {n_trials} trials are finished")


def show_space(space: SearchSpace, edge_plan: Plan, out: Console) -> None:
    """Print the search space, and the invalid jobs at its edges."""
    dimensions = space.all_dimensions()
    width = max(map(len, dimensions), default=0)
    for name, dimension in dimensions.items():
        out.print(f"  {name:<{width}}  {_format_range(dimension)}")
    invalid = edge_plan.with_state(INVALID)
    out.print(f"{len(edge_plan.entries)} jobs at the edges of this space were checked, {len(invalid)} cannot work")
    for entry in invalid:
        out.print(f"  {entry.name}: {entry.reason}")


def show_results(study: optuna.Study, objectives: Sequence[Objective], folder: Path, out: Console) -> None:
    """Print the best trial, or with several objectives the Pareto front, and write it to a file.

    Parameters
    ----------
    study : optuna.Study
    objectives : sequence of Objective
    folder : Path
        The folder of the sweep.
    out : Console
    """
    best = find_best_trials(study)
    if not best:
        out.print(f"study {study.study_name}: no trial is finished, so there are no best parameters")
        return
    if len(objectives) == 1:
        _show_best_trial(best[0], objectives[0], out)
    else:
        _show_pareto_front(best, objectives, out)
    file = folder / RESULTS_FILE
    with replace_whole(file) as temporary:
        OmegaConf.save(OmegaConf.create(make_results_mapping(study, best)), temporary)
    n_finished = len(study.get_trials(deepcopy=False, states=FINISHED_STATES))
    out.print(f"study {study.study_name}: {n_finished} trials are finished; written to {file}")


def find_best_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the best trial, or with several objectives the Pareto front; an empty list if no trial is complete."""
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        return []
    if len(study.directions) == 1:
        return [study.best_trial]
    return study.best_trials


def make_results_mapping(study: optuna.Study, best: Sequence[FrozenTrial]) -> dict[str, Any]:
    """Return the results under the keys of hydra-optuna-sweeper, with the study, runs and overrides as further keys."""
    head = {"name": "optuna", "study_name": study.study_name}
    if len(study.directions) > 1:
        return {**head, "solutions": [_make_solution(trial) for trial in best]}
    solution = _make_solution(best[0])
    return {
        **head,
        "best_params": solution["params"],
        "best_value": solution["values"][0],
        "run_id": solution["run_id"],
        "overrides": solution["overrides"],
    }


def _make_solution(trial: FrozenTrial) -> dict[str, Any]:
    job = trial.user_attrs[JOB]
    return {
        "params": job["params"],
        "values": list(trial.values),
        "run_id": trial.user_attrs[RUN]["run_id"],
        "overrides": job["overrides"],
    }


def _show_best_trial(trial: FrozenTrial, objective: Objective, out: Console) -> None:
    """Print the best parameters, their value with the test scores, and the command for a single run with them."""
    value = f"{objective.name} {format_score(trial.values[0])}"
    scores = [f"{name} {format_score(score)}" for name, score in _get_test_scores(trial).items()]
    if scores:
        value += f"  ({', '.join(scores)})"
    out.print(f"Best parameters: {_format_params(trial)}")
    out.print(f"Best value: {value}")
    out.print(f"bakeoff {shlex.join(trial.user_attrs[JOB]['overrides'])}")


def _show_pareto_front(front: Sequence[FrozenTrial], objectives: Sequence[Objective], out: Console) -> None:
    """Print the trials of the Pareto front as a table, sorted by the first objective."""
    objective_names = [objective.name for objective in objectives]
    recorded = {name for trial in front for name in _get_test_scores(trial)}
    score_names = sorted(recorded - set(objective_names))
    trials = count_nouns(len(front), "trial")
    out.print(f"Pareto front: {trials} that no other trial beats in all objectives")
    columns: Row = ["trial", *objective_names, *score_names, Cell("parameters", TEXT)]
    rows = []
    sign = -1 if objectives[0].direction == "maximize" else 1
    for trial in sorted(front, key=lambda trial: (sign * trial.values[0], trial.number)):
        test_scores = _get_test_scores(trial)
        numbers = [*trial.values, *(test_scores.get(name, float("nan")) for name in score_names)]
        cells = [format_score(number) for number in numbers]
        rows.append([f"#{trial.number}", *cells, _format_params(trial)])
    out.print(render_text(make_table("", columns, rows), out.width))


def _format_params(trial: FrozenTrial) -> str:
    params = trial.user_attrs[JOB]["params"]
    return " ".join(f"{key}={value}" for key, value in params.items())


def _get_test_scores(trial: FrozenTrial) -> dict[str, float]:
    return dict(trial.user_attrs[RUN]["recorded"])


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
