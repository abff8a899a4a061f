"""Fixtures that more than one file uses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import mlflow_server
import pytest
import subprocess_sweep
from command import Bakeoff

from bakeoff.pipeline.tracking.store import quiet_mlflow

quiet_mlflow()  # MLflow asks when it is imported, which a test may do before any command does


@pytest.fixture(autouse=True)
def no_store_from_before() -> Iterator[None]:
    """Forget the store that ``mlflow.set_tracking_uri`` writes into the environment: later commands would take it."""
    yield
    os.environ.pop("MLFLOW_TRACKING_URI", None)


@pytest.fixture
def bakeoff(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    return Bakeoff(tmp_path, capsys, monkeypatch)


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Return the scores of the sweep on one core, in a SQLite file."""
    folder = tmp_path_factory.mktemp("serial")
    answer = subprocess_sweep.bakeoff(folder, *subprocess_sweep.SWEEP)
    assert answer.returncode == 0, answer.stderr
    return subprocess_sweep.scores(f"sqlite:///{folder}/outputs/mlflow.db")


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """Return a folder that another user may enter; pytest's own are closed."""
    folder = Path(mkdtemp(prefix="bakeoff-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(open_folder: Path) -> Iterator[mlflow_server.Server]:
    """Return an MLflow server on PostgreSQL, or on SQLite where there is no PostgreSQL."""
    with mlflow_server.running(open_folder / "server", "sqlite" if mlflow_server.missing() else "postgres") as started:
        yield started
