"""What all launchers share, and what they reject; no engine is needed here."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import Bakeoff

from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError, write_install_command
from bakeoff.pipeline.sweep.jobs import FINISHED, Job, JobOutcome
from bakeoff.pipeline.sweep.launcher import slurm
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, SweepOrigin, WaitForJob
from bakeoff.pipeline.tracking.sqlite_file import create_sqlite
from bakeoff.pipeline.tracking.store import open_store

SWEEP = ("-m", "learner=knn,majority", "dataset=iris")


def done() -> JobOutcome:
    return JobOutcome(0, "job", FINISHED)


def dies() -> JobOutcome:
    raise ChildProcessError("killed")


def interrupts() -> JobOutcome:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("word", "package", "extra"),
    [
        ("hydra/launcher=ray", "ray", "ray"),
        ("hydra/launcher=submitit_local", "submitit", "slurm"),
        ("hydra/launcher=submitit_slurm", "submitit", "slurm"),
        ("hydra/sweeper=optuna", "optuna", "optuna"),
        ("dataset=file dataset.path=a.xlsx dataset.target=y", "openpyxl", "excel"),
        ("dataset=file dataset.path=a.arff dataset.target=y", "arff", "arff"),
        ("balance=smote", "imblearn", "imbalance"),
    ],
)
def test_a_missing_package_is_refused_with_the_cure_before_anything_is_written(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, word: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("a.xlsx", "a.arff"):
        (bakeoff.folder / name).write_text("a file")
    answer = bakeoff("-m", "learner=knn,majority", "dataset=iris", *word.split())
    assert answer.status == 2
    assert write_install_command(extra) in answer.out + answer.err
    assert sorted(path.name for path in bakeoff.folder.iterdir()) == ["a.arff", "a.xlsx"]


@pytest.mark.extra("slurm")
def test_a_machine_that_cannot_submit_is_rejected(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    answer = bakeoff(*SWEEP, "hydra/launcher=submitit_slurm")
    assert answer.status == 2
    assert "there is no sbatch on this machine" in answer.err


class Scripted(Launcher):
    """Ends each job as its function does."""

    def __init__(self, *waits: WaitForJob) -> None:
        self.waits = list(waits)
        self.n_cancelled = 0

    def submit(self, payloads: Sequence[JobPayload]) -> tuple[list[WaitForJob], Callable[[], None]]:
        """Return the functions."""
        return self.waits, self._cancel

    def _cancel(self) -> None:
        self.n_cancelled += 1

    def outcomes(self) -> Iterator[JobOutcome]:
        """Launch a job for each function."""
        jobs = [Job(number, "job", Invocation({})) for number in range(len(self.waits))]
        return self.launch(jobs, None)  # type: ignore[arg-type]


def test_a_job_that_does_not_come_back_affects_no_other() -> None:
    outcomes = list(Scripted(done, dies, done).outcomes())
    assert [(each.kind, each.reason) for each in outcomes] == [("finished", ""), ("killed", "killed"), ("finished", "")]


def test_one_query_and_one_more_find_all_jobs_that_ended_without_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "SLURM_POLL_SECONDS", 0)
    monkeypatch.setattr(slurm, "RESULT_POLL_SECONDS", 0)
    paths = [SimpleNamespace(result_pickle=tmp_path / f"{i}", stderr=f"{i}.err") for i in range(1000)]
    jobs = [SimpleNamespace(job_id=f"7_{i}", paths=path, result=done) for i, path in enumerate(paths)]
    n_queries = 0

    def find_ended() -> set[str]:
        nonlocal n_queries
        n_queries += 1
        if n_queries == 2:  # a result that arrives late
            paths[5].result_pickle.touch()
        return {job.job_id for job in jobs}

    results = slurm.JobResults(find_ended)
    reasons = [outcome.reason for outcome in Scripted(*(partial(results.wait_for, job) for job in jobs)).outcomes()]
    assert n_queries == 2
    assert reasons[5] == ""
    assert [*filter(None, reasons)] == [
        f"its process ended and left no result; see {i}.err" for i in range(1000) if i != 5
    ]


def test_an_interrupt_while_waiting_cancels_the_jobs() -> None:
    launcher = Scripted(done, interrupts, done)
    with pytest.raises(KeyboardInterrupt):
        list(launcher.outcomes())
    assert launcher.n_cancelled == 1


def test_a_file_on_another_machine_is_rejected_as_store() -> None:
    SweepOrigin.capture().require_reachable_store("sqlite:////tmp/mlflow.db")
    with pytest.raises(UserError, match="start a server that both can reach"):
        SweepOrigin("far-away", "/tmp", None).require_reachable_store("sqlite:////tmp/mlflow.db")


def test_a_password_of_the_command_reaches_other_machines_and_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_SECRET", "hunter2")
    origin = pickle.loads(pickle.dumps(SweepOrigin.capture()))
    monkeypatch.delenv("BAKEOFF_SECRET")
    assert "hunter2" not in repr(origin)
    origin.restore()
    assert os.environ["BAKEOFF_SECRET"] == "hunter2"


def test_opening_a_store_again_takes_no_lock_from_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    open_store(str(path), "bakeoff")
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE more (number)")
        create_sqlite(path)
        another = f"import sqlite3; sqlite3.connect({str(path)!r}).execute('SELECT * FROM runs').fetchall()"
        subprocess.run([sys.executable, "-c", another], check=True)  # as it ends, it removes the log if it is alone
        assert (tmp_path / "mlflow.db-wal").exists()
