"""The command, run in this process in a folder of its own, and what it left in its store."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bakeoff.pipeline.cli import main as cli


@dataclass(frozen=True)
class Answer:
    """Exit code, standard output and standard error."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Bakeoff:
    """Call it with the words of the command line."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def __call__(self, *words: str) -> Answer:
        asked = os.environ.get("HYDRA_FULL_ERROR")
        self.patch.setattr(sys, "argv", ["bakeoff", *words])
        self.capture.readouterr()
        try:
            with pytest.raises(SystemExit) as left:
                cli.main()
        finally:
            os.environ.pop("HYDRA_FULL_ERROR", None)
            if asked is not None:
                os.environ["HYDRA_FULL_ERROR"] = asked
        said = self.capture.readouterr()
        return Answer(int(left.value.code or 0), said.out, said.err)

    def client(self) -> Any:
        """Return a client of the folder's store."""
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=f"sqlite:///{self.folder}/outputs/mlflow.db")

    def runs(self) -> list[Any]:
        """Return all runs, the newest first."""
        client = self.client()
        experiment = client.get_experiment_by_name("bakeoff")
        return list(client.search_runs([experiment.experiment_id]))

    def artifact(self, run: Any, name: str) -> str:
        """Return the text of a run's artifact."""
        return Path(self.client().download_artifacts(run.info.run_id, name)).read_text()
