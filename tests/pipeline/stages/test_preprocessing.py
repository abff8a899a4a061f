"""Preprocessing: fitted on training rows only, in order, and nominal columns stay nominal until a step encodes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from doubles import preset
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

from bakeoff.pipeline.config.options import read_options
from bakeoff.pipeline.model.estimator_file import trusted_types
from bakeoff.pipeline.stages.dataset import load_lecture_table
from bakeoff.pipeline.stages.preprocessing import AsNominal, make_preprocessing, make_selection

COLOURS = load_lecture_table("colours", "colour").X
QUERY = pd.DataFrame({"x1": [1.0], "x2": [2.0]})
MIXED = pd.DataFrame({
    "size": [1.0, 2.0, np.nan, 3.0],
    "colour": pd.Categorical(["red", "blue", "red", None]),
    "mass": [10.0, np.nan, 30.0, 20.0],
    "shape": pd.Categorical(["round", "square", "square", "square"]),
})  # fmt: skip


# W7


def test_min_max_gives_the_lectures_numbers() -> None:
    scaler = preset("min_max").fit(COLOURS)
    expected = [[0.25, 1], [1, 1 / 3], [0, 2 / 3], [0.25, 2 / 3], [0.25, 0], [0.75, 1 / 3]]
    np.testing.assert_allclose(scaler.transform(COLOURS), expected, rtol=1e-15)
    np.testing.assert_allclose(scaler.transform(QUERY), [[0.75, 2 / 3]], rtol=1e-15)


def test_standardize_gives_the_lectures_z_scores_with_ddof_0() -> None:
    scaled = preset("standardize").fit_transform(COLOURS)
    np.testing.assert_allclose(scaled.iloc[0], [-0.4851, 1.5667], atol=5e-5)
    np.testing.assert_allclose(scaled.mean(), 0, atol=1e-15)
    np.testing.assert_allclose(scaled.std(ddof=0), 1, rtol=1e-15)


# Types of columns


def test_impute_takes_the_median_and_the_commonest_value() -> None:
    table = preset("impute").fit_transform(MIXED)
    assert table["size"].tolist() == [1.0, 2.0, 2.0, 3.0]
    assert table["mass"].tolist() == [10.0, 20.0, 30.0, 20.0]
    assert table["colour"].tolist() == ["red", "blue", "red", "red"]


def test_a_value_that_training_did_not_have_is_missing_after_as_nominal() -> None:
    step = AsNominal().fit(pd.DataFrame({"colour": ["red", "blue"]}))
    table = step.transform(pd.DataFrame({"colour": ["blue", "green", None]}, index=[5, 6, 7]))
    assert table["colour"].cat.categories.tolist() == ["blue", "red"]
    assert table["colour"].isna().tolist() == [False, True, True]
    assert table.index.tolist() == [5, 6, 7]
    assert step.get_feature_names_out().tolist() == ["colour"]


# Every kind, single columns, and all columns after

KINDS = MIXED.assign(
    grade=pd.Categorical(["mid", "low", None, "high"], categories=["low", "mid", "high"], ordered=True),
    day=pd.to_datetime(["2026-01-01", "2026-01-05", "2026-03-07", "2025-12-31"]),
    note=pd.Series(["good", "bad", None, "good good"], dtype="string"),
)
CLASSES = np.array(["a", "b", "a", "b"])
NEEDS_NUMBERS = ("select", "pca")
"""Options with steps for all columns, which columns of dates and of text must not reach."""
OPTIONS = sorted(set(read_options("preprocessing")) - {"auto", "none"})


def repeat(table: pd.DataFrame, times: int = 30) -> pd.DataFrame:
    return pd.concat([table] * times, ignore_index=True)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_fitted_stored_and_applied_to_new_rows(name: str) -> None:
    table = MIXED if name in NEEDS_NUMBERS else KINDS
    X = repeat(table)
    before = X.copy()
    steps = preset(name).fit(X, np.tile(CLASSES, 30))
    new_rows = table.assign(colour=pd.Categorical(["purple", "red", None, "blue"]))
    prepared = steps.transform(new_rows)
    assert prepared.shape[0] == 4
    assert steps.transform(X).columns.tolist() == prepared.columns.tolist()
    pd.testing.assert_frame_equal(X, before)
    dumped = skops.io.dumps(steps)
    loaded = skops.io.loads(dumped, trusted=trusted_types(dumped))
    pd.testing.assert_frame_equal(loaded.transform(new_rows), prepared)


def test_an_indicator_says_where_cells_were_missing() -> None:
    table = preset("impute_indicator").fit_transform(MIXED)
    assert table["size"].tolist() == [1.0, 2.0, 2.0, 3.0]
    assert table["missingindicator_size"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert table["colour"].tolist() == ["red", "blue", "red", "missing"]
    assert str(table["colour"].dtype) == "category"


def test_ordinal_numbers_values_and_keeps_the_order_of_ordered_columns() -> None:
    table = preset("ordinal").fit_transform(KINDS)
    np.testing.assert_array_equal(table["colour"], [1.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(table["grade"], [1.0, 0.0, np.nan, 2.0])


def test_ordered_columns_are_treated_as_nominal_unless_they_have_steps() -> None:
    encoder = OneHotEncoder(sparse_output=False)
    as_nominal: Any = make_preprocessing(nominal=[encoder])
    assert "grade_low" in as_nominal.fit_transform(KINDS)
    left: Any = make_preprocessing(nominal=[encoder], ordered=[])
    assert "grade" in left.fit_transform(KINDS)


def test_named_columns_have_steps_of_their_own_together() -> None:
    part = {"names": ["size", "mass"], "steps": [SimpleImputer(), PolynomialFeatures(2, include_bias=False)]}
    steps: Any = make_preprocessing(numeric=[StandardScaler()], columns=[part])
    table = steps.fit_transform(MIXED.assign(age=[1.0, 2.0, 3.0, 4.0]))
    assert table["age"].mean() == 0.0
    assert table["size mass"].tolist()[0] == 10.0
    assert table["size"].tolist()[0] == 1.0


def test_steps_for_all_columns_follow_those_of_the_kinds() -> None:
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    steps: Any = make_preprocessing(
        numeric=[SimpleImputer(), StandardScaler()], nominal=[encoder], then=[make_selection(percentile=50)]
    )
    X = repeat(MIXED)
    y = np.where(X["colour"] == "red", "p", "q")
    selected = steps.fit_transform(X, y)
    assert "colour_red" in selected
    assert selected.shape == (120, 3)


# Order and rows


def test_steps_are_applied_in_order() -> None:
    X = pd.DataFrame({"x": [1.0, 2.0, 5.0]})
    powers = [PolynomialFeatures(2, include_bias=False), MinMaxScaler()]
    squared_then_scaled: Any = make_preprocessing(powers)
    scaled_then_squared: Any = make_preprocessing(powers[::-1])
    assert squared_then_scaled.fit_transform(X)["x^2"][1] == pytest.approx((4 - 1) / (25 - 1))
    assert scaled_then_squared.fit_transform(X)["x^2"][1] == pytest.approx(((2 - 1) / (5 - 1)) ** 2)
