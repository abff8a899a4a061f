"""Stores and configurations that others wrote, or that are none: refused or read, and never changed."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import Answer, Bakeoff, command_in
from hypothesis import given
from hypothesis import strategies as st
from written_runs import write_run

from bakeoff.pipeline.audit import describe_audit
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.done_jobs import Claims
from bakeoff.pipeline.tracking.mlflow_tables import ADDRESS_COLUMNS
from bakeoff.pipeline.tracking.sqlite_file import create_sqlite
from bakeoff.pipeline.tracking.store import FORMS, find_fault, open_store, tidy_name
from bakeoff.pipeline.tracking.stored_config import read_stored_config

MALFORMED = {
    "pid": "12 and a half", "pid ": "-1", "pid  ": str(10**30), "heartbeat": "yesterday", "heartbeat ": "nan",
    "overrides": "dataset=iris", "overrides ": "[1, 2]", "overrides  ": "[" * 3000, "versions": "[]",
    "threads": '{"blas": "many"}', "rows_per_fold": '{"train": []}', "config_hash": "it's", "audit_warnings": "{}",
    "dataset_digest": "a\nb", "looks": "0x1F",
}  # fmt: skip
"""Values of tags that bakeoff does not write; spaces after a key tell several ones of a tag apart."""
TAG_VALUES = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.floats().map(str),
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5)).map(json.dumps),
)
VERBS: tuple[tuple[str, ...], ...] = (
    ("compare", "filter=params.learner != ''", "keep=false"),
    ("explain", "best", "output=none"),
    ("replay", "latest"),
    ("plan", "-m", "dataset=iris", "learner=majority"),
    ("-m", "dataset=iris", "learner=majority"),
    ("rerun", "--failed"),
    ("list", "models"),
    ("gc", "dry_run=true"),
    ("rm", "filter=params.learner != ''", "dry_run=true"),
)
"""Commands that read all runs of a store."""


def write_other_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE customers (name TEXT)")
        database.execute("INSERT INTO customers VALUES ('Ada')")
        database.commit()


def list_tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master ORDER BY name")]


@dataclass(frozen=True)
class Shared:
    """A store with runs of ours and of others, and what commands answered there."""

    runs: list[Any]
    answers: dict[tuple[str, ...], Answer]
    by_id: Answer
    removed: Answer


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Write a run of ours, and malformed ones for each way to be so; then give each command that reads all runs."""
    with command_in(tmp_path_factory.mktemp("shared")) as bakeoff:
        assert bakeoff("dataset=iris", "learner=majority").status == 0
        store = open_store(None, "bakeoff")
        for key, value in MALFORMED.items():
            for status in ("FINISHED", "FAILED", "RUNNING"):
                write_run(store, "knn", "iris", [0.9] * 10, tags={key.strip(): value}, status=status)
        other = store.client.create_run(store.experiment_id, run_name="of another program\n\x1b[2J", tags={"host": "x"})
        store.client.set_terminated(other.info.run_id)
        runs = bakeoff.runs()
        answers = {words: bakeoff(*words) for words in VERBS}
        faulty = next(run.info.run_id for run in runs if run.data.tags.get("pid") == "-1")
        return Shared(runs, answers, bakeoff("replay", faulty), bakeoff("rm", faulty))


def test_a_malformed_tag_is_named_and_a_run_of_ours_has_no_fault(shared: Shared) -> None:
    for key, value in MALFORMED.items():
        found = [find_fault(run) for run in shared.runs if run.data.tags.get(key.strip()) == value]
        assert len(found) == 3
        assert all(fault.startswith(f"its tag {key.strip()}") for fault in found)
    assert len([run for run in shared.runs if not find_fault(run) and run.data.tags.get("code_hash")]) == 1


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words[:2]))
def test_malformed_runs_do_not_stop_a_command(words: tuple[str, ...], shared: Shared) -> None:
    answer = shared.answers[words]
    assert answer.status == (2 if words[0] == "compare" else 0), answer.err
    assert "Traceback" not in answer.err
    assert "\x1b[2J" not in answer.out + answer.err


def test_runs_that_are_left_out_are_said_in_a_line(shared: Shared) -> None:
    said = [line for answer in shared.answers.values() for line in answer.err.splitlines() if "left out" in line]
    assert any("runs are left out, because bakeoff did not write its tag" in line for line in said), shared.answers
    assert len(set(said)) == len(said)


def test_a_malformed_run_is_refused_by_its_id_and_can_be_deleted(shared: Shared) -> None:
    assert "its tag pid was not written by bakeoff" in shared.by_id.err
    assert shared.by_id.status == 2
    assert shared.removed.status == 0, shared.removed.err


def test_a_name_is_printed_on_one_line() -> None:
    assert tidy_name("a\nb\x1b[31mc\u202ed") == "a b [31mc d"


def test_the_tables_of_another_program_are_left_alone(bakeoff: Bakeoff) -> None:
    path = bakeoff.folder / "shop.db"
    write_other_tables(path)
    before = path.read_bytes()
    for words in (("dataset=iris", "learner=majority"), ("serve", "latest"), ("list", "models")):
        answer = bakeoff(*words, f"tracking.uri=sqlite:///{path}")
        assert answer.status == 2
        assert "belongs to another program: it has the table customers, and none of MLflow's" in answer.err
    assert path.read_bytes() == before
    assert list_tables(path) == ["customers"]


class Listener(BaseHTTPRequestHandler):
    """A server that keeps what it is asked."""

    def do_GET(self) -> None:
        self.server.headers.append(dict(self.headers))  # type: ignore[attr-defined]
        self.send_error(404)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def listener() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.headers = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a store with a run and a registered model."""
    folder = tmp_path_factory.mktemp("shipped")
    with command_in(folder) as bakeoff:
        assert bakeoff("dataset=iris", "learner=majority").status == 0
        assert bakeoff("ship", "latest", "as=flowers").status == 0
    return folder / "outputs"


@pytest.mark.parametrize("scheme", ["http", "mlflow-artifacts"])
@pytest.mark.parametrize(("table", "column"), ADDRESS_COLUMNS)
def test_a_server_that_a_row_names_is_not_asked(
    table: str,
    column: str,
    scheme: str,
    shipped: Path,
    listener: Any,
    bakeoff: Bakeoff,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "my-token")
    shutil.copytree(shipped, bakeoff.folder / "outputs")
    port = listener.server_address[1]
    address = f"{scheme}://127.0.0.1:{port}/api/2.0/mlflow-artifacts/artifacts/a"
    with closing(sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db")) as database, database:
        database.execute(f"UPDATE {table} SET {column} = ?", (address,))
    (bakeoff.folder / "rows.csv").write_text("a\n1\n")
    for words in (("predict", "flowers", "rows.csv"), ("replay", "latest"), ("dataset=iris",), ("gc",)):
        answer = bakeoff(*words)
        assert answer.status == 2
        assert f"keeps artifacts at {address} ({table}.{column})" in answer.err
    assert listener.headers == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER later AFTER INSERT ON runs BEGIN UPDATE experiments SET artifact_location = 'http://h'; END",
        "CREATE VIEW shown AS SELECT 'http://h' AS artifact_location",
    ],
)
def test_tables_that_could_show_another_address_later_are_refused(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(str(path), "bakeoff")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)
    with pytest.raises(UserError, match="which MLflow's tables do not have"):
        open_store(str(path), "bakeoff")


@pytest.mark.parametrize("address", ["mlflow-artifacts:/3", "models:/m-1", "/tmp/a", "file://localhost/a", "REDACTED"])
def test_an_address_without_a_server_is_none(address: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    client = open_store(str(path), "bakeoff").client
    client.create_experiment("made on MLflow's pages", artifact_location="/tmp/a")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE experiments SET artifact_location = ? WHERE name LIKE 'made%'", (address,))
    assert open_store(str(path), "bakeoff").experiment_id


def test_tables_of_another_version_are_not_changed(bakeoff: Bakeoff) -> None:
    path = bakeoff.folder / "runs.db"
    open_store(str(path), "bakeoff")
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE logged_models")  # MLflow would make what is missing
    before = list_tables(path)
    answer = bakeoff("explain", "latest", f"tracking.uri={path}")
    assert answer.status == 2
    assert f"mlflow db upgrade sqlite:///{path}" in answer.err
    assert list_tables(path) == before


@pytest.mark.parametrize("kind", ["empty", "text", "folder", "pipe"])
def test_what_is_no_store_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    if kind == "empty":
        path.touch()
    elif kind == "text":
        path.write_text("name,age\n" * 500)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    before = path.read_bytes() if path.is_file() else b""
    for create in (True, False):
        with pytest.raises(UserError, match=r"runs\.db"):
            open_store(str(path), "bakeoff", create=create)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert {file.name for file in tmp_path.iterdir()} == {"runs.db"}


def test_claims_follow_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = tmp_path / "mlflow.db.claims"
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    place.symlink_to(victim)
    with pytest.raises(UserError, match="symbolic links"):
        Claims.open_for_store(uri)
    place.unlink()
    place.symlink_to(tmp_path / "new")
    with pytest.raises(UserError, match="symbolic links"):
        Claims.open_for_store(uri)
    place.unlink()
    place.hardlink_to(victim)
    with pytest.raises(UserError, match="single name"):
        Claims.open_for_store(uri)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(UserError, match="not a regular file"):
        Claims.open_for_store(uri)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "new").exists()


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "mlflow.db.lock").symlink_to(victim)
    with pytest.raises(UserError, match="cannot be created"):
        create_sqlite(tmp_path / "mlflow.db")
    assert victim.read_text() == "precious"


@given(st.dictionaries(st.sampled_from(sorted(FORMS["tag"])), TAG_VALUES))
def test_whatever_the_tags_are_a_run_is_left_out_or_can_be_read(tags: dict[str, str]) -> None:
    info = SimpleNamespace(run_id="a", run_name="a", start_time=1, status="RUNNING", lifecycle_stage="active")
    run = SimpleNamespace(info=info, data=SimpleNamespace(tags=tags, params={}, metrics={}))
    if find_fault(run):
        return
    assert 0 <= int(tags.get("pid", 0)) < 2**31  # of all others, `os.kill` knows none
    assert math.isfinite(float(tags.get("heartbeat", 0)))
    describe_audit(tags)
    assert all(isinstance(word, str) for word in json.loads(tags.get("overrides", "[]")))
    assert isinstance(json.loads(tags.get("versions", "{}")), dict)
    assert "'" not in tags.get("config_hash", "")


OTHERS = {
    "- a list": "not a configuration of bakeoff",
    "a: [": "is not YAML",
    "a: &a [1]\nb: &b [*a, *a]\nlearner: [*b, *b]": r"config\.yaml of run \w+, line 2: \*a is inside an anchored part",
}


def test_a_run_of_other_code_is_refused(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")
    run_id = store.client.create_run(store.experiment_id).info.run_id
    with pytest.raises(UserError, match=r"no artifact config\.yaml"):
        read_stored_config(store, run_id)
    for text, message in OTHERS.items():
        store.client.log_text(run_id, text, "config.yaml")
        with pytest.raises(UserError, match=message):
            read_stored_config(store, run_id)
