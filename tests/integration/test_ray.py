"""Sweeps on a real Ray cluster of two nodes; Ray and its nodes end with this file."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import subprocess_sweep
from mlflow_server import Server
from warm_process import Start

pytestmark = [
    pytest.mark.extra("ray"),
    pytest.mark.external,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]
NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # nodes of one machine keep addresses of their own
    "RAY_AUTH_MODE": "disabled",               # Ray would write its secret into the home folder
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONPATH": str(Path(subprocess_sweep.__file__).parent),
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a cluster of two nodes with a processor each."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LOOPBACK.items():
            patch.setenv(name, value)
        terminate = signal.getsignal(signal.SIGTERM)
        nodes = start_cluster()
        try:
            yield nodes
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
                nodes.add_node(**NODE)
        except Exception as error:
            nodes.shutdown()
            reasons.append(f"{type(error).__name__}: {error}")
        else:
            return nodes
    pytest.skip(f"Ray did not start here, twice: {'; '.join(reasons)}")


def write_place(address: str) -> tuple[str, str]:
    """Return the words for a sweep on a cluster."""
    return "hydra/launcher=ray", f"hydra.launcher.ray.init.address='{address}'"


def test_two_nodes_measure_the_same_as_one_core_to_the_last_bit(
    tmp_path: Path, cluster: Any, server: Server, serial: Mapping[str, Any]
) -> None:
    words = (*subprocess_sweep.SWEEP, f"tracking.uri={server.uri}", "tracking.experiment=ray")
    answer = subprocess_sweep.bakeoff(tmp_path, *words, *write_place(cluster.address))
    assert answer.returncode == 0, answer.stderr
    assert subprocess_sweep.scores(server.uri, "ray") == serial
    processes = {run.data.tags["pid"] for run in subprocess_sweep.runs(server.uri, "ray")}
    assert len(processes) == 2  # one a node, which stays warm


def test_a_killed_worker_affects_its_own_job_only(tmp_path: Path, cluster: Any) -> None:
    words = subprocess_sweep.write_deadly_learner(tmp_path)
    answer = subprocess_sweep.bakeoff(tmp_path, *words, *write_place(cluster.address))
    assert answer.returncode == 1
    assert "deadly" in answer.stderr
    assert "its worker ended" in answer.stderr
    assert set(subprocess_sweep.scores(f"sqlite:///{tmp_path}/outputs/mlflow.db")) == {"majority iris", "knn iris"}


def test_killed_workers_nodes_and_drivers_lose_nothing_and_run_nothing_twice(
    tmp_path: Path, cluster: Any, start: Start
) -> None:
    words = (*subprocess_sweep.SLOW, "seed=range(120)", *write_place(cluster.address))
    driver = start(tmp_path, words)
    os.kill(subprocess_sweep.wait_for_finished(driver, tmp_path, 10)[0], signal.SIGKILL)
    subprocess_sweep.wait_for_finished(driver, tmp_path, 30)
    cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
    subprocess_sweep.wait_for_finished(driver, tmp_path, 40)
    cluster.add_node(**NODE)
    subprocess_sweep.wait_for_finished(driver, tmp_path, 60)
    driver.send_signal(signal.SIGKILL)
    assert driver.wait(60) == -signal.SIGKILL
    assert subprocess_sweep.bakeoff(tmp_path, *words).returncode == 0
    subprocess_sweep.require_each_once(tmp_path, 120)
    assert {status for _, status, _ in subprocess_sweep.read_jobs(tmp_path)} <= {"FINISHED", "KILLED"}


def test_a_cluster_that_does_not_answer_is_rejected(tmp_path: Path) -> None:
    answer = subprocess_sweep.bakeoff(tmp_path, *subprocess_sweep.SWEEP, *write_place("127.0.0.1:1"))
    assert answer.returncode == 2
    assert "hydra.launcher.ray.init.address='127.0.0.1:1': no Ray cluster responds there" in answer.stderr
