"""Drift: a chi-squared test and an index of size on two histograms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from bakeoff.pipeline.model.row_report import (
    ALPHA,
    MIN_EXPECTED_CELLS,
    MODERATE_INDEX,
    Drift,
    compute_stability_index,
    measure_drift,
    merge_rare_bins,
    name_shift,
)
from bakeoff.pipeline.model.training_record import count_in_bins, profile_column

Draw = Callable[[np.random.Generator, int], np.ndarray]
COUNTS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=2, max_size=12)


def measure(training: list[int], further: list[int], *, has_tenths: bool = False) -> Drift:
    drift = measure_drift(np.array(training), np.array(further), has_tenths=has_tenths)
    assert drift is not None
    return drift


def test_the_p_value_is_that_of_pearsons_statistic() -> None:
    # 2 x 2 by hand: 60 + 40 against 40 + 60, expected 50 each, so that the statistic is 4 · 10² / 50 = 8.
    assert measure([60, 40], [40, 60]).p_value == pytest.approx(chi2.sf(8.0, 1), rel=1e-12)


def test_the_index_is_that_of_the_definition_less_its_expectation() -> None:
    p = np.array([600.5, 400.5]) / 1001.0
    q = np.array([300.5, 700.5]) / 1001.0
    by_hand = sum((after - before) * np.log(after / before) for before, after in zip(p, q, strict=True))
    assert compute_stability_index(np.array([600, 400]), np.array([300, 700])) == pytest.approx(by_hand, rel=1e-12)
    assert measure([600, 400], [300, 700]).index == pytest.approx(by_hand - 1 * (2 / 1000), rel=1e-12)


def draw_drifts(draw: Draw, n: int, m: int, repeats: int) -> list[Drift]:
    """Compare samples of one distribution in the tenths of the first one."""
    generator = np.random.default_rng(0)
    drifts = []
    for _ in range(repeats):
        profile = profile_column(pd.Series(draw(generator, n)), "numeric")
        further = count_in_bins(profile.edges, draw(generator, m))
        drifts.append(measure(list(profile.counts), further.tolist(), has_tenths=True))
    return drifts


def draw_normal(generator: np.random.Generator, size: int) -> np.ndarray:
    return generator.normal(size=size)


def draw_whole(generator: np.random.Generator, size: int) -> np.ndarray:
    return generator.poisson(3.0, size=size).astype(float)


@pytest.mark.parametrize("draw", [draw_normal, draw_whole])
@pytest.mark.parametrize(("n", "m"), [(50, 50), (50, 2000), (1000, 1000)])
def test_samples_of_one_distribution_are_told_apart_no_more_often_than_the_level_says(
    draw: Draw, n: int, m: int
) -> None:
    drifts = draw_drifts(draw, n, m, repeats=250)
    rejected = np.mean([drift.p_value <= ALPHA for drift in drifts])
    # Three standard errors of a fraction of 250.
    assert rejected <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 250) ** 0.5


def test_a_shift_needs_size_and_significance() -> None:
    small = measure([20_000, 20_000], [19_000, 21_000])
    assert small.p_value < 1e-6
    assert name_shift(small.index, small.p_value) == ""
    large = measure([500, 500], [40, 160])
    assert name_shift(large.index, large.p_value) == "large"
    assert name_shift(large.index, 0.06) == ""
    assert name_shift(MODERATE_INDEX, ALPHA) == "moderate"


@pytest.mark.parametrize("pair", [([500, 500], [49, 0]), ([49, 0], [500, 500]), ([500, 0], [500, 0])])
def test_few_cells_or_a_single_bin_give_no_verdict(pair: tuple[list[int], list[int]]) -> None:
    assert measure_drift(*map(np.array, pair)) is None


@given(COUNTS)
def test_merged_bins_keep_all_cells_and_hold_enough_of_them(pairs: list[tuple[int, int]]) -> None:
    table = np.array(pairs).T
    if table.sum(axis=1).min() < 50:
        return
    merged = merge_rare_bins(table)
    assert merged.sum(axis=1).tolist() == table.sum(axis=1).tolist()
    expected = merged.sum(axis=0) * merged.sum(axis=1).min() / merged.sum()
    assert (expected >= MIN_EXPECTED_CELLS * (1 - 1e-12)).all()
