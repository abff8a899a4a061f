"""The command of a study, which checks the space, runs the trials as jobs of a sweep, and shows the best."""

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from bakeoff.pipeline.commands.search.space import SearchSpace, parse_space
from bakeoff.pipeline.commands.search.storage import Objective, StudyKey, StudySettings, make_study_key, open_study
from bakeoff.pipeline.commands.search.trials import JOB, RUN, TrialSearch
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep import jobs
from bakeoff.pipeline.sweep.command import SweepCommand
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.engine import SweepEngine, SweepReport
from bakeoff.pipeline.text.wording import format_score
from bakeoff.pipeline.tracking import history, run


def run_study(settings: StudySettings, command: SweepCommand) -> SweepReport:
    """Run trials until ``n_trials`` of the study are finished, and show the best.

    Parameters
    ----------
    settings : StudySettings
    command : SweepCommand

    Raises
    ------
    UserError
        The command is invalid, and nothing was run.
    """
    options = command.options
    if options.budget is not None:
        raise UserError("budget limits sweeps; a study ends after hydra.sweeper.n_trials trials, so set that key.")
    if options.exclude:
        raise UserError("exclude leaves out combinations of a grid, which a study does not have; leave out exclude.")
    if not 1 <= settings.n_trials <= options.max_jobs:
        raise UserError(
            f"hydra.sweeper.n_trials={settings.n_trials} must be an integer from 1 to max_jobs={options.max_jobs}, the "
            "limit of a sweep."
        )
    space = parse_space(command.grids[0], command.composer, options.method)
    # Invalid options and values are found now rather than after an hour of trials.
    engine = SweepEngine(command)
    # These jobs cover each option, each value of a list and both ends of each range.
    edges = [
        command.composer.compose_job(number, suggestion.overrides, tuple(suggestion.values))
        for number, suggestion in enumerate(space.iterate_edges())
    ]
    report = engine.check(edges, resume=False)
    edge_jobs = report.plan.with_state(jobs.TO_DO)
    answer = SweepReport(report.outcomes, report.name, skips_invalid=options.skips_invalid)
    if not edge_jobs or (report.is_refused and not options.dry_run):
        return answer
    key = make_study_key(space, edge_jobs, engine.runner, settings.objectives)
    display = SweepDisplay(settings.n_trials, command.request.quiet)
    if options.dry_run:
        display.show(f"study {key.name}: {key.aims}; {settings.n_trials} trials")
        for name, dimension in space.all_dimensions().items():
            display.show(f"  {name}: {', '.join(dimension.value_texts) or dimension.distribution}")
        invalid = report.plan.with_state(jobs.INVALID)
        display.show(f"{len(edges)} jobs at the edges of this space were checked, {len(invalid)} cannot run")
        for job in invalid:
            display.show(f"  {job.name}: {job.reason}")
        return replace(answer, is_dry_run=True)
    return replace(answer, outcomes=_run_trials(settings, key, space, engine, display))


def _run_trials(
    settings: StudySettings, key: StudyKey, space: SearchSpace, engine: SweepEngine, display: SweepDisplay
) -> list[jobs.JobOutcome]:
    """Run jobs until the study has enough trials, show the best, and return the outcomes of the jobs."""
    command = engine.command
    runner = engine.runner
    # Invalid settings are refused before anything is written.
    sampler = build_sampler(settings.sampler, key)
    pruner = build_pruner(settings.pruner, key, is_local=command.launch is None)
    outcomes: list[jobs.JobOutcome] = []
    with open_study(settings.storage, key) as study:
        study.sampler = sampler
        search = TrialSearch(
            study, space, key, settings.n_trials, runner, command.composer, batch_size=command.options.workers
        )
        if pruner is not None:
            study.pruner = pruner
            runner.should_continue = search.should_continue
        # A store that cannot be written is rejected before the first trial.
        tracker = run.get_tracker(runner.resources, key.spec)
        tracker.open_store()
        if tracker.store is not None:
            history.end_orphans(tracker.store)
        display.show(f"study {key.name}: {key.aims}; {search.count_finished()} of {search.n_jobs} trials are finished")
        display.n_ended = search.count_finished()
        try:
            with engine.open_executor(search) as run_jobs:
                engine.run_search(search, run_jobs, display, outcomes)
        finally:
            search.close()  # no trial of this process is left running
        display.show_unfinished(outcomes, len(outcomes))
        _show_results(study, key.objectives, display)
    return outcomes


def build_sampler(given: Mapping[str, Any], key: StudyKey) -> Any:
    """Build a sampler; if its seed is null, it gets the seed of the experiment.

    Parameters
    ----------
    given : mapping
        The keys below ``hydra.sweeper.sampler``.
    key : StudyKey
    """
    if given.get("seed", 0) is None:
        given = {**given, "seed": key.spec["seed"]}
    return _build_optuna_object(given, "hydra.sweeper.sampler", key)


def build_pruner(given: Mapping[str, Any], key: StudyKey, *, is_local: bool) -> Any:
    """Build a pruner; return None if it never stops a trial.

    Parameters
    ----------
    given : mapping
        The keys below ``hydra.sweeper.pruner``.
    key : StudyKey
    is_local : bool
        Whether the jobs run on this machine.

    Raises
    ------
    UserError
        The pruner cannot be built, or cannot stop the jobs of this study.
    """
    pruner = _build_optuna_object(given, "hydra.sweeper.pruner", key)
    if isinstance(pruner, optuna.pruners.NopPruner):
        return None
    if len(key.objectives) > 1:
        raise UserError(
            f"hydra.sweeper.pruner compares trials by one objective, but there are {len(key.objectives)}; "
            "set hydra/sweeper/pruner=none, or name one objective."
        )
    if not is_local:
        raise UserError(
            "hydra.sweeper.pruner stops jobs on this machine only; set hydra/sweeper/pruner=none, or run the same "
            "command without hydra/launcher on each machine, with hydra.sweeper.storage=postgresql://..."
        )
    return pruner


def _build_optuna_object(config: Mapping[str, Any], name: str, key: StudyKey) -> Any:
    trust = tuple(key.spec["trust"])
    with warnings.catch_warnings(action="ignore", category=optuna.exceptions.ExperimentalWarning):
        return build_object(config, name, trust)


def _show_results(study: optuna.Study, objectives: Sequence[Objective], display: SweepDisplay) -> None:
    """Print the best trial or, with several objectives, the Pareto front."""
    if not study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        display.show(f"study {study.study_name}: no trial is finished, so there are no best parameters")
    elif len(objectives) == 1:
        best = study.best_trial
        display.show(f"Best parameters: {_format_params(best)}")
        display.show(f"Best value: {_format_values(best, objectives)}")
        display.show(f"bakeoff {shlex.join(best.user_attrs[JOB]['overrides'])}")
    else:
        display.show("Pareto front: the trials that no other trial beats in all objectives")
        for trial in study.best_trials:
            display.show(f"  #{trial.number}  {_format_values(trial, objectives)}  {_format_params(trial)}")


def _format_values(trial: FrozenTrial, objectives: Sequence[Objective]) -> str:
    """Return the objectives of a trial, followed by its test scores in brackets."""
    values = zip((objective.name for objective in objectives), trial.values, strict=True)
    found = ", ".join(f"{name} {format_score(value)}" for name, value in values)
    scores = ", ".join(f"{name} {format_score(score)}" for name, score in trial.user_attrs[RUN]["recorded"].items())
    return f"{found}  ({scores})" if scores else found


def _format_params(trial: FrozenTrial) -> str:
    return " ".join(f"{key}={value}" for key, value in trial.user_attrs[JOB]["params"].items())
