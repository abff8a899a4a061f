"""The replay of many runs, in this process or in several."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.part_cache import PartCache
from bakeoff.pipeline.replay.replay import ReplayRequest, replay_run
from bakeoff.pipeline.replay.replay_report import REFUSED, ReplayReport
from bakeoff.pipeline.tracking.store import open_store

BATCHES_PER_WORKER = 4
"""So many that no worker is idle for long while another one replays its last batch."""


@dataclass(frozen=True)
class StoreAddress:
    """Where a store is: what another process needs to open it.

    Attributes
    ----------
    uri : str
    experiment : str
    """

    uri: str
    experiment: str


def replay_runs(
    address: StoreAddress, run_ids: Sequence[str], request: ReplayRequest, workers: int = 1
) -> Iterator[ReplayReport]:
    """Replay runs, and yield their reports in the same order; a run that cannot be repeated is reported as refused.

    Parameters
    ----------
    address : StoreAddress
    run_ids : sequence of str
    request : ReplayRequest
    workers : int
        The number of processes.
    """
    if workers == 1:
        yield from _iter_reports(address, run_ids, request)
        return
    batches = _make_batches(run_ids, workers)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bakeoff.pipeline.sweep.worker_preload"])
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        pending = [pool.submit(_replay_batch, address, batch, request) for batch in batches]
        for batch, future in zip(batches, pending, strict=True):
            try:
                yield from future.result()
            except BrokenProcessPool:
                for run_id in batch:
                    reason = "a process of the replay died; replay this run by itself"
                    yield ReplayReport(run_id, "", REFUSED, reason)


def _make_batches(run_ids: Sequence[str], workers: int) -> list[Sequence[str]]:
    """Divide runs into consecutive batches, whose runs share an open store and the datasets that they have loaded."""
    size = math.ceil(len(run_ids) / (workers * BATCHES_PER_WORKER))
    return [run_ids[start : start + size] for start in range(0, len(run_ids), size)]


def _replay_batch(address: StoreAddress, run_ids: Sequence[str], request: ReplayRequest) -> list[ReplayReport]:
    return list(_iter_reports(address, run_ids, request))


def _iter_reports(address: StoreAddress, run_ids: Sequence[str], request: ReplayRequest) -> Iterator[ReplayReport]:
    store = open_store(address.uri, address.experiment, create=False)
    resources = PartCache()
    for run_id in run_ids:
        try:
            yield replay_run(store, run_id, request, resources)
        except UserError as error:
            yield ReplayReport(run_id, "", REFUSED, str(error))
