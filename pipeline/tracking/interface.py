"""What the loop knows of tracking: a tracker opens runs, a run is told of folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.tracking.store import Store


@dataclass(frozen=True)
class RunDescription:
    """What is known of a run before it starts.

    Attributes
    ----------
    name : str
    params : mapping of str to str
        What runs are compared by.
    tags : mapping of str to str
    config : str
        The settled configuration as YAML.
    trust : tuple of str
    """

    name: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    config: str
    trust: tuple[str, ...] = ()


class RunStopped(Exception):
    """Somebody saw after a fold that the others are not worth their time; says after which."""


class Figure(Protocol):
    """A picture of a finished run."""

    def check(self, experiment: Experiment) -> None:
        """Refuse an experiment of which it cannot be drawn."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw it into a file of the folder."""


class Run(Protocol):
    """What the loop tells about."""

    run_id: str | None

    def fold(self, fold: FoldResult) -> None:
        """Take note of an evaluated fold."""

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Take the run's model and write what is left, pictures included."""


class Tracker(Protocol):
    """Where runs are kept."""

    store: Store | None

    def find(self) -> Store | None:
        """Return the store if there is one already; make none."""

    def open(self) -> None:
        """Make the store if need be, once; refuse now if runs could not be kept later."""

    def run(self, description: RunDescription, experiment: Experiment) -> Any:
        """Return a context manager that gives a `Run`."""
