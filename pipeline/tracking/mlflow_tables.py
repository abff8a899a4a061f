"""MLflow's internals used by bakeoff: tables of its database, and methods that its client lacks.

No other module names them. `tests/pipeline/test_mlflow_tables.py` states which of them the installed MLflow must have.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from functools import cache
from importlib.util import find_spec
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACTS_FOLDER = "artifacts"
"""The folder next to the database, with a subfolder for each experiment."""
LOCAL_FOLDERS = (ARTIFACTS_FOLDER, "mlruns")
"""The folders of artifacts in the folder of a store, from bakeoff and from MLflow."""
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
"""Where MLflow's tables have addresses; experiments come first, because they determine the folder of the others."""
DATASETS = "datasets"
DATASET_SOURCE = "dataset_source"
"""The column with JSON that names the source of a dataset."""
VERSION_TABLE = "alembic_version"
TABLE_WITH_TRIGGERS = "secrets"
"""The one table of MLflow with triggers; bakeoff does not write it."""
REVISION = re.compile(r"^(down_)?revision(?:\s*:[^=]*)?\s*=\s*[\"'](\w+)[\"']", re.MULTILINE)
"""The line in which a migration of MLflow names its schema, or the schema before it."""
READ_RUNS = "SELECT run_uuid, experiment_id, artifact_uri, lifecycle_stage, run_uuid, name, status FROM runs"
READ_MODELS = "SELECT model_id, experiment_id, artifact_location, lifecycle_stage, source_run_id FROM logged_models"
READ_EXPERIMENTS = "SELECT experiment_id, experiment_id, artifact_location, lifecycle_stage FROM experiments"
READ_SCORED_JOBS = """
SELECT DISTINCT job.value, splits.value, runs.experiment_id, runs.lifecycle_stage = 'active'
FROM tags AS data
JOIN runs ON runs.run_uuid = data.run_uuid AND runs.status = 'FINISHED'
JOIN tags AS job ON job.run_uuid = data.run_uuid AND job.key = 'config_hash'
LEFT JOIN tags AS splits ON splits.run_uuid = data.run_uuid AND splits.key = 'splits_digest'
WHERE data.key = 'dataset_digest' AND data.value = :dataset
"""
CLEAN_UP = (
    "DELETE FROM inputs WHERE destination_type = 'RUN' AND destination_id NOT IN (SELECT run_uuid FROM runs)",
    "DELETE FROM inputs WHERE source_type = 'RUN_OUTPUT' AND source_id NOT IN (SELECT run_uuid FROM runs)",
    "DELETE FROM input_tags WHERE input_uuid NOT IN (SELECT input_uuid FROM inputs)",
    "DELETE FROM datasets WHERE dataset_uuid NOT IN (SELECT source_id FROM inputs WHERE source_type = 'DATASET')",
)
"""Rows of deleted runs that MLflow leaves."""
MAX_RUNS_PER_HISTORY_REQUEST = 100
MAX_VALUES_PER_HISTORY_REQUEST = 25_000
"""Limits of MLflow's server for a request of the series of several runs."""
HISTORY_ENDPOINT = "/ajax-api/2.0/mlflow/metrics/get-history-bulk"

Value = tuple[str, int, float]
"""A value of a metric: the id of its run, its step, and the number."""


class StoredItem(NamedTuple):
    """A run, a logged model or an experiment; ``run_id`` is the run itself, or the one that a model comes from."""

    item_id: str
    experiment_id: str
    address: str | None
    stage: str
    run_id: str | None = None
    name: str | None = None
    status: str = ""

    @property
    def is_deleted(self) -> bool:
        """Whether it is marked as deleted in MLflow, which keeps its row and its files."""
        return self.stage == "deleted"


class ScoredJob(NamedTuple):
    """A configuration that was scored on the rows of a dataset."""

    config_hash: str
    splits_digest: str | None
    experiment_id: str
    is_active: bool


def get_backend(client: MlflowClient) -> Any:
    """Return MLflow's interface to its database or its server, which has more methods than its client."""
    return client._tracking_client.store


def has_database(client: MlflowClient) -> bool:
    """Whether the store is a database that this process reads directly, unlike a server."""
    return hasattr(get_backend(client), "engine")


def disconnect(client: MlflowClient) -> None:
    """Close the connections to a database that wait to be used again."""
    if has_database(client):
        get_backend(client).engine.dispose()


def read_rows(client: MlflowClient, query: str, **values: str) -> list[tuple[Any, ...]]:
    """Return the rows that a query of SQL selects from the database of a store."""
    from sqlalchemy import text

    with get_backend(client).engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query), values)]


def read_items(client: MlflowClient, query: str) -> dict[str, StoredItem]:
    """Return the runs, models or experiments of a store by their ids, including those deleted in MLflow."""
    rows = read_rows(client, query)
    return {str(item_id): StoredItem(str(item_id), str(owner), *others) for item_id, owner, *others in rows}


def delete_rows(
    client: MlflowClient, runs: Collection[str], models: Collection[str], experiments: Collection[str]
) -> None:
    """Delete runs, models and experiments permanently, by their ids."""
    backend = get_backend(client)
    for model_id in models:
        backend._hard_delete_logged_model(model_id)
    for run_id in runs:
        backend._hard_delete_run(run_id)
    for experiment_id in experiments:
        backend._hard_delete_experiment(experiment_id)


def shrink_file(path: Path) -> None:
    """Give back the space of deleted rows of a SQLite file; raises OperationalError if another process uses it."""
    with closing(sqlite3.connect(path)) as database:
        with database:
            for statement in CLEAN_UP:
                database.execute(statement)
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def create_tables(path: Path, uri: str, folder: Path) -> None:
    """Create the database of a store in a SQLite file, which will be moved into a folder."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    # MLflow puts the folder of its default experiment into a statement of SQL as Python writes it: in a URI, the name
    # of a folder has no quotation mark that would end it.
    SqlAlchemyStore(uri, folder.as_uri()).engine.dispose()
    with closing(sqlite3.connect(path)) as database:
        # With write-ahead logging, processes that write at the same time wait for each other.
        database.execute("PRAGMA journal_mode=WAL")
    locate_default_experiment(path, folder)


def locate_default_experiment(path: Path, folder: Path) -> None:
    """Move the artifacts of MLflow's default experiment next to those of the other experiments."""
    place = (folder / ARTIFACTS_FOLDER / DEFAULT_EXPERIMENT).as_uri()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE experiments SET artifact_location = ? WHERE experiment_id = 0", (place,))


def move_dataset_sources(database: sqlite3.Connection, old: Path, new: Path) -> None:
    """Correct the recorded sources of datasets below a former folder: tables that Python wrote there."""
    query = f"SELECT rowid, {DATASET_SOURCE} FROM {DATASETS} WHERE {DATASET_SOURCE} LIKE ?"
    for row, text in database.execute(query, (f"%{old.name}%",)).fetchall():
        try:
            source = json.loads(text)
            uri = str(source["uri"])
        except (ValueError, KeyError, TypeError):  # another program wrote it
            continue
        if uri.startswith(f"{old}/") and not exists(uri):
            moved = json.dumps({**source, "uri": f"{new}{uri.removeprefix(str(old))}"})
            database.execute(f"UPDATE {DATASETS} SET {DATASET_SOURCE} = ? WHERE rowid = ?", (moved, row))


@cache
def read_schemas() -> tuple[str, frozenset[str]]:
    """Return the schema of the installed MLflow, empty if it is unknown, and all known schemas."""
    spec = find_spec("mlflow")
    assert spec is not None
    folder = Path(str(spec.origin)).parent / "store" / "db_migrations" / "versions"
    revisions: set[str] = set()
    earlier: set[str] = set()
    for file in folder.glob("*.py"):
        for is_earlier, revision in REVISION.findall(file.read_text(encoding="utf-8")):
            (earlier if is_earlier else revisions).add(revision)
    newest = revisions - earlier
    return (newest.pop() if len(newest) == 1 else "", frozenset(revisions))


def read_histories(client: MlflowClient, run_ids: Sequence[str], key: str) -> Iterator[Value]:
    """Yield the values of a metric of several runs.

    MLflow's client reads the series of one run at a time. Its own pages ask for several: in a database by a method of
    the store, on a server by a request. Single requests serve where the answer may have been cut.
    """
    backend = get_backend(client)
    for start in range(0, len(run_ids), MAX_RUNS_PER_HISTORY_REQUEST):
        batch = run_ids[start : start + MAX_RUNS_PER_HISTORY_REQUEST]
        if has_database(client):
            found = backend.get_metric_history_bulk(batch, key, MAX_VALUES_PER_HISTORY_REQUEST)
            values = [(each.run_id, each.step, each.value) for each in found]
        else:
            values = _request_histories(backend, batch, key)
        if not values or len(values) >= MAX_VALUES_PER_HISTORY_REQUEST:
            histories = {run_id: client.get_metric_history(run_id, key) for run_id in batch}
            values = [(run_id, each.step, each.value) for run_id, history in histories.items() for each in history]
        yield from values


def _request_histories(backend: Any, run_ids: Sequence[str], key: str) -> list[Value]:
    """Ask a server for the values of a metric of several runs; none if it does not answer that request."""
    from mlflow.exceptions import MlflowException
    from mlflow.utils.rest_utils import http_request

    query = {"run_id": list(run_ids), "metric_key": key, "max_results": MAX_VALUES_PER_HISTORY_REQUEST}
    try:
        response = http_request(backend.get_host_creds(), HISTORY_ENDPOINT, "GET", params=query, raise_on_status=False)
        metrics = json.loads(response.text)["metrics"] if response.ok else []
    except (MlflowException, ValueError, KeyError):
        return []
    return [(each["run_id"], int(each["step"]), float(each["value"])) for each in metrics]
