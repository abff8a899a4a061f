"""Tables that Python code hands over."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_frame
from bakeoff.pipeline.stages.dataset.convert import convert_like
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.typed_table import read_frame

FRAME = pd.DataFrame({"size": [1.5, 2.5, None], "sort": ["a", "b", "a"]})


class Exported:
    """A table of a library that is not known here, as polars exports its own."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the table as a stream of Arrow."""
        return pa.Table.from_pandas(FRAME).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("table", [FRAME, FRAME.convert_dtypes(), pa.Table.from_pandas(FRAME), Exported()])
def test_tables_of_pandas_arrow_and_others_are_the_same_dataset(table: Any) -> None:
    dataset = load_frame(table, "sort", name="mine")
    assert dataset.digest() == load_frame(FRAME, "sort").digest()
    assert (dataset.name, dataset.source) == ("mine", "Python")


def test_the_frame_is_not_changed_and_names_are_text() -> None:
    frame = pd.DataFrame({0: [1, 2], "y": ["a", "b"]})
    before = frame.copy()
    raw = read_frame(frame)
    assert list(raw.frame.columns) == ["0", "y"]
    pd.testing.assert_frame_equal(frame, before)


def test_rows_keep_their_order_and_the_index_is_left_out() -> None:
    raw = read_frame(FRAME.set_index(pd.Index([9, 5, 7], name="id")))
    assert raw.frame["size"].tolist()[:2] == [1.5, 2.5]
    assert list(raw.frame) == list(FRAME)


STRANGE: dict[str, tuple[Any, dict[str, Any]]] = {
    "times": ([time(hour % 3, 30) for hour in range(9)], {}),
    "durations": (pd.to_timedelta([*range(8), None], unit="h"), {"keep": ["x"]}),
    "durations in objects": (pd.Series([timedelta(hours=n % 5) for n in range(9)], dtype=object), {"keep": ["x"]}),
    "identifiers": ([UUID(int=n % 3) for n in range(9)], {}),
}


@pytest.mark.parametrize("name", STRANGE)
def test_cells_that_a_file_spells_otherwise_are_read_again_as_they_were(name: str) -> None:
    cells, keys = STRANGE[name]
    frame = pd.DataFrame({"x": cells, "y": ["a", "b", "b"] * 3})
    dataset = load_frame(frame, "y", **keys)
    features = [column for column in dataset.columns if column.name == "x"]
    again = convert_like(frame, features, ColumnRules(units={each.name: each.unit for each in features if each.unit}))
    pd.testing.assert_series_equal(again.frame["x"], dataset.X["x"])


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UserError, match="must be a pandas DataFrame, or an Arrow or polars table, but a dict"):
        read_frame({"size": [1]})
    with pytest.raises(UserError, match="has no rows"):
        read_frame(FRAME.iloc[:0])
    with pytest.raises(UserError, match="2 columns named 'size'"):
        read_frame(FRAME[["size", "size"]])
