"""Jobs on a Slurm cluster, submitted as arrays with submitit, or in local processes for a trial run."""

import math
import re
import shutil
import subprocess
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.words import UNITS, read_duration
from bakeoff.pipeline.errors import UserError, require_package
from bakeoff.pipeline.sweep.jobs import JobOutcome
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, run_payload

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
DEFAULT_ARRAY_SIZE = 1001
CANCELLED = "it left neither a result nor a log, so it was probably cancelled before it started"
MAX_LOOKED_FOR = 100
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

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel the jobs that have not ended."""
        for job in handles:
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
        self._next_query = time.monotonic() + SLURM_POLL_SECONDS
        self._gone: set[str] = set()

    @cached_property
    def array_size(self) -> int:
        """The most jobs in an array."""
        limit = ARRAY_LIMIT.search(subprocess.getoutput("scontrol show config"))
        return int(limit[1]) if limit else DEFAULT_ARRAY_SIZE

    def count_free(self, n_running: int) -> int:
        """Return the size of an array, unless there are two: one runs while the other waits."""
        return self.array_size if n_running <= self.array_size else 0

    def submit(self, payloads: Sequence[JobPayload], running: Sequence[Any]) -> list[Any]:
        """Submit an array, which waits for the one before it; raise UserError if Slurm rejects it."""
        import submitit

        executor = _make_executor(self.cluster, self._parameters)
        if running:  # no more jobs than array_parallelism run at a time
            executor.update_parameters(slurm_dependency=f"afterany:{running[-1].job_id.partition('_')[0]}")
        try:
            jobs: list[Any] = executor.map_array(run_payload, payloads)
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
            raise UserError(f"hydra/launcher=submitit_{self.cluster}: {' '.join(str(error).split())}") from error
        return jobs

    def wait(self, handles: Sequence[Any]) -> list[Any]:
        """Wait until jobs have left a result, or have ended without one according to two queries.

        submitit itself would query sacct to check whether a job has ended, and wait forever on a cluster without sacct.
        Jobs start in order, so the results of the first ones are looked for most often.
        """
        while True:
            known = handles[:MAX_LOOKED_FOR]
            lost: set[str] = set()
            if time.monotonic() > self._next_query:
                gone = self.find_ended(handles)
                # On a shared disk, a result may arrive after Slurm has forgotten its job.
                lost, self._gone = gone & self._gone, gone
                known = [job for job in handles if job.job_id in gone or job in known]
                self._next_query = time.monotonic() + SLURM_POLL_SECONDS
            ended = [job for job in known if job.job_id in lost or job.paths.result_pickle.exists()]
            if ended:
                return ended
            time.sleep(RESULT_POLL_SECONDS)

    def collect(self, handle: Any) -> JobOutcome:
        """Return the outcome of a job; raise ChildProcessError if it left none."""
        log = handle.paths.stderr
        if not handle.paths.result_pickle.exists():
            ended = f"its process ended and left no result; see {log}" if log.exists() else CANCELLED
            raise ChildProcessError(ended)
        outcome: JobOutcome = handle.result()
        return outcome


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


class SlurmLauncher(SubmititLauncher):
    """Runs jobs on a Slurm cluster."""

    cluster = "slurm"

    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return the jobs that Slurm no longer lists as live; none if it does not answer."""
        status, listed = subprocess.getstatusoutput("squeue --me --array --noheader --states all --format '%i %T'")
        live = LIVE_JOB.findall(listed)
        return set() if status else {job.job_id for job in jobs} - {*live}

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel the arrays."""
        arrays = {job.job_id.partition("_")[0] for job in handles}
        subprocess.getoutput(f"scancel --quiet {' '.join(arrays)}")


class LocalLauncher(SubmititLauncher):
    """Runs jobs in processes on this machine, started by submitit."""

    cluster = "local"

    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return the jobs whose process has ended."""
        return {job.job_id for job in jobs if job.done()}
