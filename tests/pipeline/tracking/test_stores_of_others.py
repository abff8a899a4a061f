"""Stores and configurations that others wrote, or that are none: refused or read, and never changed."""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from command import Answer, Bakeoff, command_in
from hypothesis import given
from hypothesis import strategies as st
from written_runs import write_run

from bakeoff.pipeline.audit import describe_audit
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.sweep.done_jobs import Claims
from bakeoff.pipeline.tracking.history import LAST_SWEEP_TAG, read_latest_sweep
from bakeoff.pipeline.tracking.mlflow_tables import ADDRESS_COLUMNS
from bakeoff.pipeline.tracking.sqlite_file import create_sqlite
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config
from bakeoff.pipeline.tracking.stored_runs import TAG_FORMS, StoredRun, convert_run, find_fault, tidy_name

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
OPENING_VERBS: tuple[tuple[str, ...], ...] = (
    ("dataset=iris",), ("-m", "dataset=iris"), ("plan", "dataset=iris"), ("rerun", "--failed"), ("rm", "latest"),
    ("gc",), ("list", "models"), ("list", "runs"), ("predict", "flowers", "rows.csv"), ("serve", "flowers", "port=0"),
    ("replay", "latest"), ("figures", "latest"), ("explain", "latest"), ("ship", "latest", "as=flowers"),
    ("compare", "filter=params.learner != ''"), ("ui", "port=0"),
)  # fmt: skip
"""All verbs that open a store."""
ELSEWHERE = (
    "file://{home}", "{home}", "file:{home}", "FILE://{home}", "file://localhost{home}", "file://{home}/%00",
    "file://{store}/artifacts/../../home", "file://{store}/artifacts/%2e%2e/%2E%2E/home",
    "{store}/artifacts/%2e%2e/../home", "file://{store}/artifacts", "file://{store}/runs", "file://{store}/ARTIFACTS/a",
    "file://{store}/artifacts/link", "file://{store}/artifacts/circle/a", "home", "../home", "file:home",
    "mlflow-artifacts:/1", "models:/flowers/1", "runs:/1/model",
)  # fmt: skip
"""Addresses without a server that are not below the artifact folders of a store."""
ON_SERVERS = (
    "http://h/a", "HTTPS://h/a", " http://h/a", "ht\ntp://h/a", "//h/a", "file://h/a", "s3://b/a", "gs://b/a",
    "ftp://h/a", "sftp://h/a", "hdfs://h/a", "hdfs:/a", "dbfs:/a", "wasbs://c@h/a", "abfss://c@h/a", "r2://b@h/a",
    "mlflow-artifacts://h/a", "models://profile@databricks/m/1", "runs://h/1/a", "uc:/a", "C:\\a", "file://[h",
    b"http://h/a", b"file:///a",
)  # fmt: skip


def change_tables(path: Path, statement: str, *values: object) -> None:
    """Execute a statement on a database."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


def list_tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master ORDER BY name")]


@dataclass(frozen=True)
class Shared:
    """A store with runs of ours and of others, and what commands answered there."""

    runs: list[StoredRun]
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
        runs = [convert_run(run) for run in bakeoff.runs()]
        answers = {words: bakeoff(*words) for words in VERBS}
        faulty = next(run.run_id for run in runs if run.tags.get("pid") == "-1")
        return Shared(runs, answers, bakeoff("replay", faulty), bakeoff("rm", faulty))


def test_a_malformed_tag_is_named_and_a_run_of_ours_has_no_fault(shared: Shared) -> None:
    for key, value in MALFORMED.items():
        found = [find_fault(run) for run in shared.runs if run.tags.get(key.strip()) == value]
        assert len(found) == 3
        assert all(fault.startswith(f"its tag {key.strip()}") for fault in found)
    assert len([run for run in shared.runs if not find_fault(run) and run.tags.get("code_hash")]) == 1


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
    change_tables(path, "CREATE TABLE customers (name TEXT)")
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


@pytest.mark.parametrize(("table", "column"), ADDRESS_COLUMNS)
def test_a_server_that_a_row_names_is_not_asked(
    table: str,
    column: str,
    shipped: Path,
    listener: Any,
    bakeoff: Bakeoff,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "my-token")
    monkeypatch.delattr(os, "execv")
    shutil.copytree(shipped, bakeoff.folder / "outputs")
    port = listener.server_address[1]
    address = f"http://127.0.0.1:{port}/api/2.0/mlflow-artifacts/artifacts/a"
    change_tables(bakeoff.folder / "outputs" / "mlflow.db", f"UPDATE {table} SET {column} = ?", address)
    (bakeoff.folder / "rows.csv").write_text("a\n1\n")
    for words in OPENING_VERBS:
        answer = bakeoff(*words)
        assert answer.status == 2, words
        assert f"keeps artifacts at {address}" in answer.out + answer.err
    assert listener.headers == []


@pytest.mark.parametrize("address", ON_SERVERS)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE experiments SET artifact_location = ?",
        "INSERT INTO trace_tags VALUES ('mlflow.artifactLocation', ?, 'tr-1')",
    ],
)
def test_an_address_on_a_server_is_refused(statement: str, address: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    open_store(str(path), "bakeoff")
    change_tables(path, statement, address)
    with pytest.raises(UserError, match="a SQLite store may only hold addresses on this machine"):
        open_store(str(path), "bakeoff")


@pytest.fixture
def elsewhere(shipped: Path, bakeoff: Bakeoff) -> Path:
    """Return a folder with a letter, beside a copy of the store that has links into it."""
    home = bakeoff.folder / "home"
    home.mkdir()
    (home / "letter.txt").touch()
    shutil.copytree(shipped, bakeoff.folder / "outputs")
    (bakeoff.folder / "outputs" / "artifacts" / "link").symlink_to(home)
    (bakeoff.folder / "outputs" / "artifacts" / "circle").symlink_to("circle")
    (bakeoff.folder / "rows.csv").write_text("a\n1\n")
    open_store(None, "bakeoff")  # its addresses lead here
    bakeoff.patch.delattr(os, "execv")  # by which pages would be served
    return home


def redirect(folder: Path, table: str, column: str, address: str) -> None:
    """Write an address into a table."""
    written = address.format(home=folder / "home", store=folder / "outputs")
    change_tables(folder / "outputs" / "mlflow.db", f"UPDATE {table} SET {column} = ?", written)


@pytest.mark.parametrize("address", ELSEWHERE)
def test_a_run_is_not_written_elsewhere(address: str, elsewhere: Path, bakeoff: Bakeoff) -> None:
    redirect(bakeoff.folder, "experiments", "artifact_location", address)
    before = sorted(bakeoff.folder.rglob("*"))
    answer = bakeoff("dataset=iris", "learner=majority", "seed=1", "hydra.run.dir=outputs/runs/new")
    assert answer.status == 2
    assert "mlflow.db' keeps files at " in answer.err
    assert "Set tracking.experiment to a new name" in answer.err
    assert len(bakeoff.runs()) == 1
    assert [path for path in sorted(bakeoff.folder.rglob("*")) if "runs/new" not in str(path)] == before


def test_a_model_is_not_written_through_a_link(elsewhere: Path, bakeoff: Bakeoff) -> None:
    models = bakeoff.folder / "outputs" / "artifacts" / "bakeoff" / "models"
    shutil.rmtree(models)
    models.symlink_to(elsewhere)
    assert "keeps files at" in bakeoff("dataset=iris", "learner=majority", "seed=1").err
    assert "keeps files at" in bakeoff("ship", "latest", "as=flowers").err
    assert [path.name for path in elsewhere.iterdir()] == ["letter.txt"]


def test_an_experiment_is_not_created_elsewhere(bakeoff: Bakeoff) -> None:
    for name in ("..", "../../home", f"{bakeoff.folder}/home", "a/../../../home"):
        answer = bakeoff("dataset=iris", "learner=majority", f"tracking.experiment={name}")
        assert answer.status == 2
        assert "keeps files at" in answer.err
    assert not (bakeoff.folder / "home").exists()


@pytest.mark.parametrize("address", ["file://{home}", "file://{store}/artifacts/../../home", "mlflow-artifacts:/1"])
def test_files_elsewhere_are_not_read(address: str, elsewhere: Path, bakeoff: Bakeoff) -> None:
    for path in (bakeoff.folder / "outputs" / "artifacts" / "bakeoff").rglob("artifacts"):
        shutil.copytree(path, elsewhere, dirs_exist_ok=True)
    redirect(bakeoff.folder, "runs", "artifact_uri", address)
    redirect(bakeoff.folder, "logged_models", "artifact_location", address)
    verbs = ("predict latest rows.csv", "serve latest port=0", "explain latest", "replay latest", "figures latest roc")
    pages = () if address.startswith("mlflow") else ("ui port=0",)
    for words in (*verbs, "ship latest as=flowers", "predict flowers rows.csv", *pages):
        answer = bakeoff(*words.split())
        assert answer.status == 2, words
        assert "keeps files at" in answer.out + answer.err, words


@pytest.mark.parametrize("name", ["config.yaml", "model.skops"])
def test_a_link_among_the_files_of_a_run_is_not_followed(name: str, elsewhere: Path, bakeoff: Bakeoff) -> None:
    for file in (bakeoff.folder / "outputs" / "artifacts").rglob(name):
        shutil.move(file, elsewhere / name)
        file.symlink_to(elsewhere / name)
    words = ("replay", "latest") if name == "config.yaml" else ("predict", "latest", "rows.csv")
    answer = bakeoff(*words)
    assert answer.status == 2
    assert "keeps files at" in answer.err or "is a link" in answer.err


def test_a_figure_does_not_replace_what_a_link_leads_to(elsewhere: Path, bakeoff: Bakeoff) -> None:
    (config,) = (bakeoff.folder / "outputs" / "artifacts").rglob("config.yaml")
    (config.parent / "confusion_matrix.png").symlink_to(elsewhere / "letter.txt")
    answer = bakeoff("figures", "latest", "confusion_matrix")
    assert answer.status == 2
    assert "confusion_matrix.png is a link, which bakeoff does not write; delete it" in answer.err
    assert (elsewhere / "letter.txt").read_text() == ""


def test_a_list_of_jobs_is_not_read_elsewhere(elsewhere: Path, bakeoff: Bakeoff) -> None:
    (elsewhere / "jobs.json").write_text('{"jobs": [], "started": 1}')
    store = open_store(None, "bakeoff")
    store.writer.tag_experiment(store.experiment_id, LAST_SWEEP_TAG, "../../../../home/jobs")
    with pytest.raises(UserError, match="keeps files at"):
        read_latest_sweep(store)


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
    change_tables(path, statement)
    with pytest.raises(UserError, match="which MLflow's tables do not have"):
        open_store(str(path), "bakeoff")


@pytest.mark.parametrize("address", ["mlflow-artifacts:/3", "models:/m-1", "/tmp/a", "file://localhost/a", "REDACTED"])
def test_an_address_without_a_server_is_none(address: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    client = open_store(str(path), "bakeoff").client
    client.create_experiment("made on MLflow's pages", artifact_location="/tmp/a")
    change_tables(path, "UPDATE experiments SET artifact_location = ? WHERE name LIKE 'made%'", address)
    assert open_store(str(path), "bakeoff").experiment_id


def test_tables_of_another_version_are_not_changed(bakeoff: Bakeoff) -> None:
    path = bakeoff.folder / "runs.db"
    open_store(str(path), "bakeoff")
    change_tables(path, "DROP TABLE logged_models")  # MLflow would make what is missing
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


@pytest.mark.parametrize(
    ("plant", "reason"),
    [
        (lambda place, victim: place.symlink_to(victim), "symbolic links"),
        (lambda place, victim: place.symlink_to(victim.with_name("new")), "symbolic links"),
        (lambda place, victim: place.hardlink_to(victim), "single name"),
        (lambda place, _: os.mkfifo(place), "not a regular file"),
    ],
)
def test_claims_follow_no_link(plant: Callable[[Path, Path], None], reason: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = tmp_path / "mlflow.db.claims"
    plant(place, victim)
    with pytest.raises(UserError, match=reason):
        Claims.open_for_store(f"sqlite:///{tmp_path}/mlflow.db")
    assert victim.read_text() == "precious"
    assert {file.name for file in tmp_path.iterdir()} == {"victim", place.name}


def test_a_claim_on_a_full_disk_is_a_lost_store() -> None:
    claims = Claims(os.open("/dev/full", os.O_RDWR))
    with pytest.raises(StoreError, match="No space left on device"), claims.hold("00"):
        pass


def test_a_lock_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "mlflow.db.lock").symlink_to(victim)
    with pytest.raises(UserError, match="cannot be created"):
        create_sqlite(tmp_path / "mlflow.db")
    assert victim.read_text() == "precious"


@given(st.dictionaries(st.sampled_from(sorted(TAG_FORMS)), TAG_VALUES))
def test_whatever_the_tags_are_a_run_is_left_out_or_can_be_read(tags: dict[str, str]) -> None:
    run = StoredRun("a", "a", "RUNNING", is_deleted=False, started=1, params={}, tags=tags, metrics={})
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
