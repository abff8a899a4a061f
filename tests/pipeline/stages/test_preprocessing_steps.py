"""The steps that scikit-learn does not have: intervals, rare values, positions, parts of dates, text, selection."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.feature_selection import f_classif, f_regression
from sklearn.preprocessing import KBinsDiscretizer
from wheel_data import wheel_frame

from bakeoff.pipeline.stages.preprocessing import (
    AsIntervals,
    DateParts,
    EncodeText,
    EntropyDiscretizer,
    GroupRareValues,
    OrderCodes,
    make_selection,
)
from bakeoff.pipeline.stages.preprocessing.discretize import EQUAL_BITS, find_cuts

QUANTILES = KBinsDiscretizer(n_bins=2, encode="ordinal", strategy="quantile", quantile_method="linear")

# Intervals by information gain

WEKA_CUTS: dict[str, list[list[float]]] = {
    "iris": [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]],
    "wine": [
        [12.185, 12.78], [1.42, 2.235], [2.03], [17.9], [88.5], [1.84, 2.335], [0.975, 1.575, 2.31], [0.395], [1.27],
        [3.46, 7.55], [0.785, 0.975, 1.295], [2.115, 2.475], [468, 755, 987.5],
    ],
    "titanic": [[1.5, 2.5], [], [], [0.5], [15.1729, 75.77085]],
}  # fmt: skip
"""What weka.filters.supervised.attribute.Discretize of WEKA 3.9.7 prints for these tables."""


def table_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name == "titanic":  # with missing cells in age and fare
        frame = wheel_frame("titanic")
        numbers = frame[["pclass", "age", "sibsp", "parch", "fare"]].astype(float)
        return numbers, frame["survived"].to_numpy(dtype=str)
    load: Any = {"iris": load_iris, "wine": load_wine}[name]
    return load(return_X_y=True, as_frame=True)[0], load().target


@pytest.mark.parametrize("name", WEKA_CUTS)
def test_the_cuts_are_wekas(name: str) -> None:
    X, y = table_of(name)
    fitted = EntropyDiscretizer().fit(X, y)
    assert len(fitted.bin_edges_) == len(WEKA_CUTS[name])
    for edges, cuts in zip(fitted.bin_edges_, WEKA_CUTS[name], strict=True):
        np.testing.assert_allclose(edges[1:-1], cuts, rtol=1e-9)


def entropy(labels: list[int]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * np.log2(share) for share in shares)


def cut_plainly(pairs: list[tuple[float, int]]) -> list[float]:
    """Return the accepted cuts of pairs of a value and a class, in the words of the article."""
    values = sorted({value for value, _ in pairs})
    options = []
    for lower, upper in pairwise(values):
        below = [label for value, label in pairs if value <= lower]
        above = [label for value, label in pairs if value > lower]
        remaining = (len(below) * entropy(below) + len(above) * entropy(above)) / len(pairs)
        options.append((remaining, (lower + upper) / 2, below, above))
    if not options:
        return []
    least = min(remaining for remaining, *_ in options)
    # Of cuts of equal gain, the lowest.
    remaining, cut, below, above = next(option for option in options if option[0] <= least + EQUAL_BITS)
    labels = below + above
    k, k1, k2 = len(set(labels)), len(set(below)), len(set(above))
    delta = np.log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(below) - k2 * entropy(above))
    if entropy(labels) - remaining <= (np.log2(len(labels) - 1) + delta) / len(labels) + EQUAL_BITS:
        return []
    left = [pair for pair in pairs if pair[0] < cut]
    right = [pair for pair in pairs if pair[0] > cut]
    return [*cut_plainly(left), cut, *cut_plainly(right)]


@given(strategies.lists(strategies.tuples(strategies.integers(0, 15), strategies.integers(0, 2)), min_size=2))
@example([(0, 2), (1, 1), (2, 2), (3, 2), (4, 0), (4, 2)])  # two cuts of equal gain, which rounding parts
def test_the_cuts_are_those_of_the_article(pairs: list[tuple[int, int]]) -> None:
    repeated = [(float(value), label) for value, label in pairs for _ in range(5)]
    cells = np.array([value for value, _ in repeated])
    codes = np.array([label for _, label in repeated])
    expected = cut_plainly(repeated)
    found = find_cuts(cells, codes).tolist()
    assert found == expected


def test_a_cut_between_two_neighbouring_floats_separates_them() -> None:
    lower, upper = 1.0, float(np.nextafter(1.0, 2.0))
    cells = np.repeat([lower, upper], 20)
    (cut,) = find_cuts(cells, np.repeat([0, 1], 20))
    assert lower < cut <= upper


def test_missing_cells_stay_missing_and_columns_without_cells_stay_whole() -> None:
    X = pd.DataFrame({"x": [1.0, 2.0, np.nan, 8.0, 9.0] * 9, "empty": np.nan})
    y = np.array(["a", "a", "a", "b", "b"] * 9)
    intervals = AsIntervals(EntropyDiscretizer()).fit(X, y).transform(X)
    assert intervals["x"].tolist()[:2] == ["< 5", "< 5"]
    assert intervals["x"].tolist()[3:5] == ["≥ 5", "≥ 5"]
    assert intervals["x"].isna().tolist()[:5] == [False, False, True, False, False]
    assert intervals["empty"].isna().all()
    assert intervals["empty"].cat.categories.tolist() == ["all"]


def test_intervals_contain_their_lower_bound_and_have_an_order() -> None:
    step = AsIntervals(QUANTILES).fit(pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}))
    bound = float(step.learned_[0][1])
    intervals = step.transform(pd.DataFrame({"x": [bound - 0.01, bound, 99.0, -99.0]}))
    assert intervals["x"].cat.codes.tolist() == [0, 1, 1, 0]
    assert intervals["x"].cat.ordered
    assert step.get_feature_names_out().tolist() == ["x"]


def test_bounds_have_as_many_digits_as_show_where_they_are() -> None:
    X = pd.DataFrame({"narrow": [1.00001, 1.00003, 1.00005] * 9, "wide": [0.0, 1 / 3, 100.0] * 9})
    y = np.array([0, 1, 2] * 9)
    intervals = AsIntervals(EntropyDiscretizer()).fit(X, y).transform(X)
    assert intervals["narrow"].cat.categories.tolist() == ["< 1.00002", "1.00002 to < 1.00004", "≥ 1.00004"]
    assert intervals["wide"].cat.categories.tolist() == ["< 0.166667", "0.166667 to < 50.1667", "≥ 50.1667"]


# Nominal and ordered columns


def test_rare_values_and_unseen_ones_are_joined_and_missing_cells_stay() -> None:
    X = pd.DataFrame({"port": pd.Categorical(["S"] * 6 + ["C"] * 3 + ["Q", None])})
    step = GroupRareValues(min_frequency=3).fit(X)
    assert step.transform(X)["port"].value_counts().to_dict() == {"S": 6, "C": 3, "other": 1}
    assert step.transform(X)["port"].isna().sum() == 1
    new = step.transform(pd.DataFrame({"port": pd.Categorical(["B", "C", None])}))
    assert new["port"].tolist()[:2] == ["other", "C"]
    assert new["port"].isna().tolist() == [False, False, True]
    by_share = GroupRareValues(min_frequency=0.5).fit(X)
    assert by_share.learned_ == [["S"]]


def test_ordered_values_become_their_positions_whatever_the_alphabet_says() -> None:
    sizes = pd.DataFrame({"size": pd.Categorical(["L", "S", None], categories=["S", "M", "L"], ordered=True)})
    step = OrderCodes().fit(sizes)
    np.testing.assert_array_equal(step.transform(sizes)["size"], [2.0, 0.0, np.nan])
    as_text = pd.DataFrame({"size": ["M", "XXL"]})
    np.testing.assert_array_equal(step.transform(as_text)["size"], [1.0, np.nan])


# Dates and text


def test_parts_of_dates_are_those_of_the_calendar() -> None:
    dates = pd.DataFrame({"day": pd.to_datetime(["2024-02-29 06:00", "2026-11-22 18:30", "NaT"])})
    parts = ["days", "year", "quarter", "month", "week", "day", "day_of_year", "weekday", "hour", "minute"]
    table = DateParts(parts).fit(dates).transform(dates)
    assert table.iloc[0].tolist() == [19782.25, 2024, 1, 2, 9, 29, 60, 3, 6, 0]
    assert table.iloc[1].tolist() == [20779 + 18.5 / 24, 2026, 4, 11, 47, 22, 326, 6, 18, 30]
    assert table.iloc[2].isna().all()
    assert table.columns[0] == "day_days"


def test_parts_that_do_not_vary_over_the_training_rows_are_left_out() -> None:
    dates = pd.DataFrame({"day": pd.to_datetime(["2024-05-01", "2024-05-03"])})
    step = DateParts().fit(dates)
    assert step.get_feature_names_out().tolist() == ["day_days", "day_day", "day_day_of_year", "day_weekday"]
    later = step.transform(pd.DataFrame({"day": pd.to_datetime(["2030-01-01"])}))
    assert later.columns.tolist() == step.get_feature_names_out().tolist()
    one_day = DateParts().fit(dates.iloc[[0, 0]])
    assert one_day.get_feature_names_out().tolist() == ["day_days"]


def test_dates_with_a_time_zone_and_dates_as_text_are_read() -> None:
    step = DateParts(["days", "hour"]).fit(
        pd.DataFrame({"day": pd.to_datetime(["2024-05-01 00:00", "2024-05-03 12:00"])})
    )
    zoned = pd.DataFrame({"day": pd.to_datetime(["2024-05-01 14:00"]).tz_localize("Europe/Zurich")})
    assert step.transform(zoned)["day_hour"].tolist() == [12.0]
    assert step.transform(pd.DataFrame({"day": ["2024-05-01 14:00"]}))["day_hour"].tolist() == [14.0]


def test_text_becomes_counts_of_words_for_each_column() -> None:
    X = pd.DataFrame({
        "title": pd.Series(["good day", "bad day", None], dtype="string"),
        "note": pd.Series(["one", None, "two two"], dtype="string"),
    })  # fmt: skip
    step = EncodeText(CountVectorizer()).fit(X)
    table = step.transform(X)
    assert table.columns.tolist() == ["title_bad", "title_day", "title_good", "note_one", "note_two"]
    assert step.get_feature_names_out().tolist() == table.columns.tolist()
    assert table.to_numpy().tolist() == [[0, 1, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 0, 2]]
    hashed = EncodeText(HashingVectorizer(n_features=4)).fit(X)
    assert hashed.transform(X).columns.tolist() == hashed.get_feature_names_out().tolist()
    assert hashed.transform(X).shape == (3, 8)


# Selection


def test_the_target_decides_which_f_test_selects() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    number = X["b"] ** 3 + 0.1 * X["d"]
    classes = np.where(number > 0, "p", "q")
    for y, score in ((number.to_numpy(), f_regression), (classes, f_classif)):
        selection = make_selection(percentile=25).fit(X, y)
        np.testing.assert_array_equal(selection.scores_, score(X, y)[0])
        assert selection.get_feature_names_out().tolist() == ["b"]
