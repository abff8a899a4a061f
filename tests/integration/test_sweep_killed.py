"""Killed processes, two sweeps at once, Ctrl-C, a full disk: no job is lost, and none runs twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import subprocess_sweep
from command import Bakeoff
from killing import until_done, wait_for
from subprocess_sweep import SLOW, require_each_once
from warm_process import OUTPUT, Start

from bakeoff.pipeline.stages.tuning import score_file
from bakeoff.pipeline.stages.tuning.grid import CandidateResults
from bakeoff.pipeline.tracking.sqlite_file import find_cache


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers are found in /proc, which this system does not have")
def test_random_kills_lose_nothing_and_run_nothing_twice(bakeoff: Bakeoff, start: Start) -> None:
    words = [*SLOW, "seed=range(30)", "workers=2"]
    told = until_done(bakeoff.folder, words, kills=4, every=(1.5, 3.5), begin=start)
    assert told.kills >= 2
    require_each_once(bakeoff.folder, 30)


@pytest.mark.slow
def test_two_sweeps_at_once_run_each_job_once(bakeoff: Bakeoff, start: Start) -> None:
    both = [start(bakeoff.folder, [*SLOW, "seed=range(12)"]) for _ in range(2)]
    assert [process.wait(240) for process in both] == [0, 0], (bakeoff.folder / OUTPUT).read_text()
    require_each_once(bakeoff.folder, 12)
    assert len(bakeoff.runs()) == 12


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_running_jobs_of_workers_killed(bakeoff: Bakeoff, start: Start, number: int) -> None:
    words = ["learner._target_=failing.Sleeping" if "_target_" in word else word for word in SLOW]
    process = start(bakeoff.folder, [*words, "seed=0,1,2", "workers=2"])
    wait_for(bakeoff.folder / "asleep")
    process.send_signal(number)
    assert process.wait(240) == 128 + number
    assert {run.info.status for run in bakeoff.runs()} == {"KILLED"}
    printed = (bakeoff.folder / OUTPUT).read_text()
    assert "The same command runs the jobs that are not done." in printed
    assert "race condition" not in printed


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return the folder of the artifacts, on a disk of one megabyte."""
    folder = tmp_path / "outputs" / "artifacts"
    folder.mkdir(parents=True)
    mounted = os.getuid() == 0 and shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_fails_the_job_with_that_reason_and_the_sweep_continues_later(
    bakeoff: Bakeoff, small_disk: Path
) -> None:
    command = ("-m", "dataset=iris", "learner=majority", "seed=0,1")
    assert bakeoff("dataset=wine", "learner=majority", "tracking.models=false").status == 0  # makes the store
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"0" * 2**21)
    refused = bakeoff(*command)
    assert refused.status == 2
    assert "the list of jobs cannot be written to the artifacts of tracking.uri=sqlite:" in refused.err
    assert "No space left on device; make space" in refused.err
    # There is space for the list of jobs, and not for the files of a run.
    os.truncate(filler, filler.stat().st_size - 2**14)
    answer = bakeoff(*command)
    assert answer.status == 1
    assert "No space left on device" in answer.err
    # No job starts once the store is lost.
    assert Counter(run.info.status for run in bakeoff.runs()) == {"FINISHED": 1, "FAILED": 1}
    filler.unlink()
    assert bakeoff(*command).status == 0
    finished = [run for run in bakeoff.runs() if run.info.status == "FINISHED"]
    assert len(finished) == 3


def test_a_disk_that_is_too_small_for_a_store_is_refused_in_a_sentence(tmp_path: Path, small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"0" * 2**19)
    for words in (("seed=0",), ("-m", "seed=0,1")):
        store = f"tracking.uri={small_disk}/mlflow.db"
        answer = subprocess_sweep.bakeoff(tmp_path, *words, "dataset=iris", "learner=majority", store)
        assert answer.returncode == 2
        assert answer.stderr.startswith("refused: tracking.uri: ")
        assert "cannot be created: database or disk is full; make space" in answer.stderr
        assert len(answer.stderr.splitlines()) == 1


def test_a_full_disk_below_the_folder_of_a_sweep_is_refused_before_a_job_runs(
    bakeoff: Bakeoff, small_disk: Path
) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(b"0" * 2**21)
    answer = bakeoff("-m", "dataset=iris", "learner=majority", "seed=0,1", f"hydra.sweep.dir={small_disk}/sweep")
    assert answer.status == 2
    assert "hydra.sweep.dir=" in answer.err
    assert "cannot be written: No space left on device" in answer.err
    assert not bakeoff.runs()


@pytest.mark.slow
def test_eight_processes_that_start_together_without_a_store_lose_nothing(bakeoff: Bakeoff, start: Start) -> None:
    words = ("-m", "dataset=iris", "learner=majority", "tracking.models=false")
    started = [start(bakeoff.folder, [*words, f"seed=range({10 * i},{10 * i + 4})"]) for i in range(8)]
    assert [process.wait(400) for process in started] == [0] * 8, (bakeoff.folder / OUTPUT).read_text()
    require_each_once(bakeoff.folder, 32)


@pytest.mark.parametrize("flags", [(), ("-m",)], ids=["run", "sweep"])
def test_a_tuned_run_that_was_killed_goes_on_from_its_finished_inner_folds(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    words = (*flags, "dataset=iris", "learner=knn", "tuning=default", "tuning.folds=3", "evaluation=kfold", "seed=3")
    fit_fold = CandidateResults._fit_fold
    fitted: list[int] = []

    def fit_until(results: CandidateResults, number: int) -> Iterator[None]:
        fitted.append(number)
        if len(fitted) == most:
            raise KeyboardInterrupt
        return fit_fold(results, number)

    monkeypatch.setattr(CandidateResults, "_fit_fold", fit_until)
    monkeypatch.setattr(score_file, "MIN_SECONDS", 0)
    most = 6
    assert bakeoff(*words).status == 130
    most = 0
    assert bakeoff(*words).status == 0
    resumed = len(fitted) - 6
    assert bakeoff(*words, "tracking.experiment=whole", "tracking.uri=sqlite:///whole.db").status == 0
    assert (resumed, len(fitted) - 6 - resumed) == (18 - 5, 18)  # 5 folds and all rows, with 3 inner folds each
    scores = subprocess_sweep.scores
    assert scores("sqlite:///outputs/mlflow.db") == scores("sqlite:///whole.db", "whole")
    assert not list(find_cache().rglob("*.scores"))
