"""A sweep in a process of its own, killed at random until it is done."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Killing:
    """What happened.

    Attributes
    ----------
    kills, starts : int
    """

    kills: int
    starts: int


def start(folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the command in a folder; Ctrl-C reaches it also where the tests themselves run in the background."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "bakeoff", *words],
            cwd=folder, stdout=said, stderr=said, env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip


def until_done(folder: Path, words: Sequence[str], kills: int, every: tuple[float, float], seed: int = 0) -> Killing:
    """Repeat a command until it ends well; kill it or one of its workers at random times, so many times."""
    chance, done, starts = random.Random(seed), 0, 0
    while starts < kills + 20:
        process = start(folder, words)
        starts += 1
        while process.poll() is None:
            if done < kills and _wait(process, chance.uniform(*every)):
                os.kill(chance.choice([process.pid, *_workers(process.pid)]), signal.SIGKILL)
                done += 1
            else:
                _wait(process, 1.0)
        if process.returncode == 0:
            return Killing(done, starts)
    raise AssertionError(f"not done after {starts} starts: {(folder / 'said.txt').read_text()[-2000:]}")


def _wait(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process still runs after some time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.poll() is None


def _workers(pid: int) -> list[int]:
    """Return the processes below a process, its children's children too."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    below = [child for child, parent in parents.items() if parent == pid]
    return [*below, *(grandchild for child in below for grandchild, parent in parents.items() if parent == child)]


def wait_for(file: Path, seconds: float = 120) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + seconds
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not appear"
        time.sleep(0.05)
