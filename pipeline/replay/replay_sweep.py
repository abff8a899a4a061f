"""The replay of a run or of many, in this process or in several."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.replay.replay import replay_run
from bakeoff.pipeline.replay.replay_report import REFUSED, ReplayReport
from bakeoff.pipeline.replay.request import ReplayRequest
from bakeoff.pipeline.stages.dataset.files import list_dataset_files
from bakeoff.pipeline.tables.output_file import require_output
from bakeoff.pipeline.text.words import expand_home
from bakeoff.pipeline.tracking.find_run import find_run_id
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config
from bakeoff.pipeline.tracking.stored_runs import find_runs_of_sweep

BATCHES_PER_WORKER = 4
"""So many that no worker is idle for long while another one replays its last batch."""


def replay_runs(request: ReplayRequest) -> Iterator[ReplayReport]:
    """Replay a run, or the runs of a sweep, and yield their reports; one that cannot be repeated is refused in its own.

    Parameters
    ----------
    request : ReplayRequest

    Raises
    ------
    UserError
        There is no such run or sweep, or the output cannot be written, or is a file of the data of a run.
    """
    if request.output is not None:
        moved = [expand_home(request.dataset__path)] if request.dataset__path else []
        require_output(request.output, moved, list_store_paths(request.tracking__uri))
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    run_ids = _find_run_ids(store, request)
    if request.output is not None:
        _require_no_dataset(store, run_ids, request.output)
    # Other processes open the copy of a store that cannot be written.
    settled = replace(request, tracking__uri=store.uri)
    if request.workers == 1:
        yield from _iter_reports(run_ids, settled)
    else:
        yield from _share_work(run_ids, settled)


def _find_run_ids(store: Store, request: ReplayRequest) -> list[str]:
    if request.sweep:
        return find_runs_of_sweep(store, request.sweep)
    return [find_run_id(store, request.run, request.dataset)]


def _require_no_dataset(store: Store, run_ids: Sequence[str], output: Path) -> None:
    """Reject an output that is a file of the data of the runs."""
    # Most outputs are new files, for which no configuration needs to be read.
    if not output.exists():
        return
    for run_id in run_ids:
        files: list[Path] = []
        with suppress(UserError):
            files = list_dataset_files(read_stored_config(store, run_id)["dataset"])
        require_output(output, files)


def _share_work(run_ids: Sequence[str], request: ReplayRequest) -> Iterator[ReplayReport]:
    """Replay runs in several processes, and yield their reports in the same order."""
    batches = _make_batches(run_ids, request.workers)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bakeoff.pipeline.sweep.worker_preload"])
    with ProcessPoolExecutor(request.workers, mp_context=context) as pool:
        pending = [pool.submit(_replay_batch, batch, request) for batch in batches]
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


def _replay_batch(run_ids: Sequence[str], request: ReplayRequest) -> list[ReplayReport]:
    return list(_iter_reports(run_ids, request))


def _iter_reports(run_ids: Sequence[str], request: ReplayRequest) -> Iterator[ReplayReport]:
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    resources = PartCache()
    for run_id in run_ids:
        try:
            yield replay_run(store, run_id, request, resources)
        except UserError as error:
            yield ReplayReport(run_id, "", REFUSED, str(error))
