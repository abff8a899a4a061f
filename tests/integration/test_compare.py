"""``bakeoff compare``: whole commands, from the jobs of a command line to the report and the run that keeps it."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from command import Bakeoff, command_in, enter

JOBS = ("learner=knn,majority", "dataset=iris,wine", "evaluation=kfold", "tracking.models=false")
TABLES = ("runs", "params", "tags", "metrics", "latest_metrics", "inputs")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the store of a sweep that was half done before."""
    folder = tmp_path_factory.mktemp("compared")
    with command_in(folder) as bakeoff:
        assert bakeoff("-m", JOBS[0], "dataset=iris", *JOBS[2:]).status == 0
        assert bakeoff("-m", *JOBS).status == 0
    return folder


@pytest.fixture
def compared(prepared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in that folder, for tests that leave its runs alone."""
    enter(prepared, monkeypatch)
    return Bakeoff(prepared, capsys, monkeypatch)


def read_rows(bakeoff: Bakeoff) -> dict[str, list[Any]]:
    """Return the rows of the runs' own experiment, table by table."""
    database = sqlite3.connect(bakeoff.folder / "outputs" / "mlflow.db")
    rows = {}
    for table in TABLES:
        found = database.execute(f"SELECT * FROM {table}").fetchall()
        own = {run.info.run_id for run in bakeoff.runs()}
        rows[table] = sorted(repr(row) for row in found if own & set(row))
    database.close()
    return rows


def read_kept(bakeoff: Bakeoff) -> list[Any]:
    """Return the runs of the comparisons."""
    client = bakeoff.client()
    experiment = client.get_experiment_by_name("bakeoff-comparisons")
    return [] if experiment is None else list(client.search_runs([experiment.experiment_id]))


# Which runs


def test_a_sweep_is_all_jobs_that_its_command_line_describes(compared: Bakeoff) -> None:
    answer = compared("compare", "sweep=latest", "to=json", "keep=false")
    assert answer.status == 0, answer.err
    document = json.loads(answer.out)
    assert {(cell["configuration"], cell["dataset"]) for cell in document["cells"]} == {
        (learner, dataset) for learner in ("knn", "majority") for dataset in ("iris", "wine")
    }
    assert not any(cell["reason"] for cell in document["cells"])
    tags = {run.data.tags["sweep"] for run in compared.runs()}
    assert len(tags) == 2
    assert max(tags) in document["selection"]


def test_compare_runs_what_is_missing_and_takes_what_is_done(bakeoff: Bakeoff) -> None:
    few = ("dataset=iris", "evaluation=kfold", "tracking.models=false")
    assert bakeoff("-m", "learner=knn,naive_bayes", *few).status == 0
    done = {run.info.run_id for run in bakeoff.runs()}
    answer = bakeoff("compare", "-m", "learner=knn,majority", *few, "to=csv", "keep=false")
    assert answer.status == 0, answer.err
    rows = list(csv.DictReader(StringIO(answer.out)))
    assert {row["configuration"] for row in rows} == {"knn", "majority"}
    assert "2 jobs: 1 to run, 1 already done" in answer.err
    assert len(bakeoff.runs()) == 3
    assert len({row["run_ids"] for row in rows} & done) == 1


def test_numpy_is_not_loaded_before_the_sweep_has_set_its_threads() -> None:
    code = "import sys, bakeoff.pipeline.commands.compare.command; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# What is kept


def test_a_comparison_is_kept_beside_the_runs_and_changes_none_of_them(compared: Bakeoff) -> None:
    before = read_rows(compared)
    answer = compared("compare", "sweep=latest")
    assert answer.status == 0, answer.err
    assert read_rows(compared) == before
    kept, *_ = read_kept(compared)
    assert kept.info.status == "FINISHED"
    assert kept.data.tags["kind"] == "comparison"
    experiment = compared.client().get_experiment(kept.info.experiment_id)
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    listed = json.loads(compared.artifact(kept, "runs.json"))
    assert set(listed) == {run.info.run_id for run in compared.runs()}
    artifacts = {file.path for file in compared.client().list_artifacts(kept.info.run_id)}
    reports = {f"comparison.{end}" for end in ("txt", "csv", "json", "md", "tex", "html")}
    assert artifacts == {*reports, "fold_scores.svg", "runs.json"}
    assert "4 jobs: 0 to run, 4 already done" in compared("-m", *JOBS).out


def test_keep_false_keeps_nothing(compared: Bakeoff) -> None:
    n_kept = len(read_kept(compared))
    assert compared("compare", "sweep=latest", "keep=false").status == 0
    assert len(read_kept(compared)) == n_kept


# The gate


def test_the_gate_fails_against_a_registered_model_that_is_better(compared: Bakeoff) -> None:
    runs = {(run.data.params["learner"], run.data.params["dataset"]): run.info.run_id for run in compared.runs()}
    client = compared.client()
    client.create_registered_model("irises")
    for learner in ("majority", "knn"):
        run_id = runs[learner, "iris"]
        client.create_model_version("irises", source=client.get_run(run_id).info.artifact_uri, run_id=run_id)
    client.set_registered_model_alias("irises", "champion", "2")
    gate = ("fail_if=worse", "keep=false")
    for base, candidate, status in (
        ("irises", "majority", 1),
        ("irises@champion", "majority", 1),
        ("irises/1", "knn", 0),
        (runs["knn", "iris"], "majority", 1),
        (runs["knn", "iris"][:8], "majority", 1),
    ):
        answer = compared("compare", runs[candidate, "iris"], f"base={base}", *gate)
        assert answer.status == status, (base, answer.err)
        assert ("majority is worse than the base knn" in answer.err) == (status == 1)
    for base in ("irises@nobody", "irises/9", "0" * 32, "iriss"):
        answer = compared("compare", runs["knn", "iris"], f"base={base}", *gate)
        assert (answer.status, answer.err.startswith("refused: compare:")) == (2, True), answer.err


# Bad input


def test_repeats_are_added_as_runs_until_each_pair_is_decided(bakeoff: Bakeoff) -> None:
    shared = ("dataset=wine", "learner=majority,knn,naive_bayes", "evaluation=kfold", "evaluation.folds=4")
    words = ("compare", "-m", *shared, "tracking.models=false", "until=sure", "repeats=3", "to=json")
    first = bakeoff(*words)
    assert first.status == 0, first.err
    found = json.loads(first.out)
    n_runs = {cell["configuration"]: len(cell["run_ids"]) for cell in found["cells"]}
    pairs = {(pair["first"], pair["second"]): pair["answer"] for pair in found["results"][0]["datasets"][0]["pairs"]}
    assert set(pairs.values()) <= {"better", "practically equal", "undecided"}
    assert n_runs["majority"] < 3
    assert len(bakeoff.runs()) == sum(n_runs.values())
    again = bakeoff(*words)
    assert "0 to run" in again.err
    assert [cell["scores"] for cell in json.loads(again.out)["cells"]] == [cell["scores"] for cell in found["cells"]]
    bakeoff("-m", *shared, "evaluation.repeats=3", "tracking.models=false")
    together = json.loads(bakeoff("compare", "sweep=latest", "to=json").out)
    whole = {cell["configuration"]: cell["scores"]["test_accuracy"] for cell in together["cells"]}
    for cell in found["cells"]:
        own = cell["scores"]["test_accuracy"]
        assert own == whole[cell["configuration"]][: len(own)]
