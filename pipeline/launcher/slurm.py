"""Jobs on a Slurm cluster, as one array by submitit; or as processes of this machine, to try it out."""

from __future__ import annotations

import math
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.launcher.payload import Parcel
from bakeoff.pipeline.launcher.returns import Returns

PLAIN = (
    "timeout_min",
    "cpus_per_task",
    "gpus_per_node",
    "tasks_per_node",
    "mem_gb",
    "nodes",
    "name",
    "stderr_to_stdout",
)
"""Parameters that submitit knows for every executor; the others are Slurm's own."""
LOOK_SECONDS = 0.5
"""Between two looks for a result."""
ASK_SECONDS = 15.0
"""Between two questions to Slurm, which answers many users."""
GRACE_SECONDS = 10.0
"""How long a result may take to appear, on a shared disk, after Slurm has forgotten its job."""


def require_submitit(cluster: str) -> None:
    """Refuse where submitit is not installed, or this machine is none that can submit.

    Parameters
    ----------
    cluster : {"slurm", "local"}

    Raises
    ------
    UserError
    """
    try:
        import submitit  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hydra/launcher=submitit_{cluster} needs submitit, which is not installed; "
            'in a checkout of bakeoff: pip install ".[slurm]".'
        ) from error
    if cluster == "slurm" and shutil.which("sbatch") is None:
        raise UserError(
            "hydra/launcher=submitit_slurm: there is no sbatch on this machine; start the sweep on a machine that "
            "submits to Slurm, or try it here with hydra/launcher=submitit_local."
        )


def submit(parcels: Sequence[Parcel], cluster: str, parameters: Mapping[str, Any]) -> Returns:
    """Submit the jobs.

    Parameters
    ----------
    parcels : sequence of Parcel
    cluster : {"slurm", "local"}
    parameters : mapping
        ``submitit_folder``, and submitit's parameters of the jobs.

    Raises
    ------
    UserError
        Slurm does not take them.
    """
    import submitit

    given = {key: value for key, value in parameters.items() if value is not None}
    folder = Path(given.pop("submitit_folder")).absolute()
    retries = {f"{cluster}_max_num_timeout": given.pop("max_num_timeout")} if "max_num_timeout" in given else {}
    executor = submitit.AutoExecutor(folder, cluster=cluster, **retries)
    executor.update_parameters(**{key if key in PLAIN else f"{cluster}_{key}": value for key, value in given.items()})
    try:
        jobs = executor.map_array(_run, parcels)
    except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
        raise UserError(f"hydra/launcher=submitit_{cluster}: {' '.join(str(error).split())}") from error
    is_gone = _forgotten_by_slurm if cluster == "slurm" else _ended_here
    return Returns([partial(_wait, each, is_gone) for each in jobs], partial(_cancel, jobs))


def _run(parcel: Parcel) -> JobReturn:
    """Run a job in a process of Slurm's; its SIGTERM is raised like Ctrl-C, so that the run ends KILLED."""
    signal.signal(signal.SIGTERM, _terminate)
    return parcel()


def _terminate(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _wait(job: Any, is_gone: Callable[[Any], bool]) -> JobReturn:
    """Wait for a result, or for the end of a job that leaves none.

    submitit asks sacct for that, which not every cluster has, and then would wait for ever.
    """
    ask, end = time.monotonic() + ASK_SECONDS, math.inf
    while not job.paths.result_pickle.exists():
        now = time.monotonic()
        if now > end:
            raise ChildProcessError(f"its process ended and left no result; see {job.paths.stderr}")
        if now > ask and end == math.inf:
            ask = now + ASK_SECONDS
            end = now + GRACE_SECONDS if is_gone(job) else math.inf
        time.sleep(LOOK_SECONDS)
    returned = job.result()
    assert isinstance(returned, JobReturn)
    return returned


def _forgotten_by_slurm(job: Any) -> bool:
    asked = ["squeue", "--noheader", "--jobs", str(job.job_id), "--states", "all", "--format", "%T"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    if answer.returncode != 0:  # the number is not known any more; or the controller rests, which is no answer
        return "Invalid job id" in answer.stderr
    waiting = ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "RESIZING", "SIGNALING")
    return not any(state in waiting for state in answer.stdout.split())


def _ended_here(job: Any) -> bool:
    return bool(job.done(force_check=True))


def _cancel(jobs: Sequence[Any]) -> None:
    for job in jobs:
        job.cancel(check=False)
