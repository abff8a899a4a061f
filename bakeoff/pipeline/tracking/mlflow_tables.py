"""The MLflow internals used by bakeoff: the tables of its database, and methods that its client lacks.

No other module refers to them, except `store_writer` with the statements by which it writes.
`tests/pipeline/tracking/test_mlflow_tables.py` checks what the installed MLflow provides.

Importing MLflow and SQLAlchemy takes longer than a small run. A SQLite file whose tables are known is therefore read
and written by Python's sqlite3; other databases are read through the engine of MLflow's client, and servers only
by the client.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakSet

from bakeoff.pipeline.system import call_before_fork

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACTS_FOLDER = "artifacts"
"""The folder next to the database, with a subfolder for each experiment."""
LOCAL_FOLDERS = (ARTIFACTS_FOLDER, "mlruns")
"""The artifact folders that bakeoff and MLflow create in the folder of a store."""
DEFAULT_EXPERIMENT = "Default"
"""The experiment that MLflow creates with each store."""
KNOWN_TABLES = {"3.17": ("dc11669786a5", 65)}
"""Versions of MLflow whose tables are known, with the revision of their schema and their number."""
READ_SCHEMA = """
SELECT version_num, (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%')
FROM alembic_version
"""
STORE_TABLES = frozenset({"experiments", "runs", "metrics", "params", "tags"})
"""Tables common to all versions of MLflow."""
ADDRESS_COLUMNS = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
"""MLflow's columns with addresses; experiments come first, because they determine the folders of the others."""
TRACE_ADDRESSES = ("(SELECT value FROM trace_tags WHERE key = 'mlflow.artifactLocation')", "value")
"""Addresses of traces, which bakeoff does not write and MLflow's pages read."""
TABLE_WITH_TRIGGERS = "secrets"
"""The only MLflow table with triggers, to which bakeoff does not write."""
MODELS_FOLDER = "models"
"""The folder of an experiment with its models."""
READ_RUNS = "SELECT run_uuid, artifact_uri, lifecycle_stage, run_uuid, name, status FROM runs"
READ_MODELS = "SELECT model_id, artifact_location, lifecycle_stage, source_run_id, name, '' FROM logged_models"
READ_SCORED_JOBS = """
SELECT DISTINCT job.value, splits.value
FROM tags AS data
JOIN runs ON runs.run_uuid = data.run_uuid AND runs.status = 'FINISHED'
JOIN tags AS job ON job.run_uuid = data.run_uuid AND job.key = 'config_hash'
LEFT JOIN tags AS splits ON splits.run_uuid = data.run_uuid AND splits.key = 'splits_digest'
WHERE data.key = 'dataset_digest' AND data.value = :dataset
"""
READ_PARTLY_SCORED_JOBS = """
SELECT DISTINCT job.value, splits.value
FROM tags AS data
JOIN tags AS job ON job.run_uuid = data.run_uuid AND job.key = 'config_hash'
LEFT JOIN tags AS splits ON splits.run_uuid = data.run_uuid AND splits.key = 'splits_digest'
WHERE data.key = 'dataset_digest' AND data.value = :dataset
AND EXISTS (SELECT 1 FROM latest_metrics AS score WHERE score.run_uuid = data.run_uuid AND score.key LIKE 'test%')
"""
READ_RUNS_OF_JOBS = """
SELECT job.value, runs.run_uuid, runs.status, runs.start_time, runs.lifecycle_stage = 'deleted',
CAST(experiment_id AS VARCHAR), experiments.name
FROM tags AS job JOIN runs ON runs.run_uuid = job.run_uuid JOIN experiments USING (experiment_id)
WHERE job.key = 'config_hash' AND job.value IN :hashes
ORDER BY runs.start_time DESC, runs.run_uuid
"""
READ_INFOS = """
SELECT run_uuid, name, status, start_time, end_time, lifecycle_stage = 'deleted', artifact_uri
FROM runs WHERE run_uuid IN :ids
"""
READ_MODELS_OF_RUNS = """
SELECT source_id, destination_id FROM inputs WHERE source_type = 'RUN_OUTPUT' AND source_id IN :ids
"""
READ_SOURCES = """
SELECT inputs.destination_id, datasets.dataset_source
FROM inputs JOIN datasets ON datasets.dataset_uuid = inputs.source_id
WHERE inputs.source_type = 'DATASET' AND inputs.destination_id IN :ids
"""
READ_MODEL_ADDRESS = """
SELECT artifact_location FROM logged_models WHERE model_id = :model AND lifecycle_stage = 'active'
"""
READ_VERSIONS = """
SELECT name, version, run_id, source FROM model_versions WHERE current_stage != 'Deleted_Internal'
"""
READ_ALIASES = "SELECT name, alias, version FROM registered_model_aliases"
READ_VERSION_TAGS = "SELECT name, version, key, value FROM model_version_tags"
READ_BEGINNINGS = """
SELECT run_uuid FROM runs
WHERE experiment_id = :experiment AND lifecycle_stage = 'active' AND run_uuid LIKE :beginning LIMIT 10
"""
READ_METRIC_SETTINGS = "SELECT DISTINCT value FROM params WHERE key = 'evaluation.metrics'"
READ_EXPERIMENT_TAG = "SELECT value FROM experiment_tags WHERE experiment_id = :experiment AND key = :key"
READ_EXPERIMENT = """
SELECT CAST(experiment_id AS VARCHAR), artifact_location, lifecycle_stage FROM experiments WHERE name = :name
"""
SELECT_RUNS = "SELECT run_uuid FROM runs WHERE experiment_id = :experiment AND lifecycle_stage = 'active'"
HAS_VALUE = """
AND run_uuid IN (SELECT run_uuid FROM {table} WHERE key = :key{number} AND value {sign} :value{number})
"""
CONDITION = re.compile(
    r"(status|(?:tags|params)\.`?([\w.]+)`?) *(=|!=) *'([^']*)'"
    r"|metrics\.`?([\w./]+)`? *(=|!=|<|<=|>|>=) *(-?\d+(?:\.\d+)?)"
)
"""A condition of MLflow's filter language on a status, a tag, a param or a metric."""
READ_VALUES = {
    "tags": "SELECT item.run_uuid, item.key, item.value, 0 FROM tags AS item WHERE item.run_uuid IN :ids",
    "params": "SELECT item.run_uuid, item.key, item.value, 0 FROM params AS item WHERE item.run_uuid IN :ids",
    "metrics": """
        SELECT item.run_uuid, item.key, item.value, item.is_nan
        FROM latest_metrics AS item WHERE item.run_uuid IN :ids""",
}
AMONG_KEYS = " AND item.key IN :keys"
READ_HISTORIES = """
SELECT item.run_uuid, item.step, item.value, item.is_nan
FROM metrics AS item WHERE item.run_uuid IN :ids AND item.key = :name ORDER BY item.timestamp
"""
READ_JOBS_OF_RUNS = """
SELECT DISTINCT job.value, data.value
FROM tags AS job LEFT JOIN tags AS data ON data.run_uuid = job.run_uuid AND data.key = 'dataset_digest'
WHERE job.key = 'config_hash' AND job.run_uuid IN :ids
"""
READ_SEALS = """
SELECT runs.run_uuid FROM runs JOIN tags ON tags.run_uuid = runs.run_uuid AND tags.key = 'kind'
AND tags.value IN ('seal', 'line')
WHERE runs.lifecycle_stage = 'active'
"""
MAX_IDS_PER_QUERY = 500
"""A database allows a limited number of values in a query."""
MAX_VALUES_PER_SCAN = 30_000
"""A query by a key reads the values of all runs, so it is given as many of them; PostgreSQL allows twice as many."""
LOCK_SECONDS = 20.0
"""The time for which a locked file is waited for, as in MLflow."""

Keys = Collection[str] | None
"""The names of values to read; None for all."""


class FileConnection(sqlite3.Connection):
    """A connection that keeps its `DatabaseFile`, because it remains open until garbage is collected."""

    file: DatabaseFile

    def __del__(self) -> None:
        """Close the connection: Python 3.13 and later warn of one that is open when it is collected."""
        self.close()


class DatabaseFile:
    """A connection to a SQLite file, which is opened when it is first needed and may be used by several threads.

    Parameters
    ----------
    path : Path
        An existing file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._connection: FileConnection | None = None

    def read(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows that a query selects; after ``IN``, the name of a value stands for a list."""
        given = dict(values)
        for name, value in values.items():
            if isinstance(value, list):
                query = query.replace(f"IN :{name}", f"IN (SELECT value FROM json_each(:{name}))")
                given[name] = json.dumps(value)
        with self._lock:
            return self._connect().execute(query, given).fetchall()

    def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Call a function that writes in a transaction, which an error undoes."""
        with self._lock:
            connection = self._connect()
            # A transaction that began with a query could not wait for another process that writes.
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                change(connection)

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _connect(self) -> FileConnection:
        if self._connection is None:
            address = f"{self._path.as_uri()}?mode=rw"
            self._connection = sqlite3.connect(
                address,
                uri=True,
                timeout=LOCK_SECONDS,
                isolation_level=None,
                check_same_thread=False,
                factory=FileConnection,
            )
            self._connection.file = self
            CONNECTED.add(self)
        return self._connection


CONNECTED: WeakSet[DatabaseFile] = WeakSet()
"""The files with a connection in this process."""


def close_all() -> None:
    """Close all connections.

    In a copy of this process, SQLite would take the locks of this process for its own, and could lose writes.
    """
    for file in list(CONNECTED):
        file.close()


call_before_fork(close_all)


@cache
def find_mlflow_version() -> str:
    """Return the version of the installed MLflow, without importing it."""
    return version("mlflow")


def has_known_tables(database: sqlite3.Connection) -> bool:
    """Whether the tables of a SQLite file are those of the installed version of MLflow, and known here."""
    minor_version = find_mlflow_version().rpartition(".")[0]
    with suppress(sqlite3.OperationalError):  # another program's file
        return database.execute(READ_SCHEMA).fetchall() == [KNOWN_TABLES.get(minor_version)]
    return False


def open_database(path: Path) -> DatabaseFile | None:
    """Return the file of a store if its tables are known; None if it is left to MLflow."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        return DatabaseFile(path) if has_known_tables(database) else None


def get_database(client: MlflowClient) -> DatabaseFile | None:
    """Return the file that is read and written without MLflow; None for other stores."""
    database: DatabaseFile | None = getattr(client, "database", None)
    return database


def get_backend(client: MlflowClient) -> Any:
    """Return MLflow's interface to its database or its server, which has more methods than its client."""
    return client._tracking_client.store


def has_database(client: MlflowClient) -> bool:
    """Whether the store is a database that this process reads directly, unlike a server."""
    return get_database(client) is not None or hasattr(get_backend(client), "engine")


def read_rows(client: MlflowClient, query: str, **values: Any) -> Sequence[Any]:
    """Return the rows that an SQL query selects from the database of a store; a value may be a list of texts."""
    database = get_database(client)
    if database is not None:
        return database.read(query, values)
    from sqlalchemy import String, bindparam, text

    # PostgreSQL requires the type of an empty list.
    names = [name for name, value in values.items() if isinstance(value, list)]
    lists: list[Any] = [bindparam(name, type_=String, expanding=True) for name in names]
    with get_backend(client).engine.connect() as connection:
        return connection.execute(text(query).bindparams(*lists), values).all()


class StoredExperiment(NamedTuple):
    """An experiment of MLflow, which groups runs."""

    experiment_id: str
    artifact_location: str
    lifecycle_stage: str


def find_experiment(client: MlflowClient, name: str) -> StoredExperiment | None:
    """Return an experiment by its name, also if it is deleted; None if there is none."""
    if get_database(client) is not None:
        rows = read_rows(client, READ_EXPERIMENT, name=name)
        return StoredExperiment(*rows[0]) if rows else None
    # MLflow's own experiment has the same attributes.
    return cast("StoredExperiment | None", client.get_experiment_by_name(name))


def find_run_ids(client: MlflowClient, experiment_id: str, query: str) -> list[str] | None:
    """Return the active runs of an experiment in a database that a query selects, the newest first.

    Parameters
    ----------
    client : MlflowClient
    experiment_id : str
    query : str
        A query in MLflow's filter language.

    Returns
    -------
    list of str or None
        None if a condition is not simple, so that MLflow has to be asked. As in MLflow, a run without a tag has no
        value that differs from another.
    """
    statement = SELECT_RUNS
    values: dict[str, Any] = {"experiment": int(experiment_id)}
    for number, text in enumerate(query.split(" and ") if query else ()):
        condition = CONDITION.fullmatch(text)
        if condition is None:
            return None
        field, key, sign, text_value, metric, metric_sign, bound = condition.groups()
        if field == "status":
            statement += f" AND status {sign} :value{number}"
        elif field:
            statement += HAS_VALUE.format(table=field.partition(".")[0], sign=sign, number=number)
            values[f"key{number}"] = key
        else:
            statement += HAS_VALUE.format(table="latest_metrics", sign=metric_sign, number=number)
            values[f"key{number}"] = metric
        values[f"value{number}"] = text_value if field else float(bound)
    rows = read_rows(client, f"{statement} ORDER BY start_time DESC, run_uuid", **values)
    return [run_id for (run_id,) in rows]


def list_batches(values: Collection[str], size: int = 0) -> list[list[str]]:
    """Return the values in lists of a size, by default `MAX_IDS_PER_QUERY`."""
    listed = list(values)
    size = size or MAX_IDS_PER_QUERY
    return [listed[start : start + size] for start in range(0, len(listed), size)]


class StoredItem(NamedTuple):
    """A run or a logged model; ``run_id`` is the run itself, or the one that a model comes from."""

    item_id: str
    address: str
    stage: str
    run_id: str
    name: str
    status: str

    @property
    def is_deleted(self) -> bool:
        """Whether it is marked as deleted in MLflow, which keeps its row and files."""
        return self.stage == "deleted"


def read_items(client: MlflowClient, query: str) -> dict[str, StoredItem]:
    """Return the runs or the models of a store by their ids, including those deleted in MLflow."""
    return {row[0]: StoredItem(*(text or "" for text in row)) for row in read_rows(client, query)}


def delete_rows(client: MlflowClient, runs: Collection[str], models: Collection[str]) -> None:
    """Delete runs and models permanently, by their ids."""
    backend = get_backend(client)
    for model_id in models:
        backend._hard_delete_logged_model(model_id)
    for run_id in runs:
        backend._hard_delete_run(run_id)


def shrink_file(path: Path) -> None:
    """Free the space of deleted rows in a SQLite file; raise OperationalError if another process uses it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def create_tables(uri: str, folder: Path) -> None:
    """Create the tables of a store in a SQLite file, which will be moved into a folder."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
    from sqlalchemy.exc import DBAPIError

    # MLflow inserts the folder of its default experiment into an SQL statement in Python notation; in a URI, the name
    # of a folder has no quotation mark that would end it.
    try:
        SqlAlchemyStore(uri, (folder / ARTIFACTS_FOLDER).as_uri()).engine.dispose()
    except DBAPIError as error:
        raise error.orig or error from None


def list_expected_tables() -> set[str]:
    """Return the tables that the installed MLflow would create in a database where one is missing."""
    from mlflow.store.db.base_sql_model import Base
    from mlflow.store.tracking import sqlalchemy_store  # noqa: F401  # declares the tables

    return set(Base.metadata.tables)


def list_store_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of a store that rejects a call, and others; ``except`` calls this only if an error occurs."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    return MlflowException, SQLAlchemyError, sqlite3.Error, *others
