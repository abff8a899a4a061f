"""Tables of Python as files: the same dataset as the table itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import describe_data, write_frame
from bakeoff.pipeline.stages.dataset import load_frame, read_table

N = 24
DATES = pd.date_range("2024-02-27", periods=N, freq="D")


def make_cells(cells: list[Any], dtype: Any) -> Any:
    """Return cells of a type of pandas, whose overloads know fewer types than it has."""
    return pd.Series(cells, dtype=dtype).array


COLUMNS: dict[str, Any] = {
    "floats": np.linspace(0, 1, N),
    "missing": [None, 1.5, np.nan] * 8,
    "text": ["red", "green", None] * 8,
    "text of pandas": make_cells(["red", "green", pd.NA] * 8, dtype="string"),
    "objects": [1, "a", True] * 8,
    "Booleans with missing cells": make_cells([True, pd.NA, False] * 8, dtype="boolean"),
    "integers with missing cells": make_cells([1, pd.NA, 3] * 8, dtype="Int64"),
    "text of Arrow": make_cells(["red", "green", None] * 8, dtype=pd.ArrowDtype(pa.string())),
    "categories": pd.Categorical(["low", "high"] * 12, categories=["low", "mid", "high"]),
    "ordered": pd.Categorical(["low", "high"] * 12, categories=["low", "mid", "high"], ordered=True),
    "categories of numbers": pd.Categorical([3, 1] * 12),
    "dates of a zone": DATES.tz_localize("Europe/Berlin"),
    "dates of Python": DATES.date,
    "durations": pd.to_timedelta(np.arange(N), unit="h"),
    "codes": ["007", "010"] * 12,
    "decimals": make_cells([1.25, 2.5] * 12, dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
}


def make_frame(name: str) -> pd.DataFrame:
    return pd.DataFrame({name: COLUMNS[name], "x": np.arange(N) % 5 + 0.5, "y": ["p", "q", "p"] * 8})


@pytest.mark.parametrize("name", COLUMNS)
def test_the_file_of_a_table_is_the_same_dataset_as_the_table(name: str, tmp_path: Path) -> None:
    frame = make_frame(name)
    path, notes = write_frame(frame, "mine", tmp_path)
    stored = read_table(str(path), "y")
    direct = load_frame(frame, "y", name="mine")
    assert stored.digest() == direct.digest()
    assert (stored.name, stored.columns) == ("mine", direct.columns)
    assert (*notes, *stored.notes) == direct.notes


def test_equal_tables_have_one_file_and_others_another(tmp_path: Path) -> None:
    frame = make_frame("text")
    first, _ = write_frame(frame, "mine", tmp_path)
    other, _ = write_frame(frame.assign(x=0.0), "mine", tmp_path)
    assert write_frame(frame.copy(), "mine", tmp_path)[0] == first != other


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", "x*", "it's"])
def test_names_of_datasets_that_are_no_file_names_are_refused(name: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dataset_name="):
        write_frame(make_frame("floats"), name, tmp_path)


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        (["iris", make_frame("text")], "a list was given"),
        (np.zeros((2, 2)), "a ndarray was given; convert it with"),
        ({"a": [1, 2]}, "a dict was given; convert it with"),
        (make_frame("floats").set_axis(["x", "x", "y"], axis=1), "2 columns named 'x'"),
    ],
)
def test_what_is_no_table_is_refused(dataset: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said):
        describe_data(dataset, "y", None)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_the_target_of_a_named_dataset_is_its_transformation() -> None:
    assert describe_data("diabetes", "log", None) == (["dataset=diabetes", "target=log"], [])


def test_files_and_several_tables_are_the_paths_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {"one": make_frame("text"), "two": make_frame("floats"), "three": Path("a b.csv")}
    (option, paths, target), _ = describe_data(tables, "y", None, is_sweep=True)
    files = [Path(path.strip("'")) for path in paths.partition("=")[2].split(",")]
    assert (option, target, files[2].name) == ("dataset=file", "dataset.target=y", "a b.csv")
    assert [file.stem for file in files[:2] if file.exists()] == ["one", "two"]
