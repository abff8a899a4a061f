"""Tests of folds of one dataset agree with R, WEKA, SciPy, baycomp and published examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from published_scores import SONAR_J48, SONAR_NAIVE_BAYES
from scipy import stats

from bakeoff.pipeline.commands.significance.folds import (
    compute_corrected_t_test,
    compute_posterior,
    compute_power,
    count_repeats,
    estimate_requirement,
    find_effect,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.stages.tuning.race import correct_for_looks, find_worse

BASE = np.array([0.80, 0.75, 0.81, 0.77, 0.79, 0.80, 0.74, 0.78, 0.80, 0.76])
OTHER = np.array([0.82, 0.80, 0.80, 0.81, 0.82, 0.80, 0.80, 0.79, 0.82, 0.79])
TENTH = 10 / 90
"""Test rows per training row of ten folds."""


def test_the_corrected_t_test_is_rs_arithmetic() -> None:
    # d <- c(.02,.05,-.01,.04,.03,0,.06,.01,.02,.03); se <- sqrt((1/10+1/9)*var(d)); t <- mean(d)/se
    # c(se, t, 2*pt(-abs(t),9), mean(d)+c(-1,1)*qt(.975,9)*se)
    test = compute_corrected_t_test(subtract_scores(OTHER, BASE), TENTH)
    assert test.standard_error == pytest.approx(0.00998455597533968, rel=1e-12)
    assert test.statistic == pytest.approx(2.50386697833595750, rel=1e-12)
    assert test.p == pytest.approx(0.03364765706113090, rel=1e-12)
    assert (test.lower, test.upper) == pytest.approx((0.00241336518302572, 0.04758663481697428), rel=1e-10)
    assert test.degrees_of_freedom == 9


def test_p_and_marks_are_wekas() -> None:
    # tests/support/PairedTester.java on WEKA 3.9.7: "50 50 2 …"
    test = compute_corrected_t_test(subtract_scores(OTHER, BASE), 50 / 50)
    assert test.p == pytest.approx(0.30116172389278960, rel=1e-10)
    assert mark_difference(test.mean, test.p) == ""


def test_marks_need_significance_at_alpha() -> None:
    better = compute_corrected_t_test(OTHER - BASE, TENTH)
    assert [mark_difference(sign * better.mean, better.p) for sign in (1, -1)] == ["v", "*"]
    assert mark_difference(better.mean, better.p, alpha=0.01) == ""
    # At alpha is significant, as in WEKA, and no difference has no direction.
    assert [mark_difference(0.1, p, alpha=0.05) for p in (0.05, 0.0501, math.nan)] == ["v", "", ""]
    assert mark_difference(0.0, 0.01) == ""


def test_equal_differences_are_degenerate_with_wekas_p() -> None:
    # PairedTester.java: "90 10 10 0.5 0.75 0.25 0.5" gives 0 and "90 10 10 0.5 0.5 0.25 0.25" gives 1
    constant = compute_corrected_t_test(np.array([0.25, 0.25]), TENTH)
    assert (constant.is_degenerate, constant.statistic, constant.p) == (True, math.inf, 0.0)
    assert (constant.lower, constant.upper) == (0.25, 0.25)
    assert mark_difference(constant.mean, constant.p) == "v"
    none = compute_corrected_t_test(np.zeros(5), TENTH)
    assert (none.is_degenerate, none.statistic, none.p) == (True, 0.0, 1.0)


def test_rounding_does_not_hide_a_degenerate_case() -> None:
    differences = subtract_scores(np.array([0.8, 0.7, 0.3]), np.array([0.7, 0.6, 0.2]))
    assert len(set(differences)) > 1
    assert compute_corrected_t_test(differences, TENTH).is_degenerate
    assert not np.any(subtract_scores(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.5])))


def test_small_units_are_not_taken_for_rounding() -> None:
    tiny = compute_corrected_t_test((OTHER - BASE) * 1e-30, TENTH)
    usual = compute_corrected_t_test(OTHER - BASE, TENTH)
    assert not tiny.is_degenerate
    assert tiny.p == pytest.approx(usual.p, rel=1e-9)


def test_one_fold_has_a_mean_and_no_test() -> None:
    test = compute_corrected_t_test(np.array([0.1]), 0.25)
    assert test.mean == 0.1
    assert all(math.isnan(number) for number in (test.p, test.statistic, test.standard_error, test.lower))
    assert mark_difference(test.mean, test.p) == ""
    assert math.isnan(compute_posterior(test).better)
    assert math.isnan(estimate_requirement(test, 1, 100).smallest_difference)


def test_the_posterior_is_the_published_one_on_sonar() -> None:
    # https://baycomp.readthedocs.io: two_on_single(nbc, j48) and with rope=0.5
    differences = SONAR_J48 - SONAR_NAIVE_BAYES
    plain = compute_posterior(compute_corrected_t_test(differences, 1 / 9))
    assert (plain.worse, plain.better) == pytest.approx((0.4145119975061462, 0.5854880024938538), rel=1e-12)
    assert plain.equivalent == pytest.approx(0, abs=1e-15)
    roped = compute_posterior(compute_corrected_t_test(differences, 1 / 9), rope=0.5)
    published = (0.28584464173790997, 0.2691518716880249, 0.445003486574065)
    assert (roped.worse, roped.equivalent, roped.better) == pytest.approx(published, rel=1e-12)


@pytest.mark.parametrize(
    ("difference", "rope", "certain"), [(0.0, 0.0, "equivalent"), (0.02, 0.01, "better"), (-0.01, 0.01, "equivalent")]
)
def test_a_degenerate_posterior_is_one_point(difference: float, rope: float, certain: str) -> None:
    posterior = compute_posterior(compute_corrected_t_test(np.full(10, difference), TENTH), rope)
    assert getattr(posterior, certain) == 1


def test_power_is_rs() -> None:
    # power.t.test(n=10, delta=1, sd=1, type="paired", strict=TRUE)$power, n=100 with delta=.2, and delta for power=.8
    assert compute_power(math.sqrt(10), 9) == pytest.approx(0.8030968566330182, rel=1e-9)
    assert compute_power(0.2 * math.sqrt(100), 99) == pytest.approx(0.5082648066210507, rel=1e-9)
    # R's own search stops at a relative 1e-5.
    assert find_effect(9) == pytest.approx(3.14963069751538, rel=1e-4)


def test_power_with_many_folds_is_that_of_the_normal_distribution() -> None:
    # Here one of SciPy's two functions of the noncentral t distribution is undefined.
    expected = stats.norm.sf(stats.norm.isf(0.5e-5) - 3)
    assert compute_power(3, 5_000_000, 1e-5) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("degrees_of_freedom", [1, 3, 99, 10_000, 2_000_000])
def test_power_is_a_number_for_every_size_of_effect(degrees_of_freedom: int) -> None:
    powers = [compute_power(effect, degrees_of_freedom) for effect in (0.0, 0.5, 3.0, 10.0, 30.0, 100.0)]
    assert powers[0] == pytest.approx(0.05)
    assert powers == sorted(powers)
    assert compute_power(find_effect(degrees_of_freedom), degrees_of_freedom) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("mean", "folds", "repeats"),
    [(2.0, 1, 5), (2.0, 2, 3), (1.5, 3, 2), (1.0, 1, 10), (0.8, 1, 15), (0.6, 2, 12), (20.0, 2, 1)],
)
def test_the_power_of_repeats_has_the_degrees_of_freedom_of_all_their_folds(
    mean: float, folds: int, repeats: int
) -> None:
    # With independent folds, power.t.test(power=.8, delta=2, sd=1, type="paired") of R gives 4.2 pairs, and so on.
    test = compute_corrected_t_test(mean + np.array([-1.0, 0.0, 1.0]), ratio=0.0)
    assert count_repeats(test, folds) == repeats
    powers = []
    for n_folds in ((repeats - 1) * folds, repeats * folds):
        critical = stats.t.isf(0.025, n_folds - 1)
        powers.append(stats.nct.sf(critical, n_folds - 1, mean * math.sqrt(n_folds)) if n_folds > 1 else 0.0)
    assert powers[0] < 0.8 <= powers[1]


def test_no_number_of_repeats_replaces_rows() -> None:
    # With ratio 1/4, the standard error never falls below half the standard deviation.
    weak = compute_corrected_t_test((OTHER - BASE) - 0.01, 0.25)
    needed = estimate_requirement(weak, 5, 200)
    limit = math.sqrt(0.25) * weak.standard_deviation
    assert abs(weak.mean) / limit < stats.norm.isf(0.025) + stats.norm.isf(0.2)
    assert needed.repeats is None
    # By hand: rows grow with the square of the smallest difference over the difference seen.
    assert needed.rows == math.ceil(200 * (needed.smallest_difference / weak.mean) ** 2)


def test_nothing_is_planned_from_equal_differences_or_from_no_difference() -> None:
    equal = estimate_requirement(compute_corrected_t_test(np.full(4, 0.1), 0.25), 4, 100)
    assert math.isnan(equal.smallest_difference)
    assert (equal.repeats, equal.rows) == (None, None)
    none = estimate_requirement(compute_corrected_t_test(np.array([-0.1, 0.1]), 0.25), 2, 100)
    assert (none.repeats, none.rows) == (None, None)


def test_differences_that_cancel_have_the_mean_zero_and_ask_for_no_number_of_rows() -> None:
    differences = np.array([0.1, -0.3, 0.2])
    assert np.mean(differences) != 0  # rounding
    test = compute_corrected_t_test(differences, 0.5)
    assert (test.mean, test.p) == (0.0, 1.0)
    requirement = estimate_requirement(test, 3, 150)
    assert (requirement.repeats, requirement.rows) == (None, None)


def test_the_test_of_a_race_is_that_of_comparisons() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0.5, 0.05, (6, 8)) - np.linspace(0, 0.4, 6)[:, np.newaxis]
    order = rng.permutation(8).tolist()
    for n_done in range(3, 9):
        done = scores[:, order[:n_done]]
        best = done[np.argmax(done.mean(axis=1))]
        p = np.array([compute_corrected_t_test(best - own, 1 / 7).p for own in done])
        corrected = correct_for_looks(p, tuple(range(3, 9)), 1 / 7)
        for sign in (1, -1):
            found = find_worse(sign * done, tuple(range(3, 9)), 1 / 7, 0.05, greater_is_better=sign == 1)
            assert found.tolist() == (corrected <= 0.05).tolist()
