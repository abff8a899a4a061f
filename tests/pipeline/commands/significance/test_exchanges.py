"""Tests of systems on items, beside SciPy, statsmodels and enumerations of all exchanges."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from extras import load_oracle
from scipy import stats

from bakeoff.pipeline.commands.significance import items as item_tests
from bakeoff.pipeline.commands.significance.items import (
    Design,
    ItemTests,
    PredictionTests,
    compute_clustered_t_test,
    compute_exchange_tests,
    count_exchanges,
)
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorers import find_metric


def make_design(clusters: np.ndarray | None = None, n: int = 0, strata: np.ndarray | None = None) -> Design:
    own = np.arange(n) if clusters is None else clusters
    return item_tests.make_design(own, np.zeros(len(own), dtype=int) if strata is None else strata)


def run_exchanges(scores: np.ndarray, design: Design) -> list[list[float]]:
    """Return the p-value of each pair, and its error."""
    sums = np.array([design.sum_clusters(column) for column in scores.T])
    return np.column_stack(compute_exchange_tests(sums, list(combinations(range(scores.shape[1]), 2)))).tolist()


def test_exchanges_of_few_items_are_all_counted() -> None:
    differences = np.array([0.3, -0.1, 0.25, 0.4, 0.05, -0.2, 0.15])
    totals = [abs(np.dot(signs, differences)) for signs in product((-1, 1), repeat=len(differences))]
    expected = np.mean(np.array(totals) >= abs(differences.sum()) - 1e-12)
    assert count_exchanges(differences) == pytest.approx(expected, abs=1e-12)
    scores = np.column_stack([differences, np.zeros(7)])
    assert run_exchanges(scores, make_design(n=7)) == [[expected, 0]]
    scipy_p = stats.permutation_test(
        (differences,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert expected == pytest.approx(scipy_p, abs=1e-12)


def test_whole_clusters_are_exchanged() -> None:
    generator = np.random.default_rng(1)
    clusters = generator.integers(6, size=80)
    scores = generator.random((80, 2))
    sums = np.bincount(clusters, scores[:, 0] - scores[:, 1])
    totals = [abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=6)]
    expected = np.mean(np.array(totals) >= abs(sums.sum()) - 1e-12)
    assert run_exchanges(scores, make_design(clusters))[0][0] == pytest.approx(expected, abs=1e-12)


def test_drawn_exchanges_agree_with_the_count_of_all_within_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(3).normal([0.5, 0.2, 0, 0], size=(15, 4))
    exact = run_exchanges(scores, make_design(n=15))
    monkeypatch.setattr(item_tests, "MAX_EXACT_UNITS", 3)
    drawn = run_exchanges(scores, make_design(n=15))
    for (p, no_error), (other, error) in zip(exact, drawn, strict=True):
        assert no_error == 0
        assert 0 < error < 2e-3
        assert other == pytest.approx(p, abs=5 * error)
    assert run_exchanges(scores, make_design(n=15)) == drawn  # the seed is fixed


def test_p_values_below_the_number_of_draws_are_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_tests, "MAX_PRODUCTS", 1)
    scores = np.column_stack([np.random.default_rng(4).normal(1, 1, size=2000), np.zeros(2000)])
    ((p, error),) = run_exchanges(scores, make_design(n=2000))
    bound = 2 * np.exp(-(scores[:, 0].sum() ** 2) / (2 * np.sum(scores[:, 0] ** 2)))
    assert stats.ttest_1samp(scores[:, 0], 0).pvalue < p == pytest.approx(bound, rel=1e-9)
    assert error == 0


def make_models(generator: np.random.Generator, n: int, shares: tuple[float, ...]) -> list[Predictions]:
    """Return predictions of 0 and 1, of which some shares are right."""
    truth = generator.integers(2, size=n)
    labels = [np.where(generator.random(n) < share, truth, 1 - truth) for share in shares]
    return [Predictions(truth, own, classes=np.arange(2), positive=1) for own in labels]


def compute_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return F1 of labels 0 and 1 by its definition; some of the rows are of class 1."""
    return float(2 * np.sum(truth * predicted) / (np.sum(truth) + np.sum(predicted)))


def test_exchanges_of_few_predictions_are_those_of_their_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_tests, "MAX_SCORED_ROWS", 1)
    models = make_models(np.random.default_rng(3), 8, (0.9, 0.4))
    truth = models[0].truth
    errors = np.array([model.predicted != truth for model in models])
    tests = PredictionTests(find_metric("f1"), models, [np.arange(8)], np.arange(8), errors)
    (pair,) = tests.test_pairs([(0, 1)], 1, 0.95)
    gaps = []
    for signs in product((False, True), repeat=8):
        mixed = np.where(signs, [model.predicted for model in models], [model.predicted for model in models[::-1]])
        scores = [compute_f1(truth, own) for own in mixed]
        gaps.append(abs(scores[0] - scores[1]))
    observed = compute_f1(truth, models[0].predicted) - compute_f1(truth, models[1].predicted)
    assert pair.test.mean == pytest.approx(observed)
    assert pair.p_value == pytest.approx(np.mean(np.array(gaps) >= abs(observed) - 1e-9), abs=4 * pair.p_error)


def test_intervals_of_a_mean_by_resampled_predictions_are_those_of_the_t_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_tests, "MAX_SCORED_ROWS", 1)
    models = make_models(np.random.default_rng(4), 400, (0.8, 0.7))
    correct = np.array([(model.predicted == model.truth).astype(float) for model in models])
    tests = PredictionTests(find_metric("accuracy"), models, [np.arange(400)], np.arange(400), 1 - correct)
    (pair,) = tests.test_pairs([(0, 1)], 1, 0.95)
    (expected,) = ItemTests(correct, make_design(n=400)).test_pairs([(0, 1)], 1, 0.95)
    assert pair.test.mean == pytest.approx(expected.test.mean)
    assert [pair.test.lower, pair.test.upper] == pytest.approx([expected.test.lower, expected.test.upper], abs=0.01)
    assert pair.p_value == pytest.approx(expected.p_value, abs=5 * pair.p_error)
    assert (pair.wins, pair.losses) == (expected.wins, expected.losses)


@pytest.mark.parametrize("n_clusters", [5, 12, 50])
def test_the_interval_over_clusters_is_that_of_statsmodels(n_clusters: int) -> None:
    generator = np.random.default_rng(n_clusters)
    clusters = np.sort(np.append(np.arange(n_clusters), generator.integers(n_clusters, size=200)))
    values = generator.normal(0.1, 1, size=len(clusters)) + generator.normal(size=n_clusters)[clusters]
    ols = load_oracle("statsmodels.api").OLS(values, np.ones(len(values)))
    fitted = ols.fit(cov_type="cluster", cov_kwds={"groups": clusters, "df_correction": True}, use_t=True)
    test = compute_clustered_t_test(values, make_design(clusters))
    assert test.degrees_of_freedom == n_clusters - 1
    assert [test.lower, test.upper] == pytest.approx(fitted.conf_int()[0], rel=1e-9)
    assert test.standard_error == pytest.approx(fitted.bse[0], rel=1e-12)
    assert test.p == pytest.approx(fitted.pvalues[0], rel=1e-9)


def test_the_interval_over_datasets_is_that_of_a_stratified_mean() -> None:
    generator = np.random.default_rng(6)
    strata = np.repeat([0, 1, 2], [20, 50, 30])
    values = generator.normal(size=100) + 10 * strata
    test = compute_clustered_t_test(values, make_design(n=100, strata=strata))
    parts = [values[strata == number] for number in range(3)]
    variance = sum((len(part) / 100) ** 2 * part.var(ddof=1) / len(part) for part in parts)
    assert test.standard_error == pytest.approx(np.sqrt(variance), rel=1e-12)
    assert test.degrees_of_freedom == 97


@pytest.mark.parametrize("clusters", [np.arange(10) % 5, np.array([0, 0, 0, 1, 1, 2, 2, 3, 3, 4])])
def test_clusters_that_do_not_divide_the_datasets_give_one_common_mean(clusters: np.ndarray) -> None:
    # The first clusters are in both datasets; in the second case, a dataset is one cluster.
    strata = np.repeat([0, 1], [3, 7])
    values = np.arange(10.0)
    test = compute_clustered_t_test(values, make_design(clusters, strata=strata))
    assert test.standard_error == compute_clustered_t_test(values, make_design(clusters)).standard_error
