"""Tests over several datasets agree with Demšar (2006), R, statsmodels and scikit-posthocs."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scikit_posthocs
from published_scores import DEMSAR_AUC
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bakeoff.pipeline.comparison.overall_analysis import find_pareto_front
from bakeoff.pipeline.comparison.rank_tests import (
    compute_critical_difference,
    compute_friedman_test,
    compute_nemenyi_test,
    compute_wilcoxon_p,
    count_datasets,
    count_wins,
    find_cliques,
    rank_configurations,
)
from bakeoff.pipeline.model.row_report import adjust_by_holm

C45, M, CF, M_CF = range(4)


def test_mean_ranks_are_demsars() -> None:
    mean_ranks = rank_configurations(DEMSAR_AUC).mean(axis=0)
    assert mean_ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]


def test_friedman_with_correction_for_ties_is_rs() -> None:
    # f <- friedman.test(m); F <- 13*f$statistic/(14*3-f$statistic); pf(F, 3, 39, lower.tail=FALSE)
    test = compute_friedman_test(DEMSAR_AUC)
    assert (test.chi2, test.p) == pytest.approx((10.2283464566929130, 0.0167215803284414), rel=1e-10)
    assert (test.f, test.f_p) == pytest.approx((4.185130111524163, 1 - 0.988379340484689), rel=1e-10)


def test_nemenyi_draws_demsars_conclusions() -> None:
    at_05 = compute_nemenyi_test(DEMSAR_AUC)
    # CD is 1.25, and even the best and the worst differ by less. R: qtukey(.95,4,Inf)/sqrt(2)*sqrt(4*5/(6*14))
    assert at_05.critical_difference == pytest.approx(1.25355914949599, rel=1e-7)
    assert at_05.cliques == ((M_CF, M, CF, C45),)
    assert np.all(at_05.p > 0.05)
    # At .10, CD is 1.12: C4.5 is worse than C4.5+m and C4.5+m+cf, and C4.5+cf may belong to either group.
    at_10 = compute_nemenyi_test(DEMSAR_AUC, alpha=0.1)
    assert at_10.critical_difference == pytest.approx(1.12, abs=0.005)
    assert at_10.cliques == ((M_CF, M, CF), (CF, C45))
    assert {(i, j) for i, j in combinations(range(4), 2) if at_10.p[i, j] < 0.1} == {(C45, M), (C45, M_CF)}


@pytest.mark.parametrize(("k", "quantile"), [(2, 1.960), (4, 2.569), (6, 2.850), (10, 3.164)])
def test_critical_values_are_demsars_table_5(k: int, quantile: float) -> None:
    error = math.sqrt(k * (k + 1) / (6 * 20))
    assert compute_critical_difference(20, k) / error == pytest.approx(quantile, abs=0.001)


def test_wilcoxon_is_rs() -> None:
    # wilcox.test(w)$p.value
    differences = [0.021, -0.004, 0.033, 0.007, -0.002, 0.041, 0.019, 0.005, -0.013, 0.022]
    base = np.linspace(0.5, 0.9, len(differences))
    assert compute_wilcoxon_p(base + differences, base) == pytest.approx(0.048828125, rel=1e-12)
    assert compute_wilcoxon_p(base, base + differences) == pytest.approx(0.048828125, rel=1e-12)


@pytest.mark.parametrize("n_datasets", [3, 17, 50])
def test_without_ties_the_exact_distribution_is_scipys(n_datasets: int) -> None:
    differences = np.random.default_rng(n_datasets).normal(0.2, 1, n_datasets)
    assert compute_wilcoxon_p(differences, np.zeros(n_datasets)) == pytest.approx(
        stats.wilcoxon(differences, method="exact").pvalue, rel=1e-9
    )


def test_many_datasets_have_rs_normal_approximation() -> None:
    # x <- rep(c(.03,-.01,.02,.02,.05,-.02,.07,.08,.09,-.04,.11,.12,.01,-.06,-.10), 4)
    # wilcox.test(x, exact=FALSE, correct=FALSE)$p.value
    x = np.array([3, -1, 2, 2, 5, -2, 7, 8, 9, -4, 11, 12, 1, -6, -10])
    assert compute_wilcoxon_p(np.tile(x, 4) / 100, np.zeros(60)) == pytest.approx(0.003758780710520127, rel=1e-9)


def test_with_ties_and_zeros_all_changes_of_signs_are_counted() -> None:
    differences = np.array([0.0, 0.25, 0.25, -0.125, 0.5, 0.0, 0.5, 0.75])
    p = compute_wilcoxon_p(differences, np.zeros(8))
    # By enumeration, with half of the zeros' ranks (1.5 each) on either side.
    sizes = stats.rankdata(np.abs(differences))
    ranks = sizes[differences != 0]
    sums = np.array([np.sum(ranks * signs) for signs in product([0, 1], repeat=6)])  # (64,)
    observed = np.sum(sizes[differences > 0])
    assert p == pytest.approx(2 * np.mean(sums >= observed))
    theirs = stats.wilcoxon(differences, zero_method="zsplit", method=stats.PermutationMethod(n_resamples=np.inf))
    assert p == pytest.approx(theirs.pvalue)


def test_equal_configurations_are_not_told_apart() -> None:
    scores = np.linspace(0.5, 0.9, 6)
    assert compute_wilcoxon_p(scores, scores) == 1
    equal = compute_friedman_test(np.column_stack([scores] * 3))
    assert (equal.chi2, equal.p, equal.f, equal.f_p) == (0, 1, 0, 1)


def test_datasets_that_rank_alike_have_the_probability_of_that() -> None:
    alike = np.tile([0.9, 0.8, 0.7], (4, 1))
    test = compute_friedman_test(alike)
    assert test.f == math.inf
    assert test.f_p == pytest.approx((1 / 6) ** 3)


def test_rounding_makes_no_rank() -> None:
    scores = np.array([[0.1 + 0.2, 0.3, 0.2], [0.7, 0.1 + 0.6, 0.9]])
    assert rank_configurations(scores).tolist() == [[1.5, 1.5, 3], [2.5, 2.5, 1]]
    assert rank_configurations(scores, greater_is_better=False).tolist() == [[2.5, 2.5, 1], [1.5, 1.5, 3]]
    assert rank_configurations(scores * 1e-20).tolist() == [[1.5, 1.5, 3], [2.5, 2.5, 1]]


def test_wins_ties_and_losses_are_counted() -> None:
    wins = count_wins(rank_configurations(DEMSAR_AUC))
    assert (wins[M, C45], 14 - wins[M, C45] - wins[C45, M], wins[C45, M]) == (10, 2, 2)


@pytest.mark.parametrize(
    ("mean_ranks", "difference", "cliques"),
    [
        ([1.0, 2.0, 3.0], 0.5, ()),
        ([1.0, 2.0, 3.0], 1.5, ((0, 1), (1, 2))),
        ([3.0, 1.0, 2.0], 5.0, ((1, 2, 0),)),
        ([1.0, 1.2, 3.0, 3.1, 3.2], 1.0, ((0, 1), (2, 3, 4))),
        ([1.0, 2.0], 1.0, ()),
    ],
)
def test_cliques_are_the_largest_groups(mean_ranks: list[float], difference: float, cliques: Any) -> None:
    assert find_cliques(np.array(mean_ranks), difference) == cliques


def test_enough_datasets_bring_the_critical_difference_down() -> None:
    needed = count_datasets(0.5, 4)
    assert needed is not None
    assert compute_critical_difference(needed, 4) <= 0.5 < compute_critical_difference(needed - 1, 4)
    assert count_datasets(0.0, 4) is None
    assert count_datasets(1e-6, 4) is None


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_that_of_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).uniform(0, 0.2, 20).round(2)
    _, adjusted, _, _ = multipletests(p, method="holm")
    assert len(adjust_by_holm(p[:0])) == 0
    assert adjust_by_holm(p) == pytest.approx(adjusted, rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_nemenyis_p_values_are_those_of_scikit_posthocs(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(8, 6)).round(1)
    expected = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    assert compute_nemenyi_test(scores).p == pytest.approx(expected, rel=1e-10)


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
