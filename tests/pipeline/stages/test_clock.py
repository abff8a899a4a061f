"""Times of day: hours as numbers, from every source, and in the rows to predict."""

from __future__ import annotations

import datetime as dt
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_frame, load_query, read_table
from bakeoff.pipeline.stages.dataset.clock import TIME
from bakeoff.pipeline.stages.dataset.table import Dataset

TIMES = [dt.time(hour, hour * 7 % 60, hour * 11 % 60) for hour in range(24)]
HOURS = [time.hour + time.minute / 60 + time.second / 3600 for time in TIMES]
WITHOUT_SECONDS = [time.hour + time.minute / 60 for time in TIMES]
Y = ["a", "b"] * 12
SENTENCE = (
    "The times of day in column 't' are read as hours, unless dataset.nominal names them "
    "('dataset.units={t: clock}' confirms it)."
)


def read(cells: Any, **keys: Any) -> Dataset:
    return load_frame(pd.DataFrame({"t": cells, "x": range(len(cells)), "y": (Y * 2)[: len(cells)]}), "y", **keys)


SPELLINGS = {
    "%H:%M:%S": HOURS,
    "%H:%M": WITHOUT_SECONDS,
    "%I:%M %p": WITHOUT_SECONDS,
    "%I:%M%p": WITHOUT_SECONDS,
    "%I:%M:%S %p": HOURS,
    " %H:%M ": WITHOUT_SECONDS,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_times_are_hours(spelling: str) -> None:
    dataset = read([time.strftime(spelling) for time in TIMES])
    assert SENTENCE in dataset.notes
    assert dataset.X["t"].tolist() == pytest.approx(SPELLINGS[spelling], abs=1e-12)


@pytest.mark.parametrize(
    ("cell", "hours"), [("7:05 PM", 19 + 5 / 60), ("12:30 a.m.", 0.5), ("9:00:00.5", 9 + 0.5 / 3600)]
)
def test_a_time_is_its_hours(cell: str, hours: float) -> None:
    assert read([cell, "10:00", "11:00"]).X["t"].tolist() == pytest.approx([hours, 10, 11], abs=1e-12)


@pytest.mark.parametrize("source", ["csv", "xlsx", "time32", "time64", "objects", "sql", "jsonl"])
def test_times_are_hours_in_every_source(tmp_path: Path, source: str) -> None:
    frame = pd.DataFrame({"t": TIMES, "x": np.arange(24) / 7, "y": Y})
    file = tmp_path / f"table.{source}"
    if source == "sql":
        with closing(sqlite3.connect(file)) as connection:
            frame.astype({"t": str}).to_sql("t", connection, index=False)
        dataset = load_query("y", url=f"sqlite:///{file}", query="SELECT * FROM t")
    elif source == "objects":
        dataset = load_frame(frame, "y")
    else:
        if source.startswith("time"):
            type_ = pa.time32("s") if source == "time32" else pa.time64("ns")
            table = pa.Table.from_pandas(frame)
            file = tmp_path / "table.parquet"
            parquet.write_table(table.set_column(0, "t", table["t"].cast(type_)), file)
        elif source == "jsonl":
            frame.astype({"t": str}).to_json(file, orient="records", lines=True)
        else:
            (frame.to_csv if source == "csv" else frame.to_excel)(file, index=False)
        dataset = read_table(str(file), "y")
    assert SENTENCE in dataset.notes
    assert dataset.X["t"].tolist() == pytest.approx(HOURS, abs=1e-12)


def test_times_have_missing_cells_and_can_be_kept_as_values() -> None:
    cells = [time.strftime("%H:%M") for time in TIMES]
    assert np.isnan(read([*cells[:-2], "", "?"]).X["t"]).sum() == 2
    assert read(cells, nominal=["t"]).X["t"].dtype == "category"
    with pytest.raises(UserError, match=r"gives 't' the unit 'clock', but 'noon' in row 24 is not a number"):
        read([*cells[:-1], "noon"], units={"t": "clock"})


@pytest.mark.parametrize("cells", [["25:10", "30:20", "61:15"], ["3:2", "1:0", "2:2"], ["1:10:", "a:10", "10:61"]])
def test_other_cells_with_colons_are_no_times(cells: list[str]) -> None:
    assert not any("times of day" in note for note in read(cells * 2).notes)


def test_the_expression_allows_no_spaces_at_its_ends() -> None:
    assert TIME.startswith("^(") and TIME.endswith(")?$")  # noqa: PT018


MARKS = {"<": "<{}", "~": "~{}", "*": "{}*", "**": "{} **", "†": "{}†", "[2]": "{}[2]", "[a]": "{} [a]", "≥": "≥ {}"}


@pytest.mark.parametrize("step", [4, 12])
@pytest.mark.parametrize("mark", MARKS)
def test_numbers_with_marks_are_named(mark: str, step: int) -> None:
    cells = [MARKS[mark].format(row * 1.5) if row % step == 3 else str(row * 1.5) for row in range(24)]
    dataset = read(cells)
    assert dataset.columns[0].kind == "nominal"
    assert f"t: {24 - 24 // step} of 24 cells are numbers, the others '" in dataset.remarks[-1]
    assert MARKS[mark].format(4.5) in dataset.remarks[-1]
