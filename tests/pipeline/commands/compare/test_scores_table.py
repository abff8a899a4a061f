"""Scores of a table are compared as those of stored runs are, and invalid tables are rejected."""

from __future__ import annotations

import gzip
import json
import os
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command import Bakeoff
from extras import load_oracle
from published_scores import DEMSAR_AUC, GARCIA_HERRERA_ACCURACY, GARCIA_HERRERA_LEARNERS, SONAR_J48, SONAR_NAIVE_BAYES
from pyarrow import parquet
from scipy import stats

import bakeoff
from bakeoff.pipeline.commands.comparison_report.pictures import draw_ranks
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import content

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
    counts = {
        (pair["first"], pair["second"]): [pair[key] for key in ("wins", "ties", "losses")] for pair in overall["pairs"]
    }
    assert counts["C4.5+m", "C4.5"] == [10, 2, 2]
    # By Nemenyi's test no two differ, by Wilcoxon's one pair does: C4.5+m and C4.5, who is not the best of them.
    assert document["verdict"] == [
        "Over 14 datasets, C4.5+m+cf has the best mean rank; C4.5+m, C4.5+cf and C4.5 do not differ significantly from "
        "C4.5+m+cf, p ≥ .056; of these, C4.5+m beats C4.5 (Wilcoxon's signed-rank test with Holm's correction)."
    ]
    assert any("only allows rank tests over datasets" in note for note in document["notes"])
    assert not (bakeoff.folder / "outputs").exists()


@cache
def compare_garcia_and_herrera(overall: str = "wilcoxon") -> bakeoff.ComparisonResult:
    wide = pd.DataFrame(GARCIA_HERRERA_ACCURACY, columns=GARCIA_HERRERA_LEARNERS).rename_axis("dataset").reset_index()
    return compare(wide.melt("dataset", var_name="learner", value_name="score"), overall=overall)


def list_told_apart(result: bakeoff.ComparisonResult) -> set[tuple[str, str]]:
    pairs = result.overall_pairs[result.overall_pairs["is_told_apart"]]
    return set(zip(pairs["first"], pairs["second"], strict=True))


BY_BOTH = {("C4.5", "1-NN"), ("C4.5", "Kernel"), ("naive Bayes", "Kernel"), ("CN2", "Kernel")}


def test_the_verdict_over_datasets_is_wilcoxons_with_holms_correction() -> None:
    result = compare_garcia_and_herrera()
    pairs = result.overall_pairs
    adjusted = load_oracle("statsmodels.stats.multitest").multipletests(pairs["p_wilcoxon"], method="holm")[1]
    assert pairs["p_value"].to_numpy() == pytest.approx(adjusted)
    assert list_told_apart(result) == BY_BOTH | {("C4.5", "CN2"), ("naive Bayes", "CN2"), ("1-NN", "Kernel")}
    (overall,) = [each.overall for each in result.comparison.results]
    assert overall is not None
    assert overall.groups == (("C4.5", "naive Bayes"), ("naive Bayes", "1-NN"), ("CN2", "1-NN"))
    assert result.verdict == (
        "Over 30 datasets, C4.5 and naive Bayes are the best and do not differ significantly, p = 1.0; both beat CN2 "
        "and Kernel, p ≤ .025; C4.5 beats 1-NN, p = .025; naive Bayes does not differ significantly from 1-NN, p = .18 "
        "(Wilcoxon's signed-rank test with Holm's correction)."
    )


def test_nemenyis_test_is_the_verdict_if_it_is_asked_for() -> None:
    result = compare_garcia_and_herrera(overall="nemenyi")
    assert list_told_apart(result) == BY_BOTH
    assert result.verdict == (
        "Over 30 datasets, C4.5, naive Bayes and CN2 are the best and do not differ significantly, p ≥ .093; "
        "all 3 beat Kernel, p ≤ .024; C4.5 beats 1-NN, p = .039; naive Bayes and CN2 do not differ significantly from "
        "1-NN, p ≥ .076 (Nemenyi's test of mean ranks)."
    )
    assert "overall=nemenyi" in result.comparison.command


@pytest.mark.parametrize("overall", ["wilcoxon", "nemenyi"])
def test_every_report_names_the_test_of_its_verdict(overall: str) -> None:
    scores = 0.9 - np.arange(3) / 10 + np.arange(7)[:, np.newaxis] / 100
    result = compare(make_scores(scores, "abc"), overall=overall)
    name = (
        "Nemenyi's test of mean ranks" if overall == "nemenyi" else "Wilcoxon's signed-rank test with Holm's correction"
    )
    for to in ("terminal", "markdown", "latex", "html"):
        text = " ".join(unescape(result.render(to)).split())
        assert f"differ significantly by {name}" in text or f"Significant by {name}" in text
        assert f"({name})" in text or to == "latex"


@pytest.mark.parametrize("overall", ["wilcoxon", "nemenyi"])
def test_the_diagram_follows_the_test_of_the_verdict(overall: str) -> None:
    comparison = compare_garcia_and_herrera(overall=overall).comparison
    picture = draw_ranks(comparison, comparison.results[0])
    assert picture is not None
    figure, caption = picture
    found = comparison.results[0].overall
    assert found is not None
    assert caption.endswith(f"No two with a dot on the same bar differ significantly by {found.test_name}, α = 0.05.")
    text = " ".join(each.get_text() for each in figure.axes[0].texts)
    assert ("CD = 1.11" in text) is (overall == "nemenyi")


def test_nemenyis_test_says_where_it_does_not_apply() -> None:
    said = "overall=nemenyi compares three or more configurations over several datasets only."
    assert said in compare(make_folds(), overall="nemenyi").notes
    assert said in compare(make_folds().query("dataset == 'a'"), overall="nemenyi").notes
    assert said not in compare_garcia_and_herrera(overall="nemenyi").notes
    with pytest.raises(UserError, match="overall=nemeny: "):
        compare(make_folds(), overall="nemeny")


def test_by_nemenyis_test_no_pair_differs_without_a_difference_at_all() -> None:
    # One of few tables on which both tests disagree.
    leads = np.array([0.5, 0, 0, -0.5])
    scores = np.random.default_rng(1433).normal(size=(8, 4)).round(2) + leads
    result = compare(make_scores(scores, "abcd"), overall="nemenyi")
    overall = result.comparison.results[0].overall
    assert overall is not None
    assert min(pair.p_nemenyi for pair in overall.pairs) < 0.05 < overall.iman_davenport_p
    assert not any(pair.is_told_apart for pair in overall.pairs)
    assert [len(group) for group in overall.groups] == [4]
    said = (
        "Over 8 datasets, no configuration is significantly better than another (Iman and Davenport's test, p = .057);"
    )
    assert result.verdict.startswith(said)


def make_scores(scores: Any, learners: str) -> pd.DataFrame:
    """Return a table with a score for each dataset (row) and learner (letter)."""
    wide = pd.DataFrame(scores, columns=list(learners)).rename_axis("dataset").reset_index()
    return wide.melt("dataset", var_name="learner", value_name="score")


def test_a_pair_whose_mean_ranks_contradict_wilcoxons_test_is_told_with_the_winner_first() -> None:
    # b is better by much on 20 datasets and worse by little on 10, where three others lie between the two.
    gaps = np.where(np.arange(30) < 20, -0.2, 0.04)
    a = 0.5 + np.arange(30) / 1000
    others = [a - np.where(gaps > 0, gaps * share, 0.4) for share in (0.3, 0.5, 0.7)]
    result = compare(make_scores(np.column_stack([a, a - gaps, *others]), "abcde"))
    overall = result.comparison.results[0].overall
    assert overall is not None
    assert overall.mean_ranks["a"] < overall.mean_ranks["b"]
    (pair,) = (each for each in overall.pairs if {each.first, each.second} == {"a", "b"})
    assert (pair.first, pair.is_told_apart, pair.wins, pair.losses) == ("b", True, 20, 10)
    assert pair.rank_difference == pytest.approx(overall.mean_ranks["a"] - overall.mean_ranks["b"])
    assert "a has the best mean rank by accuracy" in result.verdict
    assert "contradicts the order of the mean ranks: b beats a, p" in result.verdict
    assert "b > a" in result.render("terminal")


def test_on_few_datasets_the_verdict_says_that_no_difference_could_be_shown() -> None:
    scores = 0.9 - np.arange(3) / 10 + np.arange(6)[:, np.newaxis] / 100
    name = "Wilcoxon's signed-rank test with Holm's correction"
    assert compare(make_scores(scores, "abc")).verdict.splitlines() == [
        f"Over 6 datasets, no two of the 3 configurations differ significantly, p = .094 ({name}).",
        "On fewer than 7 datasets, none of 3 pairs can differ significantly by this test.",
    ]
    more = np.vstack([scores, scores[:1] + 0.05])
    assert compare(make_scores(more, "abc")).verdict == (
        f"Over 7 datasets, a is the best: it beats b and c, p = .047 ({name})."
    )


@pytest.mark.parametrize("overall", ["wilcoxon", "nemenyi"])
def test_tests_over_datasets_need_six(overall: str) -> None:
    scores = 0.9 - np.arange(3) / 10 + np.arange(6)[:, np.newaxis] / 100
    for number, is_tested in ((5, False), (6, True)):
        result = compare(make_scores(scores[:number], "abc"), overall=overall)
        found = result.comparison.results[0].overall
        assert found is not None
        assert found.too_few == ("" if is_tested else (
            "Too few datasets for tests over datasets, which need at least 6: 5 datasets with scores for all "
            "configurations."
        ))  # fmt: skip
        assert np.isfinite(found.pairs[0].p_value) == np.isfinite(found.friedman) == bool(found.groups) == is_tested


NEAR_ONE = np.array([0.99, 1.0, 0.98, 1.0, 0.91])
BOUNDS = [
    ("accuracy", NEAR_ONE, (0.0, 1.0)),
    ("accuracy", 1 - NEAR_ONE, (0.0, 1.0)),
    ("error", 1 - NEAR_ONE, (0.0, 1.0)),
    ("r2", NEAR_ONE, (-np.inf, 1.0)),
    ("r2", 1 - NEAR_ONE, (-np.inf, 1.0)),
    ("mcc", -NEAR_ONE, (-1.0, 1.0)),
    ("brier", 2 * NEAR_ONE, (0.0, 2.0)),
    ("rmse", 1 - NEAR_ONE, (0.0, np.inf)),
    ("neg_root_mean_squared_error", NEAR_ONE - 1, (-np.inf, 0.0)),
    # Percent, and no scale of the metric.
    ("accuracy", 100 * NEAR_ONE, (0.0, 100.0)),
    ("accuracy", 500 * NEAR_ONE, (-np.inf, np.inf)),
    ("profit", NEAR_ONE, (-np.inf, np.inf)),
    # Equal scores have no interval.
    ("accuracy", np.ones(5), (np.nan, np.nan)),
]


@pytest.mark.parametrize(("metric", "scores", "bounds"), BOUNDS)
def test_an_interval_of_a_score_ends_at_its_bound(metric: str, scores: np.ndarray, bounds: tuple[float, float]) -> None:
    rows = [("iris", name, fold, score) for name in "ab" for fold, score in enumerate(scores)]
    table = pd.DataFrame(rows, columns=["dataset", "learner", "fold", "score"])
    keys = {"greater_is_better": True} if metric == "profit" else {}
    result = compare(table, metric=metric, **keys)
    margin = stats.t.isf(0.025, 4) * np.sqrt((1 / 5 + 1 / 4) * np.var(scores, ddof=1))
    ends = np.clip([scores.mean() - margin, scores.mean() + margin], *bounds)
    for summary in result.comparison.results[0].datasets[0].summaries:
        assert (summary.low, summary.high) == pytest.approx(ends, nan_ok=True)


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


def test_a_table_of_stored_runs_gives_the_tests_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    swept = bakeoff.sweep("evaluation=kfold", "tracking.models=false", learner=["majority", "knn"], dataset="iris,wine")
    runs = bakeoff.compare(swept, base="knn")
    rows = [
        (cell.dataset, cell.configuration, fold, score, cell.n_train, cell.n_test)
        for cell in runs.comparison.cells
        for fold, score in enumerate(cell.scores["test_accuracy"])
    ]
    table = pd.DataFrame(rows, columns=["dataset", "learner", "fold", "score", "n_train", "n_test"])
    table.to_csv("scores.csv", index=False)
    table.to_parquet("scores.parquet")
    for file in ("scores.csv", "scores.parquet"):
        scores = bakeoff.compare(file, metric="accuracy", base="knn")
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
    with pytest.raises(UserError, match="30 folds of a dataset may come from several repeats"):
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


@pytest.mark.parametrize(
    ("keys", "said"), [({"keep": True}, "not stored"), ({"until": "sure"}, "leave out until=sure")]
)
def test_a_table_is_not_stored_and_repeats_cannot_be_added_to_it(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(bakeoff.UserError, match=said):
        compare(make_folds(), **keys)


def test_scores_that_expand_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 500), ["a" * 1000])
    parquet.write_table(pa.table({"dataset": texts}), tmp_path / "b.parquet")
    with gzip.open(tmp_path / "g.csv.gz", "wb") as stream:
        stream.write(b"dataset,learner,score" + b" " * 500_000)
    monkeypatch.setattr(content, "MIN_EXPANDED_BYTES", 100_000)
    monkeypatch.setattr(content, "MAX_EXPANSION", 1)
    for name in ("b.parquet", "g.csv.gz"):
        with pytest.raises(UserError, match=rf"{name} cannot be read as CSV or Parquet: it holds more than 100.0 kB"):
            bakeoff.compare(str(tmp_path / name), metric="accuracy")


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(UserError, match=r"p.csv cannot be read as CSV or Parquet: it is not a file"):
        bakeoff.compare(str(tmp_path / "p.csv"), metric="accuracy")


def test_the_cure_for_a_table_has_no_key_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("dataset,learner,score\né,knn,1\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"is not UTF-8: .* save a table of scores as CSV in UTF-8") as error:
        bakeoff.compare(str(tmp_path / "t.csv"), metric="accuracy")
    assert "dataset." not in str(error.value)
