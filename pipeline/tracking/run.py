"""A run in MLflow: it has an explicit id, is written in a few batches, and is never left RUNNING.

MLflow's own active run is not used: it leaks from one failing job into the next.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.pipeline import report
from bakeoff.pipeline.audit import LEAK, LeakError, describe_audit
from bakeoff.pipeline.card import MAX_PICTURE_CLASSES, CardContent, draw_confusion_matrix, write_card
from bakeoff.pipeline.card.text import escape_markup
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model import TrainingRecord, make_training_record
from bakeoff.pipeline.secret_values import describe_error, format_traceback, hide_in_values, hide_secrets
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.interface import Figure, RunDescription
from bakeoff.pipeline.tracking.models import artifact_folder, log_run_model
from bakeoff.pipeline.tracking.reading.looks import count_looks
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX
from bakeoff.pipeline.tracking.store import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Metric, Param, RunTag

FLUSH_SECONDS = 10.0
"""A run that takes longer is written in several batches; a shorter one in a single batch at its end."""
MAX_METRICS_PER_BATCH = 890
"""MLflow takes 1,000 values in a batch, of which 100 may be params and some are tags."""
NOTE_TAG = "mlflow.note.content"
"""MLflow shows it at the top of the page of a run."""
PICTURE = "confusion_matrix.svg"
MAX_TAG_LETTERS = 8000
MAX_PARAM_LETTERS = 6000


class MLflowRun:
    """One run, whose values are collected and written in a few batches."""

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
        self._means: dict[str, float] = {}
        self._n_folds_written = 0
        self._artifact_uri = ""
        self._last_flush = time.monotonic()
        self._unwritten_params = _to_params(hide_in_values(description.params, description.config))
        self._write_lock = Lock()
        # The first heartbeat is early, because it also writes the params of a run whose first fold takes long.
        self._heartbeat = Heartbeat(self._write_heartbeat, first=FLUSH_SECONDS)

    @classmethod
    def create(cls, store: Store, description: RunDescription, experiment: Experiment, keep_model: bool) -> MLflowRun:
        """Create the run with its tags, in one call; the caller must end it."""
        # The dataset in words is shown at the top of the page of the run.
        # When the run ends, the card takes the place of this line.
        note = {NOTE_TAG: escape_markup(experiment.dataset.describe())}
        tags = hide_in_values({**provenance.list_tags(), **note, **description.tags}, description.config)
        created = store.client.create_run(
            store.experiment_id,
            run_name=hide_secrets(description.name, description.config),
            tags={key: value[:MAX_TAG_LETTERS] for key, value in tags.items()},
        )
        run = cls(store, created.info.run_id, description, experiment, keep_model)
        run._artifact_uri = created.info.artifact_uri
        return run

    def record_dataset(self) -> None:
        """Write the dataset as an input of the run.

        The params wait for the first scores or the first heartbeat: each write is a large part of a small job's cost.
        """
        from mlflow.exceptions import MlflowException

        dataset = self._experiment.dataset
        source = hide_secrets(dataset.source, self._description.config)
        inputs = [_to_dataset_input(dataset, source)]
        try:
            self._client.log_inputs(self._id, inputs)
        except MlflowException:  # another process wrote the same dataset at the same time; now it is found
            self._client.log_inputs(self._id, inputs)

    def record_fold(self, fold: FoldResult) -> None:
        """Record a fold, and write the pending metrics if the last write was long ago."""
        self._folds.append(fold)
        if time.monotonic() - self._last_flush > FLUSH_SECONDS:
            self._write_batch(self._take_metrics())

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Write the scores, the tables, the figures and the model."""
        metrics = self._take_metrics()
        metrics += _to_metrics(report.get_pruning_path(model))
        confusions = report.sum_confusions(self._experiment, self._folds)
        has_picture = confusions is not None and len(confusions) <= MAX_PICTURE_CLASSES
        looks = self._count_looks()
        card = self._write_card(model=model, picture=PICTURE if has_picture else "", looks=looks)
        self._write_batch(metrics, _to_params(report.get_tuned_params(model)), {NOTE_TAG: card, **looks})
        with artifact_folder(self._artifact_uri, self._upload) as folder:
            report.write_tables(folder, self._experiment, self._folds, model, confusions)
            (folder / "config.yaml").write_text(self._description.config)
            if confusions is not None and has_picture:
                labels = [str(label) for label in self._experiment.dataset.classes]
                (folder / PICTURE).write_text(draw_confusion_matrix(confusions, labels))
            for figure in figures:
                figure.save(folder, self._experiment, self._folds, model)
        if self._keep_model:
            training = self._make_training_record(model)
            log_run_model(self._store, model.predictor, training, self._description.trust)

    def fail(self, error: BaseException) -> None:
        """Write the error and the scores so far; end the run as FAILED, or as KILLED if a signal ended it."""
        was_killed = isinstance(error, KeyboardInterrupt)
        error_type = type(error).__name__
        reason = describe_error(error, self._description.config)
        # The status is set even if the store rejects the tags, so that the run does not stay RUNNING.
        try:
            self._client.set_tag(self._id, "error", reason[:MAX_TAG_LETTERS])
            self._client.set_tag(self._id, "error_type", error_type)
            if isinstance(error, LeakError):
                self._client.set_tag(self._id, "audit", LEAK)
        finally:
            self.end("KILLED" if was_killed else "FAILED")
        # The cause may be a full disk, where these writes fail as well: the first error is the one to report.
        with suppress(Exception):
            metrics = self._take_metrics()
            card = self._write_card(ending=reason)
            self._write_batch(metrics, tags={NOTE_TAG: card})
            text = format_traceback(error, self._description.config)
            self._client.log_text(self._id, text, "traceback.txt")
            self._client.log_text(self._id, self._description.config, "config.yaml")

    def stop(self, reason: str) -> None:
        """Write the folds so far and end the run as KILLED: FINISHED would mean that all folds were evaluated."""
        try:
            metrics = self._take_metrics()
            card = self._write_card(ending=f"stopped {reason}")
            self._write_batch(metrics, tags={STOPPED_TAG: reason, NOTE_TAG: card})
            self._client.log_text(self._id, self._description.config, "config.yaml")
        finally:
            self.end("KILLED")

    def end(self, status: str) -> None:
        """Stop the heartbeat and set the final status."""
        self._heartbeat.stop()
        self._client.set_terminated(self._id, status)

    def _make_training_record(self, model: FittedModel) -> TrainingRecord:
        return make_training_record(
            self._experiment,
            model,
            run_id=self._id,
            run_name=self._description.name,
            dataset_config=self._description.dataset,
            scores=self._means,
            n_folds=len(self._folds),
            versions=provenance.read_versions(),
        )

    def _count_looks(self) -> dict[str, str]:
        """Return the tag ``looks``: how many configurations have been scored on these test rows, this one included.

        Runs that end at the same moment do not see each other. A server is not asked, because its answer would take
        longer than a small job.
        """
        if not self._store.uri.startswith(SQLITE_PREFIX):
            return {}
        tags = self._description.tags
        looks = count_looks(self._store, tags["dataset_digest"], tags["splits_digest"], tags["config_hash"])
        return {"looks": str(looks)}

    def _write_heartbeat(self) -> None:
        self._write_batch([])
        self._client.set_tag(self._id, "heartbeat", f"{time.time():.0f}")

    def _upload(self, folder: str) -> None:
        self._client.log_artifacts(self._id, folder)

    def _take_metrics(self) -> list[Metric]:
        """Return the means so far, the headline first, and then the folds that are not written yet, as steps."""
        if not self._folds:
            return []
        self._last_flush = time.monotonic()
        # The headline comes first, because MLflow's page that compares runs opens on the first metric.
        self._means = report.summarize_folds(self._experiment, self._folds)
        metrics = _to_metrics({name: [value] for name, value in self._means.items()})
        if len(self._folds) == 1:  # it equals the mean, and is written with the second fold if there is one
            return metrics
        new_folds = self._folds[self._n_folds_written :]
        series: dict[str, list[float]] = {}
        for fold in new_folds:
            for name, value in report.measure_fold(fold).items():
                series.setdefault(f"fold/{name}", []).append(value)
        metrics += _to_metrics(series, first_step=self._n_folds_written)
        self._n_folds_written = len(self._folds)
        return metrics

    def _write_card(
        self,
        model: FittedModel | None = None,
        picture: str = "",
        ending: str = "",
        looks: Mapping[str, str] | None = None,
    ) -> str:
        """Return the card, with the means that were taken last."""
        content = CardContent(
            experiment=self._experiment,
            run_id=self._id,
            params=self._description.params,
            overrides=json.loads(self._description.tags.get("overrides", "[]")),
            folds=self._folds,
            means=self._means,
            model=model,
            picture=picture,
            ending=ending,
            notes=describe_audit({**self._description.tags, **(looks or {})}),
        )
        return write_card(content)

    def _write_batch(
        self, metrics: Sequence[Metric], params: Sequence[Param] = (), tags: Mapping[str, str] | None = None
    ) -> None:
        """Write values in as few calls as possible; the thread of the heartbeat may write at the same time."""
        with self._write_lock:
            params = [*self._unwritten_params, *params]
            self._unwritten_params = []
            run_tags = _to_tags(hide_in_values(tags or {}, self._description.config))
            # Params and tags go with the first batch; without any metrics there is a batch of them alone.
            for start in range(0, max(len(metrics), 1), MAX_METRICS_PER_BATCH):
                batch = metrics[start : start + MAX_METRICS_PER_BATCH]
                if batch or params or run_tags:
                    self._client.log_batch(self._id, metrics=batch, params=params, tags=run_tags)
                params = []
                run_tags = []


def _to_dataset_input(dataset: Dataset, source: str) -> DatasetInput:
    from mlflow.entities import Dataset as MLflowDataset
    from mlflow.entities import DatasetInput, InputTag

    profile = {"num_rows": dataset.X.shape[0], "num_elements": int(dataset.X.size)}
    entity = MLflowDataset(
        name=dataset.name,
        digest=dataset.digest(),
        source_type="local",
        source=json.dumps({"uri": source}),
        profile=json.dumps(profile),
    )
    return DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])


def _to_metrics(series: Mapping[str, Sequence[float]], first_step: int = 0) -> list[Metric]:
    """Return values as MLflow's metrics, with their positions as steps.

    Infinite values are left out, because MLflow would store them as 1.8e308.
    """
    from mlflow.entities import Metric

    milliseconds = int(time.time() * 1000)
    return [
        Metric(name, float(value), milliseconds, step)
        for name, values in series.items()
        for step, value in enumerate(values, first_step)
        if not np.isinf(value)
    ]


def _to_params(params: Mapping[str, str]) -> list[Param]:
    """Return values as MLflow's params, cut to the length that it stores without a warning."""
    from mlflow.entities import Param

    return [Param(key, value[:MAX_PARAM_LETTERS]) for key, value in params.items()]


def _to_tags(tags: Mapping[str, str]) -> list[RunTag]:
    """Return values as MLflow's tags, cut to the length that it stores without a warning."""
    from mlflow.entities import RunTag

    return [RunTag(key, value[:MAX_TAG_LETTERS]) for key, value in tags.items()]
