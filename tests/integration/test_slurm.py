"""Sweeps on a real Slurm of one node, on loopback, and in processes of submitit where there is no Slurm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import slurm_cluster
import subprocess_sweep
from mlflow_server import Server
from warm_process import OUTPUT, Start

pytestmark = pytest.mark.extra("slurm")
real = pytest.mark.skipif(bool(slurm_cluster.missing()), reason=slurm_cluster.missing())
QUICK = """
from bakeoff.pipeline.cli import main as cli
from bakeoff.pipeline.sweep.launcher import slurm
slurm.SLURM_POLL_SECONDS = 2
cli.main()
"""


@pytest.fixture(scope="module")
def conf(open_folder: Path) -> Iterator[str]:
    """Return the configuration of a running Slurm."""
    with slurm_cluster.running(open_folder / "slurm") as file:
        yield str(file)


@pytest.mark.external
@real
def test_slurm_measures_the_same_as_one_core_to_the_last_bit(
    tmp_path: Path, conf: str, server: Server, serial: Mapping[str, Any]
) -> None:
    words = (
        *subprocess_sweep.SWEEP,
        "hydra/launcher=submitit_slurm",
        f"tracking.uri={server.uri}",
        "tracking.experiment=slurm",
    )
    answer = subprocess_sweep.bakeoff(tmp_path, *words, SLURM_CONF=conf)
    assert answer.returncode == 0, answer.stderr
    assert subprocess_sweep.scores(server.uri, "slurm") == serial
    assert len({run.data.tags["pid"] for run in subprocess_sweep.runs(server.uri, "slurm")}) == subprocess_sweep.JOBS


@pytest.mark.external
@real
def test_a_job_that_slurm_loses_affects_no_other(tmp_path: Path, conf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", conf)
    words = (*subprocess_sweep.write_deadly_learner(tmp_path), "hydra/launcher=submitit_slurm")
    answer = quickly(tmp_path, *words)
    assert answer.returncode == 1
    assert "left no result" in answer.stderr
    assert set(subprocess_sweep.scores(f"sqlite:///{tmp_path}/outputs/mlflow.db")) == {"majority iris", "knn iris"}


@pytest.mark.external
@real
def test_as_many_arrays_as_needed_survive_cancelled_jobs_and_a_killed_node(
    tmp_path: Path, conf: str, monkeypatch: pytest.MonkeyPatch, start: Start
) -> None:
    monkeypatch.setenv("SLURM_CONF", conf)
    monkeypatch.setenv("PYTHONPATH", str(Path(slurm_cluster.__file__).parent))
    n_jobs = 5 * slurm_cluster.ARRAY_SIZE
    words = (*subprocess_sweep.SLOW, f"seed=range({n_jobs})", "hydra/launcher=submitit_slurm")
    sweep = start(tmp_path, words)
    subprocess_sweep.wait_for_finished(sweep, tmp_path, 5)
    jobs = subprocess.check_output(["squeue", "--array", "--noheader", "--format=%i", "--sort=i"], text=True).split()
    subprocess.run(["scancel", *jobs[:2], *jobs[-2:]], check=False)  # the first ones may have ended by now
    subprocess_sweep.wait_for_finished(sweep, tmp_path, 30)
    folder = Path(conf).parent
    os.kill(int((folder / "slurmd.pid").read_text()), signal.SIGKILL)
    subprocess.run(["scontrol", "update", "nodename=ALL", "state=down", "reason=killed"], check=True)
    with slurm_cluster.daemon(folder, "slurmd", "-D", "-f", conf):
        assert sweep.wait(900) == 1
        arrays = {path.name.partition("_")[0] for path in tmp_path.glob("**/.submitit/[0-9]*")}
        assert len(arrays) == n_jobs / slurm_cluster.ARRAY_SIZE
        lost = n_jobs - [status for _, status, _ in subprocess_sweep.read_jobs(tmp_path)].count("FINISHED")
        assert lost >= 2  # those that waited; of those that were running, some may have finished
        printed = (tmp_path / OUTPUT).read_text()
        assert f"{lost} of {n_jobs} jobs did not finish" in printed
        assert "killed: it left neither a result nor a log, so it was probably cancelled before it started" in printed
        assert subprocess_sweep.bakeoff(tmp_path, *words).returncode == 0
    subprocess_sweep.require_each_once(tmp_path, n_jobs)


@pytest.mark.slow
def test_processes_of_submitit_on_this_machine(tmp_path: Path) -> None:
    words = (*subprocess_sweep.write_deadly_learner(tmp_path), "hydra/launcher=submitit_local")
    answer = quickly(tmp_path, *words)
    assert answer.returncode == 1
    assert "left no result" in answer.stderr
    assert set(subprocess_sweep.scores(f"sqlite:///{tmp_path}/outputs/mlflow.db")) == {"majority iris", "knn iris"}


def quickly(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command with shorter waits for lost jobs."""
    command = [sys.executable, "-c", QUICK, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
