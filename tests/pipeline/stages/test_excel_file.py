"""Excel workbooks, written by openpyxl and pandas."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pandas as pd
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.source import Source

PEOPLE: list[list[Any]] = [
    ["age", "job", "day", "owner"],
    [30, "cook", dt.date(2024, 1, 2), True],
    [29.5, None, None, False],
]


def write(folder: Path, *sheets: Sequence[Sequence[Any]]) -> Path:
    """Write the sheets S1, S2, … into a workbook."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for number, rows in enumerate(sheets, start=1):
        sheet = workbook.create_sheet(f"S{number}")
        for row in rows:
            sheet.append(row)
    file = folder / "people.xlsx"
    workbook.save(file)
    return file


def read(folder: Path, *sheets: Sequence[Sequence[Any]], **layout: Any) -> Source:
    return read_file(write(folder, *sheets), FileLayout(**layout))


def test_cells_have_the_types_of_the_sheet(tmp_path: Path) -> None:
    raw = read(tmp_path, PEOPLE)
    assert [str(dtype) for dtype in raw.frame.dtypes] == ["float64", "string", "datetime64[us]", "bool"]
    as_pandas_reads = pd.read_excel(tmp_path / "people.xlsx")
    assert raw.frame["age"].tolist() == as_pandas_reads["age"].tolist()
    assert raw.frame["day"].tolist()[0] == as_pandas_reads["day"][0]
    assert (raw.name, raw.notes) == ("people", ())


def test_the_first_sheet_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    file = write(tmp_path, [["x"], [1]], [["x"], [2]], [["x"], [3]])
    raw = read_file(file, FileLayout())
    assert raw.frame["x"].tolist() == [1]
    assert raw.notes == ("Sheet 'S1' is read; dataset.sheet chooses another one: S2, S3.",)
    chosen = read_file(file, FileLayout(sheet="S2"))
    assert (chosen.frame["x"].tolist(), chosen.notes) == ([2], ())
    with pytest.raises(UserError, match=r"dataset.sheet='S9' is not a sheet of people.xlsx"):
        read_file(file, FileLayout(sheet="S9"))


def test_empty_rows_within_the_table_are_left_out(tmp_path: Path) -> None:
    raw = read(tmp_path, [["x", "y"], [1, 2], [], [3, 4], [], []])
    assert raw.frame["x"].tolist() == [1, 3]


def test_a_formula_without_its_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cell B3 holds the formula =A3\*2 without its value; open the file in a spr"):
        read(tmp_path, [["x", "y"], [1, 2], [2, "=A3*2"]])


def store_values(file: Path, values: Mapping[str, str]) -> None:
    """Store the values of formulas, as a spreadsheet program does and openpyxl does not; an error begins with #."""
    with ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    for cell, value in values.items():
        type_ = 't="e"' if value.startswith("#") else ""
        found = rf'<c r="{cell}"[^>]*>(<f>[^<]*</f>)<v */?>(</v>)?</c>'
        sheet, n_found = re.subn(found, rf'<c r="{cell}" {type_}>\1<v>{value}</v></c>', sheet)
        assert n_found == 1
    with ZipFile(file, "w") as archive:
        for name, content in {**parts, "xl/worksheets/sheet1.xml": sheet.encode()}.items():
            archive.writestr(name, content)


def test_a_formula_is_its_stored_value(tmp_path: Path) -> None:
    file = write(tmp_path, [["x", "y"], [1, "=A2*2"], [None, "=1/0"]])
    store_values(file, {"B2": "2", "B3": "#DIV/0!"})
    raw = read_file(file, FileLayout())
    assert raw.frame["y"].tolist() == [2, pd.NA]
    assert raw.notes == ("Cells with errors such as #N/A are treated as missing: 1.",)


def test_a_sheet_without_names_is_read_with_header_false(tmp_path: Path) -> None:
    rows = [[1, 2], [3, 4]]
    with pytest.raises(UserError, match=r"row 1 looks like data; add dataset.header=false"):
        read(tmp_path, rows)
    assert read(tmp_path, rows, header=False).frame.to_dict("list") == {"column_1": [1, 3], "column_2": [2, 4]}
    assert list(read(tmp_path, rows, header=True).frame) == ["1", "2"]


NUMBERED = pd.DataFrame({"x": [each / 8 for each in range(12)], "z": [0, 1, 2] * 4, "y": ["a", "b"] * 6})


def describe(file: Path) -> tuple[dict[Any, Any], list[str]]:
    dataset = read_table(str(file), "y")
    return dataset.X.to_dict("list"), [note for note in dataset.notes if "Merged" in note]


@pytest.mark.parametrize("place", [{}, {"startrow": 3}, {"startcol": 2}, {"startrow": 1, "startcol": 1}])
@pytest.mark.parametrize("has_index", [True, False])
def test_a_sheet_of_pandas_is_read_as_its_csv_file(tmp_path: Path, place: dict[str, Any], has_index: bool) -> None:
    shuffled = NUMBERED.sample(frac=1, random_state=0)
    shuffled.to_excel(tmp_path / "table.xlsx", index=has_index, **place)
    shuffled.to_csv(tmp_path / "table.csv", index=has_index)
    expected = {"x": shuffled["x"].tolist(), "z": shuffled["z"].tolist()}
    assert describe(tmp_path / "table.xlsx") == describe(tmp_path / "table.csv") == (expected, [])


@pytest.mark.parametrize("names", [[None, None], ["site", "number"]])
def test_the_merged_cells_of_an_index_are_filled_down(tmp_path: Path, names: list[str | None]) -> None:
    index = pd.MultiIndex.from_product([["P", "Q"], range(6)], names=names)
    NUMBERED.set_index(index).to_excel(tmp_path / "table.xlsx")
    cells, notes = describe(tmp_path / "table.xlsx")
    assert cells[names[0] or "column_1"] == ["P"] * 6 + ["Q"] * 6
    assert notes == ["Merged cells are filled down from the first one, but not to the right: A2:A7, A8:A13."]


def test_cells_merged_above_the_table_or_to_the_right_are_not_filled(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["People"], ["age", "job", "y"], [1, "cook", "a"], [2, None, "b"], [3, "smith", "a"]]
    file = write(tmp_path, rows)
    workbook = openpyxl.load_workbook(file)
    workbook["S1"].merge_cells("A1:C1")
    workbook["S1"].merge_cells("A4:B4")
    workbook["S1"].merge_cells("C3:C4")
    workbook.save(file)
    with pytest.raises(UserError, match=r"if the table begins in row 2, give dataset.skip_rows=1"):
        read_file(file, FileLayout())
    raw = read_file(file, FileLayout(skip_rows=1))
    assert raw.frame["y"].tolist() == ["a", "a", "a"]
    assert raw.frame["job"].isna().tolist() == [False, True, False]
    assert raw.notes == ("Merged cells are filled down from the first one, but not to the right: C3:C4.",)
