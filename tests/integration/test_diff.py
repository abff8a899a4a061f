"""``bakeoff diff`` and ``bakeoff ablate``: from two stored runs to the effects of the changes between them."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff, command_in, enter
from scipy import stats

FOLDS = ("dataset=wine", "evaluation=kfold", "tracking.models=false")
SCALED = ("preprocessing=standardize", "learner.n_neighbors=9", "learner.leaf_size=20")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs: k nearest neighbours as they come, and with three changes."""
    folder = tmp_path_factory.mktemp("diff")
    with command_in(folder) as bakeoff:
        assert bakeoff("learner=knn", *FOLDS).status == 0
        assert bakeoff("learner=knn", *FOLDS, *SCALED).status == 0
    return folder


@pytest.fixture
def changed(prepared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bakeoff:
    """Return the command in that folder."""
    enter(prepared, monkeypatch)
    return Bakeoff(prepared, capsys, monkeypatch)


def list_ids(bakeoff: Bakeoff) -> list[str]:
    """Return the ids of the first two runs, the oldest first."""
    return [run.info.run_id for run in bakeoff.runs()[::-1][:2]]


def read_folds(bakeoff: Bakeoff, run_id: str, metric: str = "fold/test_accuracy") -> np.ndarray:
    history = bakeoff.client().get_metric_history(run_id, metric)
    return np.array([each.value for each in sorted(history, key=lambda each: each.step)])


def test_the_effects_add_up_and_an_idle_key_has_none(changed: Bakeoff) -> None:
    a, b = list_ids(changed)
    answer = changed("diff", a, b, "to=json")
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    effects = {row["key"]: row for row in found["changes"]}
    assert list(effects) == ["preprocessing", "learner.n_neighbors", "learner.leaf_size"]
    difference = (read_folds(changed, b) - read_folds(changed, a)).mean()
    assert found["difference"] == pytest.approx(difference, abs=1e-12)
    assert sum(row["effect"] for row in effects.values()) == pytest.approx(difference, abs=1e-12)
    assert effects["preprocessing"]["p_value"] < 0.05 < effects["learner.n_neighbors"]["p_value"]
    assert (effects["learner.leaf_size"]["effect"], effects["learner.leaf_size"]["p_value"]) == (0, 1)


def test_hybrids_are_runs_of_a_sweep_and_never_run_twice(changed: Bakeoff) -> None:
    a, b = list_ids(changed)
    assert changed("diff", a, b).status == 0
    named = [run for run in changed.runs() if run.data.tags.get("sweep") == f"diff-{a[:8]}-{b[:8]}"]
    assert len(named) == 2**3 - 2
    again = changed("diff", a, b)
    assert "8 jobs: 0 to run, 8 already done" in again.err
    assert len(changed.runs()) == 8


def test_a_plan_runs_nothing(changed: Bakeoff) -> None:
    a, b = list_ids(changed)
    n_runs = len(changed.runs())
    answer = changed("diff", b, a, "dry_run=true", "evaluation=holdout")
    assert answer.status == 0
    assert "8 jobs: 8 to run" in answer.err
    assert len(changed.runs()) == n_runs


def test_rows_are_counted_as_mcnemar_counts_them(changed: Bakeoff) -> None:
    a, b = list_ids(changed)
    tables = [
        pd.read_csv(StringIO(changed.artifact(changed.client().get_run(each), "predictions.csv"))) for each in (a, b)
    ]
    correct = [(table.predicted == table.truth)[np.argsort(table.row)].to_numpy() for table in tables]
    mended, broken = int((correct[1] & ~correct[0]).sum()), int((correct[0] & ~correct[1]).sum())
    p = stats.binomtest(mended, mended + broken).pvalue
    answer = changed("diff", a, b, "rows=all")
    assert f"the second run corrects {mended} and misses {broken}" in " ".join(answer.out.split())
    assert p < 0.001
    assert answer.out.count("class_") >= 3 * (mended + broken)


def test_the_rows_are_written_to_a_csv_file(changed: Bakeoff, tmp_path: Path) -> None:
    a, b = list_ids(changed)
    answer = changed("diff", a, b, f"output={tmp_path / 'rows.csv'}")
    assert (answer.status, "Effects on accuracy" in answer.out or "preprocessing" in answer.out) == (0, True)
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert list(rows) == ["row", "truth", "before", "after"]
    assert (rows.before != rows.after).all()


def test_a_run_that_is_worse_fails_the_gate(changed: Bakeoff) -> None:
    a, b = list_ids(changed)
    assert changed("diff", b, a, "fail_if=worse").status == 1
    assert changed("diff", a, b, "fail_if=worse").status == 0


def test_a_gate_on_one_split_is_refused(changed: Bakeoff) -> None:
    runs = []
    for learner in ("knn", "majority"):
        assert changed("dataset=wine", f"learner={learner}", "tracking.models=false").status == 0
        runs.append(changed.runs()[0].info.run_id)
    answer = changed("diff", *runs, "fail_if=worse")
    assert answer.status == 2
    assert "fail_if=worse needs several scores of both runs" in answer.err


def test_one_run_is_identical_to_itself_and_needs_no_other_evaluation(changed: Bakeoff) -> None:
    a, _ = list_ids(changed)
    for words in ((), ("evaluation=repeated_kfold",)):
        answer = changed("diff", a, a, *words)
        assert (answer.status, "The runs are identical" in answer.out) == (0, True)
        assert ("evaluation= was not used" in answer.out) == bool(words)
    assert "Rows that became" not in answer.out


def test_another_seed_belongs_to_the_rest_and_another_evaluation_separates_it(changed: Bakeoff) -> None:
    a, _ = list_ids(changed)
    assert changed("learner=knn", *FOLDS, "learner.n_neighbors=9", "seed=1").status == 0
    b = changed.runs()[0].info.run_id
    found = json.loads(changed("diff", a, b, "to=json").out)
    effects = {row["key"]: row["effect"] for row in found["changes"]}
    assert list(effects) == ["learner.n_neighbors", "the rest"]
    assert sum(effects.values()) == pytest.approx(found["difference"], abs=1e-12)
    other = json.loads(changed("diff", a, b, "to=json", "evaluation=kfold", "evaluation.folds=3").out)
    assert [row["key"] for row in other["changes"]] == ["learner.n_neighbors"]


def test_an_ablation_sets_each_key_back_and_runs_the_simpler_configuration(changed: Bakeoff) -> None:
    _, b = list_ids(changed)
    answer = changed("ablate", b, "to=json")
    assert answer.status == 0, answer.err
    effects = {row["key"]: row for row in json.loads(answer.out)["changes"]}
    assert (effects["preprocessing"]["before"], effects["preprocessing"]["after"]) == ("standardize", "none")
    assert effects["preprocessing"]["effect"] < 0
    assert effects["learner.leaf_size"]["effect"] == 0
    shown = " ".join(changed("ablate", b).out.split())
    assert (
        "With the default of learner.n_neighbors and learner.leaf_size, the configuration cannot be told apart" in shown
    )
    command = next(line for line in shown.split("Its command: bakeoff ")[1:]).split(" change ")[0].split()
    assert "0 to run, 1 already done" in changed(*command, "dry_run=true", "-m").out


def test_columns_are_left_out_one_by_one_or_in_groups(changed: Bakeoff, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["signal", "noise", "more"])
    table["y"] = np.where(table.signal > 0, "up", "down")
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ("dataset=file", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y", "learner=naive_bayes")
    assert changed(*words, "evaluation=kfold", "tracking.models=false").status == 0
    run = changed.runs()[0].info.run_id
    effects = {row["key"]: row for row in json.loads(changed("ablate", run, "columns=true", "to=json").out)["changes"]}
    assert set(effects) == {"signal", "noise", "more"}
    assert effects["signal"]["p_value"] < 0.05 < effects["noise"]["p_value"]
    groups = json.loads(changed("ablate", run, "columns=[[noise,more]]", "to=json").out)["changes"]
    assert [row["key"] for row in groups] == ["noise, more"]


def test_python_returns_the_tables(changed: Bakeoff) -> None:
    import bakeoff

    a, b = list_ids(changed)
    found = bakeoff.diff(a, b)
    assert list(found.changes) == ["key", "before", "after", "effect", "low", "high", "p_value"]
    assert list(found.rows) == ["row", "truth", "before", "after"]
    assert found.changes["effect"].sum() == pytest.approx(found.difference, abs=1e-12)
    ablated: Any = bakeoff.ablate(b)
    assert set(ablated.changes["key"]) == set(found.changes["key"])
