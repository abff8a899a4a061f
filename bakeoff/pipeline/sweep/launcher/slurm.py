"""Jobs on a Slurm cluster, submitted as arrays with submitit, or in local processes for a trial run."""

import math
import re
import shutil
import signal
import subprocess
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.words import UNITS, read_duration
from bakeoff.pipeline.errors import UserError, require_package
from bakeoff.pipeline.sweep.jobs import JobOutcome
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, WaitForJob, run_payload

SUBMITIT_PARAMETERS = (
    "timeout_min",
    "cpus_per_task",
    "gpus_per_node",
    "tasks_per_node",
    "mem_gb",
    "nodes",
    "name",
    "stderr_to_stdout",
)
"""submitit parameters that apply to every cluster; the others are specific to Slurm."""
DURATION_UNITS = {"timeout_min": "m", "signal_delay_s": "s"}
"""submitit parameters that may be given with another unit than their own."""
LIVE_JOB = re.compile(
    r"^(\S+) (?:PENDING|RUNNING|CONFIGURING|COMPLETING|SUSPENDED|REQUEUED|RESIZING|SIGNALING)$", re.MULTILINE
)
"""A job that has not ended, in a list of Slurm's jobs with their states."""
ARRAY_LIMIT = re.compile(r"MaxArraySize\s*=\s*([1-9]\d*)")
"""The most jobs in an array, among the settings that ``scontrol`` prints."""
PRIVATE_FOLDER_MODE = 0o700
RESULT_POLL_SECONDS = 0.5
SLURM_POLL_SECONDS = 15.0
"""The time between two queries to Slurm, which many users share."""


class SubmititLauncher(Launcher):
    """Runs jobs as arrays of submitit.

    Parameters
    ----------
    **parameters
        ``submitit_folder``, and submitit's job parameters.
    """

    cluster: str

    @abstractmethod
    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return the ids of the jobs that have ended, with or without a result."""

    def cancel(self, jobs: Sequence[Any]) -> None:
        """Cancel the jobs that have not ended."""
        for job in jobs:
            job.cancel()

    def __init__(self, **parameters: Any) -> None:
        for key, unit in DURATION_UNITS.items():
            if isinstance(parameters.get(key), str):
                seconds = read_duration(f"hydra.launcher.{key}", parameters[key], unit)
                assert seconds is not None
                parameters[key] = math.ceil(seconds / UNITS[unit][1])
        require_package("submitit", f"hydra/launcher=submitit_{self.cluster}", "slurm")
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise UserError(
                "hydra/launcher=submitit_slurm: there is no sbatch on this machine; start the sweep on a machine that "
                "submits to Slurm, or try it here with hydra/launcher=submitit_local."
            )
        self._parameters = parameters

    def submit(self, payloads: Sequence[JobPayload]) -> tuple[list[WaitForJob], Callable[[], None]]:
        """Submit jobs; raise UserError if Slurm rejects them."""
        import submitit

        cluster = self.cluster

        executor = _make_executor(cluster, self._parameters)
        limit = ARRAY_LIMIT.search(subprocess.getoutput("scontrol show config"))
        size = int(limit[1]) if limit else len(payloads)
        jobs: list[Any] = []
        try:
            for start in range(0, len(payloads), size):
                jobs += executor.map_array(_run_payload, payloads[start : start + size])
                # The next array waits for this one, so that no more jobs than array_parallelism run at a time.
                executor.update_parameters(slurm_dependency=f"afterany:{jobs[-1].job_id.partition('_')[0]}")
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
            self.cancel(jobs)
            raise UserError(f"hydra/launcher=submitit_{cluster}: {' '.join(str(error).split())}") from error
        results = JobResults(partial(self.find_ended, jobs))
        return [partial(results.wait_for, job) for job in jobs], partial(self.cancel, jobs)


def _make_executor(cluster: str, parameters: Mapping[str, Any]) -> Any:
    import submitit

    given = {key: value for key, value in parameters.items() if value is not None}
    folder = Path(given.pop("submitit_folder")).absolute()
    # submitit writes the jobs there with the passwords of the command, which other machines need.
    folder.parent.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
    options = {}
    if "max_num_timeout" in given:
        options[f"{cluster}_max_num_timeout"] = given.pop("max_num_timeout")
    executor = submitit.AutoExecutor(folder, cluster=cluster, **options)
    job_parameters = {}
    for key, value in given.items():
        name = key if key in SUBMITIT_PARAMETERS else f"{cluster}_{key}"
        job_parameters[name] = value
    executor.update_parameters(**job_parameters)
    return executor


def _run_payload(payload: JobPayload) -> JobOutcome:
    """Run a job in a Slurm process, where SIGTERM acts like Ctrl-C: the run ends as KILLED."""
    signal.signal(signal.SIGTERM, _raise_interrupt)
    return run_payload(payload)


def _raise_interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


class JobResults:
    """Waits for the results of jobs; a single query finds all jobs that ended without a result.

    submitit itself would query sacct to check whether a job has ended, and wait forever on a cluster without sacct.

    Parameters
    ----------
    find_ended : callable
        Returns the ids of the jobs that have ended.
    """

    def __init__(self, find_ended: Callable[[], set[str]]) -> None:
        self._find_ended = find_ended
        self._next_query = time.monotonic() + SLURM_POLL_SECONDS
        self._ended: set[str] = set()
        self._lost: set[str] = set()

    def wait_for(self, job: Any) -> JobOutcome:
        """Return the result of a job; raise ChildProcessError if it ended without one, according to two queries."""
        while not job.paths.result_pickle.exists():
            if job.job_id in self._lost:
                raise ChildProcessError(f"its process ended and left no result; see {job.paths.stderr}")
            if time.monotonic() > self._next_query:
                ended = self._find_ended()
                # On a shared disk, a result may arrive after Slurm has forgotten its job.
                self._lost = ended & self._ended
                self._ended = ended
                self._next_query = time.monotonic() + SLURM_POLL_SECONDS
            time.sleep(RESULT_POLL_SECONDS)
        outcome: JobOutcome = job.result()
        return outcome


class SlurmLauncher(SubmititLauncher):
    """Runs jobs on a Slurm cluster."""

    cluster = "slurm"

    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return the jobs that Slurm no longer lists as live; none if it does not answer."""
        status, listed = subprocess.getstatusoutput("squeue --me --array --noheader --states all --format '%i %T'")
        live = LIVE_JOB.findall(listed)
        return set() if status else {job.job_id for job in jobs} - {*live}

    def cancel(self, jobs: Sequence[Any]) -> None:
        """Cancel the arrays."""
        arrays = {job.job_id.partition("_")[0] for job in jobs}
        subprocess.getoutput(f"scancel --quiet {' '.join(arrays)}")


class LocalLauncher(SubmititLauncher):
    """Runs jobs in processes on this machine, started by submitit."""

    cluster = "local"

    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return the jobs whose process has ended."""
        return {job.job_id for job in jobs if job.done()}
