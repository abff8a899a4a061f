"""The MLflow UI on a store of bakeoff, served by ``bakeoff ui`` and shown by a real browser."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from command import Bakeoff, command_in

BROWSER = shutil.which("chromium")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
    "--window-size=1600,1400", "--virtual-time-budget=30000",
)  # fmt: skip


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Bakeoff:
    """Return the command in a folder whose store holds a sweep."""
    with command_in(tmp_path_factory.mktemp("pages")) as bakeoff:
        answer = bakeoff("-m", "learner=knn,decision_tree", "dataset=iris,wine", "evaluation=kfold")
    assert answer.status == 0, answer.err
    return bakeoff


@pytest.fixture(scope="module")
def address(sweep: Bakeoff) -> Iterator[str]:
    """Return the address of the pages on the sweep's store; the server ends with the last test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "ui", f"port={port}"], cwd=sweep.folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(url: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            assert time.monotonic() < end, f"{url} did not answer"
            time.sleep(0.2)


def dom(url: str, profile: Path) -> str:
    """Return the page as the browser has rendered it."""
    assert BROWSER is not None
    command = [BROWSER, *QUIET, f"--user-data-dir={profile}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.external
@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: install Debian's package of that name")
def test_the_compare_page_opens_on_learner_dataset_and_headline_score(
    address: str, sweep: Bakeoff, tmp_path: Path
) -> None:
    runs = [run.info.run_id for run in sweep.runs()]
    query = f"runs={quote(json.dumps(runs))}&experiments={quote(json.dumps(['1']))}"
    page = dom(f"{address}/#/compare-runs?{query}", tmp_path / "profile")
    assert "Comparing 4 Runs" in page
    chosen = page.split("Run details")[0]  # what the plot shows without a click
    for name in ("dataset", "learner", "test_accuracy"):
        assert f">{name}<" in chosen, name


@pytest.mark.external
@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: install Debian's package of that name")
def test_the_runs_page_names_every_run_its_dataset_and_its_model(address: str, tmp_path: Path) -> None:
    page = dom(f"{address}/#/experiments/1/runs", tmp_path / "profile")
    for name in ("knn iris", "knn wine", "decision_tree iris", "decision_tree wine"):
        assert name in page


def test_the_ui_of_a_missing_store_is_refused(bakeoff: Bakeoff) -> None:
    answer = bakeoff("ui")
    assert answer.status == 2
    assert "run an experiment first" in answer.err


def test_a_store_that_is_a_server_is_only_named(bakeoff: Bakeoff) -> None:
    assert "open http://127.0.0.1:5999" in bakeoff("ui", "tracking.uri=http://127.0.0.1:5999").out
