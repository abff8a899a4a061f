"""The command on a system without the names that POSIX alone has, as `without_posix/sitecustomize.py` makes one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import subprocess_sweep
from forked_calls import Call, read_answers
from killing import ROOT, start

SUPPORT = ROOT / "tests" / "support"
ENCODING = "cp1252"
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(map(str, (SUPPORT / "without_posix", SUPPORT))),
    "PYTHONIOENCODING": ENCODING,
    "PYTHONWARNDEFAULTENCODING": "1",
    "USERNAME": "me",
}
SWEEP = ("-m", "learner=knn", "dataset=iris", "evaluation=kfold", "learner.n_neighbors=1,3")
SLOW = (*subprocess_sweep.SLOW, "seed=range(8)")
OVERDUE = (*(word.replace("failing.Slow", "failing.Sleeping") for word in SLOW), "seed=0", "timeout=1")
LOOK = """
import os, signal, bakeoff
assert not hasattr(os, "fork") and not hasattr(signal, "SIGALRM")
from bakeoff.pipeline.sweep import workers
assert not workers.can_copy_process()
process = workers.start_process(print, ["removed:", hasattr(os, "fork")], [])
process.join()
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the names are missing without a test")


@pytest.fixture(autouse=True)
def without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that start find such a system."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def test_the_names_are_removed_in_workers_as_well(tmp_path: Path) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    looked = subprocess.run([sys.executable, "look.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (looked.stderr, looked.returncode) == ("", 0)


@pytest.mark.slow
def test_runs_sweeps_and_what_is_asked_of_them(tmp_path: Path) -> None:
    # One process answers all lines: importing what they need takes it longer than answering.
    said = {
        ("--version",): (0, "bakeoff "),
        ("list", "learner"): (0, "knn"),
        ("inspect", "dataset=iris"): (0, "suspicion"),
        ("work", "learner=knn", "dataset=colours", "query={x1: 1, x2: 2}"): (0, "x1"),
        ("plan", *SWEEP): (0, "2 jobs: 2 to run"),
        ("learner=knn", "dataset=iris"): (0, "log_loss"),
        SWEEP: (0, "±"),
        (*SWEEP[:-1], "learner.n_neighbors=1,3,5,7", "workers=2"): (0, "4 jobs: 2 to run, 2 already done"),
        ("compare", "sweep=latest", "metrics=accuracy"): (0, "n_neighbors=7"),
        ("dataset=iris", "timeout=1"): (
            2,
            "refused: timeout needs an alarm, which this system lacks; set timeout=null, or run a sweep with -m, whose "
            "processes are ended from outside.",
        ),
        (*OVERDUE, "tracking.experiment=overdue"): (1, "took longer than timeout=1 seconds"),
    }
    call = Call("bakeoff", [list(words) for words in said], str(tmp_path), str(ROOT))
    program = f"import forked_calls; forked_calls.run_lines(forked_calls.{call!r})"
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding=ENCODING
    )
    for answer, (status, part) in zip(read_answers(ended.stdout, len(said)), said.values(), strict=True):
        assert (answer.status, "Traceback" in answer.output) == (status, False), answer.output
        assert part in answer.output
    assert (tmp_path / "iris.inspection.html").is_file()
    subprocess_sweep.require_each_once(tmp_path, 5)


@pytest.mark.slow
def test_a_killed_sweep_is_resumed_and_two_at_once_run_each_job_once(tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    killed = start(tmp_path, [*SLOW, "workers=2"])
    while killed.poll() is None and "test_accuracy" not in output.read_text(ENCODING):
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    both = [start(tmp_path, SLOW) for _ in range(2)]
    assert [process.wait(240) for process in both] == [0, 0], output.read_text(ENCODING)
    subprocess_sweep.require_each_once(tmp_path, 8)
