"""Jobs on a Ray cluster: Ray's workers import once and stay warm."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hydra.core.utils import JobReturn

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.launcher.payload import Parcel
from bakeoff.pipeline.launcher.returns import Returns

CONNECT_SECONDS = 10.0


def require_ray() -> None:
    """Refuse where Ray is not installed."""
    try:
        import ray  # noqa: F401
    except ImportError as error:
        raise UserError(
            'hydra/launcher=ray needs Ray, which is not installed; in a checkout of bakeoff: pip install ".[ray]".'
        ) from error


def submit(parcels: Sequence[Parcel], init: Mapping[str, Any], remote: Mapping[str, Any]) -> Returns:
    """Hand the jobs to Ray, which runs as many at once as the cluster has room for.

    Parameters
    ----------
    parcels : sequence of Parcel
    init : mapping
        Arguments of ``ray.init``; a Ray that runs in this process already is used as it is.
    remote : mapping
        Options of ``ray.remote``: what one job takes.

    Raises
    ------
    UserError
        The cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data
    import ray

    if not ray.is_initialized():
        _require_head(str(init.get("address") or os.environ.get("RAY_ADDRESS", "")))
        try:
            ray.init(**init)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UserError(f"hydra.launcher.ray.init: {' '.join(str(error).split())}") from error
    run = ray.remote(_run)
    references = [run.options(**remote).remote(parcel) for parcel in parcels]
    return Returns([partial(_get, each) for each in references], partial(_cancel, references))


def _require_head(address: str) -> None:
    """Refuse at once an address where nobody listens; Ray would try it for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise UserError(f"hydra.launcher.ray.init.address={address!r}: no Ray answers there ({error}).") from error


def _run(parcel: Parcel) -> JobReturn:
    return parcel()


def _get(reference: Any) -> JobReturn:
    import ray

    try:
        returned = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise ChildProcessError(f"its worker ended ({type(error).__name__}): {str(error).splitlines()[0]}") from error
    assert isinstance(returned, JobReturn)
    return returned


def _cancel(references: Sequence[Any]) -> None:
    import ray

    for reference in references:
        ray.cancel(reference)
