"""Fixtures that more than one file uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Bakeoff


@pytest.fixture
def bakeoff(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    return Bakeoff(tmp_path, capsys, monkeypatch)
