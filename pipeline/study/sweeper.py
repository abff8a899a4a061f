"""Run a study: ask Optuna for a trial, let the sweep engine run its job, and end the trial with its scores."""

from __future__ import annotations

from dataclasses import replace

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import HydraContext
from omegaconf import DictConfig
from rich.console import Console

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study import results
from bakeoff.pipeline.study.open_study import STORAGE_ERRORS, count_finished_trials, open_study
from bakeoff.pipeline.study.parse_space import format_params, parse_space
from bakeoff.pipeline.study.settings import StudySettings
from bakeoff.pipeline.study.space import SearchSpace
from bakeoff.pipeline.study.strategy import build_strategy
from bakeoff.pipeline.study.study_key import StudyKey, make_study_key
from bakeoff.pipeline.study.trial_jobs import TrialJobs
from bakeoff.pipeline.study.trials import Trials
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.engine import SweepLoop, SweepReport, executor, make_job_runner, refused_outcomes
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FAILED, JobOutcome
from bakeoff.pipeline.sweep.learner_pattern import LEARNER_KEY, find_learner_pattern
from bakeoff.pipeline.sweep.options import reject_sweep_params
from bakeoff.pipeline.sweep.planning import Plan, Planner
from bakeoff.pipeline.sweep.plugin import SweepCommand
from bakeoff.pipeline.sweep.request import SweepRequest
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.trackers import get_tracker


def run_study(settings: StudySettings, request: SweepRequest, context: HydraContext, master: DictConfig) -> SweepReport:
    """Run trials until the study has ``n_trials`` finished ones, and show and write the best.

    Parameters
    ----------
    settings : StudySettings
    request : SweepRequest
        Its words are those of the jobs.
    context : HydraContext
    master : DictConfig
        The configuration of the sweep itself.

    Raises
    ------
    UserError
        The command is invalid, and nothing was run.
    """
    if request.jobs is not None:
        raise UserError(
            "rerun runs given jobs, but the jobs of a study are chosen by Optuna; leave out hydra/sweeper=optuna."
        )
    command = _read_command(settings, request, context, master)
    options = command.options
    runner = make_job_runner(options, command.launch, request.tracebacks)
    command = _expand_learner_pattern(command, runner)
    space = parse_space(
        command.overrides,
        command.composer,
        method=str(options.search["method"]),
        has_custom_space=settings.custom_search_space is not None,
    )
    # An option or a value that cannot work is found now, and not after an hour of trials.
    edge_plan = _plan_edges(space, command, runner)
    refused = refused_outcomes(edge_plan)
    SweepDisplay(0, command.quiet).show_datasets(runner.resources.datasets)
    SweepDisplay(0, command.quiet).show_problems(edge_plan.unidentified)
    if refused and (options.on_invalid == "stop" or not edge_plan.jobs):
        SweepDisplay(0, command.quiet).show_invalid(edge_plan)
        return SweepReport(refused, command.folder.name)
    key = make_study_key(space, edge_plan.jobs, runner, settings)
    if options.dry_run:
        _show_plan(settings, key, space, edge_plan, results.open_console(command.quiet))
        return SweepReport([], command.folder.name, is_dry_run=True)
    outcomes = _run_trials(settings, key, space, command, runner)
    command.write_record()
    skips_invalid = options.on_invalid == "skip"
    return SweepReport(outcomes, command.folder.name, results=outcomes, skips_invalid=skips_invalid)


def _read_command(
    settings: StudySettings, request: SweepRequest, context: HydraContext, master: DictConfig
) -> SweepCommand:
    params = format_params(settings.params)
    reject_sweep_params(params)
    words = [*params, *request.words]
    command = SweepCommand.read(words, context, master, combines=False)
    settings.require_few_trials(command.options.max_jobs)
    workers = settings.n_jobs or command.options.workers
    return replace(command, options=replace(command.options, workers=workers), quiet=request.quiet)


def _expand_learner_pattern(command: SweepCommand, runner: JobRunner) -> SweepCommand:
    """Return the command with the learners of the dataset's task instead of a pattern that names them."""
    pattern = find_learner_pattern(command.overrides)
    if pattern is None:
        return command
    # All jobs of a study have the dataset of any of them, so the keys that are searched can be left out.
    fixed = [str(override.input_line) for override in command.overrides if not override.is_sweep_override()]
    composed = [
        command.composer.compose_job(number, (*fixed, f"learner={name}"), varying=())
        for number, name in enumerate(pattern.names)
    ]
    kept, left_out = pattern.select_jobs(composed, runner.resources)
    SweepDisplay(0, command.quiet).show_left_out(left_out)
    names = [job.overrides[-1].partition("=")[2] for job in kept]
    others = [override for override in command.overrides if override.key_or_group != LEARNER_KEY]
    chosen = OverridesParser.create().parse_override(f"learner={','.join(names)}")
    return replace(command, overrides=[*others, chosen])


def _plan_edges(space: SearchSpace, command: SweepCommand, runner: JobRunner) -> Plan:
    """Check jobs in which each option, each value of a list and both ends of each range occur."""
    composed = []
    for number, suggestion in enumerate(space.iterate_edges()):
        varying = tuple(suggestion.values)
        composed.append(command.composer.compose_job(number, suggestion.overrides, varying))
    return Planner(runner, resume=False).make_plan(composed)


def _show_plan(settings: StudySettings, key: StudyKey, space: SearchSpace, edge_plan: Plan, out: Console) -> None:
    name = settings.study_name or key.name
    n_finished = count_finished_trials(settings.storage, name)
    results.show_start(name, key.objectives, n_finished, settings.n_trials, out)
    results.show_space(space, edge_plan, out)


def _run_trials(
    settings: StudySettings, key: StudyKey, space: SearchSpace, command: SweepCommand, runner: JobRunner
) -> list[JobOutcome]:
    """Open the study, run its trials, show the results, and return the outcomes of the jobs."""
    strategy = build_strategy(settings, key, space, command)
    n_trials = int(min(settings.n_trials, strategy.max_trials))
    with open_study(settings.storage, settings.study_name or key.name, key) as study:
        n_known = len(study.get_trials(deepcopy=False))
        study.sampler = strategy.make_sampler(n_known)
        study.pruner = strategy.pruner
        trials = Trials(study, space, key.objectives, n_trials, strategy.extend_suggestion)
        jobs = TrialJobs(
            trials,
            runner,
            key.spec,
            command.composer,
            max_failure_rate=settings.max_failure_rate,
            batch_size=command.options.workers,
        )
        runner.should_continue = jobs.should_continue if strategy.stops_trials else None
        _open_store(runner, key)
        command.folder.mkdir(parents=True, exist_ok=True)
        out = results.open_console(command.quiet)
        results.show_start(study.study_name, key.objectives, trials.count_finished(), n_trials, out)
        outcomes = _run_jobs(jobs, command)
        results.show_results(study, trials, key.objectives, command.folder, out)
    return outcomes


def _open_store(runner: JobRunner, key: StudyKey) -> None:
    """Open the store of the runs, so that one that cannot be written is rejected now; end its orphaned runs."""
    tracker = get_tracker(runner.resources, key.spec)
    tracker.open_store()
    if tracker.store is not None:
        history.end_orphans(tracker.store)


def _run_jobs(jobs: TrialJobs, command: SweepCommand) -> list[JobOutcome]:
    """Run jobs until the study has enough trials; no trial of this process is left running."""
    trials = jobs.trials
    options = command.options
    display = SweepDisplay(trials.n_trials - trials.count_finished(), command.quiet)
    loop = SweepLoop(options, display, jobs, [])
    try:
        with executor(jobs.runner, options, command.launch, jobs) as run_jobs:
            loop.run_all(run_jobs)
    except KeyboardInterrupt:
        n_finished = trials.count_finished()
        results.open_console(command.quiet).print(
            f"{n_finished} of {trials.n_trials} trials done; the same command continues the study."
        )
        raise
    except STORAGE_ERRORS as error:
        reason = f"hydra.sweeper.storage cannot be used any more: {str(error).splitlines()[0]}"
        loop.outcomes.append(JobOutcome(0, trials.study.study_name, FAILED, reason))
    finally:
        trials.close()
    display.show_unfinished(loop.outcomes, len(loop.outcomes), options.on_invalid == "skip")
    return loop.outcomes
