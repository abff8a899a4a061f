"""The command of a study: check the space, run the trials as the jobs of a sweep, and show the best."""

from __future__ import annotations

from dataclasses import replace

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import HydraContext
from omegaconf import DictConfig

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study import results, sampling
from bakeoff.pipeline.study.space import SearchSpace, format_params, parse_space
from bakeoff.pipeline.study.storage import STORAGE_ERRORS, count_finished_trials, open_study
from bakeoff.pipeline.study.study_key import StudyKey, StudySettings, make_study_key
from bakeoff.pipeline.study.trials import TrialSearch
from bakeoff.pipeline.sweep.compose import SweepCommand
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.engine import SweepLoop, SweepReport, executor, make_job_runner, refused_outcomes
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FAILED, JobOutcome
from bakeoff.pipeline.sweep.planning import LEARNER_KEY, Plan, Planner, find_learner_pattern
from bakeoff.pipeline.sweep.plugin import read_command
from bakeoff.pipeline.sweep.request import SweepRequest
from bakeoff.pipeline.tracking.history import end_orphans
from bakeoff.pipeline.tracking.run import get_tracker


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
    name = command.folder.name
    runner = make_job_runner(command)
    command = _expand_learner_pattern(command, runner)
    space = parse_space(
        command.overrides,
        command.composer,
        method=options.method,
        has_custom_space=settings.custom_search_space is not None,
    )
    # An option or a value that cannot work is found now, and not after an hour of trials.
    edge_plan = _plan_edges(space, command, runner)
    refused = refused_outcomes(edge_plan)
    display = SweepDisplay(0, command.quiet)
    display.show_checked("", runner.resources.datasets, edge_plan.unidentified)
    if refused and (options.on_invalid == "stop" or not edge_plan.jobs):
        display.show_invalid(edge_plan)
        return SweepReport(refused, name)
    key = make_study_key(space, edge_plan.jobs, runner, settings)
    if options.dry_run:
        out = results.open_console(command.quiet)
        n_finished = count_finished_trials(settings.storage, key.name)
        results.show_start(key.name, key.objectives, n_finished, settings.n_trials, out)
        results.show_space(space, edge_plan, out)
        return SweepReport([], name, is_dry_run=True)
    outcomes = _run_trials(settings, key, space, command, runner)
    command.write_record()
    return SweepReport(outcomes, name, results=outcomes, skips_invalid=options.on_invalid == "skip")


def _read_command(
    settings: StudySettings, request: SweepRequest, context: HydraContext, master: DictConfig
) -> SweepCommand:
    command = read_command(format_params(settings.params), request, context, master, combines=False)
    settings.require_few_trials(command.options.max_jobs)
    workers = settings.n_jobs or command.options.workers
    return replace(command, options=replace(command.options, workers=workers))


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
    SweepDisplay(0, command.quiet).show_checked(left_out, [], [])
    names = [job.overrides[-1].partition("=")[2] for job in kept]
    others = [override for override in command.overrides if override.key_or_group != LEARNER_KEY]
    chosen = OverridesParser.create().parse_override(f"learner={','.join(names)}")
    return replace(command, overrides=[*others, chosen])


def _plan_edges(space: SearchSpace, command: SweepCommand, runner: JobRunner) -> Plan:
    """Check jobs in which each option, each value of a list and both ends of each range occur."""
    composed = [
        command.composer.compose_job(number, suggestion.overrides, tuple(suggestion.values))
        for number, suggestion in enumerate(space.iterate_edges())
    ]
    return Planner(runner, resume=False).make_plan(composed)


def _run_trials(
    settings: StudySettings, key: StudyKey, space: SearchSpace, command: SweepCommand, runner: JobRunner
) -> list[JobOutcome]:
    """Open the study, run its trials, show the results, and return the outcomes of the jobs."""
    sampler = sampling.settle_sampler(settings.sampler, space)
    sampling.build_sampler(sampler, key)  # an invalid one is refused now, before anything is written
    pruner = sampling.build_pruner(settings.pruner, key, is_local=command.launch is None)
    extend_suggestion = sampling.find_extension(settings.custom_search_space, command.composer, key.trust)
    out = results.open_console(command.quiet)
    with open_study(settings.storage, key) as study:
        study.sampler = sampling.build_sampler(sampler, key, n_known=len(study.get_trials(deepcopy=False)))
        search = TrialSearch(
            study,
            space,
            key.objectives,
            n_jobs=int(min(settings.n_trials, sampling.count_points(sampler))),
            spec=key.spec,
            runner=runner,
            composer=command.composer,
            extend_suggestion=extend_suggestion,
            max_failure_rate=settings.max_failure_rate,
            batch_size=command.options.workers,
            is_queued=command.launch is not None,
        )
        if pruner is not None:
            study.pruner = pruner
            runner.should_continue = search.should_continue
        _open_store(runner, key)
        command.folder.mkdir(parents=True, exist_ok=True)
        results.show_start(study.study_name, key.objectives, search.count_finished(), search.n_jobs, out)
        outcomes = _run_jobs(search, command)
        results.show_results(study, key.objectives, command.folder, out)
    return outcomes


def _open_store(runner: JobRunner, key: StudyKey) -> None:
    """Open the store of the runs, so that one that cannot be written is rejected now; end its orphaned runs."""
    tracker = get_tracker(runner.resources, key.spec)
    tracker.open_store()
    if tracker.store is not None:
        end_orphans(tracker.store)


def _run_jobs(search: TrialSearch, command: SweepCommand) -> list[JobOutcome]:
    """Run jobs until the study has enough trials; no trial of this process is left running."""
    options = command.options
    display = SweepDisplay(search.n_jobs - search.count_finished(), command.quiet)
    loop = SweepLoop(options.max_failures, display, search, [])
    try:
        with executor(search.runner, command, search) as run_jobs:
            loop.run_all(run_jobs)
    except KeyboardInterrupt:
        results.open_console(command.quiet).print(
            f"{search.count_finished()} of {search.n_jobs} trials done; the same command continues the study."
        )
        raise
    except STORAGE_ERRORS as error:
        reason = f"hydra.sweeper.storage cannot be used any more: {str(error).splitlines()[0]}"
        loop.outcomes.append(JobOutcome(0, search.study.study_name, FAILED, reason))
    finally:
        search.close()
    display.show_unfinished(loop.outcomes, len(loop.outcomes), options.on_invalid == "skip")
    return loop.outcomes
