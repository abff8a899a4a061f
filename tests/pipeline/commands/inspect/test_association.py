"""The association of a column with the target: statsmodels, SciPy and sums over pairs of rows give the same numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from extras import load_oracle
from scipy.stats.contingency import association as scipy_association
from wheel_data import wheel_frame

from bakeoff.pipeline.commands.inspect.profile import MAX_BINS, group_rows, measure_association

N = 300
DRAW = np.random.default_rng(0)
TOWNS = pd.Series(DRAW.choice(["Bern", "Oslo", "Rome"], N), dtype="category")
NUMBERS = DRAW.normal(size=N) + TOWNS.cat.codes.to_numpy()
CLASSES = np.where(NUMBERS + DRAW.normal(size=N) > 1.0, "yes", "no")


def test_of_numbers_it_is_the_adjusted_r_squared_of_an_analysis_of_variance() -> None:
    frame = pd.DataFrame({"y": NUMBERS, "town": TOWNS.astype(str)})
    oracle = load_oracle("statsmodels.formula.api").ols("y ~ C(town)", frame).fit().rsquared_adj
    assert measure_association(TOWNS, NUMBERS) == pytest.approx(oracle, rel=1e-12)


def test_of_two_classes_it_is_the_square_of_cramers_v_less_its_bias() -> None:
    table = pd.crosstab(TOWNS, CLASSES).to_numpy()
    v = scipy_association(table, method="cramer")
    oracle = 1.0 - (1.0 - v**2) * (N - 1) / (N - len(table))
    assert measure_association(TOWNS, CLASSES) == pytest.approx(oracle, rel=1e-12)


def test_of_more_classes_it_is_tau_of_goodman_and_kruskal_less_its_bias() -> None:
    y = DRAW.choice(["a", "b", "c", "d"], N, p=[0.4, 0.3, 0.2, 0.1])
    table = pd.crosstab(TOWNS, y).to_numpy() / N
    rows = table.sum(axis=1)
    columns = table.sum(axis=0)
    explained = (table**2 / rows[:, None]).sum() - (columns**2).sum()
    tau = explained / (1.0 - (columns**2).sum())
    oracle = 1.0 - (1.0 - tau) * (N - 1) / (N - len(table))
    assert measure_association(TOWNS, y) == pytest.approx(max(0.0, oracle), rel=1e-9)


@pytest.mark.parametrize("y", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_a_column_without_a_relation_explains_nothing_on_average(y: np.ndarray) -> None:
    kinds = {
        "numbers": lambda draw: pd.Series(draw.normal(size=N)),
        "few values": lambda draw: pd.Series(draw.choice(list("abc"), N)),
        "many values": lambda draw: pd.Series(draw.choice(150, N).astype(str)),
        "gaps": lambda draw: pd.Series(np.where(draw.random(N) < 0.5, np.nan, 1.0)),
    }
    for make in kinds.values():
        found = [measure_association(make(np.random.default_rng(1000 + seed)), y) for seed in range(40)]
        assert np.mean(found) < 0.03


@pytest.mark.parametrize("y", [CLASSES, NUMBERS], ids=["classes", "numbers"])
def test_names_that_occur_once_explain_nothing_and_the_target_explains_itself(y: np.ndarray) -> None:
    assert measure_association(pd.Series([f"name {row}" for row in range(N)]), y) == 0.0
    assert measure_association(pd.Series(y), y) > 0.85  # ranges of numbers are not the numbers
    assert measure_association(pd.Series(CLASSES), CLASSES) == 1.0
    assert np.isnan(measure_association(TOWNS, np.full(N, y[0])))


def test_values_that_occur_once_say_nothing_although_another_is_repeated() -> None:
    zoo = wheel_frame("zoo")
    assert zoo["animal"].duplicated().sum() == 1
    assert measure_association(zoo["animal"], zoo["type"].to_numpy()) < 0.1


def test_missing_cells_are_a_group_of_their_own() -> None:
    gaps = pd.Series(np.where(CLASSES == "yes", np.nan, 1.0))
    assert measure_association(gaps, CLASSES) == 1.0
    days = pd.Series(pd.date_range("2020-01-01", periods=N)).where(CLASSES == "no")
    assert measure_association(days, CLASSES) == 1.0


def test_ranges_hold_equally_many_rows_and_keep_equal_numbers_together() -> None:
    counts = np.bincount(group_rows(pd.Series(DRAW.normal(size=1000))))
    assert len(counts) == MAX_BINS
    assert set(counts) == {100}
    tied = pd.Series(np.r_[np.zeros(500), np.arange(1.0, 501.0)])
    groups = group_rows(tied)
    assert len(set(groups[:500])) == 1
    few = pd.Series(DRAW.choice([1.0, 2.0, 5.0], N))
    assert group_rows(few).max() + 1 == 3
