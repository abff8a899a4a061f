"""A sweep whose jobs Optuna chooses: ask for a trial, let the engine of sweeps run its job, tell its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hydra.types import HydraContext
from omegaconf import DictConfig

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study import results
from bakeoff.pipeline.study.jobs import Jobs
from bakeoff.pipeline.study.open_study import LOST, Question, finished_trials, opened_study
from bakeoff.pipeline.study.parse_space import read_space, words_of
from bakeoff.pipeline.study.sampling import Tools
from bakeoff.pipeline.study.space import Space
from bakeoff.pipeline.study.trials import Trials
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.engine import SweepLoop, executor, refused_outcomes
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FAILED, JobOutcome
from bakeoff.pipeline.sweep.planning import Plan, Planner
from bakeoff.pipeline.sweep.plugin import SweepCommand
from bakeoff.pipeline.sweep.sweep_input import SweepInput
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.history import HEARTBEAT_SECONDS


@dataclass(frozen=True)
class Settings:
    """The keys of ``hydra.sweeper``; conf/hydra/sweeper/optuna.yaml says what they are."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    params: dict[str, Any]
    n_trials: int
    n_jobs: int | None
    objectives: list[str] | str | None
    direction: list[str] | str | None
    study_name: str | None
    storage: str | None
    max_failure_rate: float | None
    custom_search_space: str | None

    def __post_init__(self) -> None:
        for key in ("n_trials", "n_jobs"):
            value = getattr(self, key)
            if value is not None and value < 1:
                raise UserError(f"hydra.sweeper.{key}={value!r} must be a whole number from 1.")
        if self.max_failure_rate is not None and not 0 <= self.max_failure_rate <= 1:
            raise UserError(f"hydra.sweeper.max_failure_rate={self.max_failure_rate!r} must lie between 0 and 1.")


def run_study(
    settings: Settings, context: HydraContext, sweep_input: SweepInput, master: DictConfig
) -> list[JobOutcome]:
    """Run trials until the study has ``n_trials`` finished ones, and write down the best.

    Parameters
    ----------
    settings : Settings
    context, sweep_input, master
        As for `bakeoff.pipeline.sweep.plugin.run_hydra_sweep`.

    Raises
    ------
    UserError
        Nothing was run.
    """
    if sweep_input.jobs is not None:
        raise UserError("rerun knows its jobs, and a study chooses them; leave out hydra/sweeper=optuna.")
    command = SweepCommand.read([*words_of(settings.params), *sweep_input.overrides], context, master)
    options = replace(command.options, workers=settings.n_jobs or command.options.workers)
    runner = JobRunner(options.resume, options.timeout, sweep_input.tracebacks)
    method, has_more = str(options.search["method"]), settings.custom_search_space is not None
    space = read_space(command.overrides, command.composer, method, has_more)
    plan = _plan_of_edges(space, command, runner)
    refused = refused_outcomes(plan)
    if refused and (options.on_invalid == "stop" or not plan.jobs):
        SweepDisplay(0).show_invalid(plan)
        return refused
    question = Question.of(space, plan.jobs, runner, settings)
    if options.dry_run:
        name = settings.study_name or question.name
        results.announce(name, question.objectives, finished_trials(settings.storage, name), settings.n_trials)
        results.preview(space, plan)
        return []
    outcomes = _search(settings, question, space, replace(command, options=options), runner)
    command.write_record()
    return outcomes


def _search(
    settings: Settings, question: Question, space: Space, command: SweepCommand, runner: JobRunner
) -> list[JobOutcome]:
    """Open the study, run its trials, say which is the best, and return the outcomes of their jobs."""
    tools = Tools.of(settings, question, space, command)
    n_trials = int(min(settings.n_trials, tools.most))
    with opened_study(settings.storage, settings.study_name or question.name, question) as study:
        study.sampler, study.pruner = tools.sampler(len(study.get_trials(deepcopy=False))), tools.pruner
        trials = Trials(study, space, question.objectives, n_trials, tools.more)
        at_once = command.options.workers
        jobs = Jobs(trials, runner, question.spec, command.composer, settings.max_failure_rate, at_once)
        runner.should_continue = jobs.should_continue if tools.prunes else None
        _open_store(runner, question)
        command.folder.mkdir(parents=True, exist_ok=True)
        results.announce(study.study_name, question.objectives, trials.finished(), n_trials)
        outcomes = _run(jobs, command)
        results.conclude(study, trials, question.objectives, command.folder)
    return outcomes


def _plan_of_edges(space: Space, command: SweepCommand, runner: JobRunner) -> Plan:
    """Check, before the first trial, jobs in which each option and each end of a range occurs."""
    points = enumerate(space.edges())
    composed = [command.composer.compose_job(number, point.overrides, tuple(point.values)) for number, point in points]
    return Planner(runner, resume=False).make_plan(composed)


def _open_store(runner: JobRunner, question: Question) -> None:
    """Open the store, which is refused now if it cannot be written, and end there what died."""
    tracker = runner.resources.get_tracker(question.spec)
    tracker.open_store()
    if tracker.store is not None:
        history.end_orphans(tracker.store)


def _run(jobs: Jobs, command: SweepCommand) -> list[JobOutcome]:
    """Run jobs until the study has what it shall have; no trial is left without an answer."""
    trials, options = jobs.trials, command.options
    display = SweepDisplay(trials.n_trials - trials.finished())
    loop = SweepLoop(options, display, [], jobs.on_outcome)
    jobs.note = loop.record_outcome
    heartbeat = Heartbeat(trials.beat, first=HEARTBEAT_SECONDS)
    try:
        with executor(jobs.runner, options, command.launch, options.workers) as run:
            loop.run_all(jobs, run)
    except LOST as error:
        reason = f"hydra.sweeper.storage cannot be used any more: {str(error).splitlines()[0]}"
        loop.outcomes.append(JobOutcome(0, trials.study.study_name, FAILED, reason))
    finally:
        heartbeat.stop()
        trials.leave()
    display.show_unfinished(loop.outcomes, len(loop.outcomes))
    return loop.outcomes
