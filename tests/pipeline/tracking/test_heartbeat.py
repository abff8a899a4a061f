"""Clocks that are set end no living run of this machine, and a run that stays silent ends all the same."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from bakeoff.pipeline.tracking import heartbeat
from bakeoff.pipeline.tracking.heartbeat import MAX_SILENT_SECONDS, ProcessSign, identify_process

QUARTER_SECONDS = 15 * 60.0


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this machine forward, or back."""
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + seconds)


@pytest.mark.parametrize(("silence", "is_gone"), [(MAX_SILENT_SECONDS - 5, False), (MAX_SILENT_SECONDS + 5, True)])
def test_a_run_of_another_machine_that_stays_silent_is_gone_after_a_quarter_of_an_hour(
    silence: float, is_gone: bool
) -> None:
    assert ProcessSign("elsewhere", 1, time.time() - silence, "").is_gone is is_gone


def test_a_process_without_an_identity_may_be_a_later_one_if_its_run_stays_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeat, "_read_status", lambda pid: [])
    here, pid, now = socket.gethostname(), os.getppid(), time.time()
    assert not ProcessSign(here, pid, now, "").is_gone
    assert ProcessSign(here, pid, now - MAX_SILENT_SECONDS - 5, "").is_gone


@pytest.mark.parametrize("jump", [-QUARTER_SECONDS, QUARTER_SECONDS])
def test_a_process_of_this_machine_is_recognised_whatever_the_clock_says(
    monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    pid = os.getppid()
    sign = ProcessSign(socket.gethostname(), pid, time.time(), identify_process(pid))
    set_clock(monkeypatch, jump)
    assert not sign.is_gone


def test_a_later_process_with_the_same_id_is_another_one() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = identify_process(process.pid)
        sign = ProcessSign(socket.gethostname(), process.pid, time.time(), identity)
        assert not sign.is_gone
        earlier = ProcessSign(socket.gethostname(), process.pid, time.time(), f"{identity}0")
        assert earlier.is_gone
        process.kill()
    assert sign.is_gone


def test_a_sign_is_that_of_this_process_if_machine_id_and_start_agree() -> None:
    pid, parent = os.getpid(), os.getppid()
    here, start = socket.gethostname(), identify_process(pid)
    assert ProcessSign(here, pid, 0, start).is_own
    others = [(here, pid, f"{start}0"), (here, parent, identify_process(parent)), ("elsewhere", pid, start)]
    assert not any(ProcessSign(host, number, 0, identity).is_own for host, number, identity in others)
