"""Workers: warm processes of this machine, each with one job at a time; one that dies costs its one job.

They are forked from a server that imported everything once, so that a fresh one is there at once.  Each has its own
connection to the store.  Which process runs a job does not change its result.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from bakeoff.pipeline.sweep.job_runner import JobRunner, killed
from bakeoff.pipeline.sweep.jobs import FINISHED, Job, JobOutcome, JobProgress
from bakeoff.pipeline.tracking import history

GRACE_SECONDS = 5.0
"""A job that outlives its time by so much is deaf to signals, and its process is killed."""
MAX_SHUTDOWN_SECONDS = 20.0
"""So long a worker may take to end its run before it is killed."""


def serve(connection: Connection, resume: bool, timeout: float | None, tracebacks: bool, judged: bool) -> None:
    """Run jobs until there are no more: what a worker does."""
    signal.signal(signal.SIGTERM, _once)
    signal.signal(signal.SIGINT, _once)
    gc.freeze()
    judge = partial(_ask, connection) if judged else None
    runner = JobRunner(resume, timeout, tracebacks, began=lambda: connection.send(None), judge=judge)
    try:
        while True:
            connection.send(runner.run_job(connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return  # the sweep is over, or its process is gone; the run, if there was one, ended KILLED


def _ask(connection: Connection, progress: JobProgress) -> bool:
    """Ask the sweep's process whether to go on; meanwhile no alarm rings, which would cut a message in two."""
    left, since = signal.setitimer(signal.ITIMER_REAL, 0)[0], time.monotonic()
    try:
        connection.send(progress)
        return bool(connection.recv())
    except (EOFError, BrokenPipeError, ConnectionResetError):  # that process is gone, and the sweep with it
        raise KeyboardInterrupt from None
    finally:
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - since), 0.001))


def _once(number: int, frame: Any) -> None:
    """End the job like Ctrl-C, and do not disturb it while it writes that down."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


@dataclass
class Worker:
    """A process, the way to it, and what it does now."""

    process: Any
    connection: Connection
    job: Job | None = None
    since: float | None = None


class Workers:
    """The workers of a sweep.

    Parameters
    ----------
    runner : JobRunner
        Of this process; the workers' are made like it.
    count : int
    """

    def __init__(self, runner: JobRunner, count: int) -> None:
        self._runner = runner
        self._count = count
        self._crew: list[Worker] = []

    def __enter__(self) -> Self:
        if self._count:
            self._context = multiprocessing.get_context("forkserver")
            self._context.set_forkserver_preload(["bakeoff.pipeline.sweep.worker_preload"])
            self._crew = [self._hire() for _ in range(self._count)]
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._crew:
            worker.connection.close()
            if worker.job is not None:
                worker.process.terminate()  # it ends its run KILLED
        for worker in self._crew:
            worker.process.join(MAX_SHUTDOWN_SECONDS)
            worker.process.kill()
            worker.process.join()
        for job in [worker.job for worker in self._crew if worker.job is not None]:
            store = self._runner.resources.tracker(job.spec).find()
            if store is not None:  # a worker may have been stopped just between making its run and answering for it
                history.end_killed_runs(store, "the sweep was stopped")

    def run(self, jobs: Iterable[Job]) -> Iterator[JobOutcome]:
        """Run jobs, and yield their outcomes as they come."""
        left = iter(jobs)
        while True:
            for position, worker in enumerate(self._crew):
                if worker.job is None and (job := next(left, None)) is not None:
                    self._give(position, job)
            busy = [position for position, worker in enumerate(self._crew) if worker.job is not None]
            if not busy:
                return
            ready = wait([self._crew[position].connection for position in busy], timeout=self._until_overdue())
            for position in busy:
                if self._crew[position].connection in ready:
                    outcome = self._hear(position)
                    if outcome is not None:
                        yield outcome
                elif self._is_overdue(self._crew[position]):
                    self._crew[position].process.kill()
                    yield self._lost(position, f"it took longer than timeout={self._runner.timeout:g} seconds")

    def _hire(self) -> Worker:
        mine, theirs = self._context.Pipe()
        settings = (self._runner.resume, self._runner.timeout, self._runner.tracebacks, self._runner.judge is not None)
        process = self._context.Process(target=serve, args=(theirs, *settings), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, mine)

    def _give(self, position: int, job: Job) -> None:
        try:
            self._crew[position].connection.send(job)
        except (BrokenPipeError, ConnectionResetError):  # killed while it waited
            self._crew[position] = self._hire()
            self._crew[position].connection.send(job)
        self._crew[position].job, self._crew[position].since = job, None

    def _hear(self, position: int) -> JobOutcome | None:
        """Return a job's outcome; None for the word that its time began, and for a question, which is answered."""
        worker = self._crew[position]
        try:
            heard: JobOutcome | JobProgress | None = worker.connection.recv()
            if isinstance(heard, JobProgress) and self._runner.judge is not None:
                worker.connection.send(self._runner.judge(heard))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            worker.process.join()
            code = worker.process.exitcode
            told = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
            return self._lost(position, f"its process ended by {told}")
        if heard is None:
            worker.since = time.monotonic()
        if not isinstance(heard, JobOutcome):
            return None
        worker.job = None
        return heard

    def _lost(self, position: int, reason: str) -> JobOutcome:
        """Put a fresh worker in the place of a dead one, and end its run."""
        worker = self._crew[position]
        job = worker.job
        assert job is not None
        worker.process.join()
        worker.connection.close()
        self._crew[position] = self._hire()
        store = self._runner.resources.tracker(job.spec).find()
        if store is not None:
            history.end_killed_runs(store, reason)
            run_id = history.find_finished_runs(store, [job.hash]).get(job.hash)
            if run_id is not None and self._runner.resume:  # it was killed after its last word to the store
                return JobOutcome(job.number, job.name, FINISHED, run_id=run_id)
        return killed(job, reason)

    def _is_overdue(self, worker: Worker) -> bool:
        return self._left(worker) == 0

    def _left(self, worker: Worker) -> float | None:
        """Return the seconds until a job is overdue; None if it never is, or did not begin."""
        if self._runner.timeout is None or worker.job is None or worker.since is None:
            return None
        return max(0.0, worker.since + self._runner.timeout + GRACE_SECONDS - time.monotonic())

    def _until_overdue(self) -> float | None:
        left = [seconds for worker in self._crew if (seconds := self._left(worker)) is not None]
        return min(left) + 0.05 if left else None
