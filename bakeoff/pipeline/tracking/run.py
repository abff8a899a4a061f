"""Runs in MLflow: a tracker starts them; each has an explicit id, is written in a few batches, and always ends.

A tracker is built from the configuration, and shared by jobs with equal settings. MLflow's own active run is not used:
it leaks from one failing job into the next.

Results that could not be stored are kept on this machine until the next run of the same job stores them.

A result is a folder whose name is the ``config_hash`` of its job, below the user's cache: ``run.json`` with metrics,
params and tags, ``artifacts`` and ``model``. Only its owner can access it. It is moved into place when complete, and a
job with changed code, data or configuration has a different hash.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock
from typing import Any

import yaml

from bakeoff.pipeline.audit import LEAK, LeakError, describe_audit
from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.model.pyfunc import MLMODEL_FILE
from bakeoff.pipeline.model.training_record import TrainingRecord, make_training_record
from bakeoff.pipeline.tables.markup import escape_markdown
from bakeoff.pipeline.text.secrets import describe_error, format_traceback, hide_in_values, hide_secrets
from bakeoff.pipeline.tracking import Figure, RunDescription, RunStopped, Tracker, is_own, provenance
from bakeoff.pipeline.tracking import card as report
from bakeoff.pipeline.tracking.card import write_card
from bakeoff.pipeline.tracking.heartbeat import Heartbeat
from bakeoff.pipeline.tracking.mlflow_tables import list_store_errors
from bakeoff.pipeline.tracking.models import ModelPlace, add_run_model, save_model, write_record
from bakeoff.pipeline.tracking.run_content import RunResults, describe_dataset, list_metrics, run_folder
from bakeoff.pipeline.tracking.sqlite_file import find_cache
from bakeoff.pipeline.tracking.store import Store, open_store, store_exists, store_uri
from bakeoff.pipeline.tracking.store_writer import MetricValue, RunValues
from bakeoff.pipeline.tracking.stored_runs import FINISHED, STOPPED_TAG, TRIED_TAG, count_looks

FOLDER = "unstored"
OWNER_FOLDER = 0o700
DIGEST_BYTES = 8
RUN_FILE = "run.json"
ARTIFACTS = "artifacts"
MODEL = "model"
HASH_TAG = "config_hash"
ERROR_TAGS = ("error", "error_type")
"""The note on a run that its process could not end."""


@dataclass(frozen=True)
class KeptRun:
    """The values of a run that could not be stored.

    Attributes
    ----------
    run_id : str
        The id of an existing run that has not ended and may lack values.
    ended : int
        The end of the run in milliseconds since 1970.
    values : RunValues
    """

    run_id: str
    ended: int
    values: RunValues


def find_kept_folder(uri: str, tags: Mapping[str, str]) -> Path:
    """Return the folder for the result of a job, whether it exists or not.

    Parameters
    ----------
    uri : str
        The URI of the store.
    tags : mapping of str to str
        The tags of the run, with the hash of its job.
    """
    store = hashlib.blake2b(uri.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return find_cache() / FOLDER / store / tags[HASH_TAG]


def keep_result(folder: Path, run: KeptRun, results: RunResults) -> None:
    """Write a result atomically, in place of an earlier one of the same job.

    Parameters
    ----------
    folder : Path
        From `find_kept_folder`.
    run : KeptRun
    results : RunResults

    Raises
    ------
    OSError
        The result cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=OWNER_FOLDER)
    draft = Path(mkdtemp(dir=folder.parent, prefix=".writing-"))
    try:
        (draft / ARTIFACTS).mkdir()
        results.write_artifacts(draft / ARTIFACTS)
        if results.training is not None:
            (draft / MODEL).mkdir()
            trust = results.description.trust
            save_model(
                results.model.predictor, draft / MODEL, ModelPlace(MODEL, "", run.run_id), results.training, trust
            )
        content = {"run_id": run.run_id, "ended": run.ended, **asdict(run.values)}
        (draft / RUN_FILE).write_text(json.dumps(content))
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_kept_run(folder: Path) -> KeptRun | None:
    """Return the values of a result, or None if there is none that is complete."""
    try:
        if not is_own(folder.lstat()):
            return None
        content = json.loads((folder / RUN_FILE).read_text())
        return KeptRun(content.pop("run_id"), content.pop("ended"), RunValues(**content))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def send_kept_result(store: Store, job_hash: str) -> str | None:
    """Complete the run of a job whose result could not be stored, and return its id.

    Parameters
    ----------
    store : Store
    job_hash : str
        The ``config_hash``.

    Returns
    -------
    str or None
        None if there is no such result, or its run is no longer in the store.

    Raises
    ------
    StoreError
        The store cannot be written; the result is kept.
    """
    folder = find_kept_folder(store.uri, {HASH_TAG: job_hash})
    kept = read_kept_run(folder)
    if kept is None:
        return None
    try:
        run = store.client.get_run(kept.run_id)
    except list_store_errors():  # the store has no such run because it was recreated or is a different one
        run = None
    is_open = run is not None and run.info.lifecycle_stage == "active" and run.data.tags.get(HASH_TAG) == job_hash
    if run is None or not is_open or run.info.status == FINISHED:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    store.writer.add_values(kept.run_id, kept.values)
    for tag in ERROR_TAGS:
        if tag in run.data.tags:
            store.client.delete_tag(kept.run_id, tag)
    with run_folder(store, run.info.artifact_uri, kept.run_id) as target:
        shutil.copytree(folder / ARTIFACTS, target, dirs_exist_ok=True)
    if (folder / MODEL).is_dir():
        add_run_model(store, kept.run_id, partial(_copy_model, folder / MODEL))
    store.writer.end_run(kept.run_id, FINISHED, kept.ended)
    shutil.rmtree(folder, ignore_errors=True)
    return kept.run_id


def _copy_model(source: Path, folder: Path, place: ModelPlace) -> None:
    """Copy the files of a model, and put the id of the new logged model into its record."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    kept = yaml.safe_load((source / MLMODEL_FILE).read_text())
    write_record({**kept, **place.list_keys()}, folder)


FLUSH_SECONDS = 10.0
"""Runs that take longer are written in several batches; shorter ones in a single batch at the end."""
NOTE_TAG = "mlflow.note.content"
"""MLflow shows it at the top of the page of a run."""
UNENDED_NOTE = "The run could not be ended in the store; the next command will end it."


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
        self._folds: list[FoldResult] = []
        self._means: dict[str, float] = {}
        self._n_folds_written = 0
        self._last_flush = time.monotonic()
        # MLflow shows the latest value of a metric, which must not depend on a clock that is set back during the run.
        self._clock_offset = time.time() - time.monotonic()
        self._unwritten = RunValues(params=hide_in_values(description.params, description.config))
        self._results: RunResults | None = None
        self._final_tags: dict[str, str] = {}
        self._write_lock = Lock()
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
        self._folds.append(fold)
        if time.monotonic() - self._last_flush > FLUSH_SECONDS:
            # A temporary failure of the store does not end the run, which writes these values later.
            with suppress(StoreError):
                self._write(self._take_metrics())

    def finish(self, model: FittedModel, figures: Sequence[Figure]) -> None:
        """Write the scores, the tables, the figures and the model."""
        metrics = self._take_metrics()
        metrics += list_metrics(report.get_pruning_path(model), self._now)
        # A heartbeat in progress would lose values that are added in the meantime.
        with self._write_lock:
            self._unwritten.metrics += metrics
            self._unwritten.params |= report.get_tuned_params(model)
        training = self._make_training_record(model) if self._keep_model else None
        results = RunResults(self._description, self._experiment, self._folds, model, figures, training)
        # From here on the results are complete: if the store is lost now, they are kept on this machine.
        self._results = results
        looks = self._count_looks()
        card = self._write_card(model=model, looks=looks)
        tried = report.count_tried(self._experiment, self._folds, model)
        counts = {TRIED_TAG: json.dumps(tried)} if tried else {}
        self._final_tags = {NOTE_TAG: card, **looks, **counts}
        self._write(tags=self._final_tags)
        with _naming_disk_faults():
            with run_folder(self._store, self._address, self.run_id) as folder:
                results.write_artifacts(folder)
            if training is not None:
                write = partial(save_model, model.predictor, training=training, trust=self._description.trust)
                add_run_model(self._store, self.run_id, write)

    def fail(self, error: BaseException) -> None:
        """Write the error and the scores so far; end the run as FAILED, or as KILLED if a signal ended it.

        If the store cannot be written, a note is added to the error, and complete results are kept on this machine.
        """
        self._heartbeat.stop()
        is_lost = isinstance(error, StoreError) or self._store.calls.is_lost
        # The values missing from the store, and the tags that a failure replaces.
        tags = {**self._unwritten.tags, **self._final_tags}
        values = RunValues(list(self._unwritten.metrics), dict(self._unwritten.params), tags)
        kept = KeptRun(self.run_id, self._now, values)
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
        folder = find_kept_folder(self._store.uri, self._description.tags)
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
        metrics = self._take_metrics()
        self._write(metrics, {**(tags or {}), NOTE_TAG: self._write_card(ending=ending)})
        self._write_text("config.yaml", self._description.config)

    def _write_text(self, name: str, text: str) -> None:
        with run_folder(self._store, self._address, self.run_id) as folder:
            (folder / name).write_text(text)

    def end(self, status: str) -> None:
        """Stop the heartbeat and set the final status."""
        self._heartbeat.stop()
        self._store.writer.end_run(self.run_id, status, self._now)

    def _make_training_record(self, model: FittedModel) -> TrainingRecord:
        return make_training_record(
            self._experiment,
            model,
            run_id=self.run_id,
            run_name=self._description.name,
            dataset_config=self._description.dataset,
            scores=self._means,
            versions=provenance.read_versions(),
        )

    @property
    def _now(self) -> int:
        """Milliseconds since 1970."""
        return int((self._clock_offset + time.monotonic()) * 1000)

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
        self._write(tags={"heartbeat": f"{self._now / 1000:.0f}"})

    def _take_metrics(self) -> list[MetricValue]:
        """Return the means so far, the headline first, followed by the unwritten folds as steps."""
        if not self._folds:
            return []
        self._last_flush = time.monotonic()
        now = self._now
        # The headline comes first, because MLflow's page that compares runs opens on the first metric.
        self._means = report.summarize_folds(self._experiment, self._folds)
        metrics = list_metrics({name: [value] for name, value in self._means.items()}, now)
        if len(self._folds) == 1:  # it equals the mean, and is written with the second fold if there is one
            return metrics
        series: dict[str, list[float]] = {}
        for fold in self._folds[self._n_folds_written :]:
            for name, value in report.measure_fold(fold).items():
                series.setdefault(f"fold/{name}", []).append(value)
        metrics += list_metrics(series, now, first_step=self._n_folds_written)
        self._n_folds_written = len(self._folds)
        return metrics

    def _write_card(
        self, model: FittedModel | None = None, ending: str = "", looks: Mapping[str, str] | None = None
    ) -> str:
        """Return the card, with the means that were taken last."""
        lines = []
        headline = self._experiment.headline
        if self._means:
            lines.append(f"{headline} on test rows: {report.format_mean(self._means, f'test_{headline}')}")
        commands = [shlex.join(["bakeoff", *json.loads(self._description.tags.get("overrides", "[]"))])]
        if model is not None:
            lines += report.describe_choices(self._experiment, self._folds, model, self._means)
            commands.insert(0, f"bakeoff replay {self.run_id}")
        lines += describe_audit({**self._description.tags, **(looks or {})})
        return write_card(self._experiment, lines, commands, ending)

    def _write(self, metrics: Sequence[MetricValue] = (), tags: Mapping[str, str] | None = None) -> None:
        """Write these values and the pending ones, which remain pending if that fails.

        The thread of the heartbeat may write at the same time.
        """
        with self._write_lock:
            self._unwritten.metrics += metrics
            self._unwritten.tags |= hide_in_values(tags or {}, self._description.config)
            self._store.writer.add_values(self.run_id, self._unwritten)
            self._unwritten = RunValues()


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
        shutil.rmtree(find_kept_folder(self.store.uri, description.tags), ignore_errors=True)


def get_tracker(parts: PartCache, spec: Mapping[str, Any]) -> Tracker:
    """Return the tracker of a settled configuration; jobs with equal settings share it, and so the store.

    Parameters
    ----------
    parts : PartCache
    spec : mapping
    """
    tracker: Tracker = parts.build("tracking", spec["tracking"], spec["trust"])
    return tracker
