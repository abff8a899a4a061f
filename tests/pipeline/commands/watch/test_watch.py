"""Verdicts of a capsule that are checked again: none flips while nothing changes, and each planted cause is named."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from command import Answer, Bakeoff, command_in, enter
from sklearn.datasets import load_iris, load_wine

from bakeoff.pipeline.tracking import provenance

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environment of the test is a shell script")
LEARNER = """
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        if Path("chance").exists():
            y = np.random.default_rng().permutation(y)
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        distances = ((np.asarray(X, dtype=float)[:, None] - self.means_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]
"""
PATCHED = LEARNER.replace("argmin", "argmax")
PACKAGE = "nearestlib"
JOBS = ("dataset=file", "dataset.path=data/iris.csv,data/wine.csv", "dataset.target=y", "evaluation=kfold")
TRUST = f"trust=[mine,{PACKAGE}]"


def write_data(folder: Path) -> None:
    folder.mkdir()
    for name, load in {"iris": load_iris, "wine": load_wine}.items():
        X, y = load(return_X_y=True)
        header = ",".join([*(f"x{column}" for column in range(X.shape[1])), "y"])
        rows = [",".join([*map(repr, row.tolist()), f"class {label}"]) for row, label in zip(X, y, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join([header, *rows, ""]))


def install(folder: Path, version: str, code: str) -> Path:
    """Write a package with a version into a folder of an import path."""
    (folder / f"{PACKAGE}-{version}.dist-info").mkdir(parents=True)
    (folder / f"{PACKAGE}-{version}.dist-info" / "METADATA").write_text(f"Name: {PACKAGE}\nVersion: {version}\n")
    (folder / f"{PACKAGE}.py").write_text(code)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a capsule of learners of the user and of a package, and both versions of the package."""
    folder = tmp_path_factory.mktemp("watched")
    write_data(folder / "data")
    (folder / "mine.py").write_text(LEARNER)
    (folder / "conf" / "learner").mkdir(parents=True)
    for option, package in {"own": "mine", "bought": PACKAGE}.items():
        (folder / "conf" / "learner" / f"{option}.yaml").write_text(f"# Nearest.\n_target_: {package}.Nearest\n")
    old = install(folder / "old" / "site-packages", "1.0", LEARNER)
    install(folder / "new" / "site-packages", "2.0", PATCHED)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{old}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with command_in(folder) as bakeoff, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(old))
        ran = bakeoff("-m", "learner=majority,own,bought", *JOBS, TRUST, "hydra.sweep.dir=outputs/sweeps/s")
        assert ran.status == 0, ran.err
        written = bakeoff("paper", "sweep=s", "data=true", TRUST, "output=s.zip")
        assert written.status == 0, written.err
        assert bakeoff("reference", "make", "sweep=s", "as=timed", TRUST).status == 0
    return folder


@pytest.fixture
def bakeoff(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bakeoff:
    """Return the command in a copy of the folder, with the version of the package that the study used."""
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    enter(folder, monkeypatch)
    use(folder / "old" / "site-packages", monkeypatch)
    return Bakeoff(folder, capsys, monkeypatch)


def use(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let a version of the package be found, here and by processes that start."""
    patch.syspath_prepend(str(folder))
    patch.setenv("PYTHONPATH", str(folder))
    provenance.pin_versions.cache_clear()


def read_flips(answer: Answer) -> Mapping[tuple[str, ...], str]:
    """Return the causes of flips, which were printed as JSON."""
    assert answer.status in (0, 1), answer.err
    return {tuple(flip["place"]): flip["cause"] for flip in json.loads(answer.out)["flips"]}


def test_nothing_flips_while_nothing_changes_and_each_time_is_kept_beside_the_capsule(bakeoff: Bakeoff) -> None:
    history = bakeoff.folder / "s.watch.jsonl"
    history.write_text('{"date": "2026-01-01", "flips": []}\n')
    answer = bakeoff("watch", "s.zip", TRUST)
    assert answer.status == 0, answer.err
    assert "The same: 6 of 6 verdicts; 0 of" in answer.out
    assert "watched before on 2026-01-01" in answer.out
    earlier, own = map(json.loads, history.read_text().splitlines())
    assert (earlier["date"], own["flips"], own["moves"]) == ("2026-01-01", [], 0)


def test_a_damaged_history_is_refused_before_anything_runs(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "s.watch.jsonl").write_text('{"date": "2026-01-01"}\n{"date": "20')
    refused = bakeoff("watch", "s.zip", TRUST)
    assert (refused.status, "line 2, was not written by bakeoff watch; remove it" in refused.err) == (2, True)


def test_a_patched_learner_is_named(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "mine.py").write_text(PATCHED)
    answer = bakeoff("watch", "s.zip", TRUST, "to=json")
    flips = read_flips(answer)
    assert answer.status == 1
    assert set(flips) == {
        (table, *pair) for table in ("iris", "wine") for pair in (("bought", "own"), ("majority", "own"))
    }
    assert set(flips.values()) == {"other code: mine.py (undone: as before)"}


def test_another_version_is_named_by_an_environment_that_has_the_old_one(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(bakeoff.folder / "new" / "site-packages", monkeypatch)
    answer = bakeoff("watch", "s.zip", TRUST, "python=python", "to=json")
    assert set(read_flips(answer).values()) == {f"other versions: {PACKAGE} 1.0 → 2.0 (undone: as before)"}
    (cause,) = {*read_flips(bakeoff("watch", "s.zip", TRUST, "to=json")).values()}
    assert cause.startswith("not found; python=FILE, an interpreter with the versions of the study, undoes them; ")


def test_new_rows_are_named(bakeoff: Bakeoff) -> None:
    rng = np.random.default_rng(0)
    table = bakeoff.folder / "data" / "iris.csv"
    header, *rows = table.read_text().splitlines()
    labels = rng.permutation([row.rpartition(",")[2] for row in rows])
    mixed = [f"{row.rpartition(',')[0]},{label}" for row, label in zip(rows, labels, strict=True)]
    table.write_text("\n".join([header, *mixed, ""]))
    answer = bakeoff("watch", "s.zip", TRUST, "data=data", "to=json")
    flips = read_flips(answer)
    assert {place[0] for place in flips} == {"iris"}
    assert set(flips.values()) == {"other rows: iris (undone: as before)"}


def test_chance_is_named_if_the_scores_differ_each_time(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "chance").touch()
    causes = read_flips(bakeoff("watch", "s.zip", TRUST, "to=json"))
    assert causes
    assert all(cause.startswith("chance, because the scores of ") for cause in causes.values())


def test_the_cheapest_jobs_run_within_a_budget(bakeoff: Bakeoff) -> None:
    few = bakeoff("watch", "timed.reference.zip", TRUST, "n=2", "data=data", "output=page.html")
    assert few.status == 0, few.err
    page = (bakeoff.folder / "page.html").read_text()
    assert "2 of 6 jobs ran again" in page
    assert "watched before on" not in page
    refused = bakeoff("watch", "timed.reference.zip", TRUST, "budget=0.0001s", "data=data")
    assert refused.status == 2
    assert "allows no job of timed.reference.zip: its cheapest one took" in refused.err
    assert "it has no times; give n= instead" in bakeoff("watch", "s.zip", TRUST, "budget=1h").err


def test_a_capsule_without_data_needs_their_folder(bakeoff: Bakeoff) -> None:
    refused = bakeoff("watch", "timed.reference.zip", TRUST)
    assert (refused.status, "set data=FOLDER" in refused.err) == (2, True)


def test_a_file_of_the_user_beside_the_capsule_is_not_replaced(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "s.watch.jsonl").write_text("notes of mine\n")
    refused = bakeoff("watch", "s.zip", TRUST)
    assert (refused.status, "has not written" in refused.err) == (2, True)
    assert (bakeoff.folder / "s.watch.jsonl").read_text() == "notes of mine\n"
