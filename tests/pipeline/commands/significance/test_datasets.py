"""Tests over several datasets agree with Demšar (2006), R, statsmodels and scikit-posthocs."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from extras import load_oracle
from published_scores import DEMSAR_AUC, GARCIA_HERRERA_ACCURACY
from scipy import stats

from bakeoff.pipeline.commands.significance.datasets import (
    compute_critical_difference,
    compute_friedman_test,
    compute_nemenyi_p,
    compute_wilcoxon_p,
    count_least_datasets,
    find_groups,
    rank_configurations,
)
from bakeoff.pipeline.model.row_report import adjust_by_holm

C45, M, _, M_CF = range(4)


def test_mean_ranks_are_those_of_garcia_and_herrera() -> None:
    ranks = rank_configurations(GARCIA_HERRERA_ACCURACY).mean(axis=0)
    assert ranks.round(3).tolist() == [2.1, 3.25, 2.2, 4.333, 3.117]


def test_friedman_with_correction_for_ties_is_rs() -> None:
    # f <- friedman.test(m); F <- 13*f$statistic/(14*3-f$statistic); pf(F, 3, 39, lower.tail=FALSE)
    test = compute_friedman_test(DEMSAR_AUC)
    assert (test.chi2, test.p) == pytest.approx((10.2283464566929130, 0.0167215803284414), rel=1e-10)
    assert (test.f, test.f_p) == pytest.approx((4.185130111524163, 1 - 0.988379340484689), rel=1e-10)


def test_nemenyi_draws_demsars_conclusions() -> None:
    # CD is 1.25, and even the best and the worst differ by less. R: qtukey(.95,4,Inf)/sqrt(2)*sqrt(4*5/(6*14))
    assert compute_critical_difference(14, 4) == pytest.approx(1.25355914949599, rel=1e-7)
    assert compute_critical_difference(14, 4, alpha=0.1) == pytest.approx(1.12, abs=0.005)
    ranks = rank_configurations(DEMSAR_AUC).mean(axis=0)
    p = {pair: compute_nemenyi_p(ranks[pair[0]] - ranks[pair[1]], 14, 4) for pair in combinations(range(4), 2)}
    assert min(p.values()) > 0.05
    # At .10, C4.5 is worse than C4.5+m and C4.5+m+cf, and C4.5+cf may belong to either group.
    assert {pair for pair in p if p[pair] < 0.1} == {(C45, M), (C45, M_CF)}


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


@pytest.mark.parametrize(
    ("told_apart", "groups"),
    [
        ("", ["abcd"]),
        ("ab ac ad bc bd cd", []),
        ("ad", ["abc", "bcd"]),
        ("ac ad bc bd", ["ab", "cd"]),
        # The bar of a and c passes over b, which differs from both.
        ("ab bc ad bd cd", ["ac"]),
        ("ab cd", ["ac", "ad", "bc", "bd"]),
    ],
)
def test_groups_join_exactly_the_pairs_that_are_not_told_apart(told_apart: str, groups: list[str]) -> None:
    apart = set(map(frozenset, told_apart.split()))
    found = find_groups("abcd", apart)
    assert ["".join(group) for group in found] == groups
    joined = {frozenset(pair) for group in found for pair in combinations(group, 2)}
    assert joined == set(map(frozenset, combinations("abcd", 2))) - apart
    # No group has room for another one.
    assert not any(all(frozenset((x, y)) in joined for y in group) for group in found for x in set("abcd") - {*group})


@pytest.mark.parametrize(("n_pairs", "n_datasets"), [(1, 6), (3, 7), (10, 9), (45, 11)])
def test_on_fewer_datasets_no_pair_can_differ(n_pairs: int, n_datasets: int) -> None:
    assert count_least_datasets(n_pairs) == n_datasets
    for number, is_enough in ((n_datasets - 1, False), (n_datasets, True)):
        smallest = compute_wilcoxon_p(np.linspace(0.6, 0.9, number), np.full(number, 0.5))
        adjusted = adjust_by_holm(np.array([smallest, *[1.0] * (n_pairs - 1)]))
        assert bool(adjusted.min() <= 0.05) is is_enough


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_that_of_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).uniform(0, 0.2, 20).round(2)
    _, adjusted, _, _ = load_oracle("statsmodels.stats.multitest").multipletests(p, method="holm")
    assert len(adjust_by_holm(p[:0])) == 0
    assert adjust_by_holm(p) == pytest.approx(adjusted, rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_nemenyis_p_values_are_those_of_scikit_posthocs(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(8, 6)).round(1)
    expected = load_oracle("scikit_posthocs").posthoc_nemenyi_friedman(scores).to_numpy()
    ranks = rank_configurations(scores).mean(axis=0)
    p = [[compute_nemenyi_p(first - second, 8, 6) for first in ranks] for second in ranks]
    assert np.array(p) == pytest.approx(expected, rel=1e-10)
