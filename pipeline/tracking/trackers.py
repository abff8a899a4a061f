"""Where runs are kept in MLflow: a tracker is built from the configuration, and shared by jobs with equal settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.tracking.interface import RunDescription, RunStopped, Tracker
from bakeoff.pipeline.tracking.kept_results import discard_kept, find_kept_folder, send_kept_result
from bakeoff.pipeline.tracking.mlflow_tables import disconnect
from bakeoff.pipeline.tracking.run import MLflowRun
from bakeoff.pipeline.tracking.store import Store, open_store, store_exists, store_uri


@dataclass
class MLflowTracker:
    """Keep runs in MLflow.

    Parameters
    ----------
    uri : str or None
        A server or a SQLite file; None selects ``MLFLOW_TRACKING_URI``, else ``outputs/mlflow.db``.
    experiment : str
        The name under which MLflow groups the runs.
    models : bool
        Whether to keep the model of each run.
    """

    uri: str | None = None
    experiment: str = "bakeoff"
    models: bool = True
    store: Store | None = field(default=None, init=False)

    def find_store(self) -> Store | None:
        """Return the store if it exists; create none."""
        if self.store is None and store_exists(store_uri(self.uri)):
            self.open_store()
        return self.store

    def open_store(self) -> None:
        """Find or create the store; raise UserError if it cannot be written."""
        if self.store is None:
            self.store = open_store(self.uri, str(self.experiment))

    def disconnect(self) -> None:
        """Close the connections to the store: a copy of this process must not use them."""
        if self.store is not None:
            disconnect(self.store.client)

    def store_kept_result(self, job_hash: str) -> str | None:
        """Store the result of a job that could not be stored before, and return its run; None if there is none."""
        self.open_store()
        assert self.store is not None
        return send_kept_result(self.store, job_hash)

    @contextmanager
    def start_run(self, description: RunDescription, experiment: Experiment) -> Iterator[MLflowRun]:
        """Start a run, yield it, and end it.

        Its final status is FINISHED, FAILED (with the traceback), or KILLED if a signal or a study stopped it.
        """
        self.open_store()
        assert self.store is not None
        run = MLflowRun(self.store, description, experiment, keep_model=self.models)
        try:
            run.record_dataset()
            yield run
            run.end("FINISHED")
        except RunStopped as stopped:
            run.stop(str(stopped))
            raise
        except BaseException as error:
            run.fail(error)
            raise
        # An earlier run of the same job whose results could not be stored is no longer needed.
        discard_kept(find_kept_folder(self.store.uri, description.tags))


def get_tracker(parts: PartCache, spec: Mapping[str, Any]) -> Tracker:
    """Return the tracker of a settled configuration; jobs with equal settings share it, and so the store.

    Parameters
    ----------
    parts : PartCache
    spec : mapping
    """
    tracker: Tracker = parts.build("tracking", spec["tracking"], spec["trust"])
    return tracker


def disconnect_stores(parts: PartCache) -> None:
    """Close the connections to all stores; those that are needed again are opened again."""
    for part in parts.parts:
        if isinstance(part, MLflowTracker):
            part.disconnect()
