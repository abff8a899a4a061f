"""A sweep whose jobs Optuna chooses: ask for trials, let the launcher run their jobs, tell their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import optuna
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobStatus
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig
from optuna.trial import Trial

from pipeline import config, report
from pipeline.dataset import Dataset
from pipeline.experiment import Experiment, Fold
from pipeline.job import Result
from pipeline.refusal import Refusal
from pipeline.study import results
from pipeline.study.composing import Composer, read_space
from pipeline.study.objectives import Objective, choose_objectives, require_validation_rows
from pipeline.study.opening import Facts, opened_study
from pipeline.study.trials import Trials, signs_of_life

HERE = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""The launcher that runs jobs in this process, one after another."""


@dataclass(frozen=True)
class Settings:
    """The keys of ``hydra.sweeper``; conf/hydra/sweeper/optuna.yaml says what they are."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    params: dict[str, Any]
    n_trials: int
    n_jobs: int
    objectives: list[str] | str | None
    direction: list[str] | str | None
    study_name: str | None
    storage: str | None
    spaces: bool

    def __post_init__(self) -> None:
        for key in ("n_trials", "n_jobs"):
            value = getattr(self, key)
            if value < 1:
                raise Refusal(f"hydra.sweeper.{key}={value!r} must be a whole number from 1.")


def sweep(
    arguments: Sequence[str], settings: Settings, context: HydraContext, task: TaskFunction, master: DictConfig
) -> None:
    """Run trials until the study has ``n_trials`` finished ones, and write down the best.

    Parameters
    ----------
    arguments : sequence of str
        Overrides of the command line; one with several values is searched.
    settings : Settings
    context, task, master
        What Hydra gives a sweeper.

    Raises
    ------
    Refusal
        Nothing was run.
    """
    composer = Composer(context, master)
    space = read_space(arguments, settings.params, settings.spaces, composer)
    specs = [composer.spec(overrides) for overrides in space.examples()]
    trust = list(specs[0]["trust"])
    dataset: Dataset = config.build(specs[0]["dataset"], "dataset", trust)
    objectives = choose_objectives(
        settings.objectives, settings.direction, dataset.task, specs[0]["evaluation"].get("metrics")
    )
    for spec in specs:
        require_validation_rows(objectives, spec)
    pruner = config.build(settings.pruner, "hydra.sweeper.pruner", [*trust, "optuna"])
    prunes = not isinstance(pruner, optuna.pruners.NopPruner)
    _require_prunable(prunes, objectives, str(master.hydra.launcher._target_))

    facts = Facts.of(space, objectives, dataset)
    with opened_study(settings.storage, settings.study_name or facts.name, facts) as study:
        study.pruner = pruner
        study.sampler = _sampler(settings.sampler, trust, len(study.get_trials(deepcopy=False)))
        trials = Trials(study, space, objectives, settings.n_trials)
        results.announce(study, trials, objectives)
        launcher = partial(Plugins.instance().instantiate_launcher, context, config=master)
        Jobs(trials, task, prunes).run(launcher, settings.n_jobs, master)
        results.conclude(study, trials, objectives, Path(str(master.hydra.sweep.dir)))


@dataclass
class Jobs:
    """Runs trials as jobs.

    Attributes
    ----------
    trials : Trials
    task : callable
        (composed configuration[, judge]) -> Result
    prunes : bool
        Whether folds are judged as they come.
    """

    trials: Trials
    task: Callable[..., Result]
    prunes: bool
    _running: dict[int, Trial] = field(default_factory=dict, init=False)

    def run(self, launcher: Callable[..., Any], n_jobs: int, master: DictConfig) -> None:
        """Hand batches to the launcher until the study has what it shall have."""
        is_here = str(master.hydra.launcher._target_) == HERE
        launch = launcher(task_function=self._run_here if is_here else self.task).launch
        number = 0
        while asked := self.trials.ask(n_jobs):
            self._running = {number + place: one.trial for place, one in enumerate(asked)}
            try:
                with signs_of_life(asked):
                    returned = launch([list(one.overrides) for one in asked], initial_job_idx=number)
                    for job, came in enumerate([] if is_here else returned, number):
                        self._tell(job, came.return_value if came.status == JobStatus.COMPLETED else None)
            finally:
                for trial in self._running.values():
                    self.trials.fail(trial, "interrupted")
            number += len(asked)

    def _run_here(self, composed: DictConfig) -> Result:
        """Run a job and tell its scores at once, so that an interrupted batch loses one trial only."""
        number = int(HydraConfig.get().job.num)
        if self.prunes:
            result = self.task(composed, partial(self._judge, self._running[number]))
        else:
            result = self.task(composed)
        self._tell(number, result)
        return result

    def _judge(self, trial: Trial, experiment: Experiment, folds: Sequence[Fold]) -> bool:
        """Report the mean over the folds so far; return whether the trial is worth another fold."""
        value = report.summary(experiment, folds).get(self.trials.objectives[0].name, float("nan"))
        if value == value:
            trial.report(value, step=len(folds))
        return not trial.should_prune()

    def _tell(self, number: int, result: Result | None) -> None:
        trial = self._running.pop(number)
        if result is None or result.error is not None:
            self.trials.fail(trial, "the job was lost" if result is None else str(result.error))
        else:
            self.trials.tell(trial, result.metrics, result.pruned, result.run_id)


def _require_prunable(prunes: bool, objectives: Sequence[Objective], launcher: str) -> None:
    if prunes and len(objectives) > 1:
        raise Refusal(
            "hydra.sweeper.pruner compares trials by one objective, and there are "
            f"{len(objectives)}; set hydra/sweeper/pruner=none, or name one objective."
        )
    if prunes and launcher != HERE:
        raise Refusal(
            "hydra.sweeper.pruner stops jobs that run in this process only; set hydra/sweeper/pruner=none, "
            "or hydra/launcher=basic."
        )


def _sampler(node: dict[str, Any], trust: list[str], known: int) -> optuna.samplers.BaseSampler:
    """Build the sampler; a study that goes on must not repeat the draws that it began with."""
    if isinstance(node.get("seed"), int):
        node = {**node, "seed": node["seed"] + known}
    sampler: optuna.samplers.BaseSampler = config.build(node, "hydra.sweeper.sampler", [*trust, "optuna"])
    return sampler
