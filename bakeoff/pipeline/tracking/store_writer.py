"""The rows of experiments, runs and models: written into a SQLite file by SQL, elsewhere by MLflow's client.

Both write the same rows, and a test compares all tables. Each column has the same meaning as in MLflow's
``SqlAlchemyStore``.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.mlflow_tables import MODELS_FOLDER, DatabaseFile

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.limited_calls import LimitedCalls

MAX_PARAM_LETTERS = 6000
MAX_TAG_LETTERS = 8000
"""MLflow cuts longer tags."""
MAX_METRICS_PER_BATCH = 890
"""MLflow takes 1,000 values in a batch, of which 100 may be params and some are tags."""
USER_TAG = "mlflow.user"
NAME_TAG = "mlflow.runName"
CONTEXT_TAG = ("mlflow.data.context", "evaluation")
FILES_FOLDER = "artifacts"
READY = 2
PENDING = 1
"""MLflow's numbers of the states of a model."""
MetricValue = tuple[str, float, int, int]
"""The name of a metric, its value, the time in milliseconds since 1970, and its step."""
CreatedItem = tuple[str, str]
"""The id of a new run or model, and the address of its files."""
RowsByStatement = Mapping[str, Sequence[Sequence[Any] | Mapping[str, Any]]]
"""Statements that can be repeated, because a call that got no answer in time may have written its rows."""

INSERT_EXPERIMENT = """
INSERT OR IGNORE INTO experiments (name, artifact_location, lifecycle_stage, creation_time, last_update_time)
VALUES (?, ?, 'active', ?, ?)
"""
INSERT_EXPERIMENT_TAG = "INSERT OR REPLACE INTO experiment_tags (key, value, experiment_id) VALUES (?, ?, ?)"
INSERT_RUN = """
INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time,
source_version, lifecycle_stage, artifact_uri, experiment_id)
VALUES (?, ?, 'UNKNOWN', '', '', ?, 'RUNNING', ?, '', 'active', ?, ?) ON CONFLICT DO NOTHING
"""
INSERT_DATASET = """
INSERT OR IGNORE INTO datasets
(dataset_uuid, experiment_id, name, digest, dataset_source_type, dataset_source, dataset_profile)
VALUES (?, (SELECT experiment_id FROM runs WHERE run_uuid = ?), ?, ?, ?, ?, ?)
"""
INSERT_INPUT = """
INSERT INTO inputs SELECT ?, 'DATASET', dataset_uuid, 'RUN', run_uuid, 0
FROM datasets JOIN runs USING (experiment_id) WHERE run_uuid = ? AND datasets.name = ? AND digest = ?
ON CONFLICT DO NOTHING
"""
INSERT_OUTPUT = "INSERT INTO inputs VALUES (?, 'RUN_OUTPUT', ?, 'MODEL_OUTPUT', ?, 0) ON CONFLICT DO NOTHING"
INSERT_INPUT_TAG = "INSERT OR REPLACE INTO input_tags VALUES (?, ?, ?)"
INSERT_METRIC = (
    "INSERT OR IGNORE INTO metrics (key, value, timestamp, step, is_nan, run_uuid) VALUES (?, ?, ?, ?, ?, ?)"
)
INSERT_LATEST_METRIC = """
INSERT INTO latest_metrics (key, value, timestamp, step, is_nan, run_uuid) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (key, run_uuid) DO UPDATE
SET value = excluded.value, timestamp = excluded.timestamp, step = excluded.step, is_nan = excluded.is_nan
WHERE (excluded.step, excluded.timestamp, excluded.value)
> (latest_metrics.step, latest_metrics.timestamp, latest_metrics.value)
"""
INSERT_PARAM = "INSERT OR IGNORE INTO params (key, value, run_uuid) VALUES (?, ?, ?)"
INSERT_TAG = "INSERT OR REPLACE INTO tags (key, value, run_uuid) VALUES (?, ?, ?)"
INSERT_MODEL = """
INSERT INTO logged_models (model_id, experiment_id, name, artifact_location, creation_timestamp_ms,
last_updated_timestamp_ms, status, lifecycle_stage, source_run_id) VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?)
ON CONFLICT DO NOTHING
"""
FINISH_MODEL = "UPDATE logged_models SET status = ?, last_updated_timestamp_ms = ? WHERE model_id = ?"
INSERT_NAME = "INSERT OR IGNORE INTO registered_models (name, creation_time) VALUES (:name, :now)"
FIND_PROMPT = "SELECT 1 FROM registered_model_tags WHERE name = :name AND key = 'mlflow.prompt.is_prompt'"
TOUCH_NAME = "UPDATE registered_models SET last_updated_time = :now WHERE name = :name"
IS_NEW_VERSION = "name = :name AND source = :source AND creation_time = :now"
"""A model is not registered twice under a name in a millisecond, so this is a version that this call has added."""
INSERT_VERSION = f"""
INSERT INTO model_versions (name, version, creation_time, last_updated_time, description, current_stage, source,
storage_location, run_id, status)
SELECT :name, last + 1, :now, :now, :description, 'None', :source, :source, :run_id, 'READY'
FROM (SELECT coalesce(max(version), 0) AS last FROM model_versions WHERE name = :name)
WHERE NOT EXISTS (SELECT 1 FROM model_versions WHERE {IS_NEW_VERSION})
"""
INSERT_VERSION_TAG = f"""
INSERT OR REPLACE INTO model_version_tags (key, value, name, version)
SELECT :key, :value, name, version FROM model_versions WHERE {IS_NEW_VERSION}
"""
MOVE_ALIAS = f"""
INSERT OR REPLACE INTO registered_model_aliases (alias, name, version)
SELECT :alias, name, version FROM model_versions WHERE {IS_NEW_VERSION}
"""
FIND_EXPERIMENT = "SELECT CAST(experiment_id AS VARCHAR) FROM runs WHERE run_uuid = :run"
FIND_LOCATION = """
SELECT artifact_location FROM experiments WHERE experiment_id = :experiment AND lifecycle_stage = 'active'
"""
FIND_RUN = "SELECT 1 FROM runs WHERE run_uuid = ? AND lifecycle_stage = 'active'"
END_RUN = "UPDATE runs SET status = ?, end_time = ? WHERE run_uuid = ?"


@dataclass
class RunValues:
    """Values of a run that are to be written.

    Attributes
    ----------
    metrics : list of (str, float, int, int)
    params, tags : dict of str to str
    """

    metrics: list[MetricValue] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


class DatasetInput(NamedTuple):
    """The dataset of a run, in MLflow's columns."""

    name: str
    digest: str
    source_type: str
    source: str
    profile: str


@dataclass(frozen=True)
class NewVersion:
    """A version of a registered model that is to be added.

    Attributes
    ----------
    name : str
        The registered model, which is added as well if there is none of this name.
    alias : str
        The alias that moves to the version; may be empty.
    model_id : str
        The id of a logged model whose files are complete.
    source : str
        The address of its files.
    run_id : str
        The run that chose the model.
    tags : mapping of str to str
    description : str
    """

    name: str
    alias: str
    model_id: str
    source: str
    run_id: str
    tags: Mapping[str, str]
    description: str


class ClientWriter:
    """Writes by MLflow's client, whose calls have a time limit.

    Parameters
    ----------
    client : LimitedCalls
    """

    def __init__(self, client: LimitedCalls) -> None:
        self._client = client

    def create_experiment(self, name: str, address: str | None) -> None:
        """Add an experiment if there is none of this name; None leaves the address of its files to the server."""
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_experiment(name, artifact_location=address)
        except MlflowException:  # another process may have created it in the meantime
            if self._client.get_experiment_by_name(name) is None:
                raise

    def find_location(self, experiment_id: str) -> str:
        """Return the address of an experiment's files."""
        return str(self._client.get_experiment(experiment_id).artifact_location)

    def find_experiment_id(self, run_id: str) -> str:
        """Return the id of the experiment of a run."""
        return str(self._client.get_run(run_id).info.experiment_id)

    def tag_experiment(self, experiment_id: str, key: str, value: str) -> None:
        """Set a tag of an experiment."""
        set_tag = partial(self._client.set_experiment_tag, experiment_id, key, value)
        try_twice(set_tag)

    def create_run(self, experiment_id: str, name: str, tags: Mapping[str, str]) -> CreatedItem:
        """Add a run that is RUNNING."""
        info = self._client.create_run(experiment_id, run_name=name, tags=cut_tags(tags)).info
        return str(info.run_id), str(info.artifact_uri)

    def add_dataset(self, run_id: str, dataset: DatasetInput) -> None:
        """Note the dataset of a run, which the runs of an experiment share."""
        from mlflow.entities import Dataset, InputTag
        from mlflow.entities import DatasetInput as MLflowInput

        inputs = [MLflowInput(Dataset(**dataset._asdict()), [InputTag(*CONTEXT_TAG)])]
        try_twice(partial(self._client.log_inputs, run_id, inputs))

    def add_values(self, run_id: str, values: RunValues) -> None:
        """Add metrics, params and tags, truncated to the lengths that MLflow stores without a warning."""
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(*value) for value in values.metrics]
        params = [Param(key, value[:MAX_PARAM_LETTERS]) for key, value in values.params.items()]
        tags = [RunTag(key, value) for key, value in cut_tags(values.tags).items()]
        # Params and tags are part of the first batch; without metrics, they form a batch of their own.
        for start in range(0, max(len(metrics), 1), MAX_METRICS_PER_BATCH):
            batch = metrics[start : start + MAX_METRICS_PER_BATCH]
            if batch or params or tags:
                self._client.log_batch(run_id, metrics=batch, params=params, tags=tags)
            params = []
            tags = []

    def create_model(self, experiment_id: str, name: str, run_id: str) -> CreatedItem:
        """Add a model whose files are still missing."""
        logged = self._client.create_logged_model(experiment_id, name=name, source_run_id=run_id)
        return str(logged.model_id), str(logged.artifact_location)

    def finish_model(self, model_id: str, run_id: str = "") -> None:
        """Note that the files of a model are complete, and that it is the output of a run, if one is named."""
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus

        self._client.finalize_logged_model(model_id, LoggedModelStatus.READY)
        if run_id:
            self._client.log_outputs(run_id, [LoggedModelOutput(model_id, step=0)])

    def register_version(self, new: NewVersion) -> None:
        """Add a version of a registered model, and move the alias to it; if that fails, neither is changed."""
        client = self._client
        if not client.search_registered_models(f"name = '{new.name}'"):
            client.create_registered_model(new.name)
        # With a URI of the form models:/ID, MLflow would look into the store of its global settings.
        created = client.create_model_version(
            new.name, new.source, new.run_id, dict(new.tags), description=new.description, model_id=new.model_id
        )
        version = str(created.version)
        previous = client.get_registered_model(new.name).aliases.get(new.alias)
        try:
            if new.alias:
                client.set_registered_model_alias(new.name, new.alias, version)
        except BaseException:
            client.delete_model_version(new.name, version)
            if previous is not None:
                # The aliases of a version are deleted with it, and this one may already have moved.
                client.set_registered_model_alias(new.name, new.alias, str(previous))
            raise

    def end_run(self, run_id: str, status: str, milliseconds: int | None = None) -> None:
        """Set the final status of a run, and its end, by default now."""
        self._client.set_terminated(run_id, status, milliseconds)


class FileWriter:
    """Writes the same rows into a SQLite file, each call in a transaction with a time limit.

    Parameters
    ----------
    calls : LimitedCalls
    database : DatabaseFile
    """

    def __init__(self, calls: LimitedCalls, database: DatabaseFile) -> None:
        self._calls = calls
        self._database = database

    def create_experiment(self, name: str, address: str | None) -> None:
        """Add an experiment if there is none of this name."""
        now = _now()
        self._write({INSERT_EXPERIMENT: [(name, address, now, now)]})

    def find_location(self, experiment_id: str) -> str:
        """Return the address of an experiment's files."""
        found = self._calls.call(self._database.read, FIND_LOCATION, {"experiment": int(experiment_id)})
        if not found:
            raise UserError(f"the experiment {experiment_id} was deleted from the store in the meantime; restore it.")
        return str(found[0][0])

    def find_experiment_id(self, run_id: str) -> str:
        """Return the id of the experiment of a run."""
        return str(self._calls.call(self._database.read, FIND_EXPERIMENT, {"run": run_id})[0][0])

    def tag_experiment(self, experiment_id: str, key: str, value: str) -> None:
        """Set a tag of an experiment."""
        self._write({INSERT_EXPERIMENT_TAG: [(key, value, int(experiment_id))]})

    def create_run(self, experiment_id: str, name: str, tags: Mapping[str, str]) -> CreatedItem:
        """Add a run that is RUNNING."""
        run_id = uuid4().hex
        address = f"{self.find_location(experiment_id)}/{run_id}/{FILES_FOLDER}"
        tags = {**cut_tags(tags), NAME_TAG: name}
        row = (run_id, name, tags.get(USER_TAG, "unknown"), _now(), address, int(experiment_id))
        self._write({INSERT_RUN: [row], INSERT_TAG: _list_rows(tags, run_id)})
        return run_id, address

    def add_dataset(self, run_id: str, dataset: DatasetInput) -> None:
        """Note the dataset of a run."""
        input_id = uuid4().hex
        rows: RowsByStatement = {
            INSERT_DATASET: [(uuid4().hex, run_id, *dataset)],
            INSERT_INPUT: [(input_id, run_id, dataset.name, dataset.digest)],
            INSERT_INPUT_TAG: [(input_id, *CONTEXT_TAG)],
        }
        self._write(rows, run_id)

    def add_values(self, run_id: str, values: RunValues) -> None:
        """Add values."""
        metrics = list(_list_metric_rows(values, run_id))
        params = {key: value[:MAX_PARAM_LETTERS] for key, value in values.params.items()}
        rows: RowsByStatement = {
            INSERT_PARAM: _list_rows(params, run_id),
            INSERT_METRIC: metrics,
            INSERT_LATEST_METRIC: metrics,
            INSERT_TAG: _list_rows(cut_tags(values.tags), run_id),
        }
        if any(rows.values()):
            self._write(rows, run_id)

    def create_model(self, experiment_id: str, name: str, run_id: str) -> CreatedItem:
        """Add a model whose files are still missing."""
        model_id = f"m-{uuid4().hex}"
        address = f"{self.find_location(experiment_id)}/{MODELS_FOLDER}/{model_id}/{FILES_FOLDER}"
        now = _now()
        self._write({INSERT_MODEL: [(model_id, int(experiment_id), name, address, now, now, PENDING, run_id)]})
        return model_id, address

    def finish_model(self, model_id: str, run_id: str = "") -> None:
        """Note that the files of a model are complete."""
        outputs = [(uuid4().hex, run_id, model_id)] if run_id else []
        self._write({FINISH_MODEL: [(READY, _now(), model_id)], INSERT_OUTPUT: outputs}, run_id)

    def register_version(self, new: NewVersion) -> None:
        """Add a version of a registered model, and move the alias to it."""
        if self._calls.call(self._database.read, FIND_PROMPT, {"name": new.name}):
            raise UserError(f"{new.name!r} is the name of a prompt in the store; choose another name.")
        columns = {**asdict(new), "now": _now()}
        rows: RowsByStatement = {
            INSERT_NAME: [columns],
            INSERT_VERSION: [columns],
            TOUCH_NAME: [columns],
            INSERT_VERSION_TAG: [{**columns, "key": key, "value": value} for key, value in new.tags.items()],
            MOVE_ALIAS: [columns] if new.alias else [],
        }
        self._write(rows)

    def end_run(self, run_id: str, status: str, milliseconds: int | None = None) -> None:
        """Set the final status of a run."""
        self._write({END_RUN: [(status, milliseconds or _now(), run_id)]}, run_id)

    def _write(self, rows: RowsByStatement, run_id: str = "") -> None:
        """Execute each statement for its rows, all in a transaction, unless the named run was deleted."""

        def change(database: sqlite3.Connection) -> None:
            if run_id and database.execute(FIND_RUN, (run_id,)).fetchone() is None:
                raise UserError(f"the run {run_id} was deleted from the store in the meantime; repeat the command.")
            for statement, of_statement in rows.items():
                database.executemany(statement, of_statement)

        self._calls.call(self._database.write, change)


StoreWriter = ClientWriter | FileWriter
"""Writes the rows of experiments, runs and models into a store. Existing metrics and params do not change."""


def try_twice(write: Callable[[], Any]) -> None:
    """Call a function again if it fails, because another process inserted the same row, which is now found."""
    from mlflow.exceptions import MlflowException

    try:
        write()
    except MlflowException:
        write()


def cut_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return tags with values truncated to the length that MLflow stores."""
    return {key: value[:MAX_TAG_LETTERS] for key, value in tags.items()}


def _now() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)


def _list_rows(values: Mapping[str, str], run_id: str) -> list[tuple[str, str, str]]:
    return [(key, value, run_id) for key, value in values.items()]


def _list_metric_rows(values: RunValues, run_id: str) -> Iterator[tuple[str, float, int, int, bool, str]]:
    """Yield the rows of metrics; MLflow stores 0 where a value is not a number."""
    for name, value, milliseconds, step in values.metrics:
        is_nan = math.isnan(value)
        yield name, 0.0 if is_nan else value, milliseconds, step, is_nan, run_id
