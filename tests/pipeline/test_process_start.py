"""How workers start: as copies of a process without threads, which share neither its signals nor its connections."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bakeoff.pipeline.sweep import workers
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
disconnected = []
process = workers.start_process(report, [other_end], [own_end], lambda: disconnected.append(True))
assert own_end.recv() == (os.getpid(), True, False, True, 1)
process.join()
assert (process.exitcode, disconnected) == (0, [True])
assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])
"""


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
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
