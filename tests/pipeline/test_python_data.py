"""Tables of Python as files: the same dataset as the table itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.data import GivenData, join_target, open_data, write_frame
from bakeoff.pipeline.stages.dataset import load_frame, read_table

N = 24
DATES = pd.date_range("2024-02-27", periods=N, freq="D")


def make_cells(cells: list[Any], dtype: Any) -> Any:
    """Return cells of a type of pandas, whose overloads know fewer types than it has."""
    return pd.Series(cells, dtype=dtype).array


COLUMNS: dict[str, Any] = {
    "integers": np.arange(N) * 7,
    "floats": np.linspace(0, 1, N),
    "missing": [None, 1.5, np.nan] * 8,
    "text": ["red", "green", None] * 8,
    "text of pandas": make_cells(["red", "green", pd.NA] * 8, dtype="string"),
    "objects": [1, "a", True] * 8,
    "Booleans": [True, False] * 12,
    "Booleans with missing cells": make_cells([True, pd.NA, False] * 8, dtype="boolean"),
    "integers with missing cells": make_cells([1, pd.NA, 3] * 8, dtype="Int64"),
    "floats of pandas": make_cells([1.5, pd.NA, 3.5] * 8, dtype="Float32"),
    "text of Arrow": make_cells(["red", "green", None] * 8, dtype=pd.ArrowDtype(pa.string())),
    "categories": pd.Categorical(["low", "high"] * 12, categories=["low", "mid", "high"]),
    "ordered": pd.Categorical(["low", "high"] * 12, categories=["low", "mid", "high"], ordered=True),
    "categories of numbers": pd.Categorical([3, 1] * 12),
    "dates": DATES,
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
    file = write_frame(frame, "mine", tmp_path)
    stored = read_table(str(file.path), "y")
    direct = load_frame(frame, "y", name="mine")
    assert stored.digest() == direct.digest()
    assert (stored.name, stored.columns) == ("mine", direct.columns)
    assert (*file.notes, *stored.notes) == direct.notes


def test_equal_tables_have_one_file_and_others_another(tmp_path: Path) -> None:
    frame = make_frame("text")
    first = write_frame(frame, "mine", tmp_path)
    again = write_frame(frame.copy(), "mine", tmp_path)
    other = write_frame(frame.assign(x=0.0), "mine", tmp_path)
    assert (first.path, first.is_new, again.is_new) == (again.path, True, False)
    assert other.path != first.path
    again.discard()
    assert first.path.exists()
    for file in (first, other):
        file.discard()
    assert not tmp_path.exists()


def test_the_table_is_not_changed(tmp_path: Path) -> None:
    frame = make_frame("objects").set_index(pd.Index(range(5, 5 + N)))
    before = frame.copy(deep=True)
    write_frame(frame, "mine", tmp_path)
    join_target(frame, [1] * N)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (pd.RangeIndex(N), ()),
        (pd.Index(np.random.default_rng(0).permutation(N)), ()),
        (pd.Index([f"r{i}" for i in range(N)]), ("The index is left out; frame.reset_index() makes it a column.",)),
        (pd.Index(range(N), name="id"), ("The index 'id' is left out; frame.reset_index() makes it a column.",)),
        (DATES, ("The index is left out; frame.reset_index() makes it a column.",)),
    ],
)
def test_an_index_that_says_something_is_said(index: pd.Index, said: tuple[str, ...], tmp_path: Path) -> None:
    frame = make_frame("floats").set_axis(index, axis=0)
    assert write_frame(frame, "mine", tmp_path).notes == said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([0, "x", "y"], r"not text \(0\); frame.rename\(columns=str\)"),
        (range(3), r"not text \(0, 1, 2\)"),
        (["x", "x", "y"], "2 columns of the name 'x'"),
        (pd.MultiIndex.from_product([["a"], ["b", "c", "d"]]), "set frame.columns to a list of texts"),
    ],
)
def test_names_of_columns_that_are_not_different_texts_are_refused(names: Any, said: str, tmp_path: Path) -> None:
    frame = make_frame("floats")
    frame.columns = names
    with pytest.raises(UserError, match=said):
        write_frame(frame, "mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", "x*", "it's", 3])
def test_names_of_datasets_that_are_no_file_names_are_refused(name: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dataset_name="):
        write_frame(make_frame("floats"), name, tmp_path)


@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, tuple, pd.Categorical, lambda cells: pd.Series(cells, name="z")]
)
def test_a_target_beside_the_table_is_the_column_of_it(make: Any) -> None:
    frame = make_frame("floats")
    if make is pd.Categorical:
        target = pd.Series(make(frame["y"].tolist()))
    else:
        target = make(frame["y"].tolist())
    joined, name = join_target(frame.drop(columns="y"), target)
    assert name == ("z" if getattr(target, "name", None) else "target")
    assert joined[name].tolist() == frame["y"].tolist()
    assert list(joined.columns[:-1]) == ["floats", "x"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ([1, 2], "target has 2 values, and the table has 24 rows"),
        (np.zeros((N, 2)), "shape 24 × 2"),
        (3, "target is a int"),
        (pd.Series(range(N), index=range(1, N + 1)), "another index than the table"),
        (pd.Series(range(N), name="x"), "also a column of the table"),
    ],
)
def test_targets_that_do_not_belong_to_the_rows_are_refused(target: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        join_target(make_frame("floats"), target)


@pytest.mark.parametrize(
    ("given", "words", "said"),
    [
        (GivenData("iris", None, None), ["dataset=wine"], "dataset is given twice"),
        (GivenData(make_frame("text"), "y", None), ["dataset.target=x"], "target is given twice"),
        (GivenData("iris", None, "mine"), [], "no table was given"),
        (GivenData(make_frame("text"), None, None), [], "target must be given"),
        (GivenData("iris", [1, 2], None), [], "needs a table as dataset"),
        (GivenData(Path("a.csv"), [1, 2], None), [], "needs a DataFrame as dataset"),
        (GivenData(pa.table({"x": [1]}), [1], None), [], "joined to a DataFrame of pandas only"),
        (GivenData(["iris", make_frame("text")], "y", None, is_sweep=True), [], "names of options and tables"),
        (GivenData(["iris"], "y", None), [], "a list was given"),
        (GivenData("a.csv", "y", None), [], r"a file is given as pathlib.Path\('a.csv'\)"),
        (GivenData(np.zeros((2, 2)), [0, 1], None), [], r"a ndarray was given; pandas.DataFrame\(table\)"),
        (GivenData(pd.Series([1, 2]), [0, 1], None), [], r"a Series was given; pandas.DataFrame\(table\)"),
        (GivenData({"a": [1, 2]}, [0, 1], None), [], r"a dict was given; pandas.DataFrame\(table\)"),
    ],
)
def test_data_that_are_given_twice_or_not_at_all_are_refused(
    given: GivenData, words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said), open_data(given, words):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_target_of_a_named_dataset_is_its_transformation() -> None:
    with open_data(GivenData("diabetes", "log", None), []) as (data_words, _):
        assert data_words == ["dataset=diabetes", "target=log"]


def test_files_and_several_tables_are_the_paths_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = {"one": make_frame("text"), "two": make_frame("floats"), "three": Path("a b.csv")}
    with open_data(GivenData(tables, "y", None, is_sweep=True), ["tracking=none"]) as (data_words, _):
        option, paths, target = data_words
        files = [Path(path.strip("'")) for path in paths.partition("=")[2].split(",")]
        assert (option, target, files[2].name) == ("dataset=file", "dataset.target=y", "a b.csv")
        assert [file.stem for file in files[:2] if file.exists()] == ["one", "two"]
    assert not files[0].exists()
    assert list(tmp_path.iterdir()) == []
