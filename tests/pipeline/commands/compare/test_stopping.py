"""Pairs stop at the repeat that decides them, at a level corrected for the looks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from written_runs import write_run

from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import make_comparison
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test
from bakeoff.pipeline.commands.significance.pairs import EQUAL, TOLD_APART, UNDECIDED, StopRule
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.tuning.race import correct_for_looks, find_level, simulate_smallest_p
from bakeoff.pipeline.tracking.store import Store, open_store

TEN_TIMES_TEN = tuple(range(10, 101, 10))
NINTH = 1 / 9
RULE = StopRule(folds=10, repeats=10, alpha=0.05, rope=0.01)


def test_ten_looks_err_in_12_percent_and_a_smaller_level_restores_5() -> None:
    smallest = simulate_smallest_p(TEN_TIMES_TEN, NINTH)
    assert np.mean(smallest <= 0.05) == pytest.approx(0.118, abs=0.003)
    assert find_level(0.05, TEN_TIMES_TEN, NINTH) == pytest.approx(0.0184, abs=0.0004)


def compute_p(paths: np.ndarray, ratio: float) -> np.ndarray:
    """Return the p-value of the corrected t-test of each row."""
    n = paths.shape[1]
    error = np.sqrt((1 / n + ratio) * paths.var(axis=1, ddof=1))
    return np.asarray(2 * stats.t.sf(np.abs(paths.mean(axis=1) / error), n - 1))


@pytest.mark.parametrize(("looks", "ratio"), [((10, 20, 30), NINTH), ((3, 4, 5, 6), 1 / 5)])
def test_the_simulation_is_that_of_correlated_folds_tested_one_by_one(looks: tuple[int, ...], ratio: float) -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(scale=np.sqrt(ratio), size=(3000, 1))
    paths = shared + rng.normal(size=(3000, looks[-1]))  # (paths, J), correlated by ratio / (1 + ratio)
    smallest = np.min([compute_p(paths[:, :n], ratio) for n in looks], axis=0)
    for level in (0.02, 0.05, 0.2):
        ours = np.mean(simulate_smallest_p(looks, ratio) <= level)
        assert np.mean(smallest <= level) == pytest.approx(ours, abs=4 * np.sqrt(ours / 3000))


def test_a_corrected_p_is_between_that_of_one_look_and_bonferronis() -> None:
    p = np.array([1e-9, 1e-5, 1e-3, 0.02, 0.3, 1.0, np.nan])
    corrected = correct_for_looks(p, TEN_TIMES_TEN, NINTH)
    assert np.all(np.diff(corrected[:-1]) > 0)
    assert np.all((p <= corrected) & (corrected <= 10 * p) | np.isnan(p))
    assert np.isnan(corrected[-1])
    assert correct_for_looks(p[:-1], (30,), NINTH).tolist() == p[:-1].tolist()


def draw(mean: float, std: float, n: int = 100, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, std, n)


@pytest.mark.parametrize(
    ("differences", "rope", "answer", "repeats"),
    [
        (draw(0.2, 0.05), 0.01, TOLD_APART, 1),
        (draw(0.0, 0.001), 0.01, EQUAL, 1),
        (draw(0.0, 0.001), 0.0, UNDECIDED, 10),
        (draw(0.02, 0.05, 30), 0.01, UNDECIDED, 3),
        (np.zeros(100), 0.0, EQUAL, 1),
    ],
)
def test_a_pair_is_better_equal_or_undecided(differences: np.ndarray, rope: float, answer: str, repeats: int) -> None:
    (stop,) = StopRule(folds=10, repeats=10, alpha=0.05, rope=rope).stop_pairs([differences], [NINTH])
    assert (stop.answer, stop.repeats) == (answer, repeats)
    assert stop.test == compute_corrected_t_test(differences[: 10 * repeats], NINTH)


def test_a_pair_is_equal_only_if_neither_can_be_better_by_the_rope() -> None:
    # The mean is near the rope: surely not below its negative, but perhaps above it.
    differences = 0.008 + 0.0035 * np.tile([-1.0, 1.0], 10)
    (stop,) = StopRule(folds=10, repeats=2, alpha=0.05, rope=0.01).stop_pairs([differences], [1.0])
    assert (stop.answer, stop.repeats) == (UNDECIDED, 2)
    (stop,) = StopRule(folds=10, repeats=2, alpha=0.05, rope=0.03).stop_pairs([differences], [1.0])
    assert stop.answer == EQUAL


def test_a_decided_pair_is_not_tested_again_and_holm_counts_it() -> None:
    # The first pair differs clearly at first and not at all later.
    first = np.concatenate([draw(0.1, 0.02, 10), draw(0.0, 0.3, 90)])
    stops = RULE.stop_pairs([first, draw(0.0, 0.05)], [NINTH, NINTH])
    assert [(stop.answer, stop.repeats) for stop in stops] == [(TOLD_APART, 1), (UNDECIDED, 10)]
    p = compute_corrected_t_test(first[:10], NINTH).p
    assert stops[0].p_difference == pytest.approx(2 * correct_for_looks(np.array([p]), RULE.looks, NINTH)[0])


# Runs of one repeat each


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path}/mlflow.db", "experiment")


def write_repeats(store: Store, learner: str, scores: Sequence[np.ndarray], **params: str) -> None:
    for repeat, own in enumerate(scores):
        number = {"evaluation.first_repeat": str(repeat), **params}
        write_run(store, learner, "iris", own.tolist(), params=number, tags={"splits_digest": f"repeat {repeat}"})


def compare(store: Store, **keys: Any) -> Comparison:
    own = {"filter": "params.dataset = 'iris'", "tracking__uri": store.uri, "tracking__experiment": "experiment"}
    return make_comparison(CompareRequest(**{**own, **keys}))


@pytest.fixture
def repeated(store: Store) -> Store:
    """Return a store in which svm has one repeat, and knn and mlp have three."""
    write_repeats(store, "svm", [draw(0.9, 0.01, 10)])
    for seed, learner in enumerate(("knn", "mlp"), start=1):
        write_repeats(store, learner, np.split(draw(0.5, 0.05, 30, seed), 3))
    return store


def test_each_pair_has_the_folds_that_both_have_and_the_sentences_say_what_was_saved(repeated: Store) -> None:
    comparison = compare(repeated, until="sure", repeats=3)
    pairs = {(pair.first, pair.second): pair for pair in comparison.results[0].datasets[0].pairs}
    assert {frozenset(names): (pair.answer, pair.repeats) for names, pair in pairs.items()} == {
        frozenset(("svm", "knn")): (TOLD_APART, 1),
        frozenset(("svm", "mlp")): (TOLD_APART, 1),
        frozenset(("knn", "mlp")): (UNDECIDED, 3),
    }
    assert comparison.find_cell("knn", "iris").scores["test_accuracy"][:2] == tuple(draw(0.5, 0.05, 30, 1)[:2])
    assert (comparison.datasets[0].n_folds, comparison.datasets[0].folds_per_repeat) == (30, 10)
    assert comparison.verdict[-2:] == (
        "Answers on single datasets, 3 pairs: 2 better, 0 practically equal, 1 undecided.",
        "Repeats of the folds, at most 3: 3 on iris. 70 of 90 folds were run, which saved 22 %.",
    )
    assert "until=sure repeats=3" in comparison.command
    # The fourth repeat of the undecided pair is not saved.
    assert compare(repeated, until="sure", repeats=4).verdict[-1].endswith("70 of 120 folds were run.")


def test_without_until_sure_missing_repeats_are_refused_and_looks_are_named(repeated: Store) -> None:
    with pytest.raises(UserError, match=r"svm has no run with seed 0 and evaluation\.first_repeat=1.*add until=sure"):
        compare(repeated)
    comparison = compare(repeated, filter="params.learner != 'svm'")
    assert any("until=sure the p-values are corrected" in note for note in comparison.notes)
