"""A sealed question: what a comparison says about it, and when a seal is refused."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import Bakeoff, command_in, enter

from bakeoff.pipeline.commands.study.seal import REPEATS
from bakeoff.pipeline.tracking.history import read_runs_of_jobs
from bakeoff.pipeline.tracking.store import Store, open_store

JOBS = ("learner=knn,majority", "dataset=iris", "evaluation=kfold", "tracking.models=false", "evaluation.folds=3")
QUESTION = ("metrics=accuracy", "base=majority", "alpha=0.01")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a seal, the runs of its jobs, and a run of another job."""
    folder = tmp_path_factory.mktemp("sealed")
    with command_in(folder) as bakeoff:
        answer = bakeoff("plan", "-m", *JOBS, "seal=ours", *QUESTION)
        assert answer.status == 0, answer.err
        (folder / "digest.txt").write_text(answer.out.partition("SHA-256 ")[2].partition(";")[0])
        assert bakeoff("-m", *JOBS).status == 0
        assert bakeoff("learner=naive_bayes", *JOBS[1:]).status == 0
    return folder


@pytest.fixture
def sealed(
    prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Bakeoff:
    """Return the command in a copy of that folder."""
    folder = tmp_path / "copy"
    shutil.copytree(prepared, folder)
    enter(folder, monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def read_notes(bakeoff: Bakeoff, *words: str) -> list[str]:
    """Return the notes of a comparison that mention a seal."""
    answer = bakeoff("compare", *(words or ("sweep=latest", *QUESTION)), "to=json", "keep=false")
    assert answer.status == 0, answer.err
    return [note for note in json.loads(answer.out)["notes"] if "seal" in note]


def test_a_comparison_as_sealed_says_so_in_all_reports(sealed: Bakeoff) -> None:
    digest = (sealed.folder / "digest.txt").read_text()
    (file,) = (sealed.folder / "outputs").rglob("seal.json")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == digest
    for words in ((), ("seal=ours",), (f"seal={digest}",)):
        (note,) = read_notes(sealed, "sweep=latest", *QUESTION, *words)
        assert note.startswith(f"As sealed on {json.loads(file.read_text())['sealed']}, before the first of its 2 runs")
        assert digest in note
    assert "As sealed on" in sealed("compare", "sweep=latest", *QUESTION, "to=html", "keep=false").out


@pytest.mark.parametrize(
    ("words", "deviations"),
    [
        (("metrics=f1", *QUESTION[1:]), ["metrics is f1 instead of accuracy"]),
        (QUESTION[:1], ["base is knn instead of majority", "alpha is 0.05 instead of 0.01"]),
        ((*QUESTION, "rope=0.02"), ["rope is 0.02 instead of 0.01"]),
        ((*QUESTION, "overall=nemenyi"), ["overall is nemenyi instead of wilcoxon"]),
        ((*QUESTION, "until=sure", "repeats=2"), [f"{REPEATS} is 2 instead of 0"]),
    ],
)
def test_each_other_setting_is_a_deviation(sealed: Bakeoff, words: tuple[str, ...], deviations: list[str]) -> None:
    (note,) = read_notes(sealed, "sweep=latest", *words)
    assert note.startswith("Not the question sealed on ")
    assert "; ".join(deviations) in note


def test_candidates_that_are_added_or_missing_are_named(sealed: Bakeoff) -> None:
    ids = [run.info.run_id for run in sealed.runs() if run.data.params["learner"] != "knn"]
    (note,) = read_notes(sealed, *ids, *QUESTION)
    assert "1 candidate without a finished run: knn" in note
    assert "1 candidate added: naive_bayes" in note


@pytest.mark.parametrize(
    ("is_removed", "said"), [(False, "1 run of its jobs deleted"), (True, "1 job lost runs by bakeoff rm or gc")]
)
def test_a_run_that_was_deleted_or_removed_is_not_as_sealed(sealed: Bakeoff, is_removed: bool, said: str) -> None:
    run_id = next(run.info.run_id for run in sealed.runs() if run.data.params["learner"] == "knn")
    if is_removed:
        assert sealed("rm", run_id).status == 0
    else:
        sealed.client().delete_run(run_id)
    assert sealed("-m", *JOBS).status == 0
    (note,) = read_notes(sealed)
    assert note.startswith("Not as sealed on ")
    assert said in note


def test_a_run_that_started_before_the_seal_is_not_as_sealed(sealed: Bakeoff) -> None:
    run = next(run for run in sealed.runs() if run.data.params["learner"] == "knn")
    with closing(sqlite3.connect(sealed.folder / "outputs" / "mlflow.db")) as database:
        database.execute("UPDATE runs SET start_time = 1 WHERE run_uuid = ?", (run.info.run_id,))
        database.commit()
    (note,) = read_notes(sealed)
    assert "1 run of its jobs started before it" in note


@pytest.mark.parametrize("is_missing", [False, True])
def test_a_file_that_does_not_fit_its_digest_is_not_as_sealed(sealed: Bakeoff, is_missing: bool) -> None:
    (file,) = (sealed.folder / "outputs").rglob("seal.json")
    if is_missing:
        file.unlink()
    else:
        file.write_text(file.read_text().replace("0.01", "0.05", 1))
    (note,) = read_notes(sealed)
    assert note.startswith("Not as sealed: the file of seal ours is missing or does not match its digest")


def test_a_comparison_of_other_jobs_does_not_mention_the_seal(sealed: Bakeoff) -> None:
    others = ("learner=majority,naive_bayes", "dataset=wine", *JOBS[2:])
    answer = sealed("compare", "-m", *others, "to=json", "keep=false")
    assert not any("seal" in note for note in json.loads(answer.out)["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("learner=knn,majority,svm", *JOBS[1:], "metrics=accuracy"), "2 of 3 jobs have runs"),
        (("learner=svm", *JOBS[1:]), "seal= needs metrics="),
        (("learner=svm", *JOBS[1:], "metrics=accuracy", "base=knn"), "base=knn is not among the sealed learners"),
        (("learner=svm", *JOBS[1:], "metrics=accuracy", "alpha=2"), "alpha=2 must be above 0 and below 1"),
        (("learner=svm", *JOBS[1:3], "tracking=none", "metrics=accuracy"), "a sweep that is stored"),
    ],
)
def test_a_seal_is_refused(sealed: Bakeoff, words: tuple[str, ...], message: str) -> None:
    answer = sealed("plan", "-m", *words, "seal=late")
    assert answer.status == 2
    assert message in answer.err
    assert len(list((sealed.folder / "outputs").rglob("seal.json"))) == 1


def test_a_stop_rule_is_sealed_with_the_jobs_of_its_first_repeat(bakeoff: Bakeoff) -> None:
    jobs = (*JOBS[:2], "evaluation=repeated_kfold", *JOBS[3:])
    rule = ("metrics=accuracy", "until=sure", "repeats=2")
    answer = bakeoff("plan", "-m", *jobs, "seal=ours", *rule)
    assert answer.status == 0, answer.err
    (note,) = read_notes(bakeoff, "-m", *jobs, *rule)
    assert note.startswith("As sealed on ")
    (note,) = read_notes(bakeoff, "sweep=latest", "metrics=accuracy")
    assert "repeats until sure is 0 instead of 2" in note


def test_each_seal_of_the_compared_jobs_is_reported(bakeoff: Bakeoff) -> None:
    for question in (QUESTION, ("metrics=f1",)):
        assert bakeoff("plan", "-m", *JOBS, "seal=ours", *question).status == 0
    notes = read_notes(bakeoff, "-m", *JOBS, *QUESTION)
    assert sorted(note[:6] for note in notes) == ["As sea", "Not th"]


def test_a_seal_that_does_not_exist_is_refused(sealed: Bakeoff) -> None:
    answer = sealed("compare", "sweep=latest", "seal=other", "keep=false")
    assert answer.status == 2
    assert "seal=other is not in" in answer.err
    assert "ours" in answer.err


def test_a_server_tells_the_starts_that_the_database_tells(sealed: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed.client().delete_run(sealed.runs()[0].info.run_id)
    store = open_store(None, "bakeoff")
    (file,) = (sealed.folder / "outputs").rglob("seal.json")
    hashes = list(json.loads(file.read_text())["candidates"])
    starts = read_runs_of_jobs(store, hashes)
    monkeypatch.setattr(Store, "is_database", False)
    assert sorted(read_runs_of_jobs(store, hashes)) == sorted(starts)
    assert len(starts) == 2
