"""Questions about earlier runs, asked of a real SQLite store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.history import (
    count_looks,
    count_looks_by_splits,
    end_orphans,
    find_failed_jobs,
    find_finished_runs,
    find_runs_of_jobs,
    find_runs_of_sweep,
    find_sweep_runs,
    measure_size,
    read_durations,
    read_runs_of_jobs,
)
from bakeoff.pipeline.tracking.store import Store, open_store

OLD = [f"old{number}" for number in range(3)]
NEW = [f"new{number}" for number in range(25)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of finished runs, some long ago, and some that failed."""
    found = open_store(f"sqlite:///{tmp_path_factory.mktemp('history')}/mlflow.db", "history")
    for start, (status, hashes) in enumerate([("FINISHED", OLD), ("FAILED", ["lost"]), ("FINISHED", NEW)], start=1):
        for each in hashes:
            run = found.client.create_run(found.experiment_id, start_time=start, tags={"config_hash": each})
            found.client.set_terminated(run.info.run_id, status)
    return found


def test_many_jobs_are_all_found_however_old_their_runs_are(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.pipeline.tracking.mlflow_tables.MAX_IDS_PER_QUERY", 7)
    monkeypatch.setattr(history, "MAX_VALUES_PER_SCAN", 7)
    wanted = [*OLD, *NEW[:20], "lost", "never"]
    found = find_finished_runs(store, wanted)
    assert set(found) == {*OLD, *NEW[:20]}
    for key, run_id in found.items():
        assert store.client.get_run(run_id).data.tags["config_hash"] == key


def test_the_hashes_of_the_store_are_read_once_for_thousands_of_jobs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []

    def read(own: Store, query: str, **values: Any) -> Any:
        queries.append(query)
        return read_store(own, query, **values)

    read_store = Store.read
    monkeypatch.setattr(Store, "read", read)
    assert len(read_runs_of_jobs(store, [f"{number}" for number in range(20_000)] + OLD)) == len(OLD)
    assert len(queries) == 1


def test_jobs_are_found_on_a_server_as_in_a_database(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [*OLD, "lost", "never"]
    found = find_finished_runs(store, wanted)
    monkeypatch.setattr(Store, "is_database", False)
    assert find_finished_runs(store, wanted) == found


def test_a_finished_run_of_a_job_is_found_beneath_newer_ones_of_which_none_finished(store: Store) -> None:
    own = replace(store, experiment_id=store.client.create_experiment("repeated"))
    for start, status in enumerate(("FINISHED", "FINISHED", "FAILED"), start=1):
        run = own.client.create_run(own.experiment_id, start_time=start, tags={"config_hash": "job"})
        own.client.set_terminated(run.info.run_id, status)
    assert find_runs_of_jobs(own, ["job"])["job"].started == 2
    assert find_runs_of_jobs(store, ["job"]) == {}  # of another experiment


def test_a_run_that_a_study_stopped_has_not_failed(store: Store) -> None:
    own = replace(store, experiment_id=store.client.create_experiment("a study"))
    for key, further in (("killed", {}), ("stopped", {"stopped": "after 1 of 5 folds"})):
        tags = {"config_hash": key, "overrides": f'["learner={key}"]', **further}
        run = own.client.create_run(own.experiment_id, tags=tags)
        own.client.set_terminated(run.info.run_id, "KILLED")
    assert [job.overrides for job in find_failed_jobs(own)] == [("learner=killed",)]


@pytest.mark.parametrize(("finishes", "status"), [(True, "FINISHED"), (False, "KILLED")])
def test_a_run_that_finishes_while_its_process_is_looked_up_stays_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch, finishes: bool, status: str
) -> None:
    run_id = str(store.client.create_run(store.experiment_id, tags={"heartbeat": "1"}).info.run_id)

    def look_up(run: Any) -> bool:
        if finishes:
            store.client.set_terminated(run_id)
        return True

    monkeypatch.setattr(history, "has_lost_process", look_up)
    assert end_orphans(store) == ([] if finishes else [run_id])
    run = store.client.get_run(run_id)
    assert (run.info.status, "error" in run.data.tags) == (status, not finishes)


def test_two_sweeps_that_end_the_same_lost_runs_at_once_do_not_disturb_each_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        store.client.create_run(store.experiment_id, tags={"heartbeat": "1"})
    both = Barrier(2, timeout=60)

    def look_up(*_: Any) -> bool:
        both.wait()
        return True

    monkeypatch.setattr(history, "has_lost_process", look_up)
    monkeypatch.setattr(history, "_is_still_running", look_up)
    with ThreadPoolExecutor(2) as pool:
        ended = pool.map(end_orphans, [open_store(store.uri, "history") for _ in range(2)])
    assert [len(run_ids) for run_ids in ended] == [20, 20]


WINE = {"dataset_digest": "wine", "splits_digest": "folds"}
SCORED_RUNS = [
    ("FINISHED", {**WINE, "config_hash": "knn"}),
    ("FINISHED", {**WINE, "config_hash": "knn"}),
    ("FINISHED", {**WINE, "config_hash": "svm"}),
    ("FAILED", {**WINE, "config_hash": "mlp"}),
    ("FINISHED", {**WINE, "splits_digest": "others", "config_hash": "knn"}),
    ("FINISHED", {"dataset_digest": "wine", "config_hash": "of an earlier version"}),
    ("FINISHED", {"comparison": "no configuration"}),
]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store with runs of three configurations on the same test rows, one of them deleted in MLflow."""
    opened = open_store(f"sqlite:///{tmp_path_factory.mktemp('looks')}/mlflow.db", "bakeoff")
    other = open_store(opened.uri, "another experiment")
    for each, tags in [*((opened, run) for run in SCORED_RUNS), (other, ("FINISHED", {**WINE, "config_hash": "tree"}))]:
        status, run_tags = tags
        run = each.client.create_run(each.experiment_id, tags=run_tags)
        each.client.set_terminated(run.info.run_id, status)
    each.client.delete_run(run.info.run_id)
    return opened


def test_each_configuration_counts_once_wherever_its_runs_are_and_whether_they_were_deleted(scored: Store) -> None:
    assert count_looks(scored, "wine", "folds") == len({"knn", "svm", "tree"})
    assert count_looks(scored, "wine", "others") == 1
    assert count_looks(scored, "iris", "folds") == 0
    counts = count_looks_by_splits(scored, "wine")
    assert (counts["folds"], counts["others"], counts["of another dataset"]) == (3, 1, 0)


def test_the_search_that_servers_are_asked_with_finds_the_same(scored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "is_database", False)
    assert count_looks(scored, "wine", "folds") == 3
    assert count_looks(scored, "wine") == 4
    assert count_looks_by_splits(scored, "wine")["folds"] == 3


def test_a_configuration_that_is_about_to_be_scored_counts_once(scored: Store) -> None:
    assert count_looks(scored, "wine", "folds", "knn") == 3
    assert count_looks(scored, "wine", "folds", "mlp") == 4


def test_the_runs_of_a_sweep_are_found_by_its_name_and_those_of_the_newest_as_latest(store: Store) -> None:
    own = open_store(store.uri, "sweeps")
    runs: dict[str, list[str]] = {}
    for start, sweep in enumerate(("first", "first", "second"), start=1):
        run = own.client.create_run(own.experiment_id, start_time=start, tags={"sweep": sweep})
        runs.setdefault(sweep, []).append(run.info.run_id)
    assert find_sweep_runs(own, "first") == find_runs_of_sweep(own, "first") == runs["first"]
    assert find_sweep_runs(own, "latest") == find_runs_of_sweep(own, "latest") == runs["second"]
    with pytest.raises(UserError, match="sweep=third: no run"):
        find_sweep_runs(own, "third")


def time_run(store: Store, process: str, seconds: float, learner: str = "knn", n_folds: int = 1) -> None:
    """Store a finished run with 100 training rows and one fit in each fold."""
    start = 1_000_000 * (1 + len(store.client.search_runs([store.experiment_id])))
    tags = {"process": process, "rows_per_fold": '{"train": 100.0}'}
    run_id = store.client.create_run(store.experiment_id, start_time=start, tags=tags).info.run_id
    store.client.log_metric(run_id, "fits", 1.0)
    for key, value in (("learner", learner), ("dataset", "iris"), ("evaluation.folds", n_folds)):
        store.client.log_param(run_id, key, value)
    store.client.set_terminated(run_id, "FINISHED", start + round(1000 * seconds))


A_SWEEP = [("a sweep", 2.9), ("a sweep", 0.08), ("a sweep", 0.09), ("a single run", 1.8)]
SEVERAL_SIZES = [("of", 9.0), ("of", 2.0, "svm"), ("of", 1.0), ("of", 8.0, "knn", 10), ("of", 3.0, "svm")]


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        pytest.param(A_SWEEP, {("knn", 1): 0.085}, id="the first run of a process includes imports"),
        pytest.param([("a single run", 600.0)], {("knn", 1): 600.0}, id="which are a small part of a long run"),
        pytest.param(SEVERAL_SIZES, {("svm", 1): 2.5, ("knn", 1): 1.0, ("knn", 10): 8.0}, id="by learner and size"),
    ],
)
def test_durations_are_medians_by_learner_and_size(
    store: Store, runs: list[Any], expected: dict[tuple[str, int], float], request: pytest.FixtureRequest
) -> None:
    timed = replace(store, experiment_id=store.client.create_experiment(request.node.name.replace("[", " ")))
    for run in runs:
        time_run(timed, *run)
    sizes = {n: measure_size({"evaluation.folds": str(n)}, {"rows_per_fold": '{"train": 100.0}'}, 1) for n in (1, 10)}
    assert read_durations(timed) == {
        (learner, "iris", sizes[n]): pytest.approx(seconds) for (learner, n), seconds in expected.items()
    }
