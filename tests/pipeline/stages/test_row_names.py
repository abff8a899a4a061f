"""Names of rows: the first cells of files of R and pandas, whose header does not name them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.dataset.table import Dataset

ROWS = [(f"{number / 7:.3f}", str(number % 3), "ab"[number % 2]) for number in range(1, 13)]
SEPARATORS = {",": "csv", ";": "csv", "\t": "txt", " ": "txt", "|": "txt"}
LEFT_OUT = "Left out as identifiers: column_1 (different names of the rows, for which the header has no name). "


def write(folder: Path, header: list[str], rows: list[list[str]], separator: str = ",", quote: str = "") -> Path:
    file = folder / f"table.{SEPARATORS[separator]}"
    lines = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in [header, *rows]]
    file.write_text("\n".join(lines) + "\n")
    return file


def describe(dataset: Dataset) -> tuple[list[str], list[str]]:
    return list(dataset.X.columns), [note for note in dataset.notes if "assumed to be" not in note]


NAMES = {
    "numbers of R": [str(number) for number in range(1, 13)],
    "text": [f"Mazda RX{number}" for number in range(1, 13)],
    "shuffled numbers": [str(number * 5 % 13) for number in range(1, 13)],
    "repeated rows of R": ["1", "2", "2.1", "3", "4", "5", "6", "7", "7.1", "8", "9", "10"],
}


LAYOUTS = [(separator, quote) for separator in SEPARATORS for quote in ('"', "") if (separator, quote) != (" ", "")]


@pytest.mark.parametrize(("separator", "quote"), LAYOUTS)
@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("first", [[], [""]], ids=["short header", "empty name"])
def test_row_names_without_a_name_are_left_out(
    tmp_path: Path, names: str, separator: str, quote: str, first: list[str]
) -> None:
    rows = [[name, *row] for name, row in zip(NAMES[names], ROWS, strict=True)]
    dataset = read_table(str(write(tmp_path, [*first, "x", "z", "y"], rows, separator, quote)), "y")
    assert describe(dataset) == (["x", "z"], [f"{LEFT_OUT}dataset.keep=[column_1] includes it."])
    assert dataset.X["x"].tolist() == [float(row[0]) for row in ROWS]


def test_row_names_before_spaces_need_no_quotation_marks(tmp_path: Path) -> None:
    rows = [[name, *row] for name, row in zip(NAMES["numbers of R"], ROWS, strict=True)]
    assert list(read_table(str(write(tmp_path, ["x", "z", "y"], rows, " ")), "y").X) == ["x", "z"]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_at_the_ends_of_all_rows_but_the_first_are_left_out(tmp_path: Path, separator: str) -> None:
    rows = [[*row, ""] for row in ROWS * 2]
    dataset = read_table(str(write(tmp_path, ["x", "z", "y"], rows, separator)), "y")
    cure = "dataset.keep=[column_4] includes it."
    assert describe(dataset) == (["x", "z"], [f"Left out as constants: column_4 (every cell is missing). {cure}"])
    assert dataset.X["x"].tolist() == [float(row[0]) for row in ROWS * 2]


def test_row_names_are_kept_on_request(tmp_path: Path) -> None:
    rows = [[name, *row] for name, row in zip(NAMES["text"], ROWS, strict=True)]
    file = str(write(tmp_path, ["x", "z", "y"], rows))
    assert list(read_table(file, "y", keep=["column_1"]).X) == ["column_1", "x", "z"]
    assert read_table(file, "y", groups="column_1").groups is not None


@pytest.mark.parametrize(
    "first_cells",
    [["a", "a", "b"], ["0.5", "1.5", "2.5"]],
    ids=["equal", "measurements"],
)
def test_other_cells_in_front_of_a_short_header_are_refused(tmp_path: Path, first_cells: list[str]) -> None:
    rows = [[cell, "1", "u"] for cell in first_cells]
    with pytest.raises(UserError, match=r"line 2 of table.csv has 3 cells.*; if the first row lacks a name, add it"):
        read_table(str(write(tmp_path, ["x", "y"], rows)), "y")


def test_measurements_without_a_name_stay_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"z": range(8), "y": list("abababab")}, index=np.arange(8) / 7)
    frame.to_csv(tmp_path / "table.csv")
    assert list(read_table(str(tmp_path / "table.csv"), "y").X) == ["column_1", "z"]
