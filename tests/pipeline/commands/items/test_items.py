"""Systems are compared on the items of one test set, from tables of two shapes and from stored runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff, command_in
from extras import load_oracle
from item_tables import make_outcomes, make_pair

import bakeoff
from bakeoff.pipeline.commands.comparison_report.comparison import ItemPair
from bakeoff.pipeline.commands.significance import items as item_tests
from bakeoff.pipeline.errors import UserError


def compare(table: pd.DataFrame, **keys: Any) -> bakeoff.ComparisonResult:
    return bakeoff.compare(table, **{"item": "task", **keys})


def find_pair(result: bakeoff.ComparisonResult, first: str, second: str, dataset: int = 0) -> ItemPair:
    pairs = result.comparison.results[0].datasets[dataset].pairs
    (pair,) = [pair for pair in pairs if {pair.first, pair.second} == {first, second}]
    assert isinstance(pair, ItemPair)
    return pair


@pytest.mark.parametrize(
    ("wins", "losses", "n_items", "p", "digits"),
    [
        # allenai/reward-bench, issue 269: three categories
        (4, 3, 358, 1.000, 3),
        (30, 23, 456, 0.410, 3),
        (29, 27, 740, 0.894, 3),
        # apache/maka, pull request 1848: 52 and 38 of 110 tasks, 34 and 20 of them alone
        (34, 20, 110, 0.0759, 4),
        # MongLong0214/commitlore, pull request 114: 46 pairs agree
        (8, 2, 56, 0.1094, 4),
        # promptfoo/promptfoo, issue 10505
        (4, 0, 9, 0.125, 3),
        (6, 0, 9, 0.03125, 5),
        (12, 0, 27, 0.0005, 4),
        (11, 1, 27, 0.006, 3),
        # AreevAI/areev, pull request 136: 31 and 23, then 32 and 23 of 60 tasks; no other overlaps have these p-values
        (10, 2, 60, 0.039, 3),
        (10, 1, 60, 0.012, 3),
    ],
)
def test_published_p_values_of_leaderboards_are_reproduced(
    wins: int, losses: int, n_items: int, p: float, digits: int
) -> None:
    pair = find_pair(compare(make_pair(wins, losses, n_items)), "first", "second")
    assert round(pair.p_value, digits) == p
    assert (pair.wins, pair.losses) == (wins, losses)
    assert pair.difference == pytest.approx((wins - losses) / n_items)


@pytest.mark.parametrize(("n", "k"), [(30, 3), (200, 8)])
def test_cochrans_q_is_that_of_statsmodels(n: int, k: int) -> None:
    scores = (np.random.default_rng(k).random((n, k)) < np.linspace(0.4, 0.7, k)).astype(float)
    expected = load_oracle("statsmodels.stats.contingency_tables").cochrans_q(scores)
    result = compare(pd.DataFrame(scores, columns=[f"system-{number}" for number in range(k)]).assign(task=range(n)))
    design = result.comparison.items
    assert design is not None
    assert (design.cochran_q, design.cochran_p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
    assert any("Cochran's Q = " in note for note in result.notes)


def test_long_and_wide_tables_of_all_formats_give_the_same_comparison(bakeoff: Bakeoff) -> None:
    long = make_outcomes()
    wide = long.pivot(index="task", columns="system", values="score").loc[long["task"].unique()].reset_index()
    wide["remark"] = "none"
    long.rename(columns={"system": "Model"}).to_csv(bakeoff.folder / "long.csv", index=False)
    wide.to_parquet(bakeoff.folder / "wide.parquet")
    long.assign(score=long["score"] == 1).to_json(bakeoff.folder / "long.jsonl", orient="records", lines=True)
    results = []
    for file in ("long.csv", "wide.parquet", "long.jsonl"):
        answer = bakeoff("compare", file, "item=task", "to=json", "keep=false")
        assert answer.status == 0, answer.err
        document = json.loads(answer.out)
        results.append((document["results"], document["items"], document["verdict"]))
    assert results[0] == results[1] == results[2]
    assert not (bakeoff.folder / "outputs").exists()


def test_tiers_are_named_with_what_would_tell_the_best_apart() -> None:
    result = compare(make_outcomes(400))
    pair = find_pair(result, "opus", "gpt")
    assert result.verdict.splitlines()[:-1] == [
        f"Tier A: {pair.first} and {pair.second} (not told apart, p = .44).",
        "Tier B: qwen.",
        "Tier C: mini.",
    ]
    assert f"about {pair.rows_needed} items would tell them apart" in result.verdict.splitlines()[-1]
    design = result.comparison.items
    assert design is not None
    assert design.tiers == ((pair.first, pair.second), ("qwen",), ("mini",))


def test_clusters_are_exchanged_and_counted() -> None:
    result = compare(make_outcomes(), cluster="repo")
    design = result.comparison.items
    assert design is not None
    assert (design.n_items, design.n_clusters) == (120, 12)
    assert "(12 clusters)" in result.comparison.question
    p_values = result.pairs["p_value"] * 2**11
    assert p_values.to_list() == [round(p) for p in p_values]  # shares of 2 ** 12 exchanges, in pairs
    assert result.pairs["p_error"].eq(0).all()


def test_few_clusters_that_cannot_tell_anything_apart_say_so() -> None:
    table = make_pair(40, 0, 100).assign(repo=np.arange(100) % 5)
    result = compare(table, cluster="repo")
    pair = find_pair(result, "first", "second")
    assert pair.p_value == 2 / 2**5
    assert not pair.is_told_apart
    rough, hopeless = [note for note in result.notes if "5 clusters" in note]
    assert rough == "With only 5 clusters, intervals are rough."
    assert (
        "No pair can be told apart at α = 0.05 on 5 clusters: none of 32 exchanges gives a p-value below 0.062"
        in hopeless
    )
    wider = compare(table.assign(repo=np.arange(100) % 8), cluster="repo")
    assert "With only 8 clusters, intervals are rough." in wider.notes
    assert not any("clusters" in note for note in compare(table.assign(repo=np.arange(100)), cluster="repo").notes)


def test_attempts_are_averaged_within_an_item() -> None:
    table = pd.concat([make_outcomes().assign(attempt=number) for number in range(3)])
    table.loc[table["attempt"] == 2, "score"] = 0
    result = compare(table)
    assert "The 3 attempts at an item are averaged: they are no further items." in result.notes
    once = compare(make_outcomes()).table["the test set"]
    assert result.table["the test set"].to_dict() == pytest.approx((once * 2 / 3).to_dict())
    design = result.comparison.items
    assert design is not None
    assert design.n_items == 120


def test_each_dataset_is_compared_alone_and_all_items_together() -> None:
    parts = [make_pair(30, 10, 60).assign(dataset="a"), make_pair(5, 5, 40).assign(dataset="b")]
    result = compare(pd.concat(parts))
    assert result.table.columns.to_list() == ["all datasets", "a", "b"]
    whole, first, second = (find_pair(result, "first", "second", number) for number in range(3))
    assert whole.difference == pytest.approx(20 / 100)
    assert first.difference == pytest.approx(20 / 60)
    assert (first.p_value, second.p_value) == pytest.approx((0.0022214, 1.0), rel=1e-4)
    assert (whole.wins, whole.losses) == (35, 15)


@pytest.mark.parametrize(("rope", "answer"), [(0.01, "undecided"), (0.1, "practically equal")])
def test_systems_within_the_rope_are_practically_equal(rope: float, answer: str) -> None:
    pair = find_pair(compare(make_pair(10, 10, 400), rope=rope), "first", "second")
    assert pair.answer == answer


@pytest.mark.parametrize(("n_items", "answer"), [(5, "undecided"), (700, "practically equal")])
def test_equal_scores_on_few_items_do_not_show_equality(n_items: int, answer: str) -> None:
    result = compare(make_pair(0, 0, n_items).assign(third=[1, 0] * (n_items // 2) + [1] * (n_items % 2)))
    assert find_pair(result, "first", "second").answer == answer


def test_all_equal_scores_have_no_best() -> None:
    result = compare(make_pair(0, 0, 10))
    assert result.verdict == "All systems have equal scores on every item, so none is better."


def test_lower_scores_are_better_if_the_metric_says_so() -> None:
    table = make_outcomes()
    best = compare(table).table.index[0]
    lower = compare(table, greater_is_better=False)
    assert lower.table.index[-1] == best
    pair = find_pair(lower, "opus", "mini")
    assert (pair.first, pair.is_told_apart) == ("mini", True)
    assert 0 < pair.low < pair.difference
    assert pair.wins > pair.losses
    assert compare(table.assign(score=table["score"] + 0.5), metric="log_loss").table.index[-1] == best
    assert any("assumed to be better" in note for note in compare(table).notes)
    assert not any("assumed" in note for note in compare(table, metric="accuracy").notes)


def test_only_the_items_that_all_answered_are_compared_if_asked() -> None:
    table = make_outcomes().drop(index=[3, 125])
    with pytest.raises(UserError, match=r"different items of 120: opus lacks 1 \(task-3\); gpt lacks 1 \(task-5\)"):
        compare(table)
    result = compare(table, items="common")
    assert "Left out: 2 of 120 items that not all systems answered (task-5, task-3)." in result.notes


def test_the_gate_fails_for_a_system_that_is_worse_than_the_base(bakeoff: Bakeoff) -> None:
    make_outcomes().to_csv(bakeoff.folder / "outcomes.csv", index=False)
    words = ("compare", "outcomes.csv", "item=task", "fail_if=worse", "keep=false")
    worse = bakeoff(*words, "base=opus")
    assert worse.status == 1
    assert "mini is worse than the base opus on the test set" in worse.err
    assert bakeoff(*words, "base=mini").status == 0


def test_a_table_of_folds_that_looks_like_items_is_told_of_item() -> None:
    table = make_outcomes().rename(columns={"system": "learner"}).assign(dataset="a")
    with pytest.raises(UserError, match="item=COLUMN"):
        bakeoff.compare(table, metric="accuracy")
    with pytest.raises(UserError, match=r"name the column of the items by item="):
        bakeoff.compare(table.assign(fold=table["task"]), metric="accuracy")


def test_tables_are_stored_and_later_ones_of_the_same_items_count_their_systems(bakeoff: Bakeoff) -> None:
    table = make_outcomes()
    table.to_csv(bakeoff.folder / "outcomes.csv", index=False)
    kept = bakeoff("compare", "outcomes.csv", "item=task")
    run_id = kept.err.partition("kept as run ")[2].split()[0]
    names = {file.name for file in bakeoff.folder.glob(f"outputs/**/{run_id}/artifacts/*")}
    assert names >= {"comparison.html", "comparison.json", "comparison.csv", "tiers.svg", "runs.json"}
    for items, expected in ((table[::-1], ["4 on the test set"]), (table[table["task"] != "task-1"], [])):
        later = items[items["system"].isin(["gpt", "mini"])]
        notes = compare(later, keep=True, tracking__uri=f"sqlite:///{bakeoff.folder}/outputs/mlflow.db").notes
        looks = [note.partition("than the 2 here: ")[2].partition(". ")[0] for note in notes if "More systems" in note]
        assert looks == expected


def test_without_a_store_a_table_of_items_is_compared_by_keep_false(bakeoff: Bakeoff) -> None:
    make_outcomes().to_csv(bakeoff.folder / "outcomes.csv", index=False)
    words = ("compare", "outcomes.csv", "item=task", "tracking.uri=sqlite:///outcomes.csv")
    refused = bakeoff(*words)
    assert refused.status == 2
    assert "With keep=false, the comparison needs no store." in refused.err
    assert bakeoff(*words, "keep=false").status == 0


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two sweeps of two learners on two datasets: over folds, and with one holdout part."""
    folder = tmp_path_factory.mktemp("swept")
    with command_in(folder) as command:
        for own in (
            ("evaluation=kfold",),
            ("evaluation=holdout", "evaluation.metrics=[f1,accuracy,log_loss,brier,error]"),
        ):
            words = ("-m", "dataset=iris,wine", "learner=knn,naive_bayes", "tracking.models=false", *own)
            assert command(*words).status == 0
    return folder


def compare_runs(folder: Path, *words: str) -> dict[str, Any]:
    """Return the JSON document of a comparison of runs in a folder."""
    with command_in(folder) as command:
        answer = command("compare", *words, "to=json", "keep=false")
    assert answer.status == 0, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    return document


def list_means(document: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {
        (each["dataset"], summary["configuration"]): summary["mean"]
        for each in document["results"][0]["datasets"]
        for summary in each["summaries"]
    }


FOLDS = "filter=params.evaluation = 'kfold'"


def test_runs_are_compared_on_the_same_test_rows(swept: Path) -> None:
    document = compare_runs(swept, FOLDS, "item=row")
    assert document["items"]["n_items"] == 150 + 178
    assert [each["dataset"] for each in document["results"][0]["datasets"]] == ["all datasets", "iris", "wine"]
    means = list_means(document)
    for cell in compare_runs(swept, FOLDS)["cells"]:
        # Folds of wine differ by a row.
        stored = np.mean(cell["scores"]["test_accuracy"])
        assert means[cell["dataset"], cell["configuration"]] == pytest.approx(stored, abs=2e-3)


@pytest.mark.parametrize("metric", ["log_loss", "brier", "error"])
def test_a_metric_that_is_a_mean_over_rows_is_that_of_the_run(swept: Path, metric: str) -> None:
    words = ("sweep=latest", f"metrics={metric}")
    found = list_means(compare_runs(swept, *words, "item=row"))
    for cell in compare_runs(swept, *words)["cells"]:
        (stored,) = cell["scores"][f"test_{metric}"]
        assert found[cell["dataset"], cell["configuration"]] == pytest.approx(stored, rel=1e-9)


@pytest.mark.parametrize(
    ("dataset", "metric", "learners"),
    [
        ("breast_cancer", "f1", "knn,naive_bayes"),
        ("wine", "roc_auc", "knn,naive_bayes"),
        ("diabetes", "rmse", "knn_regressor,linear_regression"),
    ],
)
def test_a_metric_that_is_no_mean_over_rows_is_that_of_the_runs_with_exchanged_predictions(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch, dataset: str, metric: str, learners: str
) -> None:
    for name, number in (("N_RESAMPLES", 99), ("MIN_EXCHANGES", 99), ("MAX_EXCHANGES", 99)):
        monkeypatch.setattr(item_tests, name, number)
    words = (f"dataset={dataset}", f"learner={learners}", f"evaluation.metrics=[{metric}]", "tracking.models=false")
    assert bakeoff("-m", *words, "evaluation=kfold", "evaluation.folds=3").status == 0
    answer = bakeoff("compare", "sweep=latest", "item=row", "to=json", "keep=false")
    assert answer.status == 0, answer.err
    rows = json.loads(answer.out)
    folds = json.loads(bakeoff("compare", "sweep=latest", "to=json", "keep=false").out)
    expected = {cell["configuration"]: np.mean(cell["scores"][f"test_{metric}"]) for cell in folds["cells"]}
    (result,) = rows["results"][0]["datasets"]
    assert {each["configuration"]: each["mean"] for each in result["summaries"]} == pytest.approx(expected, rel=1e-9)
    (pair,) = result["pairs"]
    assert pair["low"] < pair["difference"] < pair["high"]
    assert pair["p_error"] == pytest.approx(np.sqrt(pair["p_value"] * (1 - pair["p_value"]) / 99), rel=1e-9)
    assert "drawn with replacement" in " ".join(rows["notes"])


def test_metrics_that_do_not_follow_from_predictions_are_refused(swept: Path, tmp_path: Path) -> None:
    shutil.copytree(swept, tmp_path / "copy")
    with command_in(tmp_path / "copy") as command:
        refused = command("compare", "sweep=latest", "item=row", "metrics=f1")
        assert refused.status == 2
        assert "on one dataset at a time" in refused.err
        for file in command.folder.glob("outputs/**/predictions.csv"):
            table = pd.read_csv(file)
            table.assign(predicted=table["truth"]).to_csv(file, index=False)
        holdout = "filter=params.evaluation = 'holdout' and params.dataset = 'iris'"
        refused = command("compare", holdout, "item=row", "metrics=f1")
    assert refused.status == 2
    assert "does not follow from the stored predictions" in refused.err
