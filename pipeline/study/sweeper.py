"""The command of a study: check the space, run the trials as the jobs of a sweep, and show the best."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from hydra.types import HydraContext
from omegaconf import DictConfig

from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.study import results
from bakeoff.pipeline.study.space import SearchSpace, parse_space
from bakeoff.pipeline.study.storage import STORAGE_ERRORS, count_finished_trials, open_study
from bakeoff.pipeline.study.study_key import StudyKey, StudySettings, make_study_key
from bakeoff.pipeline.study.trials import TrialSearch
from bakeoff.pipeline.sweep.compose import SweepCommand
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.engine import SweepEngine, SweepReport
from bakeoff.pipeline.sweep.jobs import FAILED, TO_DO, Job, JobOutcome
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
    params = [f"{key}={value}" for key, value in settings.params.items()]
    command = read_command(params, request, context, master)
    options = command.options
    settings.require_trials(options.max_jobs)
    space = parse_space(command.overrides, command.composer, options.method)
    # An option or a value that cannot work is found now, and not after an hour of trials.
    engine = SweepEngine(command)
    report = engine.check(_compose_edges(space, command), resume=False)
    edge_jobs = report.plan.with_state(TO_DO)
    name = command.folder.name
    if report.is_refused or not edge_jobs:
        return SweepReport(report.outcomes, name)
    key = make_study_key(space, edge_jobs, engine.runner, settings)
    display = SweepDisplay(settings.n_trials, command.quiet)
    if options.dry_run:
        n_finished = count_finished_trials(settings.storage, key.name)
        results.show_start(key, n_finished, settings.n_trials, display)
        results.show_space(space, report.plan, display)
        return SweepReport([], name, is_dry_run=True)
    outcomes = Study(settings, key, space, engine, display).run()
    command.write_record()
    return SweepReport(outcomes, name, results=outcomes, skips_invalid=options.skips_invalid)


def _compose_edges(space: SearchSpace, command: SweepCommand) -> list[Job]:
    """Return jobs in which each option, each value of a list and both ends of each range occur."""
    return [
        command.composer.compose_job(number, suggestion.overrides, tuple(suggestion.values))
        for number, suggestion in enumerate(space.iterate_edges())
    ]


@dataclass(frozen=True)
class Study:
    """A checked study.

    Attributes
    ----------
    settings : StudySettings
    key : StudyKey
    space : SearchSpace
    engine : SweepEngine
        The engine that has checked the edges of the space.
    display : SweepDisplay
    """

    settings: StudySettings
    key: StudyKey
    space: SearchSpace
    engine: SweepEngine
    display: SweepDisplay

    def run(self) -> list[JobOutcome]:
        """Open the study, run its trials, show the results, and return the outcomes of the jobs."""
        settings = self.settings
        key = self.key
        command = self.engine.command
        runner = self.engine.runner
        build_sampler(settings.sampler, key)  # an invalid one is refused now, before anything is written
        pruner = build_pruner(settings.pruner, key, is_local=command.launch is None)
        with open_study(settings.storage, key) as study:
            study.sampler = build_sampler(settings.sampler, key, len(study.get_trials(deepcopy=False)))
            workers = command.options.workers
            search = TrialSearch(
                study, self.space, key.objectives, settings.n_trials, key.spec, runner, command.composer, workers
            )
            if pruner is not None:
                study.pruner = pruner
                runner.should_continue = search.should_continue
            # A store that cannot be written is rejected before the first trial.
            tracker = get_tracker(runner.resources, key.spec)
            tracker.open_store()
            if tracker.store is not None:
                end_orphans(tracker.store)
            results.show_start(key, search.count_finished(), search.n_jobs, self.display)
            outcomes = self._run_trials(search)
            results.show_results(study, key.objectives, command.folder, self.display)
        return outcomes

    def _run_trials(self, search: TrialSearch) -> list[JobOutcome]:
        """Run jobs until the study has enough trials; no trial of this process is left running."""
        outcomes: list[JobOutcome] = []
        try:
            self.engine.run_search(search, self.display, outcomes)
        except STORAGE_ERRORS as error:
            reason = f"hydra.sweeper.storage cannot be used any more: {str(error).splitlines()[0]}"
            outcomes.append(JobOutcome(0, search.study.study_name, FAILED, reason))
        finally:
            search.close()
        self.display.show_unfinished(outcomes, len(outcomes), self.engine.command.options.skips_invalid)
        return outcomes


def build_sampler(given: Mapping[str, Any], key: StudyKey, n_known: int = 0) -> Any:
    """Build a sampler; one without a seed gets the seed of the experiment.

    Parameters
    ----------
    given : mapping
        The keys below ``hydra.sweeper.sampler``.
    key : StudyKey
    n_known : int
        The number of trials that the study has already, whose draws must not be repeated.
    """
    settled = dict(given)
    if "seed" in settled:
        seed = key.seed if settled["seed"] is None else settled["seed"]
        if not isinstance(seed, int):
            raise UserError(f"hydra.sweeper.sampler.seed={seed!r} must be an integer, or null.")
        settled["seed"] = seed + n_known
    return _build_optuna_object(settled, "hydra.sweeper.sampler", key.trust)


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
        It cannot be built, or cannot stop the jobs of this study.
    """
    pruner = _build_optuna_object(given, "hydra.sweeper.pruner", key.trust)
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


def _build_optuna_object(config: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return build_object(config, key, trust)
