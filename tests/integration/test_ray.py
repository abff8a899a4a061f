"""Sweeps on a real Ray cluster of two nodes; Ray and its nodes end with this file."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import subprocess_sweep
from mlflow_server import Server

pytestmark = [
    pytest.mark.extra("ray"),
    pytest.mark.external,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # nodes of one machine keep addresses of their own
    "RAY_AUTH_MODE": "disabled",               # Ray would write its secret into the home folder
    "RAY_USAGE_STATS_ENABLED": "0",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Return the address of a cluster of two nodes with a processor each."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LOOPBACK.items():
            patch.setenv(name, value)
        terminate = signal.getsignal(signal.SIGTERM)
        nodes = start_cluster()
        try:
            yield nodes.address
        finally:
            nodes.shutdown()
            signal.signal(signal.SIGTERM, terminate)  # Ray has put its own in its place


def start_cluster() -> Any:
    """Start two nodes, once more if Ray's own start fails; if it fails again, skip the tests with its reason.

    Ray gives a node 30 seconds to start, which may not suffice on a machine with other work.
    """
    from ray.cluster_utils import Cluster

    reasons: list[str] = []
    for _ in range(2):
        nodes = Cluster()
        try:
            for _ in range(2):
                nodes.add_node(num_cpus=1, node_ip_address="127.0.0.1", include_dashboard=False)
        except Exception as error:
            nodes.shutdown()
            reasons.append(f"{type(error).__name__}: {error}")
        else:
            return nodes
    pytest.skip(f"Ray did not start here, twice: {'; '.join(reasons)}")


def sweep(folder: Path, cluster: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a sweep on the cluster."""
    where = ("hydra/launcher=ray", f"hydra.launcher.ray.init.address='{cluster}'")
    return subprocess_sweep.bakeoff(folder, *words, *where, **LOOPBACK)


def test_two_nodes_measure_the_same_as_one_core_to_the_last_bit(
    tmp_path: Path, cluster: str, server: Server, serial: Mapping[str, Any]
) -> None:
    answer = sweep(tmp_path, cluster, *subprocess_sweep.SWEEP, f"tracking.uri={server.uri}", "tracking.experiment=ray")
    assert answer.returncode == 0, answer.stderr
    assert subprocess_sweep.scores(server.uri, "ray") == serial
    processes = {run.data.tags["pid"] for run in subprocess_sweep.runs(server.uri, "ray")}
    assert len(processes) == 2  # one a node, which stays warm


def test_a_killed_worker_affects_its_own_job_only(tmp_path: Path, cluster: str) -> None:
    answer = sweep(tmp_path, cluster, *subprocess_sweep.write_deadly_learner(tmp_path))
    assert answer.returncode == 1
    assert "deadly" in answer.stderr
    assert "its worker ended" in answer.stderr
    assert set(subprocess_sweep.scores(f"sqlite:///{tmp_path}/outputs/mlflow.db")) == {"majority iris", "knn iris"}


def test_a_cluster_that_does_not_answer_is_rejected(tmp_path: Path) -> None:
    answer = sweep(tmp_path, "127.0.0.1:1", *subprocess_sweep.SWEEP)
    assert answer.returncode == 2
    assert "hydra.launcher.ray.init.address='127.0.0.1:1': no Ray cluster responds there" in answer.stderr
