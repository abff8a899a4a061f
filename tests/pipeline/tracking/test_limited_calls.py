"""A store that does not answer is refused, or waited for if it is known, and files give a call more time."""

from __future__ import annotations

import pickle
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import mlflow_server
import pytest

from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.sweep import job_runner
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import Job, JobOutcome
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, SweepOrigin, run_payload
from bakeoff.pipeline.tracking import limited_calls
from bakeoff.pipeline.tracking.limited_calls import FaultyStore, LimitedCalls, attempt
from bakeoff.pipeline.tracking.store import open_store


@pytest.mark.extra("postgres")
def test_a_database_that_is_not_there_is_refused_without_its_password() -> None:
    with pytest.raises(UserError, match=r"the store cannot be used.*refused") as refusal:
        open_store(f"postgresql://me:secret@127.0.0.1:{mlflow_server.free_port()}/runs", "bakeoff")
    assert "secret" not in str(refusal.value)


class Outage:
    """A store that is away for some seconds of a clock that only pauses between attempts move.

    Parameters
    ----------
    seconds : float
    """

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = seconds
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep)
        monkeypatch.setattr(limited_calls, "time", clock)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def ask(self) -> str:
        """Answer if the outage is over."""
        if self.now < self.seconds:
            raise ConnectionRefusedError(111, "Connection refused")
        return "answer"


@pytest.mark.parametrize("is_known", [False, True], ids=["answered", "known"])
@pytest.mark.parametrize("seconds", [6, 59])
def test_a_store_that_this_process_or_that_of_its_sweep_has_used_is_waited_for_a_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_known: bool, seconds: float
) -> None:
    calls = LimitedCalls("http://localhost", is_known)
    outage = Outage(0, monkeypatch)
    if not is_known:
        calls.call(outage.ask)
    outage.seconds = seconds
    assert calls.call(outage.ask) == "answer"
    said = "tracking: the store cannot be used: Connection refused; trying for 60 seconds\n"
    assert (outage.now, capsys.readouterr().err) == (seconds, said)
    outage.seconds = outage.now + 70
    with pytest.raises(StoreError, match="the store cannot be used: Connection refused"):
        calls.call(outage.ask)
    assert outage.now == pytest.approx(seconds + limited_calls.MAX_OUTAGE_SECONDS, abs=limited_calls.PAUSE_SECONDS)


def test_a_store_that_never_answered_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    outage = Outage(1, monkeypatch)
    with pytest.raises(StoreError, match="Connection refused"):
        LimitedCalls("http://localhost").call(outage.ask)
    assert outage.now == 0


def test_a_store_without_an_answer_is_slow() -> None:
    answered = Event()
    with pytest.raises(FaultyStore, match=r"^is slow: no answer within 0 seconds$"):
        attempt(answered.wait, 0.01)
    answered.set()


@pytest.mark.parametrize("is_known", [False, True])
def test_a_known_store_that_is_lost_is_no_error_of_the_user(monkeypatch: pytest.MonkeyPatch, is_known: bool) -> None:
    monkeypatch.setattr(limited_calls, "MAX_OUTAGE_SECONDS", 0)
    monkeypatch.setattr(limited_calls, "PAUSE_SECONDS", 0)
    with pytest.raises(StoreError if is_known else UserError, match="Connection refused"):
        open_store(f"http://127.0.0.1:{mlflow_server.free_port()}", "bakeoff", is_known=is_known)


def test_a_process_to_which_jobs_are_sent_knows_their_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[bool] = []

    class Opening:
        store = None

        def open_store(self, is_known: bool = False) -> None:
            opened.append(is_known)
            raise StoreError("lost")

    monkeypatch.setattr(job_runner, "get_tracker", lambda resources, spec: Opening())
    job = Job(0, "job", Invocation({}), {"tracking": {}})
    monkeypatch.setattr(JobRunner, "identify_job", lambda runner, job: job)
    options: Any = SimpleNamespace(resume=True, timeout=None)
    outcomes: list[JobOutcome] = [
        JobRunner().run_job(job),
        pickle.loads(pickle.dumps(JobRunner())).run_job(job),
        run_payload(JobPayload(job, options, SweepOrigin.capture())),
    ]
    assert opened == [False, True, True]
    assert {(outcome.kind, outcome.has_lost_store) for outcome in outcomes} == {("failed", True)}
