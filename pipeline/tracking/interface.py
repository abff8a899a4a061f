"""The interface of tracking to the rest of the pipeline: a tracker starts runs, and a run records folds and a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.tracking.store import Store


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
    """The run was stopped because further folds are not worth their time; the message contains the last fold."""


class Figure(Protocol):
    """A figure of a finished run."""

    @property
    def file(self) -> str:
        """The name of the artifact."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Raise UserError if the figure cannot be drawn for an experiment."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw the figure into a file of the folder."""


class Run(Protocol):
    """A run that is being recorded."""

    run_id: str | None

    def record_fold(self, fold: FoldResult) -> None:
        """Record an evaluated fold."""

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Record the model of the run, the figures, and all pending values."""


class Tracker(Protocol):
    """Creates runs and keeps them."""

    store: Store | None

    def find_store(self) -> Store | None:
        """Return the store if it exists; it is not created."""

    def open_store(self) -> None:
        """Find or create the store; raise UserError if runs cannot be kept in it."""

    def store_kept_result(self, job_hash: str) -> str | None:
        """Store a kept result of a job, and return the id of its run; None if there is none."""

    def start_run(self, description: RunDescription, experiment: Experiment) -> AbstractContextManager[Run]:
        """Return a context in which a run is recorded; leaving it ends the run."""


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

    def open_store(self) -> None:
        """Do nothing."""

    def store_kept_result(self, job_hash: str) -> str | None:
        """Return None."""
        return None

    @contextmanager
    def start_run(self, description: RunDescription, experiment: Experiment) -> Iterator[NoRun]:
        """Yield a run that stores nothing."""
        yield NoRun()
