"""The only door to MLflow: runs with explicit ids, few batched writes, nothing left RUNNING.

No active run of MLflow's is ever used: it leaks from one failing job into the next.  MLflow is imported when the first
run starts, so that a refusal costs no time.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pipeline import artefact, provenance, report
from pipeline.experiment import Experiment, Fold, Model, Stopped
from pipeline.refusal import Refusal
from pipeline.store import Store, open_store

if TYPE_CHECKING:
    from mlflow import MlflowClient

FLUSH_SECONDS = 10.0
"""Folds that take longer are written as they come; shorter ones in one batch at the end."""


@dataclass(frozen=True)
class Description:
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


class Figure(Protocol):
    """A picture of a finished run."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[Fold], model: Model) -> None:
        """Draw it into a file of the folder."""


class Run(Protocol):
    """What the loop tells about."""

    run_id: str | None

    def fold(self, fold: Fold) -> None:
        """Take note of an evaluated fold."""

    def finish(self, model: Model, figures: Sequence[Figure]) -> None:
        """Take the run's model and write what is left, pictures included."""


class Tracker(Protocol):
    """Where runs are kept."""

    store: Store | None

    def open(self) -> None:
        """Refuse now if runs could not be kept later."""

    def run(self, description: Description, experiment: Experiment) -> Any:
        """Return a context manager that gives a `Run`."""


@dataclass
class NoRun:
    """A run of which nothing is kept."""

    run_id: str | None = None

    def fold(self, fold: Fold) -> None:
        """Forget it."""

    def finish(self, model: Model, figures: Sequence[Figure]) -> None:
        """Forget it."""


@dataclass
class NoTracker:
    """Keep nothing."""

    store: Store | None = None

    def open(self) -> None:
        """Do nothing."""

    @contextmanager
    def run(self, description: Description, experiment: Experiment) -> Iterator[NoRun]:
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

    def open(self) -> None:
        """Find or create the store; raises Refusal if it cannot be written."""
        self.store = open_store(self.uri, str(self.experiment))

    @contextmanager
    def run(self, description: Description, experiment: Experiment) -> Iterator[MLflowRun]:
        """Start a run; it ends FINISHED, FAILED with its traceback, or KILLED by a signal or a judge."""
        if self.store is None:
            self.open()
        assert self.store is not None
        run = MLflowRun.start(self.store, description, experiment, keep_model=self.models)
        try:
            yield run
        except Stopped:
            run.stop()
            raise
        except BaseException as error:
            run.fail(error)
            raise
        run.end("FINISHED")


class MLflowRun:
    """One run: values are gathered and written in few batches."""

    def __init__(
        self, store: Store, run_id: str, description: Description, experiment: Experiment, keep_model: bool
    ) -> None:
        self.run_id: str | None = run_id
        self._id = run_id
        self._client: MlflowClient = store.client
        self._store = store
        self._description = description
        self._experiment = experiment
        self._keep_model = keep_model
        self._folds: list[Fold] = []
        self._written = 0
        self._flushed = time.monotonic()

    @classmethod
    def start(cls, store: Store, description: Description, experiment: Experiment, keep_model: bool) -> MLflowRun:
        """Create the run with its tags, params and dataset."""
        tags = {**provenance_tags(), "mlflow.note.content": experiment.dataset.describe(), **description.tags}
        created = store.client.create_run(
            store.experiment_id, run_name=description.name, tags={key: str(value)[:8000] for key, value in tags.items()}
        )
        run = cls(store, created.info.run_id, description, experiment, keep_model)
        run._params(description.params)
        run._log_dataset()
        return run

    def fold(self, fold: Fold) -> None:
        """Take note of a fold; write what has gathered if the last write was long ago."""
        self._folds.append(fold)
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._flush()

    def finish(self, model: Model, figures: Sequence[Figure]) -> None:
        """Write the scores, the tables, the pictures and the model."""
        self._flush()
        self._metrics(report.pruning_path(model), step_is_index=True)
        self._params(report.tuned(model))
        with TemporaryDirectory(prefix="bakeoff-") as folder:
            report.write_tables(Path(folder), self._experiment, self._folds, model)
            (Path(folder) / "config.yaml").write_text(self._description.config)
            for figure in figures:
                figure.save(Path(folder), self._experiment, self._folds, model)
            self._client.log_artifacts(self._id, folder)
        if self._keep_model:
            self._log_model(model)

    def fail(self, error: BaseException) -> None:
        """Keep what there is, say why, and end the run FAILED, or KILLED if a signal ended it."""
        killed = isinstance(error, KeyboardInterrupt)
        try:
            self._flush()
            text = "".join(traceback.format_exception(error))
            self._client.set_tag(self._id, "error", f"{type(error).__name__}: {error}"[:8000])
            self._client.set_tag(self._id, "error_type", type(error).__name__)
            self._client.log_text(self._id, text, "traceback.txt")
            self._client.log_text(self._id, self._description.config, "config.yaml")
        finally:
            self.end("KILLED" if killed else "FAILED")

    def stop(self) -> None:
        """Keep the folds so far and end the run KILLED: it is not the whole evaluation, and must not pass for it."""
        try:
            self._flush()
            self._client.set_tag(self._id, "pruned", "true")
            self._client.log_text(self._id, self._description.config, "config.yaml")
        finally:
            self.end("KILLED")

    def end(self, status: str) -> None:
        """Set the final status."""
        self._client.set_terminated(self._id, status)

    def _flush(self) -> None:
        """Write the means so far, the headline first, then the folds that are new, as steps."""
        if not self._folds:
            return
        self._metrics({name: [value] for name, value in report.summary(self._experiment, self._folds).items()})
        new = self._folds[self._written :]
        series: dict[str, list[float]] = {}
        for fold in new:
            for name, value in report.of_fold(fold).items():
                series.setdefault(f"fold/{name}", []).append(value)
        self._metrics(series, first_step=self._written, step_is_index=True)
        self._written, self._flushed = len(self._folds), time.monotonic()

    def _metrics(self, series: Mapping[str, Any], first_step: int = 0, step_is_index: bool = False) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        rows = [
            Metric(name, float(value), now, first_step + index if step_is_index else 0)
            for name, values in series.items()
            for index, value in enumerate(values)
            if not np.isinf(value)  # the store would keep 1.8e308
        ]
        for start in range(0, len(rows), 1000):  # the most that a batch may hold
            self._client.log_batch(self._id, metrics=rows[start : start + 1000])

    def _params(self, params: Mapping[str, str]) -> None:
        from mlflow.entities import Param

        if params:
            rows = [
                Param(key, value[:6000]) for key, value in params.items()
            ]  # longer ones would be cut with a warning
            self._client.log_batch(self._id, params=rows)

    def _log_dataset(self) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        data = self._experiment.dataset
        entity = Dataset(
            name=data.name,
            digest=data.digest(),
            source_type="local",
            source=json.dumps({"uri": data.source}),
            profile=json.dumps({"num_rows": data.X.shape[0], "num_elements": int(data.X.size)}),
        )
        self._client.log_inputs(self._id, [DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])])

    def _log_model(self, model: Model) -> None:
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus
        from mlflow.models import Model as Record

        logged = self._client.create_logged_model(
            self._store.experiment_id, name=model_name(self._description.name), source_run_id=self._id
        )
        record = Record(
            artifact_path=logged.artifact_location,
            model_uuid=logged.model_id,
            run_id=self._id,
            model_id=logged.model_id,
        )
        try:
            with TemporaryDirectory(prefix="bakeoff-") as folder:
                artefact.save(
                    model.pipeline, Path(folder) / "model", record, self._experiment.dataset, self._description.trust
                )
                self._client.log_model_artifacts(logged.model_id, str(Path(folder) / "model"))
        except BaseException:
            self._client.finalize_logged_model(logged.model_id, LoggedModelStatus.FAILED)
            raise
        self._client.finalize_logged_model(logged.model_id, LoggedModelStatus.READY)
        self._client.log_outputs(self._id, [LoggedModelOutput(logged.model_id, step=0)])


def model_name(run_name: str) -> str:
    """Return the run's name without the characters that MLflow refuses in a model's.

    Examples
    --------
    >>> model_name("knn p=1.5 a/b:c")
    'knn p=1_5 a_b_c'
    """
    return "".join("_" if character in "/:.%\"'" else character for character in run_name)


def provenance_tags() -> dict[str, str]:
    """Return user, command, machine and state of the code as MLflow's tags."""
    tags = {"mlflow.user": provenance.user(), "mlflow.source.name": "bakeoff", "mlflow.source.type": "LOCAL"}
    tags |= provenance.machine()
    state = provenance.git_state()
    if state is not None:
        tags |= {"mlflow.source.git.commit": state[0], "git_dirty": str(state[1]).lower()}
    return tags


def load_model(run: str, uri: str | None, experiment: str) -> tuple[Any, dict[str, str]]:
    """Load the model of a run.

    Parameters
    ----------
    run : str
        The run's id, or ``latest`` for the newest finished run of the experiment.
    uri : str or None
        As for `store_uri`.
    experiment : str

    Returns
    -------
    model : estimator
        Fitted.
    kinds : dict of str to str
        The columns that it takes, and their types in MLflow's words.

    Raises
    ------
    Refusal
        No such run, or a run without a model.
    """
    store = open_store(uri, experiment, create=False)
    import mlflow
    from mlflow.exceptions import MlflowException

    mlflow.set_tracking_uri(store.uri)
    run_id = _latest(store) if run == "latest" else run
    try:
        outputs = store.client.get_run(run_id).outputs
    except MlflowException as error:
        raise Refusal(
            f"predict: there is no run {run_id!r} in {store.uri}; the pages of `bakeoff ui` list them."
        ) from error
    if outputs is None or not outputs.model_outputs:
        raise Refusal(f"predict: run {run_id} kept no model; run it again with tracking.models=true.")
    address = f"models:/{outputs.model_outputs[0].model_id}"
    inputs = mlflow.models.get_model_info(address).signature.inputs
    return mlflow.sklearn.load_model(address), {column.name: column.type.name for column in inputs}


def _latest(store: Store) -> str:
    found = store.client.search_runs(
        [store.experiment_id], filter_string="status = 'FINISHED'", max_results=1, order_by=["start_time DESC"]
    )
    if not found:
        raise Refusal(f"predict: there is no finished run in {store.uri} yet.")
    return str(found[0].info.run_id)
