"""Files that commands write: the format of the extension, whole or not at all, never onto an input."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.tables.output_file import (
    CALCULATION,
    CAPSULE,
    COMPARISON,
    DIFFERENCE,
    ESCAPED_FORMATS,
    EXPLANATION,
    FIGURE,
    INSPECTION,
    PREDICTIONS,
    SCHEMA,
    WRITERS,
    fill_folder,
    replace_file,
    require_output,
    write_private,
    write_table,
)

TABLE = pd.DataFrame(
    {
        "name": pd.array(["007", "=1+1", "grün", 'a,"b"', None], dtype="str"),
        "prediction": ["yes", "no", "no", "yes", "no"],
        "probability_yes": [0.1 + 0.2, 1 / 3, 1e-300, 5e-324, math.nan],
        "rank": [1, 2, 3, 4, 2**60],
    }
)


@pytest.mark.parametrize("extension", WRITERS)
def test_what_is_written_is_read_again(tmp_path: Path, extension: str) -> None:
    path = require_output(tmp_path / f"out{extension}", PREDICTIONS)
    write_table(TABLE, path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    read = read_file(path, FileLayout()).frame
    assert list(read) == list(TABLE)
    # A user's own files are read as they are, so that the mark stays; see test_csv_file.py for those of bakeoff.
    formula = "'=1+1" if extension in ESCAPED_FORMATS else "=1+1"
    assert read["name"].fillna("").tolist() == ["007", formula, "grün", 'a,"b"', ""]
    assert read["prediction"].tolist() == TABLE["prediction"].tolist()
    assert [int(cell) for cell in read["rank"]] == TABLE["rank"].tolist()
    found = [float(cell) for cell in read["probability_yes"][:4]]
    # openpyxl writes 16 digits.
    digits = 1e-15 if extension == ".xlsx" else 0
    np.testing.assert_allclose(found, TABLE["probability_yes"][:4], rtol=digits)


def test_a_workbook_of_predictions_holds_no_formula_and_is_replaced_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "out.xlsx"
    for _ in range(2):
        write_table(TABLE, require_output(path, PREDICTIONS))
        sheet = openpyxl.load_workbook(path).active
        assert (sheet["A3"].value, sheet["A3"].data_type) == ("=1+1", "s")
    TABLE.to_excel(path)
    with pytest.raises(UserError, match="is a file that this command has not written"):
        require_output(path, PREDICTIONS)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_text_has_the_given_signs_and_is_replaced_by_the_next(tmp_path: Path, separator: str, decimal: str) -> None:
    path = tmp_path / "out.csv"
    for _ in range(2):
        write_table(TABLE, require_output(path, PREDICTIONS), separator=separator, decimal=decimal)
    found = pd.read_csv(path, sep=separator, decimal=decimal)
    assert found["probability_yes"].tolist()[:4] == TABLE["probability_yes"].tolist()[:4]


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    device = tmp_path / "pipe.csv"
    os.mkfifo(device)
    with pytest.raises(UserError, match="cannot be written"):
        require_output(device, PREDICTIONS)


@pytest.mark.parametrize("way", ["same", "dots", "link", "hard link"])
def test_an_input_is_never_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.chdir(tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("x\n1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to(rows)
    os.link(rows, tmp_path / "hard.csv")
    outputs = {"same": "rows.csv", "dots": "folder/../rows.csv", "link": "link.csv", "hard link": "hard.csv"}
    with pytest.raises(UserError, match=r"is the file .*rows\.csv, which is an input; name another file"):
        require_output(outputs[way], PREDICTIONS, [rows])


def test_a_failure_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    path.write_text("before")
    with pytest.raises(UserError, match=r"output=.* cannot be written"):
        write_table(pd.DataFrame({"a": [1, pa]}), path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    def write_half() -> None:
        with replace_file(tmp_path / "out.csv") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_file_takes_the_place_of_a_link_and_has_the_usual_rights(tmp_path: Path) -> None:
    target = tmp_path / "target.csv"
    target.write_text("before")
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    write_table(TABLE, link)
    plain = tmp_path / "plain"
    plain.touch()
    assert not link.is_symlink()
    assert link.read_text().startswith("name,prediction")
    assert link.stat().st_mode == plain.stat().st_mode
    assert target.read_text() == "before"


def test_a_private_file_takes_the_place_of_a_link(tmp_path: Path) -> None:
    target = tmp_path / ".bashrc"
    target.write_text("before")
    link = tmp_path / "multirun.yaml"
    link.symlink_to(target)
    write_private(link, "after")
    assert target.read_text() == "before"
    assert link.read_text() == "after"
    assert link.lstat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("is_new", [True, False])
def test_a_folder_is_filled_whole_or_stays_as_it_was(tmp_path: Path, is_new: bool) -> None:
    folder = tmp_path / "sheets"
    if not is_new:
        folder.mkdir()

    def write_half() -> None:
        with fill_folder(folder, "output") as temporary:
            (temporary / "part").mkdir()
            (temporary / "part" / "half.txt").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.rglob("*")) == ([] if is_new else [folder])
    with fill_folder(folder, "output") as temporary:
        (temporary / "whole.txt").touch()
    assert [path.name for path in folder.iterdir()] == ["whole.txt"]


@pytest.mark.parametrize("line", [b"x,prediction,probability_", b"<meta >\n", b" by hand", b"Which of ", b'{"a": '])
def test_a_long_file_of_others_is_examined_once(tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "long.csv"
    file.write_bytes(line * 100_000)  # a search that starts again at each line would take hours
    for kind in (COMPARISON, DIFFERENCE, CALCULATION, INSPECTION, EXPLANATION, PREDICTIONS, SCHEMA, CAPSULE, FIGURE):
        with pytest.raises(UserError, match="has not written"):
            kind.require_own(file)
