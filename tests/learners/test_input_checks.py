"""Plain input takes a short way to the same end: the same table, labels and codes as by scikit-learn's checks."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from bakeoff.learners import MajorityClassifier
from bakeoff.learners.base.input_checks import (
    UNSEEN,
    as_plain_column,
    as_plain_table,
    as_small_integers,
    encode_distinct,
    encode_table,
    learn_categories,
    split_columns,
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


def test_a_table_of_whole_numbers_is_coded_column_by_column() -> None:
    columns = split_columns(np.array([[3, 0], [1, 0], [3, 2]]))
    categories = learn_categories(columns, np.array([True, True]))
    assert [np.asarray(values).tolist() for values in categories] == [[1, 3], [0, 2]]
    codes = encode_table(split_columns(np.array([[3, 1], [1, 2]])), categories, allow_nan=False, owner="T")
    assert codes.tolist() == [[1, UNSEEN], [0, 1]]


@pytest.mark.parametrize("declared", [["a", "b", "c"], ["c", "a", "b"], ["b", "z"], ["z"], []])
def test_categorical_cells_are_coded_by_value_whatever_their_dtype_declares(declared: list[str]) -> None:
    values = ["a", "b", "c"]
    cells = [cell if cell in declared else None for cell in ["c", None, "b", "z", "a"]]
    column = pd.Series(pd.Categorical(cells, declared))
    codes = encode_table(split_columns(column.to_frame()), [np.array(values)], allow_nan=True, owner="T")
    expected = [np.nan if cell is None else values.index(cell) if cell in values else UNSEEN for cell in cells]
    np.testing.assert_array_equal(codes[:, 0], expected)


@pytest.mark.parametrize("names", [["a", "b"], [0, 1], ["a", "a"], ["a", 0]])
@pytest.mark.parametrize("query_names", [["a", "b"], ["b", "a"], ["a", "a"], [0, 1], ["a"]])
@pytest.mark.parametrize("dtype", [pd.CategoricalDtype(), np.dtype("f8")])
def test_names_of_columns_are_checked_as_by_scikit_learn(names: list[Any], query_names: list[Any], dtype: Any) -> None:
    X = pd.DataFrame(NUMBERS, columns=names).astype(dtype)
    query = pd.DataFrame(NUMBERS[:, : len(query_names)], columns=query_names).astype(dtype)
    long_check = partial(validate_data, skip_check_array=True)
    assert _record_checks(MajorityClassifier._check_table, X, query) == _record_checks(long_check, X, query)


def _record_checks(check: Callable[..., Any], X: pd.DataFrame, query: pd.DataFrame) -> tuple[list[str], list[Any]]:
    """Return the errors and warnings of checking a table and a query, and what the learner stored of their names."""
    learner = MajorityClassifier()
    messages = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for table, reset in ((X, True), (query, False)):
            try:
                check(learner, table, reset=reset)
            except (TypeError, ValueError) as error:
                messages.append(str(error))
                break
    messages += [str(warning.message) for warning in warned]
    stored = [getattr(learner, name, None) for name in ("feature_names_in_", "n_features_in_")]
    return messages, [value.tolist() if isinstance(value, np.ndarray) else value for value in stored]


def test_a_sparse_table_is_rejected_as_by_scikit_learn() -> None:
    X = pd.DataFrame(NUMBERS, columns=["a", "b"]).astype(pd.SparseDtype("int64", 0))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        MajorityClassifier().fit(X, [0, 1, 1])
