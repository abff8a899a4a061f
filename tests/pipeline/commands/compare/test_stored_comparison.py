"""The selection of stored runs, in a real SQLite store."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_runs import write_run

from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import select_runs
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.history import RecordedJob, SweepRecord, write_sweep_record
from bakeoff.pipeline.tracking.store import Store, open_store

SCORES = [0.1, 0.5, 0.3]
LATER = 1_800_000_000.0
"""After the runs that `write_run` writes, in seconds since 1970."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def test_a_sweep_without_a_list_of_jobs_is_the_runs_with_its_tag(store: Store) -> None:
    write_run(store, "knn", "iris", SCORES, tags={"sweep": "a study"})
    write_run(store, "knn", "wine", SCORES, tags={"sweep": "another"})
    assert [each.dataset for each in select_runs(store, CompareRequest(sweep="a study")).facts] == ["iris"]


def test_runs_of_one_job_that_are_named_by_id_are_rows_of_their_own(store: Store) -> None:
    ids = [write_run(store, "knn", "iris", SCORES) for _ in range(2)]
    failed = write_run(store, "knn", "iris", None, status="FAILED")
    other = write_run(store, "svm", "iris", SCORES)
    selected = select_runs(store, CompareRequest(runs=(*ids, failed, other))).facts
    rows = {each.run.run_id: dict(each.configuration).get("run", "") for each in selected}
    assert rows == {ids[0]: ids[0][:8], ids[1]: ids[1][:8], failed: "", other: ""}


def test_jobs_are_selected_whatever_sweep_their_runs_belong_to(store: Store) -> None:
    write_run(store, "knn", "iris", SCORES, tags={"config_hash": "iris", "sweep": "earlier"})
    write_run(store, "knn", "wine", SCORES, tags={"config_hash": "wine", "sweep": "later"})
    write_run(store, "knn", "other", SCORES, tags={"config_hash": "other", "sweep": "later"})
    jobs = tuple(RecordedJob(each, f"knn {each}", "knn", each) for each in ("iris", "wine", "never"))
    write_sweep_record(store, SweepRecord("later", jobs, LATER))
    selected = select_runs(store, CompareRequest(sweep="latest"))
    assert {each.dataset: each.reason for each in selected.facts} == {"iris": "", "wine": "", "never": "no run"}


def test_an_unknown_sweep_is_refused(store: Store) -> None:
    with pytest.raises(UserError, match="Start one with -m"):
        select_runs(store, CompareRequest(sweep="latest"))
    with pytest.raises(UserError, match="sweep=mondy does not exist"):
        select_runs(store, CompareRequest(sweep="mondy"))
