"""Jobs that another launcher of Hydra runs, which may be on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.types import HydraContext
from omegaconf import DictConfig, open_dict, read_write

from bakeoff.pipeline.config.invocation import list_words, read_invocation
from bakeoff.pipeline.config.references import resolve_config
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.jobs import KILLED, REFUSED, Job, JobOutcome
from bakeoff.pipeline.sweep.options import SweepOptions


@dataclass(frozen=True)
class RemoteLauncher:
    """Another launcher of Hydra's, which may run jobs on other machines."""

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
            # After Ctrl-C nobody waits for the jobs that are still running.
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
    """Return the outcome of a job that ran elsewhere; a job whose process died has none and counts as killed."""
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
    """The function that another launcher calls for each job; it and its results are pickled.

    Attributes
    ----------
    resume : bool
    timeout : float or None
    varying : tuple of str
        The keys that vary over the sweep.
    study : str or None
    sweep : str or None
        The name of the sweep if it is not that of its folder.
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
        job = runner.identify_job(0, spec, invocation, has_store_query=False)
        return runner.run_job(job)
