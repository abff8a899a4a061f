"""Comparisons of runs in a real SQLite store: choices, empty cells, verdicts, the gate, and what is kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from written_runs import write_run

from bakeoff.pipeline.commands.compare import compare_cells
from bakeoff.pipeline.commands.compare.analysis import find_pareto_front
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import make_comparison
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.verdict import find_worse
from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test, subtract_scores
from bakeoff.pipeline.commands.significance.pairs import find_holm_levels
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import Store, open_store

NOISE = np.random.default_rng(0).normal(0, 0.01, (20, 10))
"""Of the folds of several learners."""
BY_RMSE = {"evaluation.metrics": json.dumps(["rmse"])}
VALIDATION_ROWS = json.dumps({"train": 70.0, "validation": 20.0, "test": 10.0})


def scores(mean: float, learner: int = 0) -> list[float]:
    return [float(value) for value in mean + NOISE[learner]]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "bakeoff")


def compare(store: Store, query: str = "", **request: Any) -> Comparison:
    keys: dict[str, Any] = {"filter": query, "tracking__uri": store.uri, "tracking__experiment": "bakeoff"}
    return make_comparison(CompareRequest(**keys, **request))


def write_learners(store: Store, datasets: Sequence[str], means: dict[str, float]) -> None:
    for number, (learner, mean) in enumerate(means.items()):
        for position, dataset in enumerate(datasets):
            write_run(store, learner, dataset, scores(mean - 0.02 * position, number))


# Numbers


def test_the_marks_are_those_of_the_corrected_test_against_the_base(store: Store) -> None:
    # p of svm and tree is .032, and .13 after the correction for 6 pairs.
    write_learners(store, ["iris"], {"svm": 0.9, "tree": 0.888, "mlp": 0.9, "knn": 0.8})
    comparison = compare(store, base="svm")
    (result,) = comparison.results[0].datasets
    found = {summary.configuration: summary for summary in result.summaries}
    assert {name: summary.mark for name, summary in found.items()} == {"svm": "", "tree": "", "mlp": "", "knn": "*"}
    test = compute_corrected_t_test(subtract_scores(np.array(scores(0.8, 3)), np.array(scores(0.9, 0))), 10 / 90)
    assert found["knn"].p_value == test.p
    assert (result.base, found["knn"].rank) == ("svm", 4)
    pair = next(pair for pair in result.pairs if {pair.first, pair.second} == {"svm", "tree"})
    assert pair.p_value < 0.05 < pair.p_holm
    assert not pair.is_told_apart
    assert [sentence.partition(" ")[0] for sentence in find_worse(comparison)] == ["knn"]


def test_the_detectable_difference_of_a_pair_has_the_level_of_its_step_in_holms_procedure() -> None:
    assert find_holm_levels([0.2, 0.01, 0.03], 0.06).tolist() == pytest.approx([0.06, 0.02, 0.03])


def test_differences_are_positive_where_the_first_is_better_also_for_errors(store: Store) -> None:
    for learner, loss in (("knn", 0.5), ("svm", 0.2)):
        write_run(store, learner, "iris", scores(0.9), further={"test_log_loss": scores(loss, 3)})
    comparison = compare(store, metrics=("log_loss",))
    (pair,) = comparison.results[0].datasets[0].pairs
    assert (pair.first, pair.second) == ("svm", "knn")
    assert pair.difference == pytest.approx(0.3)
    assert pair.p_first > 0.99
    assert comparison.metrics[0].is_rope_relative
    assert pair.rope == pytest.approx(0.01 * np.mean(scores(0.2, 3)))


def test_a_pair_with_other_training_parts_has_the_larger_test_share_and_all_rows_of_the_dataset(store: Store) -> None:
    write_run(store, "knn", "iris", scores(0.9))
    write_run(store, "svm", "iris", scores(0.895, 1), tags={"rows_per_fold": VALIDATION_ROWS})
    comparison = compare(store)
    (pair,) = comparison.results[0].datasets[0].pairs
    assert pair.test_train_ratio == 10 / 70
    assert any("have 70 to 90 rows" in note for note in comparison.notes)
    # One of them keeps 20 of the 100 rows for validation.
    assert pair.rows_needed == math.ceil(100 * (pair.detectable / pair.difference) ** 2)


@pytest.mark.parametrize("n_datasets", [4, 5])
def test_up_to_four_datasets_have_a_verdict_each(store: Store, n_datasets: int) -> None:
    write_learners(store, list("abcde")[:n_datasets], {"svm": 0.9, "knn": 0.8})
    verdict = compare(store).verdict
    assert [sentence.startswith("On a: ") for sentence in verdict[1:2]] == [True] * (n_datasets == 4)
    assert len(verdict) == (5 if n_datasets == 4 else 1)
    assert "too few for a test" in verdict[0]


def test_looks_of_other_configurations_are_told(store: Store) -> None:
    write_learners(store, ["iris"], {"svm": 0.9, "knn": 0.8, "mlp": 0.85})
    said = "BK37 More configurations have been scored on the same test rows than the 2 here: 3 on iris."
    assert any(said in note for note in compare(store, "params.learner != 'mlp'").notes)
    notes = compare(store).notes
    assert not any("have been scored on the same test rows" in note or "training parts have" in note for note in notes)


def test_only_complete_datasets_count_over_datasets_and_the_others_are_named(store: Store) -> None:
    write_learners(store, ["a", "b", "c", "d", "e", "f"], {"svm": 0.9, "knn": 0.8, "mlp": 0.85})
    write_run(store, "svm", "g", scores(0.1))
    write_run(store, "knn", "g", scores(0.9, 1))
    write_run(store, "mlp", "g", None, status="FAILED", tags={"error": "ValueError: no"})
    comparison = compare(store)
    overall = comparison.results[0].overall
    assert overall is not None
    assert overall.datasets == ("a", "b", "c", "d", "e", "f")
    assert overall.left_out == {"g": "no scores of mlp"}
    assert overall.mean_ranks == {"svm": 1, "mlp": 2, "knn": 3}
    assert comparison.find_cell("mlp", "g").reason == "failed: ValueError: no"
    assert comparison.verdict[0].startswith(
        "Over 6 datasets, no two of the 3 configurations differ significantly, p = "
    )
    by_ranks = compare(store, overall="nemenyi").verdict[0]
    told = "svm and mlp are the best and do not differ significantly, p = .19; svm beats knn, p = .0015; mlp does not "
    assert by_ranks == f"Over 6 datasets, {told}differ significantly from knn, p = .19 (Nemenyi's test of mean ranks)."


def test_rows_are_in_the_order_of_their_ranks_on_the_datasets_where_all_have_scores(store: Store) -> None:
    write_learners(store, ["a"], {"svm": 0.9, "knn": 0.8, "mlp": 0.7})
    for dataset in ("b", "c", "d"):
        write_run(store, "svm", dataset, scores(0.5))
        write_run(store, "knn", dataset, scores(0.9, 1))
        write_run(store, "mlp", dataset, None, status="FAILED")
    comparison = compare(store)
    assert [row.name for row in comparison.configurations] == ["svm", "knn", "mlp"]
    assert comparison.settings.base == "svm"


def test_without_a_complete_dataset_rows_are_in_the_order_of_their_ranks_on_all(store: Store) -> None:
    for dataset, absent in (("a", "mlp"), ("b", "mlp"), ("c", "svm")):
        for number, (learner, mean) in enumerate({"svm": 0.8, "knn": 0.9, "mlp": 0.95}.items()):
            has_scores = learner != absent
            status = "FINISHED" if has_scores else "FAILED"
            write_run(store, learner, dataset, scores(mean, number) if has_scores else None, status=status)
    assert [row.name for row in compare(store).configurations] == ["mlp", "knn", "svm"]


def test_the_cost_of_a_cell_includes_tuning_fitting_and_pruning(store: Store) -> None:
    own = {"time/tune": [3.0], "time/prune": [0.5], "time/score": [7.0]}
    write_run(store, "tree", "iris", scores(0.9), further=own)
    write_run(store, "knn", "iris", scores(0.8, 1))
    comparison = compare(store)
    seconds = {name: comparison.find_cell(name, "iris").fit_seconds for name in ("tree", "knn")}
    assert seconds == {"tree": pytest.approx(3.7), "knn": pytest.approx(0.2)}
    assert {point.configuration: point.fit_seconds for point in comparison.results[0].pareto} == seconds


@pytest.mark.parametrize("metric", ["rmse", "neg_root_mean_squared_error"])
def test_the_front_is_the_same_by_an_error_and_by_its_negative(store: Store, metric: str) -> None:
    sign = -1 if metric.startswith("neg_") else 1
    params = {"evaluation.metrics": json.dumps([metric])}
    for learner, mean in (("knn", 5.0), ("svm", 2.0)):
        for dataset in ("a", "b"):
            errors = [sign * value for value in scores(mean)]
            write_run(store, learner, dataset, errors, metric=f"test_{metric}", params=params)
    result = compare(store, base="knn").results[0]
    points = {point.configuration: point for point in result.pareto}
    assert (points["svm"].is_efficient, points["knn"].is_efficient) == (True, False)
    assert points["svm"].score == pytest.approx(sign * 0.4, abs=0.01)
    assert (points["svm"].fit_seconds, points["svm"].n_fits) == (0.2, 20)
    assert result.overall is not None
    assert list(result.overall.mean_ranks) == ["svm", "knn"]


def test_costs_by_an_error_need_errors_of_the_base(store: Store) -> None:
    for dataset, errors in (("a", [0.0] * 10), ("b", scores(2.0))):
        write_run(store, "knn", dataset, errors, metric="test_rmse", params=BY_RMSE)
        write_run(store, "svm", dataset, scores(3.0, 1), metric="test_rmse", params=BY_RMSE)
    points = compare(store, base="knn").results[0].pareto
    assert [point.is_efficient for point in points] == [False, False]
    assert all(math.isnan(point.score) for point in points)


def test_a_score_of_one_name_that_was_computed_in_two_ways_is_not_compared(store: Store) -> None:
    def metrics(gain: int) -> dict[str, str]:
        entry = {"_target_": "mine.profit", "greater_is_better": True, "gain": gain}
        return {"evaluation.metrics": json.dumps([entry])}

    write_run(store, "knn", "iris", scores(5), metric="test_profit", params=metrics(1))
    write_run(store, "svm", "iris", scores(7), metric="test_profit", params=metrics(1))
    assert compare(store).metrics[0].greater_is_better
    write_run(store, "mlp", "iris", scores(70), metric="test_profit", params=metrics(10))
    with pytest.raises(UserError, match="computed test_profit in different ways"):
        compare(store)


def test_seeds_are_repeats_of_one_cell_in_the_order_of_numbers(store: Store) -> None:
    for seed in (10, 2):
        write_run(store, "knn", "iris", scores(0.9, seed), seed=seed)
        write_run(store, "svm", "iris", scores(0.8, seed + 1), seed=seed)
    comparison = compare(store)
    cell = comparison.find_cell("knn", "iris")
    assert cell.seeds == ("2", "10")
    assert cell.scores["test_accuracy"] == (*scores(0.9, 2), *scores(0.9, 10))
    assert (comparison.datasets[0].n_folds, comparison.datasets[0].folds_per_repeat) == (20, 10)


# The verdict


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (0.0005, "are equivalent in practice: they differ by at most 0.0100 with probability > 99 %"),
        # The probability of the equivalence is below 95 %.
        (0.03, "These folds could show a difference of about 0.0"),
    ],
)
def test_of_two_that_are_not_told_apart_the_verdict_says_what_it_would_take(
    store: Store, noise: float, said: str
) -> None:
    rng = np.random.default_rng(3)
    levels = 0.9 + rng.normal(0, 0.03, 10)
    write_run(store, "svm", "iris", levels.tolist())
    write_run(store, "knn", "iris", (levels + rng.normal(0, noise, 10)).tolist())
    comparison = compare(store)
    (pair,) = comparison.results[0].datasets[0].pairs
    assert (0.6 < pair.p_equivalent < 0.95) == (noise == 0.03)
    first, second = comparison.verdict
    assert "do not differ significantly" in first
    assert said in second
    assert "rows" in second or noise < 0.03


@pytest.mark.parametrize(
    ("folds", "said"),
    [
        ({"knn": [0.9] * 10, "svm": [0.9] * 10}, "All configurations have equal scores in every fold, so none is"),
        ({"knn": [0.8], "svm": [0.9]}, "svm has the best accuracy (0.9000), but a single split does not show"),
    ],
)
def test_equal_scores_and_a_single_split_are_not_a_verdict(
    store: Store, folds: Mapping[str, list[float]], said: str
) -> None:
    for learner, own in folds.items():
        write_run(store, learner, "iris", own)
    comparison = compare(store)
    assert comparison.verdict[0].startswith(said)
    best = [summary.configuration for summary in comparison.results[0].datasets[0].summaries if summary.is_best]
    assert best == (["knn", "svm"] if len(folds["knn"]) > 1 else ["svm"])
    if len(folds["knn"]) == 1:
        with pytest.raises(UserError, match="single split"):
            find_worse(comparison)


# Bad input


def test_a_score_that_is_not_defined_in_some_fold_empties_the_cell_with_the_reason(store: Store) -> None:
    write_learners(store, ["a", "b"], {"svm": 0.9, "mlp": 0.8})
    undefined = [float("nan"), *scores(0.7)[1:]]
    write_run(store, "knn", "a", undefined)
    write_run(store, "knn", "b", scores(0.7))
    comparison = compare(store)
    assert comparison.find_cell("knn", "a").reason == "test_accuracy is not defined in 1 of 10 folds"
    assert any("knn on a: test_accuracy is not defined" in note for note in comparison.notes)


def test_a_metric_that_is_defined_in_no_fold_is_refused_with_its_cells(store: Store) -> None:
    for learner in ("knn", "svm"):
        write_run(store, learner, "iris", [math.nan] * 10)
    with pytest.raises(UserError, match=r"no configuration has scores in all folds of a dataset.*knn on iris"):
        compare(store)
    write_run(store, "mlp", "iris", [0.9] * 10)
    with pytest.raises(UserError, match="only one configuration has scores in all folds of a dataset"):
        compare(store)


@pytest.mark.parametrize(
    ("metric", "keys", "said"),
    [
        ("test_accuracy", {"metrics": ("f1",)}, "svm.*have no test_f1"),
        ("test_r2", {}, r"different headline scores: test_accuracy \(1 run\), test_r2 \(1 run\)"),
    ],
)
def test_runs_without_a_common_metric_are_refused(store: Store, metric: str, keys: dict[str, Any], said: str) -> None:
    write_run(store, "knn", "iris", scores(0.9), further={"test_f1": scores(0.5)})
    write_run(store, "svm", "cars", scores(0.8), metric=metric)
    with pytest.raises(UserError, match=said):
        compare(store, **keys)


# Honest choices


def write_knn_and_svm(store: Store, further: dict[str, Any]) -> None:
    """Write two configurations of knn, the first better on the first five validation folds, and svm."""
    for neighbors, better in (("1", slice(0, 5)), ("5", slice(5, 10))):
        validation = np.full(10, 0.5)
        validation[better] = 0.6
        write_run(
            store,
            "knn",
            "iris",
            scores(0.9 if neighbors == "1" else 0.8, int(neighbors)),
            further={"validation_accuracy": validation.tolist()},
            params={"learner.n_neighbors": neighbors, **further.get("params", {})},
            tags={"rows_per_fold": VALIDATION_ROWS},
        )
    write_run(store, "svm", "iris", scores(0.85, 7))


def test_in_each_fold_the_best_validation_score_chooses_for_a_learner(store: Store) -> None:
    write_knn_and_svm(store, {})
    comparison = compare(store)
    cell = comparison.find_cell("knn (chosen)", "iris")
    assert cell.scores["test_accuracy"] == (*scores(0.9, 1)[:5], *scores(0.8, 5)[5:])
    assert cell.chosen == {"knn n_neighbors=1": 5, "knn n_neighbors=5": 5}
    assert {row.name for row in comparison.configurations} == {"knn (chosen)", "svm"}
    assert {row.members for row in comparison.configurations} == {("knn n_neighbors=1", "knn n_neighbors=5"), ()}
    assert any("Chosen: knn (chosen) on iris: knn n_neighbors=1 in 5 folds" in note for note in comparison.notes)
    assert cell.n_fits == 20
    assert cell.fit_seconds == pytest.approx(0.4)


def write_two_choices(store: Store, validation: Mapping[str, Sequence[float]], metric: str = "test_accuracy") -> None:
    """Write two configurations of knn with constant scores on validation rows, and svm."""
    for neighbors in ("1", "5"):
        own = {name: [values[neighbors == "5"]] * 10 for name, values in validation.items()}
        write_run(
            store, "knn", "iris", scores(0.9, int(neighbors)), metric=metric, further=own,
            params={"learner.n_neighbors": neighbors, "evaluation.metrics": json.dumps([metric.removeprefix("test_")])},
            tags={"rows_per_fold": json.dumps({"train": 60.0 + 10 * int(neighbors), "validation": 20.0, "test": 10.0})},
        )  # fmt: skip
    params = {"evaluation.metrics": json.dumps([metric.removeprefix("test_")])}
    write_run(store, "svm", "iris", scores(0.85, 7), metric=metric, further={"test_f1": scores(0.5, 3)}, params=params)


def test_the_configuration_with_the_smallest_validation_error_represents_a_learner(store: Store) -> None:
    write_two_choices(store, {"validation_rmse": (3.0, 2.0)}, "test_rmse")
    cell = compare(store).find_cell("knn (chosen)", "iris")
    assert cell.chosen == {"knn n_neighbors=5": 10}
    # The test is as conservative as the smallest training part requires.
    assert (cell.n_train, cell.n_test) == (70, 10)


@pytest.mark.parametrize(("metric", "chosen"), [("accuracy", "1"), ("f1", "5")])
def test_the_validation_scores_of_the_compared_metric_choose(store: Store, metric: str, chosen: str) -> None:
    validation = {"validation_accuracy": (0.8, 0.7), "validation_f1": (0.3, 0.4), "test_f1": (0.5, 0.5)}
    write_two_choices(store, validation)
    cell = compare(store, metrics=(metric,)).find_cell("knn (chosen)", "iris")
    assert list(cell.chosen) == [f"knn n_neighbors={chosen}"]


def test_without_tuning_or_validation_scores_all_configurations_are_rows_and_holm_counts_them(store: Store) -> None:
    for neighbors in ("1", "3", "5"):
        write_run(store, "knn", "iris", scores(0.9, int(neighbors)), params={"learner.n_neighbors": neighbors})
    write_run(store, "svm", "iris", scores(0.85, 7))
    comparison = compare(store)
    assert len(comparison.configurations) == 4
    assert len(comparison.results[0].datasets[0].pairs) == 6
    assert any("the best of the 3 was chosen by the scores shown here" in note for note in comparison.notes)
    assert len(compare(store, "params.learner = 'knn'").configurations) == 3


def test_the_tuned_configuration_stands_for_its_learner(store: Store) -> None:
    tuning = {"tuning": "grid", "tuning.folds": "5", "tuning.space.n_neighbors": "[1, 5, 9]"}
    write_run(store, "knn", "iris", scores(0.7, 1), params=tuning, further={"fits": [16.0]})
    write_run(store, "knn", "iris", scores(0.9, 2))
    write_run(store, "svm", "iris", scores(0.85, 3))
    comparison = compare(store)
    assert {row.name for row in comparison.configurations} == {"knn grid", "svm"}
    assert "the tuned one represents the learner, because its choices did not use the test rows" in comparison.notes[0]
    assert comparison.find_cell("knn grid", "iris").n_fits == 10 * 16
    assert len(compare(store, choice="none").configurations) == 3


# The gate


def test_the_gate_finds_what_is_worse_beyond_the_rope(store: Store) -> None:
    write_learners(store, ["iris"], {"svm": 0.9, "knn": 0.8})
    (sentence,) = find_worse(compare(store, base="svm"))
    assert "knn is worse than the base svm on iris: accuracy 0.7955 instead of 0.9008, p < .001" in sentence
    assert not find_worse(compare(store, base="knn"))
    assert not find_worse(compare(store, base="svm", rope=0.2))


@pytest.mark.parametrize(("rope", "is_worse"), [(0.25, False), (0.2499, True)])
def test_a_difference_that_equals_the_rope_is_not_worse(store: Store, rope: float, is_worse: bool) -> None:
    write_run(store, "svm", "iris", [0.75] * 10)
    write_run(store, "knn", "iris", [0.5] * 10)
    assert bool(find_worse(compare(store, base="svm", rope=rope))) is is_worse


def test_a_base_run_of_the_same_configuration_is_a_row_of_its_own(store: Store) -> None:
    base = write_run(store, "knn", "iris", scores(0.9), tags={"config_hash": "old code"})
    write_run(store, "knn", "iris", scores(0.8, 1), tags={"config_hash": "new code"})
    comparison = compare(store, base=base)
    assert comparison.settings.base == f"knn base {base[:8]}"
    assert find_worse(comparison)


def test_a_base_without_a_common_dataset_is_refused(store: Store) -> None:
    base = write_run(store, "knn", "wine", scores(0.9))
    write_run(store, "knn", "iris", scores(0.8, 1))
    write_run(store, "svm", "iris", scores(0.8, 2))
    comparison = compare(store, base=base)
    with pytest.raises(UserError, match="needs a dataset with several scores of the base"):
        find_worse(comparison)


def test_more_configurations_than_can_be_paired_are_refused_with_their_number(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare_cells, "MAX_CONFIGURATIONS", 2)
    write_learners(store, ["iris"], {"knn": 0.9, "svm": 0.8})
    assert len(compare(store).configurations) == 2
    write_learners(store, ["iris"], {"mlp": 0.7})
    with pytest.raises(UserError, match=r"3 configurations have 3 pairs, and at most 2 .* select fewer with filter="):
        compare(store)


def test_the_pareto_front_holds_what_nothing_beats() -> None:
    # By definition, on many ties.
    rng = np.random.default_rng(0)
    scores, seconds = rng.integers(0, 6, (2, 40)).astype(float)
    beaten = [
        any(a >= score and b <= cost and (a > score or b < cost) for a, b in zip(scores, seconds, strict=True))
        for score, cost in zip(scores, seconds, strict=True)
    ]
    front = [not one for one in beaten]
    assert find_pareto_front(scores, seconds).tolist() == front
    assert find_pareto_front(1 - scores, seconds, greater_is_better=False).tolist() == front
    undefined = np.array([np.nan, 0.9, 0.8])
    assert find_pareto_front(undefined, np.array([1.0, np.nan, 2.0])).tolist() == [False, False, True]
