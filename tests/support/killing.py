"""A sweep in a process of its own, which is killed at random times until it is done."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Killing:
    """How often a sweep was killed and started.

    Attributes
    ----------
    kills, starts : int
    """

    kills: int
    starts: int


class Running(Protocol):
    """A process, as far as it is looked at here."""

    @property
    def pid(self) -> int:
        """The process."""

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""


def start(folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the command in a folder, so that Ctrl-C reaches it even if the tests themselves run in the background."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    with (folder / "output.txt").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "bakeoff", *words],
            cwd=folder, stdout=output, stderr=output, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip


def until_done(
    folder: Path,
    words: Sequence[str],
    kills: int,
    every: tuple[float, float],
    seed: int = 0,
    begin: Callable[[Path, Sequence[str]], Running] = start,
) -> Killing:
    """Repeat a command until it succeeds, and kill it or one of its workers at random times.

    Parameters
    ----------
    folder : Path
    words : sequence of str
        The command line.
    kills : int
        The number of kills.
    every : tuple of float
        The shortest and the longest time between two kills, in seconds.
    seed : int
    begin : callable
        Starts the command in a folder.
    """
    generator = random.Random(seed)
    done = 0
    starts = 0
    while starts < kills + 20:
        process = begin(folder, words)
        starts += 1
        while process.poll() is None:
            if done < kills and _wait(process, generator.uniform(*every)):
                os.kill(generator.choice([process.pid, *_workers(process.pid)]), signal.SIGKILL)
                done += 1
            else:
                _wait(process, 1.0)
        if process.poll() == 0:
            return Killing(done, starts)
    raise AssertionError(f"not done after {starts} starts: {(folder / 'output.txt').read_text()[-2000:]}")


def _wait(process: Running, seconds: float) -> bool:
    """Whether the process is still running after some seconds."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    return process.poll() is None


def _workers(pid: int) -> list[int]:
    """Return the children of a process and their children."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    below = [child for child, parent in parents.items() if parent == pid]
    return [*below, *(grandchild for child in below for grandchild, parent in parents.items() if parent == child)]


def wait_for(file: Path, seconds: float = 120) -> None:
    """Wait until a file exists."""
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not appear"
        time.sleep(0.05)
