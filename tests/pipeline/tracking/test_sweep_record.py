"""The list of the jobs of a sweep, and runs that are read many at a time, in a real SQLite store."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from written_runs import write_run

from bakeoff.pipeline.tracking.history import (
    RecordedJob,
    SweepRecord,
    find_runs_of_jobs,
    read_latest_sweep,
    read_sweep_record,
    write_sweep_record,
)
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import read_series, search_stored_runs

SCORES = [0.1, 0.5, 0.3]
LATER = 1_800_000_000.0
"""After the runs that `write_run` writes, in seconds since 1970."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def make_record(name: str, *hashes: str, started: float = LATER) -> SweepRecord:
    jobs = tuple(RecordedJob(each, f"knn {each}", "knn", each) for each in hashes)
    return SweepRecord(name, jobs, started)


def test_what_was_written_is_read_and_leaves_no_thread(store: Store) -> None:
    refused = RecordedJob("", "knn cars", "knn", "cars", "refused: it is regression")
    record = SweepRecord("monday", (refused, RecordedJob("ab", "knn iris", "knn", "iris")), LATER)
    write_sweep_record(store, record)
    before = set(threading.enumerate())
    assert read_sweep_record(store, "monday") == record
    # A process with threads cannot be copied to workers.
    assert set(threading.enumerate()) <= before
    assert read_sweep_record(store, "tuesday") is None


def test_a_sweep_without_a_list_is_found_by_the_tag_of_its_runs(store: Store) -> None:
    write_sweep_record(store, make_record("early", "a", started=1.0))
    write_run(store, "knn", "iris", SCORES, tags={"sweep": "a study"})
    latest = read_latest_sweep(store)
    assert latest is not None
    assert (latest.name, latest.jobs) == ("a study", ())


def test_the_latest_sweep_started_last_though_an_earlier_one_still_runs(store: Store) -> None:
    assert read_latest_sweep(store) is None
    write_sweep_record(store, make_record("slow", "a", started=1.0))
    write_sweep_record(store, make_record("fast", "b", started=2.0))
    write_run(store, "knn", "iris", SCORES, tags={"sweep": "slow"})
    latest = read_latest_sweep(store)
    assert latest is not None
    assert latest.name == "fast"


def test_of_the_runs_of_a_job_the_newest_finished_one_is_found_else_the_newest(store: Store) -> None:
    tags = {"config_hash": "job"}
    write_run(store, "knn", "iris", SCORES, tags=tags)
    newest = write_run(store, "knn", "iris", SCORES, tags=tags)
    write_run(store, "knn", "iris", None, tags=tags, status="FAILED")
    write_run(store, "knn", "wine", None, tags={"config_hash": "lost"}, status="FAILED")
    lost = write_run(store, "knn", "wine", None, tags={"config_hash": "lost"}, status="KILLED")
    for number in range(30):
        write_run(store, "svm", f"data {number}", None)
    found = find_runs_of_jobs(store, ["job", "lost", "never"])
    assert {key: run.run_id for key, run in found.items()} == {"job": newest, "lost": lost}


def test_series_are_in_the_order_of_the_folds_and_a_single_split_is_its_mean(store: Store) -> None:
    folds = write_run(store, "knn", "iris", SCORES, further={"validation_accuracy": [float("nan"), 0.2, 0.1]})
    single = write_run(store, "knn", "iris", [0.7])
    series = read_series(store, search_stored_runs(store), ["test_accuracy", "validation_accuracy", "test_f1"])
    assert series[folds]["test_accuracy"] == tuple(SCORES)
    assert repr(series[folds]["validation_accuracy"]) == "(nan, 0.2, 0.1)"
    assert series[single] == {"test_accuracy": (0.7,)}


def test_series_of_more_runs_than_a_request_may_name_are_all_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [write_run(store, "knn", f"data {number}", [0.1, number / 10]) for number in range(5)]
    runs = search_stored_runs(store)
    expected = {run_id: (0.1, number / 10) for number, run_id in enumerate(ids)}
    monkeypatch.setattr("bakeoff.pipeline.tracking.mlflow_tables.MAX_IDS_PER_QUERY", 2)
    series = read_series(store, runs, ["test_accuracy"])
    assert {run_id: values["test_accuracy"] for run_id, values in series.items()} == expected
