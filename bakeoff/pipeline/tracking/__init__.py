"""Tracking of runs: the only package that imports MLflow.

A tracker starts runs, and a run records folds and a model. This module has their description and their null objects.

- `store` opens the store: `sqlite_file` a file, `limited_calls` any; only `mlflow_tables` knows MLflow's internals.
- `run` writes runs by `store_writer`, `results` keeps what could not be stored, and `models` writes and loads models.
- `stored_runs` reads runs, `history` finds what earlier runs mean for jobs and sweeps, `stored_config` rebuilds their
  configuration, `artifacts` reads and deletes their files, and `names` finds runs and models by words.
- `description`, `provenance` and `heartbeat` make the params and tags of a run, and `card` its tables and sentences.

MLflow is imported when it is first needed, so invalid commands are rejected immediately.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from bakeoff.pipeline.system import find_user, is_own

if TYPE_CHECKING:
    from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
    from bakeoff.pipeline.stages.splitting import Splits
    from bakeoff.pipeline.tracking.run import MLflowTracker
    from bakeoff.pipeline.tracking.store import Store


def set_home() -> None:
    """Give a process whose user has no home, as in a container, a folder of its own among the temporary files.

    MLflow reads the home when it is imported, and bakeoff keeps a cache there.
    """
    if os.path.expanduser("~") != "~":
        return
    home = Path(gettempdir(), f"bakeoff-{find_user()}")
    with suppress(FileExistsError):
        home.mkdir(mode=stat.S_IRWXU)
    os.environ["HOME"] = str(home) if is_own(home.lstat()) else mkdtemp(prefix="bakeoff-")


set_home()


@dataclass(frozen=True)
class RunDescription:
    """The description of a run before it starts.

    Attributes
    ----------
    name : str
    params : mapping of str to str
        The parameters by which runs are compared.
    tags : mapping of str to str
    config : str
        The settled configuration as YAML.
    trust : tuple of str
        Packages whose types the model may contain.
    dataset : mapping
        The configuration of the dataset.
    """

    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    config: str
    trust: tuple[str, ...] = ()
    dataset: Mapping[str, Any] = field(default_factory=dict)


class RunStopped(Exception):
    """The run was stopped because further folds are not worthwhile; the message contains the last fold."""


class Figure(Protocol):
    """A figure of a finished run."""

    @property
    def file(self) -> str:
        """The name of the artifact."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Raise UserError if the figure cannot be drawn for an experiment."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw the figure into a file of the folder."""


@dataclass
class NoRun:
    """A run that stores nothing."""

    run_id: str | None = None

    def record_fold(self, fold: FoldResult) -> None:
        """Do nothing."""

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Do nothing."""


@dataclass
class NoTracker:
    """A tracker that keeps nothing."""

    store: Store | None = None

    def find_store(self) -> Store | None:
        """Return None."""
        return None

    def open_store(self, is_known: bool = False) -> None:
        """Do nothing."""

    def store_kept_result(self, job_hash: str) -> str | None:
        """Return None."""
        return None

    def find_score_path(self, job_hash: str) -> Path | None:
        """Return None."""
        return None

    @contextmanager
    def start_run(self, description: RunDescription, experiment: Experiment) -> Iterator[NoRun]:
        """Yield a run that stores nothing."""
        yield NoRun()


Tracker: TypeAlias = "MLflowTracker | NoTracker"
"""Both have the same methods. A tracker is shared by jobs with equal settings."""
