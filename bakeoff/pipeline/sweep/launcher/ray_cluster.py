"""Jobs on a Ray cluster, whose workers import the code once and stay alive."""

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.errors import UserError, first_line, require_package
from bakeoff.pipeline.sweep.jobs import JobOutcome
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, run_payload

CONNECT_TIMEOUT_SECONDS = 10.0
JOBS_PER_SLOT = 10
"""The most jobs that Ray has for each job that can run at a time; it keeps all of them in memory."""


class RayLauncher(Launcher):
    """Runs jobs on a Ray cluster, in parallel as far as its resources allow.

    Parameters
    ----------
    ray : mapping
        ``init``, the arguments of ``ray.init``, which are ignored if Ray is already initialized in this process; and
        ``remote``, the options of ``ray.remote``, which set the resources of one job.
    """

    def __init__(self, ray: Mapping[str, Any]) -> None:
        require_package("ray", "hydra/launcher=ray")
        self._ray = ray

    def count_free(self, n_running: int) -> int:
        """Return how many jobs the cluster may be given, so that the next ones are there when others end."""
        ray = self._connect()
        n_slots = int(ray.cluster_resources().get("CPU", 1) / (self._ray["remote"].get("num_cpus") or 1))
        return max(JOBS_PER_SLOT * max(n_slots, 1) - n_running, 0)

    def submit(self, payloads: Sequence[JobPayload], running: Sequence[Any]) -> list[Any]:
        """Submit jobs to Ray."""
        run_remotely = self._connect().remote(run_payload).options(**self._ray["remote"])
        return [run_remotely.remote(payload) for payload in payloads]

    def wait(self, handles: Sequence[Any]) -> list[Any]:
        """Wait until a job has ended."""
        ended: list[Any] = self._connect().wait(handles)[0]
        return ended

    def collect(self, handle: Any) -> JobOutcome:
        """Return the outcome of a job; raise ChildProcessError if its worker is lost."""
        ray = self._connect()
        try:
            outcome: JobOutcome = ray.get(handle)
        except ray.exceptions.RayError as error:
            raise ChildProcessError(f"its worker ended ({type(error).__name__}): {first_line(error)}") from error
        return outcome

    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel jobs."""
        for handle in handles:
            self._connect().cancel(handle)

    def _connect(self) -> Any:
        """Return the module of Ray, connected to the cluster; raise UserError if it cannot be reached."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data
        import ray

        init = self._ray["init"]
        if not ray.is_initialized():
            _require_listener(str(init.get("address") or os.environ.get("RAY_ADDRESS", "")))
            try:
                ray.init(**init)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UserError(f"hydra.launcher.ray.init: {' '.join(str(error).split())}") from error
        return ray


def _require_listener(address: str) -> None:
    """Reject an address at once if no process listens there; Ray would retry for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        raise UserError(
            f"hydra.launcher.ray.init.address={address!r}: no Ray cluster responds there ({error})."
        ) from error
