"""Where runs are kept: nowhere, or in MLflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.tracking.interface import Figure, RunDescription, RunStopped
from bakeoff.pipeline.tracking.run import MLflowRun
from bakeoff.pipeline.tracking.store import Store, open_store, store_exists, store_uri


@dataclass
class NoRun:
    """A run of which nothing is kept."""

    run_id: str | None = None

    def fold(self, fold: FoldResult) -> None:
        """Forget it."""

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Forget it."""


@dataclass
class NoTracker:
    """Keep nothing."""

    store: Store | None = None

    def find(self) -> Store | None:
        """Return None."""
        return None

    def open(self) -> None:
        """Do nothing."""

    @contextmanager
    def run(self, description: RunDescription, experiment: Experiment) -> Iterator[NoRun]:
        """Give a run of which nothing is kept."""
        yield NoRun()


@dataclass
class MLflowTracker:
    """Keep runs in MLflow.

    Parameters
    ----------
    uri : str or None
        A server, a SQLite file, or None for ``MLFLOW_TRACKING_URI``, else ``outputs/mlflow.db``.
    experiment : str
        The name under which MLflow groups the runs.
    models : bool
        Whether to keep each run's model.
    """

    uri: str | None = None
    experiment: str = "bakeoff"
    models: bool = True
    store: Store | None = field(default=None, init=False)

    def find(self) -> Store | None:
        """Return the store if there is one already; make none."""
        if self.store is None and store_exists(store_uri(self.uri)):
            self.open()
        return self.store

    def open(self) -> None:
        """Find or create the store; raises UserError if it cannot be written."""
        if self.store is None:
            self.store = open_store(self.uri, str(self.experiment))

    @contextmanager
    def run(self, description: RunDescription, experiment: Experiment) -> Iterator[MLflowRun]:
        """Start a run; it ends FINISHED, FAILED with its traceback, or KILLED by a signal or a judge."""
        self.open()
        assert self.store is not None
        run = MLflowRun.create(self.store, description, experiment, keep_model=self.models)
        try:
            run.begin()
            yield run
        except RunStopped as stopped:
            run.stop(str(stopped))
            raise
        except BaseException as error:
            run.fail(error)
            raise
        run.end("FINISHED")
