"""The effects of changes on made-up scores: they equal the definition over all orders, and add up."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from bakeoff.pipeline.commands.diff.effects import (
    MAX_EXACT,
    Changes,
    compute_effects,
    estimate_effects,
    find_interactions,
    list_hybrids,
)

N_FOLDS = 10


def make_scores(k: int, seed: int = 0) -> dict[Changes, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {hybrid: rng.random(N_FOLDS) for hybrid in list_hybrids(k)}


def average_over_orders(scores: dict[Changes, np.ndarray], i: int, k: int) -> np.ndarray:
    """Return the Shapley value as it is defined: the mean contribution over all orders of the changes."""
    gains = []
    for order in permutations(range(k)):
        before = frozenset(order[: order.index(i)])
        gains.append(scores[before | {i}] - scores[before])
    return np.mean(gains, axis=0)


@pytest.mark.parametrize("k", range(1, MAX_EXACT + 1))
def test_effects_are_the_mean_contributions_over_all_orders(k: int) -> None:
    scores = make_scores(k)
    expected = [average_over_orders(scores, i, k) for i in range(k)]
    np.testing.assert_allclose(compute_effects(scores, k), expected, rtol=0, atol=1e-14)


def test_more_changes_are_added_to_the_first_and_taken_from_the_second() -> None:
    k = MAX_EXACT + 1
    hybrids = list_hybrids(k)
    assert sorted(map(len, hybrids)) == [0, *[1] * k, *[k - 1] * k, k]
    scores = make_scores(k)
    every = frozenset(range(k))
    added = scores[frozenset([2])] - scores[frozenset()]
    removed = scores[every] - scores[every - {2}]
    np.testing.assert_allclose(compute_effects(scores, k)[2], (added + removed) / 2, rtol=0, atol=1e-14)


def test_an_idle_change_has_no_effect_at_all_and_is_not_tested_on_rounding_errors() -> None:
    rng = np.random.default_rng(1)
    own = {size: rng.random(N_FOLDS) for size in range(4)}
    # The change with the number 2 never matters.
    scores = {hybrid: own[sum(1 << i for i in hybrid - {2})] for hybrid in list_hybrids(3)}
    effects = compute_effects(scores, 3)
    assert (effects[2] == 0).all()
    idle = estimate_effects(effects, 1 / 9, 0.05)[2]
    assert (idle.mean, idle.p_value) == (0, 1)
    # Contributions that cancel leave rounding errors, which are no effect either.
    cancelling = {frozenset(): 0.1, frozenset([0]): 0.4, frozenset([1]): 0.3, frozenset([0, 1]): 0.0}
    exact = {hybrid: np.full(N_FOLDS, score) for hybrid, score in cancelling.items()}
    gains = (exact[frozenset([0])] - exact[frozenset()] + exact[frozenset([0, 1])] - exact[frozenset([1])]) / 2
    assert 0 < np.abs(gains).max() < 1e-15
    assert (compute_effects(exact, 2)[0] == 0).all()


def test_p_values_are_adjusted_over_the_changes_and_one_fold_has_none() -> None:
    effects = np.random.default_rng(2).normal(0.05, 0.1, (3, N_FOLDS))
    alone = [estimate_effects(effects[[i]], 1 / 9, 0.05)[0].p_value for i in range(3)]
    together = [effect.p_value for effect in estimate_effects(effects, 1 / 9, 0.05)]
    assert min(together) == pytest.approx(3 * min(alone))
    assert all(after >= before for before, after in zip(alone, together, strict=True))
    (single,) = estimate_effects(effects[:1, :1], 1 / 9, 0.05)
    assert np.isnan([single.low, single.high, single.p_value]).all()


@pytest.mark.parametrize(
    ("first", "second", "both", "interactions"),
    [
        (0.5, 0.5, 0.9, {(0, 1): pytest.approx(0.4)}),
        (0.6, 0.7, 0.8, {}),
        (0.5, 0.8, 0.9, {}),
    ],
    ids=["help only together", "add up", "one helps more than both together"],
)
def test_an_interaction_is_named_if_it_is_larger_than_the_effects_of_both_changes(
    first: float, second: float, both: float, interactions: dict[tuple[int, int], float]
) -> None:
    means = {frozenset[int](): 0.5, frozenset([0]): first, frozenset([1]): second, frozenset([0, 1]): both}
    scores = {hybrid: np.full(N_FOLDS, mean) for hybrid, mean in means.items()}
    assert find_interactions(scores, compute_effects(scores, 2)) == interactions


def test_the_interaction_of_two_of_three_changes_is_the_mean_over_the_orders_of_the_pair_and_the_third() -> None:
    together = {hybrid: np.full(N_FOLDS, float({0, 1} <= hybrid) + (2 in hybrid)) for hybrid in list_hybrids(3)}
    assert find_interactions(together, np.zeros((3, N_FOLDS))) == {(0, 1): pytest.approx(1)}
