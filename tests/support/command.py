"""The command, run in this process in a folder of its own, and what it leaves in its store."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from bakeoff.pipeline.cli import main as cli

DAY_SECONDS = 86_400.0


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


class Output(NamedTuple):
    """What was written to the standard streams."""

    out: str
    err: str


class Capture(Protocol):
    """What is needed of pytest's capsys."""

    def readouterr(self) -> Any:
        """Return what was written since the last call."""


@dataclass(frozen=True)
class Streams:
    """Both streams, for fixtures of wider scope than capsys."""

    out: StringIO = field(default_factory=StringIO)
    err: StringIO = field(default_factory=StringIO)

    def readouterr(self) -> Output:
        """Return what was written since the last call."""
        said = Output(self.out.getvalue(), self.err.getvalue())
        for stream in (self.out, self.err):
            stream.seek(0)
            stream.truncate()
        return said


@dataclass(frozen=True)
class Bakeoff:
    """The command; call it with the words of the command line."""

    folder: Path
    capture: Capture
    patch: pytest.MonkeyPatch

    def __call__(self, *words: str) -> Answer:
        full_error = os.environ.get("HYDRA_FULL_ERROR")
        self.patch.setattr(sys, "argv", ["bakeoff", *words])
        # The process of the tests does not end with a command whose store is lost.
        self.patch.setattr(cli, "leave", sys.exit)
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


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Go to a folder and forget what earlier commands left in this process."""
    patch.chdir(folder)
    # What takes seconds is announced, which depends on what else the machine has to do.
    for name in ("SILENT_SECONDS", "LINE_SECONDS"):
        patch.setattr(f"bakeoff.pipeline.sweep.run_screen.{name}", DAY_SECONDS)
    _forget_packages(folder)
    patch.setattr(sys, "meta_path", [*sys.meta_path])  # the command adds a finder of its folder
    patch.setenv("PYTHONSAFEPATH", "")  # the command sets it
    patch.delenv("MLFLOW_TRACKING_URI", raising=False)
    patch.delenv("HYDRA_FULL_ERROR", raising=False)


def _forget_packages(folder: Path) -> None:
    """Forget the modules of packages in neighbouring folders, whose names other tests give to packages of their own."""
    neighbours, own = f"{folder.parent}{os.sep}", f"{folder}{os.sep}"
    for name, module in list(sys.modules.items()):
        # Read where they lie: a module that is loaded late would be loaded by asking it for an attribute.
        found = vars(module)
        places = [f"{place}{os.sep}" for place in (found.get("__file__"), *(found.get("__path__") or ()))]
        if any(place.startswith(neighbours) and not place.startswith(own) for place in places):
            del sys.modules[name]
    # Files that were written since the last import are found in spite of the cached listing of their folder.
    importlib.invalidate_caches()


@contextmanager
def command_in(folder: Path) -> Iterator[Bakeoff]:
    """Give the command in a folder, for fixtures that several tests share; outside the block its store can be read."""
    streams = Streams()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(streams.out), redirect_stderr(streams.err):
        enter(folder, patch)
        yield Bakeoff(folder, streams, patch)
