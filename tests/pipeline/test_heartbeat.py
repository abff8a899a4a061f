"""Clocks that are set end no living run, and a run that stays silent ends all the same."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bakeoff.pipeline.tracking import heartbeat
from bakeoff.pipeline.tracking.heartbeat import MAX_SILENT_SECONDS, ProcessSign, find_first_look, identify_process
from bakeoff.pipeline.tracking.run import RunClock

QUARTER_SECONDS = 15 * 60.0
STORE = "sqlite:///store"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """Return the seconds of the clock that nobody sets, which the test moves."""
    now = [1000.0]
    monkeypatch.setattr(heartbeat, "read_even_clock", lambda: now[0])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    heartbeat.find_first_look.cache_clear()
    return now


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this machine forward, or back."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


@pytest.mark.parametrize("jump", [-QUARTER_SECONDS, QUARTER_SECONDS, 4 * QUARTER_SECONDS])
def test_a_run_of_another_machine_lives_as_long_as_its_heartbeat_changes(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    began = time.time()
    set_clock(monkeypatch, jump)
    for minute in range(40):
        clock[0] += 60
        assert not ProcessSign("elsewhere", 1, began + 60 * minute, "").is_gone(STORE, "run")


@pytest.mark.parametrize("jump", [-QUARTER_SECONDS, 0, QUARTER_SECONDS])
def test_a_run_of_another_machine_that_stays_silent_is_gone_a_quarter_of_an_hour_after_the_first_look(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    sign = ProcessSign("elsewhere", 1, time.time(), "")
    set_clock(monkeypatch, jump)
    assert not sign.is_gone(STORE, "run")
    clock[0] += MAX_SILENT_SECONDS - 1
    assert not sign.is_gone(STORE, "run")
    clock[0] += 1
    assert sign.is_gone(STORE, "run")


def test_what_one_command_has_seen_counts_for_the_next(clock: list[float], tmp_path: Path) -> None:
    file = tmp_path / "seen" / "run.json"
    first = find_first_look(file, "boot", 7.0)
    for boot, beat, earlier in (("boot", 7.0, True), ("boot", 8.0, False), ("another start", 8.0, False)):
        find_first_look.cache_clear()
        clock[0] += 60
        assert (find_first_look(file, boot, beat) == first) == earlier
    assert file.stat().st_mode & 0o777 == 0o600
    find_first_look.cache_clear()
    clock[0] -= 60
    assert find_first_look(file, "another start", 8.0) == clock[0]
    find_first_look.cache_clear()
    file.write_text("{")
    assert find_first_look(file, "boot", 7.0) == clock[0]


@pytest.mark.parametrize("jump", [-QUARTER_SECONDS, QUARTER_SECONDS])
def test_a_process_of_this_machine_is_recognised_whatever_the_clock_says(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    pid = os.getppid()
    sign = ProcessSign(socket.gethostname(), pid, time.time(), identify_process(pid))
    set_clock(monkeypatch, jump)
    assert not sign.is_gone(STORE, "run")


def test_a_later_process_with_the_same_id_is_another_one() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = identify_process(process.pid)
        sign = ProcessSign(socket.gethostname(), process.pid, time.time(), identity)
        assert not sign.is_gone(STORE, "run")
        earlier = ProcessSign(socket.gethostname(), process.pid, time.time(), f"{identity}0")
        assert earlier.is_gone(STORE, "run")
        process.kill()
    assert sign.is_gone(STORE, "run")


def test_the_time_of_a_run_goes_on_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RunClock()
    first = clock.milliseconds
    set_clock(monkeypatch, -QUARTER_SECONDS)
    assert clock.milliseconds >= first
