"""Dates: years 1 to 9999 in every source, columns in which nearly all cells are dates, quarters, months and weeks."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_frame, load_query, read_table
from bakeoff.pipeline.stages.dataset.table import Column, Dataset
from bakeoff.pipeline.stages.preprocessing.transformers import DateParts

DAYS = [dt.date(2000, 1, 1) + dt.timedelta(7 * week) for week in range(60)]
X = [week * 7 % 13 / 3 for week in range(60)]
Y = ["a", "b"] * 30


def write_with_pandas(frame: pd.DataFrame, file: Path) -> None:
    getattr(frame, {".csv": "to_csv", ".xlsx": "to_excel", ".parquet": "to_parquet"}[file.suffix])(file, index=False)


def write_json(frame: pd.DataFrame, file: Path) -> None:
    frame.astype({"d": str}).to_json(file, orient="records", lines=True)


def write_timestamps(frame: pd.DataFrame, file: Path) -> None:
    table = pa.Table.from_pandas(frame)
    parquet.write_table(table.set_column(0, "d", table["d"].cast(pa.timestamp("us"))), file)


def write_arrow(frame: pd.DataFrame, file: Path) -> None:
    feather.write_feather(pa.Table.from_pandas(frame), str(file))


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "table.csv": write_with_pandas,
    "table.xlsx": write_with_pandas,
    "table.parquet": write_with_pandas,
    "times.parquet": write_timestamps,
    "table.feather": write_arrow,
    "table.jsonl": write_json,
}
FRAME = "frame"
DATABASE = "table.db"


def read_source(folder: Path, name: str, days: list[dt.date], **keys: Any) -> Dataset:
    """Write a table with dates to a source, and read it."""
    frame = pd.DataFrame({"d": days, "x": X, "y": Y})
    if name == FRAME:
        return load_frame(frame, "y", **keys)
    if name == DATABASE:
        with closing(sqlite3.connect(folder / name)) as connection:
            frame.astype({"d": str}).to_sql("t", connection, index=False)
        return load_query("y", url=f"sqlite:///{folder / name}", query="SELECT * FROM t", **keys)
    WRITERS[name](frame, folder / name)
    return read_table(str(folder / name), "y", **keys)


def find_column(dataset: Dataset) -> Column:
    return next(column for column in dataset.columns if column.name == "d")


YEARS = [1, 1650, 9999]


@pytest.mark.parametrize("year", YEARS)
@pytest.mark.parametrize("source", [*WRITERS, FRAME, DATABASE])
def test_years_1_to_9999_are_dates_in_every_source(tmp_path: Path, source: str, year: int) -> None:
    if source == "table.xlsx" and year < 1900:
        year = 9998  # workbooks have no earlier dates
    days = [dt.date(year, 12, 31), *DAYS[1:]]
    dataset = read_source(tmp_path, source, days, dates=["d"])
    assert dataset.X["d"].dt.date.tolist() == days
    assert DateParts(["days"]).fit_transform(dataset.X[["d"]])["d_days"].tolist() == [
        (day - dt.date(1970, 1, 1)).days for day in days
    ]
    (tmp_path / DATABASE).unlink(missing_ok=True)
    times = read_source(tmp_path, source, days, time="d").times
    assert times is not None
    assert times.astype("datetime64[D]").tolist() == days


def test_a_dropped_column_decides_no_sign(tmp_path: Path) -> None:
    rows = "".join(f'"1,{number}","{number}",{"ab"[number % 2]}\n' for number in range(100, 130))
    (tmp_path / "table.csv").write_text(f"d,x,y\n{rows}")
    with pytest.raises(UserError, match="the comma in table may be a decimal sign"):
        read_table(str(tmp_path / "table.csv"), "y")
    assert list(read_table(str(tmp_path / "table.csv"), "y", drop=["d"], keep=["x"]).X) == ["x"]


@pytest.mark.parametrize("cells", [["red", "green", "2019-01-01"], ["a", "b", "c"]])
def test_few_dates_among_other_cells_are_not_named(cells: list[str]) -> None:
    assert not find_column(load_frame(pd.DataFrame({"d": cells * 20, "x": X, "y": Y}), "y")).suspicions


QUARTERS = pd.period_range("1970Q1", periods=60, freq="Q")
MONTHS = pd.period_range("1991-01", periods=60, freq="M")
WEEKS = pd.period_range("2000-01-03", periods=60, freq="W")
PERIODS = {
    "%Y Q%q": QUARTERS,
    "%YQ%q": QUARTERS,
    "%Y-Q%q": QUARTERS,
    "Q%q %Y": QUARTERS,
    "Q%q/%Y": QUARTERS,
    "Q%q-%Y": QUARTERS,
    "%Y %b": MONTHS,
    "%b %Y": MONTHS,
    "%Y-%b": MONTHS,
    "%b-%Y": MONTHS,
    "%Y %B": MONTHS,
    "%B %Y": MONTHS,
    "%m/%Y": MONTHS,
    "%Y/%m": MONTHS,
    "%Y-%m": MONTHS,
    "%YM%m": MONTHS,
    "%G-W%V": WEEKS,
    "%GW%V": WEEKS,
    "%G W%V": WEEKS,
    "%G-W%V-%u": WEEKS,
}


@pytest.mark.parametrize("spelling", PERIODS)
def test_quarters_months_and_weeks_are_dates(spelling: str) -> None:
    periods = PERIODS[spelling]
    starts = periods.start_time.to_numpy()
    names = [start.strftime(spelling.replace("%q", str(start.quarter))) for start in periods.start_time]
    frame = pd.DataFrame({"d": names, "x": X, "y": Y})
    assert find_column(load_frame(frame, "y")).kind == "date"
    times = load_frame(frame, "y", time="d").times
    assert times is not None
    assert np.array_equal(times, starts)
    assert np.array_equal(load_frame(frame, "y", dates=["d"]).X["d"], starts)
    given = load_frame(frame, "y", dates={"d": spelling})
    assert np.array_equal(given.X["d"], starts)


def test_may_is_the_name_of_a_month_in_both_lengths() -> None:
    for names in (["May 1991", "Jul 1991"], ["May 1991", "July 1991"], ["May 1991", "May 1992"]):
        dataset = load_frame(pd.DataFrame({"d": names * 30, "x": X, "y": Y}), "y", dates=["d"])
        assert dataset.X["d"].dt.day.tolist() == [1] * 60
