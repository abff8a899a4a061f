"""Whole commands with a canary for a secret, which is then searched for in every file, every table and all output."""

from __future__ import annotations

import sqlite3
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command import Answer, Bakeoff

CANARY = "C4N4RYpw"
LEARNER = """
import warnings
from sklearn.dummy import DummyClassifier

class Secretive(DummyClassifier):
    def __init__(self, entry="", fail=False):
        super().__init__()
        self.entry = entry
        self.fail = fail

    def fit(self, X, y, sample_weight=None):
        warnings.warn("entering with " + self.entry)
        if self.fail:
            raise RuntimeError("no entry with " + self.entry)
        return super().fit(X, y)
"""
OPTION = "# Ours.\n_target_: secretive_learner.Secretive\nentry: ${oc.env:ENTRY}\nfail: false\n"
OWN = ("dataset=iris", "learner=secretive", "trust=[secretive_learner]", "tracking.models=false")


def find_canary(folder: Path, *answers: Answer) -> list[str]:
    """Return where the canary is: files, members of archives, tables of databases, names, and output."""
    found = [
        f"output: {line}" for answer in answers for line in (answer.out + answer.err).splitlines() if CANARY in line
    ]
    for path in folder.rglob("*"):
        if CANARY in path.name:
            found.append(f"name {path}")
        if path.is_file():
            found += [
                f"{path.relative_to(folder)}{place}" for place, content in _read_contents(path) if CANARY in content
            ]
    return found


def _read_contents(path: Path) -> Iterator[tuple[str, str]]:
    yield "", path.read_bytes().decode("latin-1")
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database:
            yield " as SQL", "\n".join(database.iterdump())
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"!{name}", archive.read(name).decode("latin-1")


@pytest.fixture
def own(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in a folder with a learner whose parameter is a secret of the environment."""
    (bakeoff.folder / "secretive_learner.py").write_text(LEARNER)
    options = bakeoff.folder / "conf" / "learner"
    options.mkdir(parents=True)
    (options / "secretive.yaml").write_text(OPTION)
    monkeypatch.setenv("ENTRY", CANARY)
    return bakeoff


def test_the_value_of_a_variable_is_nowhere(own: Bakeoff) -> None:
    finished = own(*OWN)
    failed = own(*OWN, "learner.fail=true")
    swept = own("-m", *OWN, "learner.fail=true,false", "seed=1", "evaluation=kfold", "evaluation.folds=2")
    compared = own("compare", "sweep=latest", "to=html", "output=report.html")
    repeated = own("replay", "latest", "trust=[secretive_learner]")
    assert [answer.status for answer in (finished, failed, swept)] == [0, 1, 1], finished.err
    assert repeated.status == 0, repeated.err
    assert find_canary(own.folder, finished, failed, swept, compared, repeated) == []
    run = next(run for run in own.runs() if run.info.status == "FINISHED")
    assert run.data.params["learner.entry"] == "${oc.env:ENTRY}"
    assert "entry: ${oc.env:ENTRY}" in own.artifact(run, "config.yaml")
    error = next(run for run in own.runs() if run.info.status == "FAILED")
    assert error.data.tags["error"] == "RuntimeError: no entry with ${oc.env:ENTRY}"
    assert "no entry with ${oc.env:ENTRY}" in own.artifact(error, "traceback.txt")


def test_another_value_of_a_setting_is_another_job_and_another_secret_is_the_same(
    own: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("-m", *OWN, "seed=1")
    monkeypatch.setenv("MY_TOKEN", "first secret")
    secret = (*words, "learner.entry=${oc.env:MY_TOKEN}")
    assert "1 to run" in own(*secret).out
    monkeypatch.setenv("MY_TOKEN", "another secret")
    assert "already done" in own(*secret).out
    own(*words)
    monkeypatch.setenv("ENTRY", "another setting")
    assert "1 to run" in own(*words).out
    hashes = {run.data.tags["config_hash"] for run in own.runs()}
    environments = {run.data.tags.get("environment") for run in own.runs()}
    assert (len(hashes), len(environments)) == (3, 3)


def test_a_secret_is_no_parameter_of_a_stored_model(own: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", CANARY)
    refused = own(*OWN, "tracking.models=true", "learner.entry=${oc.env:MY_TOKEN}")
    assert refused.status == 2
    assert "learner uses the value of the environment variable MY_TOKEN" in refused.err
    assert find_canary(own.folder, refused) == []


@pytest.mark.parametrize(
    "word",
    [
        "tracking.experiment=${oc.env:MY_TOKEN}",
        "figures=[{confusion_matrix: {labels: {species: '${oc.env:MY_TOKEN}'}}}]",
        "space.strategy=['${oc.env:MY_TOKEN}']",
    ],
)
def test_a_secret_is_no_name_and_no_choice(own: Bakeoff, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("MY_TOKEN", CANARY)
    refused = own("dataset=iris", "learner=majority", word)
    assert refused.status == 2, refused.out
    assert "contains the value of a secret" in refused.err
    assert find_canary(own.folder, refused) == []


@pytest.mark.parametrize("sweeper", ["bakeoff", pytest.param("optuna", marks=pytest.mark.extra("optuna"))])
def test_a_secret_is_no_value_of_a_sweep_in_a_file(own: Bakeoff, monkeypatch: pytest.MonkeyPatch, sweeper: str) -> None:
    monkeypatch.setenv("MY_TOKEN", CANARY)
    (own.folder / "conf" / "experiment").mkdir()
    params = "hydra: {sweeper: {params: {learner.entry: '${oc.env:MY_TOKEN},none'}}}\n"
    (own.folder / "conf" / "experiment" / "ours.yaml").write_text(f"# @package _global_\n# Ours.\n{params}")
    refused = own("-m", f"hydra/sweeper={sweeper}", *OWN, "experiment=ours")
    assert refused.status == 2, refused.out
    assert "learner.entry contains the value of a secret; give learner.entry beside -m" in refused.err
    assert find_canary(own.folder, refused) == []
    given = own("-m", *OWN, "learner.entry=${oc.env:MY_TOKEN},none")
    assert given.status == 0, given.err
    assert find_canary(own.folder, given) == []


def test_hydras_files_are_private(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=iris", "learner=majority", "tracking=none").status == 0
    files = [path for path in bakeoff.folder.rglob("*.yaml") if path.parent.name == ".hydra"]
    assert {path.name: path.stat().st_mode & 0o777 for path in files} == {
        "config.yaml": 0o600, "hydra.yaml": 0o600, "overrides.yaml": 0o600,
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("dataset=iris", "learner=majority", f"tracking.uri=http://me:{CANARY}@127.0.0.1:9"),
        ("-m", "dataset=iris", "learner=majority", "seed=1,2", f"tracking.uri=http://me:{CANARY}@127.0.0.1:9"),
        ("dataset=iris", "learner=majority", f"tracking.uri='sqlite:///x.db?password={CANARY}'"),
        ("dataset=file", f"dataset.path='https://host/x.csv?X-Amz-Signature={CANARY}'", "dataset.target=y"),
        ("-m", "dataset=file", f"dataset.path=https://me:{CANARY}@host/x.csv", "dataset.target=y", "seed=1,2"),
        (
            "dataset=sql",
            f"dataset.url=postgresql://me:{CANARY}@127.0.0.1:9/x",
            "dataset.query=SELECT 1",
            "dataset.target=y",
        ),
        ("rerun", "--failed", f"tracking.uri=http://me:{CANARY}@127.0.0.1:9"),
        ("predict", "latest", "x.csv", f"tracking.uri=http://me:{CANARY}@127.0.0.1:9"),
        ("inspect", "target=y", f"dataset.url=postgresql://me:{CANARY}@127.0.0.1:9/x"),
    ],
    ids=lambda words: " ".join(words)[:40].replace(CANARY, ""),
)
def test_a_password_of_the_command_line_is_not_repeated(words: tuple[str, ...], bakeoff: Bakeoff) -> None:
    answer = bakeoff(*words)
    assert answer.status == 2, answer.err
    assert find_canary(bakeoff.folder, answer) == []


def test_a_password_in_a_variable_is_nowhere(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", CANARY)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", f"{CANARY}-token")
    uri = "tracking.uri=http://me:${oc.env:PW}@127.0.0.1:9"
    url = "dataset.url='postgresql://me:${oc.env:PW}@127.0.0.1:9/x'"
    answers = [
        bakeoff("dataset=iris", "learner=majority", uri),
        bakeoff("dataset=iris", "learner=majority", "tracking.uri=http://me:$PW@127.0.0.1:9"),
        bakeoff("dataset=sql", url, "dataset.query=SELECT 1", "dataset.target=y"),
        bakeoff("dataset=iris", "learner=knn", "learner.metric=${oc.env:PW}"),
        bakeoff("ui", "tracking.uri=http://me:$PW@127.0.0.1:9"),
    ]
    assert [answer.status for answer in answers[:4]] == [2, 2, 2, 2]
    assert find_canary(bakeoff.folder, *answers) == []


def test_the_token_of_a_git_remote_is_nowhere(bakeoff: Bakeoff) -> None:
    for words in (("init", "-q"), ("remote", "add", "origin", f"https://me:{CANARY}@host/a.git")):
        subprocess.run(["git", *words], cwd=bakeoff.folder, check=True)
    answer = bakeoff("dataset=iris", "learner=majority")
    assert answer.status == 0, answer.err
    assert [place for place in find_canary(bakeoff.folder, answer) if not place.startswith(".git")] == []


@pytest.mark.parametrize("flags", [("--cfg", "job"), ("--cfg", "all", "--resolve")])
def test_a_configuration_is_shown_without_secrets(flags: tuple[str, ...], bakeoff: Bakeoff) -> None:
    answer = bakeoff(*flags, f"tracking.uri=http://me:{CANARY}@127.0.0.1:9")
    assert answer.status == 0, answer.err
    assert "${oc.env:BAKEOFF_SECRET" in answer.out
    assert find_canary(bakeoff.folder, answer) == []
