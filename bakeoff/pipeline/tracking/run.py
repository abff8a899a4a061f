"""Runs in MLflow: a tracker starts them; each has an explicit id, is written in a few batches, and always ends.

A tracker is built from the configuration, and shared by jobs with equal settings. MLflow's own active run is not used:
it leaks from one failing job into the next.
"""

from __future__ import annotations

import copy
import json
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from bakeoff.pipeline.audit import LEAK, LeakError, describe_audit
from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tables.markup import escape_markdown
from bakeoff.pipeline.text.secrets import describe_error, format_traceback, hide_in_values, hide_secrets
from bakeoff.pipeline.tracking import Figure, RunDescription, RunStopped, Tracker, provenance
from bakeoff.pipeline.tracking import card as report
from bakeoff.pipeline.tracking.artifacts import run_folder
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.history import count_looks
from bakeoff.pipeline.tracking.models import add_run_model
from bakeoff.pipeline.tracking.results import KeptRun, RunResults, find_kept_folder, keep_result, send_kept_result
from bakeoff.pipeline.tracking.store import Store, open_store, store_exists, store_uri
from bakeoff.pipeline.tracking.store_writer import DatasetInput, MetricValue, RunValues
from bakeoff.pipeline.tracking.stored_config import CONFIG_FILE
from bakeoff.pipeline.tracking.stored_runs import STOPPED_TAG, TRIED_TAG

SCORES_SUFFIX = ".scores"
FLUSH_SECONDS = 10.0
"""Runs that take longer are written in several batches; shorter ones in a single batch at the end."""
NOTE_TAG = "mlflow.note.content"
"""MLflow shows it at the top of the page of a run."""
UNENDED_NOTE = "The run could not be ended in the store; the next command will end it."


class PendingValues:
    """The values of a run that wait for its next write, which may come from the thread of its heartbeat.

    Parameters
    ----------
    write : callable
        Stores values.
    params : mapping of str to str
        The first values.
    """

    def __init__(self, write: Callable[[RunValues], None], params: Mapping[str, str]) -> None:
        self._write = write
        self._values = RunValues(params=dict(params))
        self._lock = Lock()

    def add(self, metrics: Sequence[MetricValue], params: Mapping[str, str]) -> None:
        """Add values; a write in progress ends first, because it would lose them."""
        with self._lock:
            self._values.metrics += metrics
            self._values.params |= params

    def write(self, metrics: Sequence[MetricValue] = (), tags: Mapping[str, str] | None = None) -> None:
        """Write these values and the pending ones, which remain pending if that fails."""
        with self._lock:
            self._values.metrics += metrics
            self._values.tags |= tags or {}
            self._write(self._values)
            self._values = RunValues()

    def copy(self) -> RunValues:
        """Return the values that are missing from the store."""
        return copy.deepcopy(self._values)


class FoldScores:
    """The scores of the folds of a run, from which its metrics are taken batch by batch.

    Parameters
    ----------
    experiment : Experiment

    Attributes
    ----------
    folds : list of FoldResult
    means : dict of str to float
        The means over folds when metrics were last taken.
    taken : float
        When that was, by the monotonic clock.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._n_taken = 0
        self.folds: list[FoldResult] = []
        self.means: dict[str, float] = {}
        self.taken = time.monotonic()

    def take_metrics(self, milliseconds: int) -> list[MetricValue]:
        """Return the means so far, the headline first, followed by the folds that were not taken yet as steps."""
        if not self.folds:
            return []
        self.taken = time.monotonic()
        # The headline comes first, because MLflow's page that compares runs opens on the first metric.
        self.means = report.summarize_folds(self._experiment, self.folds)
        metrics = list_metrics({name: [value] for name, value in self.means.items()}, milliseconds)
        if len(self.folds) == 1:  # it equals the mean, and is written with the second fold if there is one
            return metrics
        series: dict[str, list[float]] = {}
        for fold in self.folds[self._n_taken :]:
            for name, value in report.measure_fold(fold).items():
                series.setdefault(f"fold/{name}", []).append(value)
        metrics += list_metrics(series, milliseconds, first_step=self._n_taken)
        self._n_taken = len(self.folds)
        return metrics


class MLflowRun:
    """A run whose values are collected and written in a few batches; its creator must end it."""

    def __init__(self, store: Store, description: RunDescription, experiment: Experiment, keep_model: bool) -> None:
        # The description of the dataset is shown at the top of the run's page. When the run ends, the card replaces
        # this line.
        note = {NOTE_TAG: escape_markdown(experiment.dataset.describe())}
        # MLflow's pages show tags in this order.
        tags = hide_in_values({**note, **description.tags, **provenance.list_tags()}, description.config)
        name = hide_secrets(description.name, description.config)
        self.run_id, self._address = store.writer.create_run(store.experiment_id, name, tags)
        self._store = store
        self._description = description
        self._experiment = experiment
        self._keep_model = keep_model
        self._read_clock = _start_clock()
        self._scores = FoldScores(experiment)
        self._pending = PendingValues(
            lambda values: store.writer.add_values(self.run_id, values),
            hide_in_values(description.params, description.config),
        )
        self._results: RunResults | None = None
        # The first heartbeat is early, because it also writes the params of a run whose first fold takes long.
        self._heartbeat = Heartbeat(self._write_heartbeat, FLUSH_SECONDS, self.run_id)

    def record_dataset(self) -> None:
        """Write the dataset as an input of the run.

        The params wait for the first scores or the first heartbeat: each write is a large part of a small job's cost.
        """
        dataset = self._experiment.dataset
        source = hide_secrets(dataset.source, self._description.config)
        self._store.writer.add_dataset(self.run_id, describe_dataset(dataset, source))

    def record_fold(self, fold: FoldResult) -> None:
        """Record a fold, and write the pending metrics if the last write was long ago."""
        self._scores.folds.append(fold)
        if time.monotonic() - self._scores.taken > FLUSH_SECONDS:
            # A temporary failure of the store does not end the run, which writes these values later.
            with suppress(StoreError):
                self._pending.write(self._scores.take_metrics(self._read_clock()))

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Write the scores, the tables, the figures and the model."""
        now = self._read_clock()
        path = list_metrics(report.get_pruning_path(model), now)
        self._pending.add([*self._scores.take_metrics(now), *path], report.get_tuned_params(model))
        folds = self._scores.folds
        training = None
        if self._keep_model:
            training = make_training_record(
                self._experiment,
                model,
                run_id=self.run_id,
                run_name=self._description.name,
                dataset_config=self._description.dataset,
                scores=self._scores.means,
                versions=provenance.read_versions(),
            )
        results = RunResults(self._description, self._experiment, folds, model, figures, training)
        # From here on the results are complete: if the store is lost now, they are kept on this machine.
        self._results = results
        tags = self._count_looks()
        card = self._write_card(model=model, looks=tags)
        if tried := report.count_tried(self._experiment, folds, model):
            tags[TRIED_TAG] = json.dumps(tried)
        results.tags = hide_in_values({NOTE_TAG: card, **tags}, self._description.config)
        self._pending.write(tags=results.tags)
        with _naming_disk_faults():
            with run_folder(self._store, self._address, self.run_id) as folder:
                results.write_artifacts(folder)
            if training is not None:
                add_run_model(self._store, self.run_id, results.write_model)

    def fail(self, error: BaseException) -> None:
        """Write the error and the scores so far; end the run as FAILED, or as KILLED if a signal ended it.

        If the store cannot be written, a note is added to the error, and complete results are kept on this machine.
        """
        self._heartbeat.stop()
        is_lost = isinstance(error, StoreError) or self._store.calls.is_lost
        kept = KeptRun(self.run_id, self._read_clock(), self._pending.copy())
        try:
            self._write_failure(error)
        except StoreError:  # the next command ends a run whose process no longer exists
            error.add_note(UNENDED_NOTE)
        if self._results is not None and is_lost:
            error.add_note(self._keep_results(self._results, kept))

    def _write_failure(self, error: BaseException) -> None:
        """Write the status, the error and the scores so far."""
        # The status comes first: the cause may be a full disk, where the other writes fail as well.
        self.end("KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED")
        reason = describe_error(error, self._description.config)
        tags = {"error": reason, "error_type": type(error).__name__}
        if isinstance(error, LeakError):
            tags["audit"] = LEAK
        self._store.writer.add_values(self.run_id, RunValues(tags=tags))
        # The first error is the one to report.
        with suppress(Exception):
            self._write_end(reason)
            text = format_traceback(error, self._description.config)
            self._write_text("traceback.txt", text)

    def _keep_results(self, results: RunResults, kept: KeptRun) -> str:
        """Keep unstored results on this machine, and return a sentence about it."""
        folder = find_kept_folder(self._store.uri, self._description.tags["config_hash"])
        kept.values.tags.update(results.tags)
        try:
            keep_result(folder, kept, results)
        except Exception as error:  # the disk may be full
            return f"Its results are lost: they cannot be kept in {folder}: {error}."
        return f"Its results are kept in {folder}; run the same command to store them without repeating the run."

    def stop(self, reason: str) -> None:
        """Write the folds so far and end the run as KILLED: FINISHED would mean that all folds were evaluated."""
        try:
            self._write_end(f"stopped {reason}", {STOPPED_TAG: reason})
        finally:
            self.end("KILLED")

    def _write_end(self, ending: str, tags: Mapping[str, str] | None = None) -> None:
        """Write the folds so far, the card with how the run ended, and the configuration."""
        config = self._description.config
        metrics = self._scores.take_metrics(self._read_clock())
        shown = {**(tags or {}), NOTE_TAG: self._write_card(ending=ending)}
        self._pending.write(metrics, hide_in_values(shown, config))
        self._write_text(CONFIG_FILE, config)

    def _write_text(self, name: str, text: str) -> None:
        with run_folder(self._store, self._address, self.run_id) as folder:
            (folder / name).write_text(text, encoding="utf-8")

    def end(self, status: str) -> None:
        """Stop the heartbeat and set the final status."""
        self._heartbeat.stop()
        self._store.writer.end_run(self.run_id, status, self._read_clock())

    def _count_looks(self) -> dict[str, str]:
        """Return the tag ``looks``: the number of configurations scored on these test rows, including this one.

        Servers are not queried, because that would take longer than a small job.
        """
        tags = self._description.tags
        if self._store.folder is None:
            return {}
        looks = count_looks(self._store, tags["dataset_digest"], tags["splits_digest"], tags["config_hash"])
        return {"looks": str(looks)}

    def _write_heartbeat(self) -> None:
        self._pending.write(tags={"heartbeat": f"{self._read_clock() / 1000:.0f}"})

    def _write_card(
        self, model: FittedModel | None = None, ending: str = "", looks: Mapping[str, str] | None = None
    ) -> str:
        """Return the card, with the means that were taken last."""
        tags = self._description.tags
        means = self._scores.means
        headline = self._experiment.headline
        lines = [f"{headline} on test rows: {report.format_mean(means, f'test_{headline}')}"] if means else []
        commands = [shlex.join(["bakeoff", *json.loads(tags.get("overrides", "[]"))])]
        if model is not None:
            lines += report.describe_choices(self._experiment, self._scores.folds, model, means)
            commands.insert(0, f"bakeoff replay {self.run_id}")
        lines += describe_audit({**tags, **(looks or {})})
        return report.write_card(self._experiment, lines, commands, ending)


def list_metrics(series: Mapping[str, Sequence[float]], milliseconds: int, first_step: int = 0) -> list[MetricValue]:
    """Return values as metrics, with their positions as steps.

    Infinite values are left out, because MLflow would store them as 1.8e308.

    Parameters
    ----------
    series : mapping of str to sequence of float
        Name -> values.
    milliseconds : int
        The time. If two values have the same step, MLflow shows the later one.
    first_step : int
    """
    return [
        (name, float(value), milliseconds, step)
        for name, values in series.items()
        for step, value in enumerate(values, first_step)
        if not np.isinf(value)
    ]


def describe_dataset(dataset: Dataset, source: str) -> DatasetInput:
    """Return a dataset as the input of a run, including its source."""
    profile = {"num_rows": dataset.X.shape[0], "num_elements": int(dataset.X.size)}
    return DatasetInput(
        name=dataset.name,
        digest=dataset.digest(),
        source_type="local",
        source=json.dumps({"uri": source}),
        profile=json.dumps(profile),
    )


def _start_clock() -> Callable[[], int]:
    """Return a clock in milliseconds since 1970.

    MLflow shows the latest value of a metric, which must not depend on a clock that is set back during the run.
    """
    offset = time.time() - time.monotonic()
    return lambda: int((offset + time.monotonic()) * 1000)


@contextmanager
def _naming_disk_faults() -> Iterator[None]:
    """Raise StoreError if files cannot be written in the block, for example because the disk is full."""
    try:
        yield
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"the artifacts of the run cannot be written: {error.strerror or error}{place}.") from error


@dataclass
class MLflowTracker:
    """A tracker that keeps runs in MLflow.

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
        """Return the store if it exists; it is not created."""
        if self.store is None and store_exists(store_uri(self.uri)):
            self.open_store()
        return self.store

    def open_store(self, is_known: bool = False) -> None:
        """Find or create the store; the parameter and the errors are those of the function."""
        if self.store is None:
            self.store = open_store(self.uri, str(self.experiment), is_known=is_known)

    def store_kept_result(self, job_hash: str) -> str | None:
        """Store the result of a job that could not be stored before, and return its run; None if there is none."""
        self.open_store()
        assert self.store is not None
        return send_kept_result(self.store, job_hash)

    def find_score_path(self, job_hash: str) -> Path | None:
        """Return the path of the file that keeps the scores of tuning until the run of a job has finished."""
        self.open_store()
        assert self.store is not None
        return find_kept_folder(self.store.uri, job_hash).with_suffix(SCORES_SUFFIX)

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
        shutil.rmtree(find_kept_folder(self.store.uri, description.tags["config_hash"]), ignore_errors=True)


def get_tracker(parts: PartCache, spec: Mapping[str, Any]) -> Tracker:
    """Return the tracker of a settled configuration; jobs with equal settings share it, and so the store.

    Parameters
    ----------
    parts : PartCache
    spec : mapping
    """
    tracker: Tracker = parts.build("tracking", spec["tracking"], spec["trust"])
    return tracker
