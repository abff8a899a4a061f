"""Worker processes on this machine, each of which runs one job at a time; a dying worker only affects its job.

Each worker has its own connection to the store. The results do not depend on which process runs a job.
"""

import ctypes
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from bakeoff.pipeline.identity.source_code import get_finder
from bakeoff.pipeline.stages.dataset.loaders import ARROW_THREADS
from bakeoff.pipeline.sweep.done_jobs import find_lost_job
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import Job, JobOutcome, JobProgress, Work
from bakeoff.pipeline.system import ALARM_SIGNALS, HAS_FORK, STOPPING_SIGNALS, hold_signals, receive_signals
from bakeoff.pipeline.tracking import models

GRACE_SECONDS = 30.0
"""The time after its limit at which a job is considered unresponsive and its process is killed."""
SHUTDOWN_SECONDS = 20.0
"""The time a worker has to end its run before it is killed."""
CONNECTION_ERRORS = (BrokenPipeError, ConnectionResetError)


def serve_jobs(
    connection: Connection,
    environment: Mapping[str, str],
    runner: JobRunner,
    reports_progress: bool,
    inherited: Sequence[Connection] = (),
) -> None:
    """Run jobs as they arrive until there are no more; this is the main function of a worker.

    Parameters
    ----------
    connection : Connection
        Receives jobs. Sends how much of a job is done, and finally its outcome.
    environment : mapping of str to str
        The environment variables of the process of the sweep.
    runner : JobRunner
        That of the process of the sweep; a forked process has its datasets and its prepared jobs, too.
    reports_progress : bool
        Whether to ask after each fold whether the job should continue.
    inherited : sequence of Connection
        Connections of the process of the sweep that a forked process inherits.
    """
    get_finder()  # of the folder of the sweep, before a job changes it
    signal.signal(signal.SIGTERM, _interrupt_once)
    signal.signal(signal.SIGINT, _interrupt_once)
    receive_signals()
    # As long as they are open here, the other workers cannot notice that the process of the sweep has ended.
    for other in inherited:
        other.close()
    # A server process keeps the variables of the first sweep, which may change before the second sweep of a program.
    os.environ.clear()
    os.environ.update(environment)
    # Modules imported by the other process remain in shared memory as long as no garbage collection writes to them.
    gc.freeze()
    runner.should_continue = partial(_send, connection, has_answer=True) if reports_progress else None
    runner.show_work = lambda number, work: _send(connection, work)
    try:
        while True:
            outcome = runner.run_job(connection.recv())
            _write_c_buffers()
            connection.send(outcome)
    except (EOFError, *CONNECTION_ERRORS, KeyboardInterrupt):
        return  # the sweep has ended, or its process is gone; a run in progress has ended as KILLED


def _write_c_buffers() -> None:
    """Write what libraries in C have printed; a forked process ends without doing so."""
    if HAS_FORK:
        ctypes.CDLL(None).fflush(None)


def _send(connection: Connection, message: JobProgress | Work, *, has_answer: bool = False) -> bool:
    """Send a message to the process of the sweep and return its answer; the time limit must not interrupt a message."""
    with hold_signals(ALARM_SIGNALS):
        try:
            connection.send(message)
            return not has_answer or bool(connection.recv())
        except (EOFError, *CONNECTION_ERRORS):  # the process of the sweep is gone
            raise KeyboardInterrupt from None


def _interrupt_once(number: int, frame: Any) -> None:
    """End the job as Ctrl-C does, and ignore further signals while its run is ended."""
    # Ctrl-C sends SIGINT, and the process of the sweep sends SIGTERM. If both have arrived, Python reports an error for
    # a signal ignored with SIG_IGN, but not for one with a handler.
    for ended_by in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ended_by, lambda number, frame: None)
    raise KeyboardInterrupt


@dataclass
class Worker:
    """A worker process, the connection to it, its job, and the time at which the job is overdue."""

    process: Any
    connection: Connection
    job: Job | None = None
    deadline: float = math.inf


class Workers:
    """The worker processes of a sweep.

    Parameters
    ----------
    runner : JobRunner
        The runner of this process; the workers use the same settings.
    count : int
        The number of processes.
    """

    def __init__(self, runner: JobRunner, count: int) -> None:
        self._runner = runner
        self._count = count
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        for _ in range(self._count):
            self._workers.append(Worker(*self._start_process()))
        return self

    def __exit__(self, *error: object) -> None:
        # All workers are asked to end before the first one is awaited, so that they end their runs in parallel.
        for worker in self._workers:
            worker.connection.close()
            if worker.job is not None:
                worker.process.terminate()  # it ends its run as KILLED
        seconds = SHUTDOWN_SECONDS
        for worker in self._workers:
            try:
                worker.process.join(seconds)
            except KeyboardInterrupt:  # after a second Ctrl-C, the runs are ended below without waiting
                seconds = 0
            worker.process.kill()
            worker.process.join()
        # A worker may have died between creating and ending its run.
        for job in [worker.job for worker in self._workers if worker.job is not None]:
            find_lost_job(job, self._runner.find_store(job), "the sweep was stopped", resume=False)

    def run_jobs(self, jobs: Iterable[Job]) -> Iterator[JobOutcome]:
        """Run each job as soon as a worker is free, and yield the outcomes as they arrive."""
        remaining = iter(jobs)
        while True:
            # A job is requested only when a worker is free, because a study chooses it from the outcomes of earlier
            # jobs.
            for worker in self._workers:
                if worker.job is None and (job := next(remaining, None)) is not None:
                    self._send_job(worker, job)
            busy = [worker for worker in self._workers if worker.job is not None]
            if not busy:
                return
            # A dead worker closes its connection, so this wait also ends when a process is killed.
            seconds = min(worker.deadline for worker in busy) - time.monotonic()
            connections = [worker.connection for worker in busy]
            ready = wait(connections, timeout=None if math.isinf(seconds) else max(0.0, seconds))
            for worker in busy:
                outcome = self._find_outcome(worker, worker.connection in ready)
                if outcome is not None:
                    yield outcome

    def _find_outcome(self, worker: Worker, is_ready: bool) -> JobOutcome | None:
        """Return the outcome of a worker's job if it has ended or is overdue."""
        if is_ready:
            return self._receive(worker)
        if time.monotonic() < worker.deadline:
            return None
        # The alarm in the worker should have ended the job, but computations in C block it.
        worker.process.kill()
        return self._replace_process(worker, f"it took longer than timeout={self._runner.timeout:g} seconds")

    def _start_process(self) -> tuple[Any, Connection]:
        """Start a process, and return it with the connection to it."""
        own_end, worker_end = Pipe()
        runner = self._runner
        arguments = (worker_end, dict(os.environ), runner, runner.should_continue is not None)
        inherited = (own_end, *(worker.connection for worker in self._workers))
        process = start_process(serve_jobs, arguments, inherited)
        # If this end stayed open here, the death of the worker would not close the connection.
        worker_end.close()
        return process, own_end

    def _send_job(self, worker: Worker, job: Job) -> None:
        try:
            worker.connection.send(job)
        except CONNECTION_ERRORS:  # the worker was killed while it was idle
            worker.process, worker.connection = self._start_process()
            worker.connection.send(job)
        worker.job = job
        if self._runner.timeout is not None:
            worker.deadline = time.monotonic() + self._runner.timeout + GRACE_SECONDS

    def _receive(self, worker: Worker) -> JobOutcome | None:
        """Read one message from a worker: return an outcome, reply to a question, and show work."""
        should_continue = self._runner.should_continue
        try:
            message: JobOutcome | JobProgress | Work = worker.connection.recv()
            if isinstance(message, JobProgress) and should_continue is not None:
                worker.connection.send(should_continue(message))
        except (EOFError, *CONNECTION_ERRORS):
            worker.process.join()
            return self._replace_process(worker, f"its process ended by {_describe_exit(worker.process.exitcode)}")
        if isinstance(message, Work) and worker.job is not None:
            self._runner.show_work(worker.job.number, message)
        if not isinstance(message, JobOutcome):
            return None
        worker.job = None
        return message

    def _replace_process(self, worker: Worker, reason: str) -> JobOutcome:
        """Start a process in place of a dead one, and return the outcome of the job it was running."""
        job = worker.job
        assert job is not None
        worker.process.join()
        worker.connection.close()
        worker.process, worker.connection = self._start_process()
        worker.job = None
        worker.deadline = math.inf
        return find_lost_job(job, self._runner.find_store(job), reason, resume=self._runner.resume)


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


PRELOAD_MODULE = "bakeoff.pipeline.sweep.worker_preload"
THREADS_FOLDER = Path("/proc/self/task")
"""A folder in which Linux keeps a subfolder with the name of each thread of this process."""
COPIED_THREADS = frozenset({"jemalloc_bg_thd", ARROW_THREADS})
"""Threads that Arrow, which pandas loads, restarts after a fork; the first is the thread of its memory allocator."""
ENDING_SECONDS = 0.005
MAX_ENDING_CHECKS = 4


def can_copy_process() -> bool:
    """Return whether a forked copy of this process would work.

    A forked copy has a single thread and would wait forever for a lock held by another thread. On macOS, which has no
    folder of threads either, system libraries do not work in it.
    """
    if not (HAS_FORK and THREADS_FOLDER.is_dir()):
        return False
    for _ in range(MAX_ENDING_CHECKS):
        if sum(name not in COPIED_THREADS for name in _list_threads()) == 1:
            return True
        if threading.active_count() > 1:
            return False
        time.sleep(ENDING_SECONDS)  # a thread that Python has joined exists for another moment
    return False


def _list_threads() -> list[str]:
    """Return the names of the threads of this process."""
    names = []
    for folder in THREADS_FOLDER.iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread ended after its folder was listed
            names.append((folder / "comm").read_text(encoding="latin-1").strip())
    return names


def prepare_server() -> None:
    """Start the server process if it will be needed, so that its imports run in parallel with this process."""
    if HAS_FORK and not can_copy_process():
        _run_server()


def start_process(
    function: Callable[..., None],
    arguments: Sequence[Any],
    inherited: Sequence[Connection],
) -> Any:
    """Start and return a process that calls a function.

    Parameters
    ----------
    function : callable
        Calls `receive_signals` when it is ready for them.
    arguments : sequence
        The arguments of the function.
    inherited : sequence of Connection
        Connections passed as the last argument to a forked process, which inherits them.
    """
    if can_copy_process():
        context: Any = multiprocessing.get_context("fork")
        models.preload_modules()
        arguments = (*arguments, inherited)
    else:
        context = _run_server() if HAS_FORK else multiprocessing.get_context("spawn")
    process = context.Process(target=function, args=arguments, daemon=True)
    # A signal in between would leave an orphaned process, or be handled in the fork as it is here.
    with hold_signals(STOPPING_SIGNALS), _hidden_main_module():
        process.start()
    return process


def _run_server() -> Any:
    """Start the server process unless it is running, and return the context that starts processes from it."""
    from multiprocessing import forkserver

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOAD_MODULE])
    with _hidden_main_module():
        forkserver.ensure_running()
    return context


@contextmanager
def _hidden_main_module() -> Iterator[None]:
    """Hide the main module from new processes, which would otherwise run a script that calls bakeoff again."""
    main_module = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main_module
