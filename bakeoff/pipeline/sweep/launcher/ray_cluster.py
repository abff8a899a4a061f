"""Jobs on a Ray cluster, whose workers import the code once and stay alive."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import UserError, first_line, require_package
from bakeoff.pipeline.sweep.jobs import JobOutcome
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, WaitForJob, run_payload

CONNECT_TIMEOUT_SECONDS = 10.0


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

    def submit(self, payloads: Sequence[JobPayload]) -> tuple[list[WaitForJob], Callable[[], None]]:
        """Submit jobs to Ray; raise UserError if it cannot be reached."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data
        import ray

        init = self._ray["init"]
        if not ray.is_initialized():
            _require_listener(str(init.get("address") or os.environ.get("RAY_ADDRESS", "")))
            try:
                ray.init(**init)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UserError(f"hydra.launcher.ray.init: {' '.join(str(error).split())}") from error
        run_remotely = ray.remote(run_payload).options(**self._ray["remote"])
        references = [run_remotely.remote(payload) for payload in payloads]

        def cancel() -> None:
            for reference in references:
                ray.cancel(reference)

        return [partial(_wait_for, reference) for reference in references], cancel


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


def _wait_for(reference: Any) -> JobOutcome:
    import ray

    try:
        outcome: JobOutcome = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise ChildProcessError(f"its worker ended ({type(error).__name__}): {first_line(error)}") from error
    return outcome
