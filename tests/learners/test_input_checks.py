"""Plain input takes a short way to the same end: the same table, labels and codes as by scikit-learn's checks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import check_array

from bakeoff.learners.base.input_checks import (
    as_plain_column,
    as_plain_table,
    as_small_integers,
    encode_distinct,
    encode_table,
    learn_categories,
)

NUMBERS = np.arange(6).reshape(3, 2)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64", "bool", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_plain_table_is_what_the_long_check_returns(dtype: str, order: Any) -> None:
    X = np.asarray(NUMBERS, dtype=dtype, order=order)
    table = as_plain_table(X)
    assert table is not None
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, check_array(X, dtype=np.float64))


@pytest.mark.parametrize(
    "X",
    [
        NUMBERS.tolist(),
        pd.DataFrame(NUMBERS),
        NUMBERS[0],
        NUMBERS[:0],
        NUMBERS.astype(object),
        NUMBERS.astype(complex),
        np.ma.masked_array(NUMBERS),
        np.array([[1.0, np.nan]]),
        np.array([[1.0, -np.inf]]),
        np.array([[np.inf, -np.inf]]),
        np.full((1, 2), 1e308),
    ],
)
def test_whatever_is_not_plain_is_left_to_the_long_check(X: Any) -> None:
    assert as_plain_table(X) is None


def test_plain_columns_are_labels_and_finite_numbers_of_the_right_length() -> None:
    for y in (np.array([0, 1]), np.array(["a", "b"]), np.array([True, False]), np.array([0.5, 1.0])):
        assert as_plain_column(y, 2) is y
    for y in (np.array([0.0, np.nan]), np.array([0, 1, 2]), np.array([["a"], ["b"]]), np.array([0, "a"], dtype=object)):
        assert as_plain_column(y, 2) is None


@settings(deadline=None)
@given(st.lists(st.integers(-3, 2000) | st.just(0), min_size=1, max_size=20), st.sampled_from(["i8", "f8", "U4"]))
def test_distinct_is_unique_with_its_inverse(cells: list[int], dtype: str) -> None:
    column = np.array(cells).astype(dtype)
    values, codes = encode_distinct(column)
    expected, inverse = np.unique(column, return_inverse=True)
    np.testing.assert_array_equal(values, expected)
    assert values.dtype == column.dtype
    np.testing.assert_array_equal(codes, inverse)


def test_whole_numbers_are_small_only_if_all_are() -> None:
    np.testing.assert_array_equal(as_small_integers(np.array([[2.0, 0.0]])), [[2, 0]])
    for cells in ([0.5], [np.nan], [-1.0], [1024.0], []):
        assert as_small_integers(np.array(cells)) is None


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["i8", "f8"]), st.sampled_from([0, 1, 7]))
def test_a_table_of_whole_numbers_is_coded_as_its_columns_are(seed: int, dtype: str, least: int) -> None:
    rng = np.random.default_rng(seed)
    X, query = (rng.integers(least, least + 5, size=(9, 3)).astype(dtype) for _ in range(2))
    at_once = learn_categories(X, [0, 1, 2])
    one_by_one = learn_categories(pd.DataFrame(X), [0, 1, 2])
    for ours, theirs in zip(at_once, one_by_one, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(
        encode_table(query, at_once, allow_nan=False, owner="T"),
        encode_table(pd.DataFrame(query), one_by_one, allow_nan=False, owner="T"),
    )
