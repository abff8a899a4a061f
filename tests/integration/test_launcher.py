"""What all launchers share, and what they reject; no engine is needed here."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import Bakeoff

from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError, write_install_command
from bakeoff.pipeline.sweep.jobs import FINISHED, Job, JobOutcome
from bakeoff.pipeline.sweep.launcher import slurm
from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, SweepOrigin
from bakeoff.pipeline.sweep.launcher.ray_cluster import RayLauncher
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
    """Has room for a number of jobs, and ends each as its function does, the last one first."""

    def __init__(self, *ends: Callable[[], JobOutcome], room: int = 10) -> None:
        self.ends = ends
        self.room = room
        self.batches: list[list[int]] = []
        self.rejects = 0
        self.cancelled: list[int] = []

    def count_free(self, n_running: int) -> int:
        """Return the free room."""
        return self.room - n_running

    def submit(self, payloads: Sequence[JobPayload], running: Sequence[int]) -> list[int]:
        """Return the numbers of the jobs as their handles, unless they are rejected."""
        if self.rejects and self.batches:
            self.rejects -= 1
            raise UserError("too many jobs")
        self.batches.append([payload.job.number for payload in payloads])
        return self.batches[-1]

    def wait(self, handles: Sequence[int]) -> list[int]:
        """Return the last handle."""
        return [handles[-1]]

    def collect(self, handle: int) -> JobOutcome:
        """Return what the function returns."""
        return replace(self.ends[handle](), number=handle)

    def cancel(self, handles: Sequence[int]) -> None:
        """Note what is cancelled."""
        self.cancelled += handles

    def outcomes(self) -> Iterator[JobOutcome]:
        """Launch a job for each function."""
        return launch(self, len(self.ends))


def launch(launcher: Launcher, n_jobs: int) -> Iterator[JobOutcome]:
    """Launch jobs, which are made when there is room for them."""
    jobs = (Job(number, "job", Invocation({})) for number in range(n_jobs))
    return launcher.launch(jobs, None)  # type: ignore[arg-type]


def test_a_job_that_does_not_come_back_affects_no_other() -> None:
    outcomes = list(Scripted(done, dies, done).outcomes())
    assert [(each.number, each.kind, each.reason) for each in outcomes] == [
        (2, "finished", ""), (1, "killed", "killed"), (0, "finished", ""),
    ]  # fmt: skip


def test_jobs_are_submitted_as_there_is_room_for_them() -> None:
    launcher = Scripted(*[done] * 5, room=2)
    assert [each.number for each in launcher.outcomes()] == [1, 2, 3, 4, 0]
    assert launcher.batches == [[0, 1], [2], [3], [4]]


def test_a_later_submission_that_is_rejected_is_repeated_when_a_job_has_ended() -> None:
    launcher = Scripted(*[done] * 6, room=3)
    launcher.rejects = 2
    assert sorted(each.number for each in launcher.outcomes()) == [*range(6)]
    assert launcher.batches == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("n_running", "n_free"), [(0, 20), (15, 5), (25, 0)])
def test_ray_has_at_most_ten_jobs_for_each_that_can_run(
    monkeypatch: pytest.MonkeyPatch, n_running: int, n_free: int
) -> None:
    cluster = SimpleNamespace(is_initialized=lambda: True, cluster_resources=lambda: {"CPU": 5.0}, __spec__="")
    monkeypatch.setitem(sys.modules, "ray", cluster)
    launcher = RayLauncher({"init": {}, "remote": {"num_cpus": 2}})
    assert launcher.count_free(n_running) == n_free


def test_jobs_that_cannot_be_submitted_beside_none_are_refused() -> None:
    launcher = Scripted(*[done] * 4, room=2)
    launcher.rejects = 3
    outcomes = launcher.outcomes()
    assert [next(outcomes).number, next(outcomes).number] == [1, 0]
    with pytest.raises(UserError, match="too many jobs"):
        next(outcomes)


class Arrays(slurm.SubmititLauncher):
    """Submits arrays of three to nobody; all of their jobs have ended, and some of them without a result."""

    cluster = "local"
    array_size = 3

    def __init__(self, folder: Path, *lost: int) -> None:
        self.folder = folder
        self.lost = lost
        self.n_queries = 0
        self.after: list[str] = []
        self._next_query = 0.0
        self._gone = set()

    def submit(self, payloads: Sequence[JobPayload], running: Sequence[Any]) -> list[Any]:
        """Return jobs of an array; those that are not lost have left their results, and half of the others a log."""
        self.after.append(running[-1].job_id if running else "")
        numbers = [payload.job.number for payload in payloads]
        paths = [SimpleNamespace(result_pickle=self.folder / f"{i}", stderr=self.folder / f"{i}.err") for i in numbers]
        for path, number in zip(paths, numbers, strict=True):
            if number not in self.lost:
                path.result_pickle.touch()
            elif number % 2:
                path.stderr.touch()
        return [Handle(f"{numbers[0]}_{i}", path) for i, path in zip(numbers, paths, strict=True)]

    def find_ended(self, jobs: Sequence[Any]) -> set[str]:
        """Return all jobs."""
        self.n_queries += 1
        return {job.job_id for job in jobs}


@dataclass(frozen=True, eq=False)
class Handle:
    """A job of submitit."""

    job_id: str
    paths: Any

    def result(self) -> JobOutcome:
        """Return the outcome."""
        return done()


def test_one_array_runs_and_one_waits_for_it(tmp_path: Path) -> None:
    launcher = Arrays(tmp_path)
    assert [outcome.kind for outcome in launch(launcher, 10)] == [FINISHED] * 10
    assert launcher.after[:2] == ["", "0_2"]
    assert len(launcher.after) == 4


def test_two_queries_find_all_jobs_that_ended_without_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "SLURM_POLL_SECONDS", 0)
    monkeypatch.setattr(slurm, "RESULT_POLL_SECONDS", 0)
    launcher = Arrays(tmp_path, 1, *range(3, 1000))
    launcher.array_size = 1000
    reasons = [outcome.reason for outcome in launch(launcher, 1000)]
    assert launcher.n_queries == 2  # the first one also finds two results
    assert [*filter(None, reasons)] == [
        f"its process ended and left no result; see {tmp_path}/{i}.err" if i % 2 else slurm.CANCELLED
        for i in range(1000)
        if i not in (0, 2)
    ]


def test_an_interrupt_while_waiting_cancels_the_jobs() -> None:
    launcher = Scripted(done, interrupts, done)
    with pytest.raises(KeyboardInterrupt):
        list(launcher.outcomes())
    assert launcher.cancelled == [0]


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
