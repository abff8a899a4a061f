"""Jobs on a Slurm cluster, submitted as one array with submitit, or in local processes for a trial run."""

import math
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
from bakeoff.pipeline.errors import UserError, write_install_command
from bakeoff.pipeline.launcher.payload import JobPayload, Launcher, WaitForJob, run_payload
from bakeoff.pipeline.sweep.jobs import JobOutcome

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
LIVE_STATES = ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "RESIZING", "SIGNALING")
"""The states of Slurm jobs that have not ended."""
PRIVATE_FOLDER_MODE = 0o700
RESULT_POLL_SECONDS = 0.5
SLURM_POLL_SECONDS = 15.0
"""The time between two queries to Slurm, which many users share."""
RESULT_GRACE_SECONDS = 10.0
"""How long a result on a shared disk may be delayed after Slurm has forgotten its job."""


class SubmititLauncher(Launcher):
    """Runs jobs as a submitit array.

    Parameters
    ----------
    **parameters
        ``submitit_folder``, and submitit's job parameters.
    """

    cluster: str

    @staticmethod
    @abstractmethod
    def has_ended(job: Any) -> bool:
        """Whether a job has ended, with or without a result."""

    def __init__(self, **parameters: Any) -> None:
        for key, unit in DURATION_UNITS.items():
            if isinstance(parameters.get(key), str):
                seconds = read_duration(f"hydra.launcher.{key}", parameters[key], unit)
                assert seconds is not None
                parameters[key] = math.ceil(seconds / UNITS[unit][1])
        self._parameters = parameters

    def submit(self, payloads: Sequence[JobPayload]) -> tuple[list[WaitForJob], Callable[[], None]]:
        """Submit jobs; raise UserError if submitit is not installed, or Slurm rejects them."""
        cluster = self.cluster
        _require_submitit(cluster)
        import submitit

        executor = _make_executor(cluster, self._parameters)
        try:
            jobs = executor.map_array(_run_payload, payloads)
        except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
            raise UserError(f"hydra/launcher=submitit_{cluster}: {' '.join(str(error).split())}") from error
        return [partial(_wait_for, job, self.has_ended) for job in jobs], partial(_cancel_all, jobs)


def _require_submitit(cluster: str) -> None:
    """Check that submitit is installed and that this machine can submit jobs."""
    try:
        import submitit  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hydra/launcher=submitit_{cluster} needs submitit, which is not installed: "
            f"{write_install_command('slurm')}."
        ) from error
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise UserError(
            "hydra/launcher=submitit_slurm: there is no sbatch on this machine; start the sweep on a machine that "
            "submits to Slurm, or try it here with hydra/launcher=submitit_local."
        )


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


def _wait_for(job: Any, has_ended: Callable[[Any], bool]) -> JobOutcome:
    """Wait for the result of a job, or until the job ends without a result.

    submitit itself would query sacct to check whether a job has ended, and wait forever on a cluster without sacct.
    """
    next_query = time.monotonic() + SLURM_POLL_SECONDS
    deadline = math.inf
    while not job.paths.result_pickle.exists():
        now = time.monotonic()
        if now > deadline:
            raise ChildProcessError(f"its process ended and left no result; see {job.paths.stderr}")
        if now > next_query and deadline == math.inf:
            next_query = now + SLURM_POLL_SECONDS
            if has_ended(job):
                deadline = now + RESULT_GRACE_SECONDS
        time.sleep(RESULT_POLL_SECONDS)
    outcome: JobOutcome = job.result()
    return outcome


def _cancel_all(jobs: Sequence[Any]) -> None:
    for job in jobs:
        job.cancel(check=False)


class SlurmLauncher(SubmititLauncher):
    """Runs jobs on a Slurm cluster."""

    cluster = "slurm"

    @staticmethod
    def has_ended(job: Any) -> bool:
        """Whether Slurm reports that a job has ended, or no longer lists it."""
        command = ["squeue", "--noheader", "--jobs", str(job.job_id), "--states", "all", "--format", "%T"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        # Slurm forgets ended jobs after a while. Any other error, such as a controller restart, is inconclusive.
        if answer.returncode != 0:
            return "Invalid job id" in answer.stderr
        return not any(state in LIVE_STATES for state in answer.stdout.split())


class LocalLauncher(SubmititLauncher):
    """Runs jobs in processes on this machine, started by submitit."""

    cluster = "local"

    @staticmethod
    def has_ended(job: Any) -> bool:
        """Whether the process of a job has ended."""
        return bool(job.done(force_check=True))
