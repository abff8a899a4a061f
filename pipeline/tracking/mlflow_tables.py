"""The MLflow internals used by bakeoff: tables of its database, and methods that its client lacks.

No other module refers to them. `tests/pipeline/test_mlflow_tables.py` checks that the installed MLflow provides them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACTS_FOLDER = "artifacts"
"""The folder next to the database, with a subfolder for each experiment."""
LOCAL_FOLDERS = (ARTIFACTS_FOLDER, "mlruns")
"""The artifact folders that bakeoff and MLflow create in the folder of a store."""
DEFAULT_EXPERIMENT = "Default"
"""The experiment that MLflow creates with each store."""
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
TABLE_WITH_TRIGGERS = "secrets"
"""The only MLflow table with triggers, to which bakeoff does not write."""
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
MAX_RUNS_PER_HISTORY_REQUEST = 100
"""A database allows a limited number of values in a query."""

Value = tuple[str, int, float]
"""A value of a metric: the id of its run, its step, and the number."""


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


def get_backend(client: MlflowClient) -> Any:
    """Return MLflow's interface to its database or its server, which has more methods than its client."""
    return client._tracking_client.store


def has_database(client: MlflowClient) -> bool:
    """Whether the store is a database that this process reads directly, unlike a server."""
    return hasattr(get_backend(client), "engine")


def disconnect(client: MlflowClient) -> None:
    """Close the pooled connections to a database."""
    if has_database(client):
        get_backend(client).engine.dispose()


def read_rows(client: MlflowClient, query: str, **values: str) -> list[tuple[Any, ...]]:
    """Return the rows that an SQL query selects from the database of a store."""
    from sqlalchemy import text

    with get_backend(client).engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query), values)]


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


def create_tables(path: Path, uri: str, folder: Path) -> None:
    """Create the database of a store in a SQLite file, which will be moved into a folder."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    # MLflow inserts the folder of its default experiment into an SQL statement in Python notation; in a URI, the name
    # of a folder has no quotation mark that would end it.
    SqlAlchemyStore(uri, (folder / ARTIFACTS_FOLDER).as_uri()).engine.dispose()
    with closing(sqlite3.connect(path)) as database:
        # With write-ahead logging, processes that write simultaneously wait for each other.
        database.execute("PRAGMA journal_mode=WAL")


def list_expected_tables() -> set[str]:
    """Return the tables that the installed MLflow would create in a database where one is missing."""
    from mlflow.store.db.base_sql_model import Base
    from mlflow.store.tracking import sqlalchemy_store  # noqa: F401  # declares the tables

    return set(Base.metadata.tables)


def read_server_version(client: MlflowClient) -> str:
    """Return the version of MLflow that serves the pages of a store; empty if the server does not report it."""
    from mlflow import version

    backend = get_backend(client)
    if has_database(client):
        return str(version.VERSION)
    return str(backend._get_server_version(backend.get_host_creds()) or "")


def read_histories(client: MlflowClient, run_ids: Sequence[str], key: str) -> Iterator[Value]:
    """Yield the values of a metric for several runs; databases are queried for many runs at a time."""
    if has_database(client):
        for start in range(0, len(run_ids), MAX_RUNS_PER_HISTORY_REQUEST):
            batch = run_ids[start : start + MAX_RUNS_PER_HISTORY_REQUEST]
            for each in get_backend(client).get_metric_history_bulk(batch, key, None):
                yield each.run_id, each.step, each.value
        return
    for run_id in run_ids:
        for each in client.get_metric_history(run_id, key):
            yield run_id, each.step, each.value
