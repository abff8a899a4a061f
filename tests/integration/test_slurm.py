"""Sweeps on a real Slurm of one node, on loopback, and in processes of submitit where there is no Slurm."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import slurm_cluster
import subprocess_sweep
from mlflow_server import Server

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
def test_as_many_arrays_of_slurm_as_needed_measure_the_same_as_one_core_to_the_last_bit(
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
    arrays = {path.name.partition("_")[0] for path in tmp_path.glob("**/.submitit/[0-9]*")}
    assert len(arrays) == math.ceil(subprocess_sweep.JOBS / slurm_cluster.ARRAY_SIZE)


@pytest.mark.external
@real
def test_a_job_that_slurm_loses_affects_no_other(tmp_path: Path, conf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", conf)
    words = (*subprocess_sweep.write_deadly_learner(tmp_path), "hydra/launcher=submitit_slurm")
    answer = quickly(tmp_path, *words)
    assert answer.returncode == 1
    assert "left no result" in answer.stderr
    assert set(subprocess_sweep.scores(f"sqlite:///{tmp_path}/outputs/mlflow.db")) == {"majority iris", "knn iris"}


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
