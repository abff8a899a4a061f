"""A run in MLflow: an explicit id, few batched writes, never left RUNNING.

No active run of MLflow's is ever used: it leaks from one failing job into the next.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline import report
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.interface import Figure, RunDescription
from bakeoff.pipeline.tracking.models import artifact_folder, log_model
from bakeoff.pipeline.tracking.store import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

FLUSH_SECONDS = 10.0
"""What takes longer is written as it comes; of shorter runs all is written in one batch at the end."""


class MLflowRun:
    """One run: values are gathered and written in few batches."""

    def __init__(
        self, store: Store, run_id: str, description: RunDescription, experiment: Experiment, keep_model: bool
    ) -> None:
        self.run_id: str | None = run_id
        self._id = run_id
        self._client: MlflowClient = store.client
        self._store = store
        self._description = description
        self._experiment = experiment
        self._keep_model = keep_model
        self._folds: list[FoldResult] = []
        self._artifacts = ""
        self._written = 0
        self._flushed = time.monotonic()
        self._unwritten = _params(description.params)
        self._writing = Lock()
        self._heartbeat = Heartbeat(self._beat, first=FLUSH_SECONDS)

    @classmethod
    def create(cls, store: Store, description: RunDescription, experiment: Experiment, keep_model: bool) -> MLflowRun:
        """Create the run, with its tags, in one call: from then on somebody must end it."""
        tags = {**provenance_tags(), "mlflow.note.content": experiment.dataset.describe(), **description.tags}
        created = store.client.create_run(
            store.experiment_id, run_name=description.name, tags={key: str(value)[:8000] for key, value in tags.items()}
        )
        run = cls(store, created.info.run_id, description, experiment, keep_model)
        run._artifacts = created.info.artifact_uri
        return run

    def begin(self) -> None:
        """Write what the run learns from; its params go with the first scores, or after some seconds without any."""
        self._log_dataset()

    def _beat(self) -> None:
        self._batch([])
        self._client.set_tag(self._id, "heartbeat", f"{time.time():.0f}")

    def fold(self, fold: FoldResult) -> None:
        """Take note of a fold; write what has gathered if the last write was long ago."""
        self._folds.append(fold)
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self._batch(self._scores())

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Write the scores, the tables, the pictures and the model."""
        self._batch(
            [*self._scores(), *_metrics(report.get_pruning_path(model))], _params(report.get_tuned_params(model))
        )
        with artifact_folder(self._artifacts, lambda folder: self._client.log_artifacts(self._id, folder)) as folder:
            report.write_tables(folder, self._experiment, self._folds, model)
            (folder / "config.yaml").write_text(self._description.config)
            for figure in figures:
                figure.save(folder, self._experiment, self._folds, model)
        if self._keep_model:
            log_model(self._store, self._id, self._description, self._experiment.dataset, model)

    def fail(self, error: BaseException) -> None:
        """Keep what there is, say why, and end the run FAILED, or KILLED if a signal ended it."""
        killed = isinstance(error, KeyboardInterrupt)
        text = "".join(traceback.format_exception(error))
        try:
            self._client.set_tag(self._id, "error", f"{type(error).__name__}: {error}"[:8000])
            self._client.set_tag(self._id, "error_type", type(error).__name__)
        finally:
            self.end("KILLED" if killed else "FAILED")
        with suppress(Exception):  # a full disk made it fail, perhaps; what it said first is what counts
            self._batch(self._scores())
            self._client.log_text(self._id, text, "traceback.txt")
            self._client.log_text(self._id, self._description.config, "config.yaml")

    def stop(self, where: str) -> None:
        """Keep the folds so far and end the run KILLED: it is not the whole evaluation, and must not pass for it."""
        try:
            self._client.set_tag(self._id, STOPPED_TAG, where)
            self._batch(self._scores())
            self._client.log_text(self._id, self._description.config, "config.yaml")
        finally:
            self.end("KILLED")

    def end(self, status: str) -> None:
        """Set the final status."""
        self._heartbeat.stop()
        self._client.set_terminated(self._id, status)

    def _scores(self) -> list[Metric]:
        """Return the means so far, the headline first, then the folds that are new, as steps."""
        if not self._folds:
            return []
        self._flushed = time.monotonic()
        means = {name: [value] for name, value in report.summarize_folds(self._experiment, self._folds).items()}
        if len(self._folds) == 1:  # it is the mean; if others follow, it goes with them
            return _metrics(means)
        series: dict[str, list[float]] = {}
        for fold in self._folds[self._written :]:
            for name, value in report.measure_fold(fold).items():
                series.setdefault(f"fold/{name}", []).append(value)
        folds = _metrics(series, first_step=self._written)
        self._written = len(self._folds)
        return [*_metrics(means), *folds]

    def _batch(self, metrics: Sequence[Metric], params: Sequence[Param] = ()) -> None:
        """Write in as few calls as may be: a batch holds 1,000 values.  The heartbeat may write at the same time."""
        most = 900  # with 100 params
        with self._writing:
            params, self._unwritten = [*self._unwritten, *params], []
            for start in range(0, max(len(metrics), 1), most):
                batch = metrics[start : start + most]
                if batch or params:
                    self._client.log_batch(self._id, metrics=batch, params=params)
                params = []

    def _log_dataset(self) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag
        from mlflow.exceptions import MlflowException

        data = self._experiment.dataset
        entity = Dataset(
            name=data.name,
            digest=data.digest(),
            source_type="local",
            source=json.dumps({"uri": data.source}),
            profile=json.dumps({"num_rows": data.X.shape[0], "num_elements": int(data.X.size)}),
        )
        inputs = [DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])]
        try:
            self._client.log_inputs(self._id, inputs)
        except MlflowException:  # another process wrote the same dataset in between: now it is there to be found
            self._client.log_inputs(self._id, inputs)


def _metrics(series: Mapping[str, Sequence[float]], first_step: int = 0) -> list[Metric]:
    """Return values as MLflow's, the place in the series as step; infinite ones are left out: it would keep 1.8e308."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    return [
        Metric(name, float(value), now, first_step + place)
        for name, values in series.items()
        for place, value in enumerate(values)
        if not np.isinf(value)
    ]


def _params(params: Mapping[str, str]) -> list[Param]:
    """Return params as MLflow's; longer ones would be cut with a warning."""
    from mlflow.entities import Param

    return [Param(key, value[:6000]) for key, value in params.items()]


def provenance_tags() -> dict[str, str]:
    """Return user, command, machine and state of the code as MLflow's tags."""
    tags = {"mlflow.user": provenance.user(), "mlflow.source.name": "bakeoff", "mlflow.source.type": "LOCAL"}
    tags |= provenance.machine() | {"heartbeat": f"{time.time():.0f}"}
    state = provenance.git_state()
    if state is not None:
        tags |= {"mlflow.source.git.commit": state[0], "git_dirty": str(state[1]).lower()}
    return tags
