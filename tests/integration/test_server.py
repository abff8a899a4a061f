"""One MLflow server on PostgreSQL, started and stopped by the script of the repository."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import subprocess_sweep
from conftest import no_postgres

from benchmarks import mlflow_server

SCRIPT = Path(mlflow_server.__file__)
PROCESSES, EACH = 8, ("learner.n_neighbors=1,2,3,4,5", "learner=knn", "dataset=iris", "tracking.models=false")

pytestmark = pytest.mark.skipif(bool(no_postgres()), reason=no_postgres())


def test_the_server_keeps_what_the_file_does_to_the_last_bit(
    tmp_path: Path, server: mlflow_server.Server, serial: Mapping[str, Any]
) -> None:
    answer = subprocess_sweep.bakeoff(tmp_path, *subprocess_sweep.SWEEP, MLFLOW_TRACKING_URI=server.uri)
    assert answer.returncode == 0, answer.stderr
    assert subprocess_sweep.scores(server.uri) == serial
    assert "View run" not in answer.stdout


def test_eight_processes_at_once_lose_nothing(tmp_path: Path, server: mlflow_server.Server) -> None:
    words = [sys.executable, "-m", "bakeoff", "-m", *EACH, f"tracking.uri={server.uri}", "tracking.experiment=crowd"]
    started = [subprocess.Popen([*words, f"seed={seed}"], cwd=tmp_path) for seed in range(PROCESSES)]
    assert [process.wait(300) for process in started] == [0] * PROCESSES
    found = subprocess_sweep.runs(server.uri, "crowd")
    assert Counter(run.info.status for run in found) == {"FINISHED": 5 * PROCESSES}
    assert len({run.data.tags["config_hash"] for run in found}) == 5 * PROCESSES
    assert all("test_accuracy" in run.data.metrics for run in found)


def test_what_start_leaves_running_stop_ends(open_folder: Path) -> None:
    folder = open_folder / "by-hand"
    port = mlflow_server.free_port()
    started = script("start", folder, "--port", str(port))
    assert started == f"tracking.uri=http://127.0.0.1:{port}\n"
    assert (folder / "postgres" / "postmaster.pid").exists()
    assert script("stop", folder) == ""
    assert not (folder / "postgres" / "postmaster.pid").exists()
    assert not (folder / "server.json").exists()


def script(verb: str, folder: Path, *words: str) -> str:
    """Run the script and return what it says."""
    command = [sys.executable, SCRIPT, verb, "--folder", folder, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
