"""Scores of a table are compared as those of stored runs are, and invalid tables are rejected."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scikit_posthocs
from command import Bakeoff
from published_scores import DEMSAR_AUC, SONAR_J48, SONAR_NAIVE_BAYES
from pyarrow import parquet
from scipy import stats

import bakeoff
from bakeoff.pipeline.comparison.rank_tests import rank_configurations
from bakeoff.pipeline.errors import UserError

LEARNERS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
FORMATS = ("terminal", "csv", "json", "markdown", "latex", "html")


def make_folds(n_repeats: int = 1) -> pd.DataFrame:
    """Return scores of two learners on the folds of two datasets."""
    generator = np.random.default_rng(0)
    keys = [(d, r, f, m) for d in "ab" for r in range(n_repeats) for f in range(10) for m in ("knn", "svm")]
    table = pd.DataFrame(keys, columns=["dataset", "repeat", "fold", "learner"])
    return table.assign(score=generator.uniform(0.7, 0.9, len(table)))


def compare(table: pd.DataFrame, **keys: Any) -> bakeoff.ComparisonResult:
    return bakeoff.compare(table, **{"metric": "accuracy", **keys})


def test_demsars_table_6_gives_his_ranks_and_critical_difference(bakeoff: Bakeoff) -> None:
    wide = pd.DataFrame(DEMSAR_AUC, columns=LEARNERS).rename_axis("dataset").reset_index()
    table = wide.melt("dataset", var_name="learner", value_name="score")
    table.to_csv(bakeoff.folder / "scores.csv", index=False)
    answer = bakeoff("compare", "scores.csv", "greater_is_better=true", "to=json")
    assert answer.status == 0, answer.err
    document = json.loads(answer.out)
    overall = document["results"][0]["overall"]
    ranks = [round(overall["mean_ranks"][name], 3) for name in LEARNERS]
    assert ranks == [3.143, 2.0, 2.893, 1.964]
    assert round(overall["critical_difference"], 2) == 1.25
    # He prints 9.28 and 3.69, which disregard ties; R's friedman.test corrects for them.
    assert overall["friedman"] == pytest.approx(10.2283464566929130, rel=1e-10)
    sizes = stats.rankdata(-DEMSAR_AUC, axis=1)
    ties = sum(int(count) ** 3 - int(count) for row in sizes for count in np.unique(row, return_counts=True)[1])
    chi2 = overall["friedman"] * (1 - ties / (14 * (4**3 - 4)))
    assert (round(chi2, 2), round(13 * chi2 / (14 * 3 - chi2), 2)) == (9.28, 3.69)
    theirs = scikit_posthocs.posthoc_nemenyi_friedman(rank_configurations(DEMSAR_AUC))
    p = {frozenset((pair["first"], pair["second"])): pair["p_nemenyi"] for pair in overall["pairs"]}
    assert p[frozenset(("C4.5", "C4.5+m+cf"))] == pytest.approx(theirs.loc[0, 3], abs=1e-4)
    assert document["verdict"][0].startswith("Over 14 datasets, no two of the 4 configurations differ significantly")
    assert any("rank tests over datasets alone" in note for note in document["notes"])
    assert not (bakeoff.folder / "outputs").exists()


@pytest.mark.parametrize("sizes", [{}, {"n_train": 187.2, "n_test": 20.8}])
def test_one_dataset_has_the_corrected_test_with_the_ratio_of_its_folds(sizes: dict[str, float]) -> None:
    scores = np.column_stack([SONAR_NAIVE_BAYES, SONAR_J48])  # (10, 2)
    rows = [("sonar", m, f, scores[f, j]) for f in range(10) for j, m in enumerate(("nb", "j48"))]
    table = pd.DataFrame(rows, columns=["dataset", "learner", "fold", "score"]).assign(**sizes)
    result = compare(table, metric="", greater_is_better=True)
    (pair,) = result.comparison.results[0].datasets[0].pairs
    differences = SONAR_NAIVE_BAYES - SONAR_J48
    statistic = np.mean(differences) / np.sqrt((1 / 10 + 1 / 9) * np.var(differences, ddof=1))
    assert abs(pair.statistic) == pytest.approx(abs(statistic), rel=1e-12)
    assert pair.p_value == pytest.approx(2 * stats.t.sf(abs(statistic), 9), rel=1e-12)
    assert any("1/(k - 1)" in note and "k = 10" in note for note in result.notes) is not bool(sizes)
    # How many rows a dataset would need is unknown, if the number that it has is.
    assert (pair.rows_needed is None) is not bool(sizes)


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_a_table_of_stored_runs_gives_the_tests_of_the_runs(
    extension: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    swept = bakeoff.sweep("evaluation=kfold", learner=["majority", "knn"], dataset=["iris", "wine"])
    runs = bakeoff.compare(swept, base="knn")
    rows = [
        (cell.dataset, cell.configuration, fold, score, cell.n_train, cell.n_test)
        for cell in runs.comparison.cells
        for fold, score in enumerate(cell.scores["test_accuracy"])
    ]
    table = pd.DataFrame(rows, columns=["dataset", "learner", "fold", "score", "n_train", "n_test"])
    file = tmp_path / f"scores.{extension}"
    table.to_csv(file, index=False) if extension == "csv" else table.to_parquet(file)
    scores = bakeoff.compare(str(file), metric="accuracy", base="knn")
    for name in ("scores", "pairs"):
        ours, theirs = (getattr(each, name).drop(columns="metric") for each in (scores, runs))
        pd.testing.assert_frame_equal(ours, theirs)
    assert scores.verdict == runs.verdict
    assert all(scores.render(to) for to in FORMATS)


def test_missing_scores_are_empty_cells_with_a_reason() -> None:
    table = make_folds()
    table.loc[3, "score"] = np.nan
    third = table[table["dataset"].eq("b") & table["learner"].eq("knn")].assign(learner="tree")
    result = compare(pd.concat([table, third]))
    reasons = {(cell.configuration, cell.dataset): cell.reason for cell in result.comparison.cells}
    assert reasons["svm", "a"] == "no score: row 4"
    assert reasons["tree", "a"] == "no row"
    assert any("Empty: tree on a: no row." in note for note in result.notes)


def test_scores_in_percent_have_a_relative_rope() -> None:
    table = make_folds()
    assert not compare(table).comparison.metrics[0].is_rope_relative
    percent = compare(table.assign(score=table["score"] * 100))
    assert percent.comparison.metrics[0].is_rope_relative
    ours, theirs = (each.pairs[["p_value", "p_first"]] for each in (percent, compare(table)))
    pd.testing.assert_series_equal(ours["p_value"], theirs["p_value"])


def test_a_repeat_is_not_a_fold() -> None:
    result = compare(make_folds(n_repeats=3))
    assert {dataset.folds_per_repeat for dataset in result.comparison.datasets} == {10}
    assert result.pairs["test_train_ratio"].tolist() == pytest.approx([1 / 9] * 2)


def test_folds_that_may_be_repeats_need_a_ratio() -> None:
    table = make_folds(n_repeats=3)
    table["fold"] += 10 * table.pop("repeat")
    with pytest.raises(UserError, match="30 folds of a dataset may be those of several repeats"):
        compare(table)
    assert compare(table.assign(n_train=90, n_test=10)).pairs["test_train_ratio"].tolist() == pytest.approx([1 / 9] * 2)


def test_the_gate_and_the_output_are_those_of_runs(bakeoff: Bakeoff) -> None:
    table = make_folds()
    table.loc[table["learner"].eq("svm"), "score"] -= 0.5
    table.to_csv(bakeoff.folder / "scores.csv", index=False)
    words = ("compare", "scores.csv", "metric=accuracy")
    answer = bakeoff(*words, "base=knn", "fail_if=worse", "output=report.html", "to=html", "alpha=0.01", "pairs=all")
    assert answer.status == 1, answer.err
    assert "svm is worse than the base knn on a" in answer.err
    assert "nothing is stored" in answer.err
    assert sorted(path.name for path in bakeoff.folder.iterdir()) == ["report.html", "scores.csv"]
    assert "output=scores.csv" not in (bakeoff.folder / "report.html").read_text()
    assert bakeoff(*words, "output=scores.csv").status == 2


def test_a_comparison_of_a_table_cannot_be_kept() -> None:
    with pytest.raises(bakeoff.UserError, match="not stored"):
        compare(make_folds(), keep=True)


def test_repeats_cannot_be_added_to_a_table() -> None:
    with pytest.raises(bakeoff.UserError, match="leave out until=sure"):
        compare(make_folds(), until="sure")


def test_scores_that_expand_too_much_are_refused(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500), ["a" * 1_000_000])
    parquet.write_table(pa.table({"dataset": texts}), tmp_path / "b.parquet")
    with gzip.open(tmp_path / "g.csv.gz", "wb") as stream:
        for _ in range(300):
            stream.write(b"dataset,learner,score" + b" " * 1_000_000)
    for name in ("b.parquet", "g.csv.gz"):
        with pytest.raises(UserError, match=rf"{name} cannot be read as CSV or Parquet: it holds more than 268.4 MB"):
            bakeoff.compare(str(tmp_path / name), metric="accuracy")


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(UserError, match=r"p.csv cannot be read as CSV or Parquet: it is not a file"):
        bakeoff.compare(str(tmp_path / "p.csv"), metric="accuracy")


def test_the_cure_for_a_table_has_no_key_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("dataset,learner,score\né,knn,1\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"is not UTF-8: .* save it as CSV in UTF-8") as error:
        bakeoff.compare(str(tmp_path / "t.csv"), metric="accuracy")
    assert "dataset." not in str(error.value)
