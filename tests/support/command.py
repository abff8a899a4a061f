"""The command, run in this process in a folder of its own, and what it leaves in its store."""

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
    """What a command returns and prints.

    Attributes
    ----------
    status : int
        The exit code.
    out, err : str
        Standard output and standard error.
    """

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Bakeoff:
    """The command; call it with the words of the command line."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def __call__(self, *words: str) -> Answer:
        full_error = os.environ.get("HYDRA_FULL_ERROR")
        self.patch.setattr(sys, "argv", ["bakeoff", *words])
        self.capture.readouterr()
        try:
            with pytest.raises(SystemExit) as exit_info:
                cli.main()
        finally:
            # The command sets this variable, which would make the next command print tracebacks.
            os.environ.pop("HYDRA_FULL_ERROR", None)
            if full_error is not None:
                os.environ["HYDRA_FULL_ERROR"] = full_error
        printed = self.capture.readouterr()
        return Answer(int(exit_info.value.code or 0), printed.out, printed.err)

    def client(self) -> Any:
        """Return an MLflow client of the folder's store."""
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=f"sqlite:///{self.folder}/outputs/mlflow.db")

    def runs(self) -> list[Any]:
        """Return all runs, the newest first."""
        client = self.client()
        experiment = client.get_experiment_by_name("bakeoff")
        return list(client.search_runs([experiment.experiment_id]))

    def artifact(self, run: Any, name: str) -> str:
        """Return the text of an artifact of a run."""
        path = self.client().download_artifacts(run.info.run_id, name)
        return Path(path).read_text()
