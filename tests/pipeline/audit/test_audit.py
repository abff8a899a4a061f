"""The audit: each kind of leak is refused or gives a warning, and data without one give none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from broken_splitters import DividingGroups, Overlapping
from command import Bakeoff
from doubles import experiment, numbered

from bakeoff.pipeline.audit import Audit, NoAudit
from bakeoff.pipeline.audit.columns import find_in_table
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, fitting, loop
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import GroupTimeSeries, KFold, LeaveOneOut, Split, Splits

N = 200
NOISE = np.random.default_rng(0)


def classes(columns: dict[str, Any], y: np.ndarray | None = None) -> Dataset:
    """Return a dataset of two classes with a column of noise and the given columns."""
    y = np.array(["no", "yes"])[np.arange(N) % 2] if y is None else y
    X = pd.DataFrame({"noise": NOISE.normal(size=len(y)), **columns})
    return Dataset("made", X, y, "classification", "y", positive="yes")


def numbers(columns: dict[str, Any], y: np.ndarray) -> Dataset:
    """Return a dataset for regression with a column of noise and the given columns."""
    return Dataset("made", pd.DataFrame({"noise": NOISE.normal(size=len(y)), **columns}), y, "regression", "y")


def warnings_of(dataset: Dataset, audit: Audit | None = None, **parts: Any) -> tuple[str, ...]:
    built = experiment(dataset, **parts)
    return (audit or Audit()).check(built, built.make_splits()).warnings


# Order of time


@pytest.mark.parametrize(
    ("rule", "train", "test", "expected"),
    [
        ("seen", [0, 1, 2], [3, 4], ""),
        ("seen", [0, 1, 4], [3, 2], "fold 0 would test rows that do not follow"),
        ("seen", [0, 1], [3, 5], "fold 0 would test rows of groups that are not seen"),
        ("new", [0, 1], [4, 5], ""),
        ("new", [0, 1, 2], [3, 5], "fold 0 would test rows of groups that are not new"),
    ],
)
def test_tests_of_the_past_and_of_groups_that_contradict_the_rule_are_refused(
    rule: Any, train: list[int], test: list[int], expected: str
) -> None:
    data = replace(numbered(6), groups=np.array([0, 0, 1, 0, 1, 2]), times=np.arange(6))
    groups = {"seen": data.groups, "new": np.array([0, 0, 1, 0, 2, 2])}[rule]
    built = experiment(replace(data, groups=groups), splitter=GroupTimeSeries(groups=rule))
    splits = Splits((Split(np.array(train), np.array([], dtype=int), np.array(test)),), None)
    if expected:
        with pytest.raises(UserError, match=expected):
            Audit().check(built, splits)
    else:
        assert not any("groups" in warning for warning in Audit().check(built, splits).warnings)


# Rare classes


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        ("a" * 20 + "bb", {}, ["no test row of a class: b (2 rows) in 1 of 3; scores by class"]),
        ("a" * 20 + "b", {}, ["no test row of a class: b (1 row)", "no training row of a class: b (1 row)"]),
        ("a" * 20 + "bbb", {}, []),
        ("a" * 20 + "bbb", {"splitter": LeaveOneOut()}, []),
    ],
)  # fmt: skip
def test_classes_that_some_folds_lack_are_named_with_what_follows(
    text: str, parts: dict[str, Any], expected: list[str]
) -> None:
    dataset = classes({}, np.array(list(text)))
    warnings = warnings_of(replace(dataset, positive=None), **{"splitter": KFold(folds=3), **parts})
    assert len(warnings) == len(expected)
    assert all(part in warning for part, warning in zip(expected, warnings, strict=True))


# Rows and groups


def test_test_rows_that_a_fit_would_see_are_refused_before_it() -> None:
    built = experiment(splitter=Overlapping())
    with pytest.raises(UserError, match="fold 0 would use 3 of its 20 test rows"):
        Audit().check(built, built.make_splits())
    assert NoAudit().check(built, built.make_splits()).state == "off"


def test_groups_in_several_parts_give_a_warning_and_are_refused_by_strict() -> None:
    data = replace(numbered(), groups=np.arange(40) // 4)
    built = experiment(data, splitter=DividingGroups())
    (warning,) = Audit(columns="ignore").check(built, built.make_splits()).warnings
    assert "of 10 groups have rows in several parts" in warning
    with pytest.raises(UserError, match=r"To accept this, set audit\.groups=warn\."):
        Audit(groups="refuse").check(built, built.make_splits())
    assert warnings_of(data, Audit(columns="ignore")) == ()  # holdout keeps groups together


def test_a_column_that_identifies_groups_which_nobody_has_declared_gives_a_warning() -> None:
    patients = np.repeat(np.arange(N // 4), 4).astype(float)
    for name in ("patient", "patient_id", "patientId", "ID"):
        (warning,) = warnings_of(classes({name: patients}))
        assert f"dataset.groups={name}" in warning
    assert warnings_of(classes({"width": patients})) == ()
    once = warnings_of(classes({"patient_id": np.arange(float(N))}))  # each value once: no groups
    assert not any("dataset.groups" in warning for warning in once)


# Copies


def test_copies_of_training_rows_are_counted_and_can_be_refused() -> None:
    data = classes({})
    twice = Dataset("made", pd.concat([data.X, data.X.iloc[:5]]), np.r_[data.y, data.y[:5]], "classification", "y")
    splitter = KFold(folds=N + 5, stratify=False)  # each row is tested by a model that knows its copy
    (warning,) = warnings_of(twice, splitter=splitter)
    assert "10 of 205 test rows are identical, including the target" in warning
    with pytest.raises(UserError, match=r"To accept this, set audit\.duplicates=warn\."):
        warnings_of(twice, Audit(duplicates="refuse"), splitter=splitter)
    assert warnings_of(twice, Audit(duplicates="ignore"), splitter=splitter) == ()


def test_a_row_with_another_target_or_a_missing_cell_is_no_copy() -> None:
    X = pd.DataFrame({"x": [1.0, 1.0, np.nan, np.nan, 2.0], "c": pd.Categorical(["a", "a", "a", "a", None])})
    data = Dataset("d", X, np.array(["p", "q", "p", "p", "p"]), "classification", "y")
    codes = data.row_codes
    assert codes[2] == codes[3]
    assert len(set(codes)) == 4


# Columns


LEAKS = {
    "two values": np.where(np.arange(N) % 2, 5.0, 1.0),
    "ranges": np.where(np.arange(N) % 2, 10.0, -10.0) + np.random.default_rng(1).normal(size=N),
    "missing cells": np.where(np.arange(N) % 2, np.nan, 3.0),
    "names of the classes": pd.Categorical(np.where(np.arange(N) % 2, "yes, of course", "by no means")),
    "categories within the classes": pd.Categorical(np.arange(N) % 40),
}
HONEST = {
    "noise": np.random.default_rng(2).normal(size=N),
    "binary noise": np.random.default_rng(2).integers(0, 2, N).astype(float),
    "a good column": np.where(np.arange(N) % 2, 1.0, -1.0) + np.random.default_rng(1).normal(size=N),
    "names": pd.Categorical([f"name {row}" for row in range(N)]),
    "categories": pd.Categorical(np.random.default_rng(2).integers(0, 5, N)),
    "all missing": np.full(N, np.nan),
    "constant": np.zeros(N),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_gives_the_class_away_is_named(name: str) -> None:
    (sentence,) = map(str, find_in_table(classes({"leak": LEAKS[name]})))
    assert "column 'leak' reveals the target on its own" in sentence
    assert "dataset.drop=[leak]" in sentence


def test_honest_columns_are_not_suspect() -> None:
    assert list(find_in_table(classes(HONEST))) == []


def test_one_wrong_row_in_a_hundred_does_not_hide_a_leak() -> None:
    leak = np.where(np.arange(N) % 2, 10.0, -10.0)
    leak[0] = 10.0
    assert len(list(find_in_table(classes({"leak": leak})))) == 1
    leak[2:12:2] = 10.0
    assert list(find_in_table(classes({"leak": leak}))) == []


def test_the_row_number_of_a_file_that_is_sorted_by_class_is_suspect() -> None:
    y = np.repeat(["a", "b", "c"], 60)
    (sentence,) = map(str, find_in_table(classes({"number": np.arange(180.0)}, y)))
    assert "'number'" in sentence


def test_so_few_rows_that_chance_may_separate_them_are_not_examined() -> None:
    y = np.array(["a"] * 9 + ["b"] * 30)
    assert list(find_in_table(classes({"x": np.arange(39.0) / 2}, y))) == []


def test_a_column_that_gives_a_number_away_is_named() -> None:
    y = np.random.default_rng(3).normal(size=N)
    for leak in (2 * y + 1, -np.exp(y), pd.Categorical(np.digitize(y, [0.0]))):
        target = y if not isinstance(leak, pd.Categorical) else np.where(y < 0, -1.0, 1.0)
        (sentence,) = map(str, find_in_table(numbers({"leak": leak}, target)))
        assert "column 'leak'" in sentence
    with_gaps = np.where(np.arange(N) % 5, y, np.nan)
    assert len(list(find_in_table(numbers({"leak": with_gaps}, y)))) == 1
    assert list(find_in_table(numbers({"good": y + 0.2 * np.random.default_rng(4).normal(size=N)}, y))) == []


def test_many_rows_are_examined_on_a_sample_with_the_same_answer() -> None:
    y = np.random.default_rng(5).integers(0, 2, 30_000)
    labels = np.array(["no", "yes"])[y]
    data = classes({"leak": y + 0.3 * np.random.default_rng(6).uniform(size=len(y))}, labels)
    assert [sentence.split("'")[1] for sentence in map(str, find_in_table(data))] == ["leak"]


# What follows


def test_an_action_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"audit\.duplicates='refusee' is not an action. Did you mean 'refuse'"):
        Audit(duplicates="refusee")


def test_a_run_keeps_the_verdict_the_record_and_the_number_of_looks(bakeoff: Bakeoff) -> None:
    words = ("dataset=iris", "learner=majority", "evaluation=kfold")
    first = bakeoff(*words)
    assert "audit: BK07 dataset=iris: 2 of 150 test rows are identical" in first.err.replace("\n", " ")
    assert "looks:" not in first.out
    second = bakeoff(*words, "learner=naive_bayes")
    assert "looks: 2 configurations" in second.out
    newest, oldest = bakeoff.runs()
    assert (oldest.data.tags["looks"], newest.data.tags["looks"]) == ("1", "2")
    assert newest.data.tags["audit"] == "1 warning"
    (warning,) = json.loads(newest.data.tags["audit_warnings"])
    assert warning in first.err
    card = newest.data.tags["mlflow.note.content"]
    assert "Audit: 1 warning. BK07 dataset=iris: 2 of 150 test rows are identical" in card
    assert "When the run ended, 2 configurations, including this one, had been scored" in card
    lines = bakeoff.artifact(newest, "audit.csv").splitlines()
    assert lines[0] == "fold,stage,rows,digest"
    assert [line.rpartition(",")[0] for line in lines[1:5]] == [
        "0,preprocessing.fit,120", "0,learner.fit,120", "0,scoring.train,120", "0,scoring.test,30",
    ]  # fmt: skip
    assert lines[-1].startswith("all rows,learner.fit,150")


def test_a_sweep_shows_the_warnings_of_the_audit(bakeoff: Bakeoff) -> None:
    answer = bakeoff("-m", "learner=majority,naive_bayes", "dataset=iris", "evaluation=kfold")
    assert "warning in 2 jobs: BK07 dataset=iris: 2 of 150 test rows" in answer.err


def test_a_leak_in_the_loop_fails_the_run_and_marks_it(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    prune = fitting.prune_learner

    def prune_on_test(built: Experiment, pipeline: Any, target: Any, split: Any, log: Any) -> Any:
        return prune(built, pipeline, target, replace(split, validation=split.test), log)

    monkeypatch.setattr(loop, "prune_learner", prune_on_test)
    answer = bakeoff("dataset=wine", "learner=decision_tree", "pruning=best_first")
    assert answer.status == 1
    assert "LeakError: fold 0: pruning has used 36 of the 36 test rows" in answer.err
    (run,) = bakeoff.runs()
    assert (run.info.status, run.data.tags["audit"]) == ("FAILED", "leak")


def test_the_audit_is_kept_in_the_configuration_and_does_not_change_the_identity(bakeoff: Bakeoff) -> None:
    for audit in ("warn", "strict", "none"):
        assert bakeoff("dataset=iris", "learner=majority", f"audit={audit}").status == 0
    runs = bakeoff.runs()
    assert len({run.data.tags["config_hash"] for run in runs}) == 1
    assert {bakeoff.artifact(run, "config.yaml").count("bakeoff.pipeline.audit.NoAudit") for run in runs} == {0, 1}
    assert [run.data.tags["audit"] for run in runs].count("off") == 1
    assert all("audit" not in run.info.run_name for run in runs)
