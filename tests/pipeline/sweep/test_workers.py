"""Workers: copies of a process without threads, which share neither signals nor connections, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.sweep import workers
from bakeoff.pipeline.sweep.engine import ListedJobs
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import FINISHED, Job, Work
from bakeoff.pipeline.sweep.request import THREAD_VARIABLES
from bakeoff.pipeline.sweep.workers import can_copy_process

SCRIPT = """
import os, signal, sys
from multiprocessing import Pipe
from bakeoff.pipeline.sweep import workers

workers.preload_modules = lambda: None

def report(connection, inherited):
    blocked_before = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    workers.receive_signals()
    blocked_after = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    connection.send((os.getppid(), blocked_before, blocked_after, "loaded_here" in sys.modules, len(inherited)))

own_end, other_end = Pipe()
sys.modules["loaded_here"] = sys
process = workers.start_process(report, [other_end], [own_end])
assert own_end.recv() == (os.getpid(), True, False, True, 1)
process.join()
assert process.exitcode == 0
assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
"""


def test_a_worker_sends_its_work_and_ends_with_the_sweep() -> None:
    own_end, other_end = multiprocessing.Pipe()
    workers._send(other_end, Work(1, 6, 0, 5))
    assert own_end.recv() == Work(1, 6, 0, 5)
    own_end.close()
    with pytest.raises(KeyboardInterrupt):
        workers._send(other_end, Work(2, 6, 0, 5))
    assert signal.SIGALRM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_process_with_a_thread_is_not_copied() -> None:
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not can_copy_process()
    finally:
        ended.set()
        thread.join()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is copied")
def test_a_thread_that_ends_while_threads_are_counted_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "comm").write_text("python\n")
    (tmp_path / "2").mkdir()  # as the folder of a thread that has ended: its files are gone
    monkeypatch.setattr(workers, "THREADS_FOLDER", tmp_path)
    assert can_copy_process()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is copied")
def test_a_copy_has_the_modules_and_receives_signals_when_it_is_ready() -> None:
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}  # threads of NumPy prevent a copy
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


READING_SCRIPT = """
from multiprocessing import get_context
from bakeoff.pipeline.stages.dataset.loaders import read_table
from bakeoff.pipeline.sweep import workers

def read(connection):
    connection.send(read_table("table.csv", "c").digest())

own_end, other_end = get_context("fork").Pipe()
assert workers.can_copy_process()
digest = read_table("table.csv", "c").digest()
assert workers.ARROW_THREADS in workers._list_threads() and workers.can_copy_process()
process = get_context("fork").Process(target=read, args=[other_end])
process.start()
assert own_end.poll(60) and own_end.recv() == digest
process.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process is copied")
def test_a_process_that_has_read_a_table_is_copied_and_its_copy_can_read_one(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b,c\n" + "1.5,x,no\n2.5,y,yes\n" * 50)
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")}
    command = [sys.executable, "-c", READING_SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_that_is_no_copy_has_the_settings_of_a_runner_alone() -> None:
    runner = JobRunner(False, 7.0, True, should_continue=lambda progress: True, tries_own_code=False)
    runner.resources.tried.add("a check")
    kept = pickle.loads(pickle.dumps(runner))
    assert (kept.resume, kept.timeout, kept.tracebacks) == (False, 7.0, True)
    assert (kept.should_continue, kept.tries_own_code, kept.resources.tried) == (None, True, set())


def test_a_worker_stays_with_its_rows_and_then_takes_those_of_no_other() -> None:
    def make_job(number: int, dataset: str) -> Job:
        return Job(number, "", Invocation({}), {"seed": 0}, dataset=dataset)

    jobs = [make_job(number, dataset) for number, dataset in enumerate("aaabbc")]
    search = ListedJobs(jobs, has_workers=True)
    asked = search.ask(lambda outcome: None)
    order = [next(asked).number, next(asked).number]  # two workers begin
    for ended in (0, 3, 4, 5, 1):
        search.tell(jobs[ended].to_outcome(FINISHED))
        order += [job.number for job in [next(asked, None)] if job is not None]
    assert (search.n_jobs, order) == (6, [0, 3, 1, 4, 5, 2])


def test_two_signals_at_once_end_a_worker_without_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    both = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, workers._interrupt_once) for number in both}
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, both)
        for number in both:
            signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)
        for number in both:
            signal.raise_signal(number)
        # Python complains of a signal that arrives while SIG_IGN takes the place of a handler.
        assert not {signal.getsignal(number) for number in both} & {signal.SIG_IGN, signal.SIG_DFL}
        assert not complaints
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_second_interrupt_kills_the_workers_and_waits_for_none() -> None:
    class Process:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def join(self, seconds: float | None = None) -> None:
            self.calls.append("wait" if seconds else "join")
            if seconds:
                raise KeyboardInterrupt

        def terminate(self) -> None: ...

        def kill(self) -> None:
            self.calls.append("kill")

    processes = [Process(), Process()]
    pool = workers.Workers(JobRunner(), 0)
    pool._workers = [workers.Worker(process, multiprocessing.Pipe()[0]) for process in processes]
    pool.__exit__()
    assert [process.calls for process in processes] == [["wait", "kill", "join"], ["join", "kill", "join"]]
