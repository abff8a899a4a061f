"""Jobs on a Ray cluster, whose workers import the code once and stay alive."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hydra.core.utils import JobReturn

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.launcher.payload import JobPayload, JobReturns, run_payload

CONNECT_TIMEOUT_SECONDS = 10.0


def require_ray() -> None:
    """Check that Ray is installed.

    Raises
    ------
    UserError
        Ray is not installed.
    """
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise UserError(
            'hydra/launcher=ray needs Ray, which is not installed; in a checkout of bakeoff: pip install ".[ray]".'
        ) from error


def submit_jobs(payloads: Sequence[JobPayload], init: Mapping[str, Any], remote: Mapping[str, Any]) -> JobReturns:
    """Submit jobs to Ray, which runs as many at a time as the cluster has room for.

    Parameters
    ----------
    payloads : sequence of JobPayload
    init : mapping
        Arguments of ``ray.init``; ignored if Ray is already initialized in this process.
    remote : mapping
        Options of ``ray.remote``: the resources of one job.

    Raises
    ------
    UserError
        The cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data
    import ray

    if not ray.is_initialized():
        _connect(init)
    run_remotely = ray.remote(run_payload).options(**remote)
    references = [run_remotely.remote(payload) for payload in payloads]
    waits = [partial(_wait_for, reference) for reference in references]
    return JobReturns(waits, partial(_cancel_all, references))


def _connect(init: Mapping[str, Any]) -> None:
    import ray

    address = init.get("address") or os.environ.get("RAY_ADDRESS", "")
    _require_listener(str(address))
    try:
        ray.init(**init)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"hydra.launcher.ray.init: {' '.join(str(error).split())}") from error


def _require_listener(address: str) -> None:
    """Reject at once an address on which no process listens; Ray would try it for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        raise UserError(
            f"hydra.launcher.ray.init.address={address!r}: no Ray cluster responds there ({error})."
        ) from error


def _wait_for(reference: Any) -> JobReturn:
    import ray

    try:
        returned = ray.get(reference)
    except ray.exceptions.RayError as error:
        first_line = str(error).splitlines()[0]
        raise ChildProcessError(f"its worker ended ({type(error).__name__}): {first_line}") from error
    assert isinstance(returned, JobReturn)
    return returned


def _cancel_all(references: Sequence[Any]) -> None:
    import ray

    for reference in references:
        ray.cancel(reference)
