"""The interface of a sweep to Hydra: it reads the command, composes the jobs, and calls other launchers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.types import HydraContext
from omegaconf import DictConfig, open_dict, read_write

from bakeoff.pipeline.config.references import resolve_config
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.trust import BASIC_LAUNCHER
from bakeoff.pipeline.config.words import list_words, note_tuned_keys, read_invocation, reject_unread_space
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import SEARCHING_METHODS, Composer, SweepCommand, expand_overrides, varying_keys
from bakeoff.pipeline.sweep.jobs import KILLED, REFUSED, Job, JobOutcome
from bakeoff.pipeline.sweep.options import (
    SweepOptions,
    check_values,
    reject_lost_keys,
    reject_sweep_params,
    require_few_jobs,
    require_one_value,
)
from bakeoff.pipeline.sweep.request import SweepRequest

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.engine import SweepReport


def read_command(
    params: Sequence[str],
    request: SweepRequest,
    context: HydraContext,
    master: DictConfig,
    *,
    combines: bool = True,
) -> SweepCommand:
    """Read the command of a sweep from the arguments that Hydra passes to a sweeper.

    Parameters
    ----------
    params : sequence of str
        Overrides in the configuration of the sweeper; those of the request take precedence.
    request : SweepRequest
        The request with the words of the jobs.
    context : HydraContext
    master : DictConfig
        The configuration of the sweep itself.
    combines : bool
        Whether the values of the keys are combined; in a study, it chooses some of them.

    Raises
    ------
    UserError
        An option of the sweep is invalid, or there would be too many jobs.
    """
    reject_sweep_params(params)
    # Otherwise each combination would contain both values of a key, and use the last one.
    given = {word.lstrip("+~").partition("=")[0] for word in request.words}
    words = [*(word for word in params if word.partition("=")[0] not in given), *request.words]
    # Values of the configuration may refer to settings of Hydra.
    HydraConfig.instance().set_config(master)
    parser = OverridesParser.create(config_loader=context.config_loader)
    # These words set the options of the sweep itself, which cannot vary from job to job.
    for override in parser.parse_overrides(list_words(master.hydra.overrides.task)):
        require_one_value(override)
    parsed = parser.parse_overrides(words)
    options = SweepOptions.read(master)
    if request.only_plans:
        options = replace(options, dry_run=True)
    if combines:
        require_few_jobs(parsed, options.method, options.max_jobs)
    check_values(parsed)
    reject_lost_keys(parsed, context.config_loader, master)
    has_basic_launcher = master.hydra.launcher._target_ == BASIC_LAUNCHER
    return SweepCommand(
        words=tuple(words),
        overrides=parsed,
        options=options,
        composer=Composer(context.config_loader, master),
        launch=None if has_basic_launcher else RemoteLauncher(context, master),
        folder=Path(str(master.hydra.sweep.dir)),
        master=master,
        tracebacks=request.tracebacks,
        quiet=request.quiet,
    )


def run_hydra_sweep(
    params: Sequence[str], request: SweepRequest, context: HydraContext, master: DictConfig
) -> SweepReport:
    """Compose all jobs of a sweep, run them with the engine, and return its report.

    Parameters
    ----------
    params : sequence of str
        Overrides in the configuration of the sweeper; those of the command line take precedence.
    request : SweepRequest
        The request with the words of the jobs.
    context : HydraContext
    master : DictConfig
        The configuration of the sweep itself.

    Raises
    ------
    UserError
        An option of the sweep is invalid. An invalid job is not an error here: the plan shows it.
    """
    command = read_command(params, request, context, master)
    jobs = request.jobs
    if jobs is None:
        jobs = expand_overrides(command.overrides, command.options, command.composer)
    # Invalid words are refused before the numerical packages are imported.
    from bakeoff.pipeline.sweep.engine import SweepEngine
    from bakeoff.pipeline.sweep.planning import find_learner_pattern

    # Jobs of a search space vary in keys that are not on the command line.
    swept_keys = [override.key_or_group for override in command.overrides if override.is_sweep_override()]
    varying = tuple(dict.fromkeys([*swept_keys, *varying_keys(jobs)]))
    composed = [command.composer.compose_job(number, words, varying) for number, words in enumerate(jobs)]
    settled = [job.spec for job in composed if job.spec is not None]
    if command.options.method not in SEARCHING_METHODS:
        reject_unread_space(command.words, settled)
    pattern = find_learner_pattern(command.overrides) if request.jobs is None else None
    report = SweepEngine(command).run(composed, pattern, note_tuned_keys(command.words, settled))
    command.write_record()
    return report


@dataclass(frozen=True)
class RemoteLauncher:
    """Another launcher of Hydra, which may run jobs on other machines."""

    context: HydraContext
    master: DictConfig

    def __call__(self, jobs: Sequence[Job], options: SweepOptions) -> Iterator[JobOutcome]:
        """Launch the jobs and yield their outcomes in order."""
        self._fix_sweep_folder()
        varying = tuple(dict.fromkeys(key for job in jobs for key in job.invocation.varying))
        # A batch belongs to one sweep, so its jobs share the study.
        first = jobs[0].invocation
        task = RemoteTask(options.resume, options.timeout, varying, first.study, first.sweep)
        launcher = Plugins.instance().instantiate_launcher(self.context, task, self.master)
        job_words = [list(job.invocation.overrides) for job in jobs]
        returned = launcher.launch(job_words, initial_job_idx=0)
        try:
            for job, job_return in zip(jobs, returned, strict=True):
                outcome = _read_outcome(job, job_return)
                yield replace(outcome, number=job.number, name=job.name)
        finally:
            # After Ctrl-C the jobs that are still running are cancelled.
            cancel = getattr(returned, "cancel", None)  # Hydra's own launchers return a list
            if cancel is not None:
                cancel()

    def _fix_sweep_folder(self) -> None:
        """Pass on the folder of the sweep, whose name contains the time: other machines must not make their own."""
        folder_word = f"hydra.sweep.dir='{self.master.hydra.sweep.dir}'"
        with read_write(self.master.hydra), open_dict(self.master):
            others = [word for word in list_words(self.master.hydra.overrides.hydra) if word != folder_word]
            self.master.hydra.overrides.hydra = [*others, folder_word]


def _read_outcome(job: Job, returned: JobReturn) -> JobOutcome:
    """Return the outcome of a job that ran elsewhere, or an outcome for a killed job if its process died."""
    try:
        outcome = returned.return_value
    except UserError as error:
        return job.to_outcome(REFUSED, str(error))
    except Exception as error:
        return job.to_outcome(KILLED, str(error))
    assert isinstance(outcome, JobOutcome)
    return outcome


@dataclass(frozen=True)
class RemoteTask:
    """The picklable function that another launcher calls for each job.

    Attributes
    ----------
    resume : bool
    timeout : float or None
    varying : tuple of str
        The keys that vary over the sweep.
    study : str or None
    sweep : str or None
        The name of the sweep if it differs from the name of its folder.
    """

    resume: bool
    timeout: float | None
    varying: tuple[str, ...]
    study: str | None = None
    sweep: str | None = None

    def __call__(self, composed: DictConfig) -> JobOutcome:
        """Run the job of a configuration that Hydra composed, and return its outcome."""
        from bakeoff.pipeline.sweep.job_runner import JobRunner

        # The launcher composed the job from its overrides; settling it gives the same job as in the sweep's process.
        spec = settle_config(resolve_config(composed))
        read = read_invocation(HydraConfig.get(), self.varying)
        invocation = replace(read, study=self.study, sweep=self.sweep or read.sweep)
        runner = JobRunner(self.resume, self.timeout)
        job = runner.identify_job(0, spec, invocation)
        return runner.run_job(job)
