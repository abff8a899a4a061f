"""Text files: cells as they are spelled, against pandas and Python's csv as oracles, layouts, and limits of size."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import content, read_table
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.source import Source

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=6)
TABLES = st.integers(2, 4).flatmap(lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=5))


def read(folder: Path, text: str | bytes, name: str = "table.csv", **keys: Any) -> Source:
    """Read a text as a file."""
    content = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(content)
    return read_file(folder / name, FileLayout(**keys))


def cells(raw: Source) -> list[list[str]]:
    """Return the names and the cells of a table, row by row."""
    return [list(raw.frame.columns), *raw.frame.to_numpy().tolist()]


# Cells


@given(rows=TABLES, separator=st.sampled_from([",", ";", "\t", "|", " "]))
def test_cells_are_those_that_pythons_csv_wrote(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], separator: str
) -> None:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    raw = read(tmp_path_factory.getbasetemp(), stream.getvalue(), header=False, separator=separator, decimal=".")
    assert cells(raw)[1:] == rows


@given(bits=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_every_float_is_read_as_the_number_that_was_written(
    tmp_path_factory: pytest.TempPathFactory, bits: list[int]
) -> None:
    numbers = np.array([struct.unpack("<d", struct.pack("<Q", each))[0] for each in bits])
    numbers = numbers[np.isfinite(numbers)]
    rows = "".join(f"{number!r},{'ab'[position % 2]}\n" for position, number in enumerate(numbers.tolist()))
    path = tmp_path_factory.getbasetemp() / "floats.csv"
    path.write_text("x,y\n0.5,a\n0.25,b\n" + rows)
    read_back = read_table(str(path), "y", numeric=["x"], keep=["x"]).X["x"].to_numpy()[2:]
    assert read_back.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_end_lines(tmp_path: Path, line_end: str) -> None:
    text = line_end.join(["x,y", "1,a", "2,b", ""])
    assert cells(read(tmp_path, text)) == [["x", "y"], ["1", "a"], ["2", "b"]]
    assert cells(read(tmp_path, text.rstrip("\r\n"))) == [["x", "y"], ["1", "a"], ["2", "b"]]


def test_a_quotation_mark_inside_of_a_cell_is_a_letter(tmp_path: Path) -> None:
    assert cells(read(tmp_path, 'size,y\n5",a\n6,b\n'))[1:] == [['5"', "a"], ["6", "b"]]
    assert cells(read(tmp_path, 'size,y\n"5,a\n6,b\n', quote=None))[1:] == [['"5', "a"], ["6", "b"]]
    assert cells(read(tmp_path, "size,y\n'5,5',a\n6,b\n", quote="'"))[1:] == [["5,5", "a"], ["6", "b"]]


def test_blank_lines_are_no_rows_except_in_a_single_column(tmp_path: Path) -> None:
    assert cells(read(tmp_path, "\n\nx,y\n\n1,a\n\n\n2,b\n\n"))[1:] == [["1", "a"], ["2", "b"]]
    assert cells(read(tmp_path, "x\n1\n\n3\n\n"))[1:] == [["1"], [""], ["3"]]


# Encodings and compression


@pytest.mark.parametrize(
    ("encoding", "given_encoding"),
    [
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
        ("shift_jis", "shift_jis"),
    ],
)
def test_letters_are_those_of_the_encoding(tmp_path: Path, encoding: str, given_encoding: str | None) -> None:
    town = "東京" if encoding == "shift_jis" else "Zürich"
    raw = read(tmp_path, f"town,y\n{town},a\nBern,b\n".encode(encoding), encoding=given_encoding)
    assert cells(raw) == [["town", "y"], [town, "a"], ["Bern", "b"]]


def test_an_archive_of_two_files_is_refused(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "two.csv.zip", "w") as archive:
        archive.writestr("a.csv", "x,y\n1,a\n")
        archive.writestr("b.csv", "x,y\n1,a\n")
    (tmp_path / "two.zip").write_bytes((tmp_path / "two.csv.zip").read_bytes())
    for name in ("two.csv.zip", "two.zip"):
        with pytest.raises(UserError, match=r"must hold one file, but holds a.csv, b.csv"):
            read_file(tmp_path / name, FileLayout())


def test_a_file_in_an_archive_has_the_format_of_its_own_name(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "people.v2.zip", "w") as archive:
        archive.writestr("inner/table.jsonl", '{"x": 1, "y": "a"}')
    raw = read_file(tmp_path / "people.v2.zip", FileLayout())
    assert (raw.name, cells(raw)) == ("people.v2", [["x", "y"], [1, "a"]])


# Headers of several rows, and quotation marks of other programs


def test_the_header_of_orange_declares_types_and_roles(tmp_path: Path) -> None:
    head = "name\tx\tc\tw\ty\ns\tc\td\tcontinuous\tno yes\nmeta\t\t\tweight\tclass\n"
    rows = "".join(f"n{row % 3}\t{row}.5\t{row % 2}\t{1 + row % 2}\t{'yes' if row % 3 else 'no'}\n" for row in range(9))
    raw = read(tmp_path, head + rows, "orange.tab")
    assert (len(raw.frame), raw.declared) == (9, {"c": (), "y": ()})
    assert "dataset.drop=[name,w] leaves out" in raw.notes[0]
    dataset = read_table(str(tmp_path / "orange.tab"), "y", drop=["name", "w"])
    assert [(column.name, column.kind) for column in dataset.columns[1:3]] == [("x", "numeric"), ("c", "nominal")]


@pytest.mark.parametrize("second", ["s\tc\tx y z", "s\tc\tq", "1\t2\t3"])
def test_rows_that_are_no_declarations_of_orange_stay(tmp_path: Path, second: str) -> None:
    raw = read(tmp_path, f"a\tb\tc\n{second}\nu\tv\tw\n1\t2\t3\n", "orange.tab")
    assert (len(raw.frame), raw.notes) == (3, ())


LEVELS = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x"), ("y", "")])


@pytest.mark.parametrize("index", [None, "", "id"])
def test_the_levels_of_columns_are_joined(tmp_path: Path, index: str | None) -> None:
    frame = pd.DataFrame([[row + 0.5, row + 0.25, row % 3, "pq"[row % 2]] for row in range(30)], columns=LEVELS)
    frame.index.name = index
    raw = read(tmp_path, frame.to_csv(index=index is not None))
    first = [] if index is None else [index or "column_1"]
    assert ([*raw.frame.columns], len(raw.frame)) == ([*first, "a_x", "a_y", "b_x", "y"], 30)
    assert raw.frame["a_y"].astype(float).tolist() == frame["a", "y"].tolist()
    (note,) = raw.notes
    assert re.fullmatch(r"The names in two rows are joined, as in 'a_[xy]' \(dataset.skip_rows=1 takes .*", note)


@pytest.mark.parametrize("cells", ["{0}x,{0}z,p", "{0}.5,{0}z,p", "{0},{0},{0}"])
def test_rows_below_a_repeated_name_are_no_names(tmp_path: Path, cells: str) -> None:
    rows = "".join(f"{cells.format(row)}\n" for row in range(30))
    with pytest.raises(UserError, match=r"has 2 columns named 'a'"):
        read(tmp_path, f"a,a,y\n{rows}")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_quotation_marks_behind_a_backslash_are_part_of_their_cells(tmp_path: Path, separator: str) -> None:
    rows = [["t", "x"], ['"He said \\"hi, you\\""', "1"], ['"\\"a\\" and b"', "2"], ['"C:\\\\dir\\\\"', "3"]]
    raw = read(tmp_path, "".join(separator.join(row) + "\n" for row in rows))
    assert raw.frame["t"].tolist() == ['He said "hi, you"', '"a" and b', "C:\\dir\\"]
    assert "dataset.quote=null" in " ".join(raw.notes)


# Layout


def test_the_separator_is_the_one_that_gives_regular_rows(tmp_path: Path) -> None:
    assert read(tmp_path, "name;note\nann;a, b\nbob;c\n").notes == (
        "The separator is assumed to be a semicolon (dataset.separator=semicolon confirms it).",
    )
    assert cells(read(tmp_path, "a|b\n1;2|3\n4;5|6\n"))[1:] == [["1;2", "3"], ["4;5", "6"]]
    assert read(tmp_path, "x,y\n1,a\n").notes == ()
    assert read(tmp_path, "x\ty\n1\ta\n", "table.tsv").notes == ()


@pytest.mark.parametrize(
    ("word", "letter"), [("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("pipe", "|"), ("space", " "), ("§", "§")]
)
def test_separators_are_given_as_words_or_letters(tmp_path: Path, word: str, letter: str) -> None:
    text = f"x{letter}y\n1{letter}a\n"
    for separator in (word, letter):
        assert cells(read(tmp_path, text, separator=separator)) == [["x", "y"], ["1", "a"]]


def test_any_number_of_spaces_and_tabs_may_separate_cells(tmp_path: Path) -> None:
    text = ' 18.0   8\t"chevrolet chevelle"  \n15.0  8  ford\n'
    raw = read(tmp_path, text, "auto.data", separator="whitespace", header=False)
    oracle = pd.read_csv(io.StringIO(text), sep=r"\s+", header=None, dtype=str)
    assert cells(raw)[1:] == oracle.to_numpy().tolist() == [["18.0", "8", "chevrolet chevelle"], ["15.0", "8", "ford"]]


def test_spaces_around_quoted_cells_are_left_out_on_request(tmp_path: Path) -> None:
    raw = read(tmp_path, 'x, note , y\n 1, "a, b" , c\n', strip=True)
    assert cells(raw) == [["x", "note", "y"], ["1", "a, b", "c"]]


def test_titles_are_left_out_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    assert cells(read(tmp_path, "Sales\nof 2020\nx,y\n1,a\n", skip_rows=2)) == [["x", "y"], ["1", "a"]]
    with pytest.raises(UserError, match=r"line 5 of table.csv has 3 cells"):
        read(tmp_path, "Sales\n\nx,y\n1,a\n1,2,3\n", skip_rows=1)


TABLE = "x,y\n" + "1,a\n2,b\n" * 3000


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".csv.gz": gzip.compress,
    ".csv.bz2": bz2.compress,
    ".csv.xz": lzma.compress,
    ".csv.zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.mark.parametrize("ending", [*COMPRESSORS, ".csv.zip", ".zip", ".xlsx"])
def test_a_file_that_expands_too_much_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"table{ending}"
    if ending == ".xlsx":
        pd.read_csv(io.StringIO(TABLE)).to_excel(file, index=False)
    elif ending.endswith(".zip"):
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            archive.writestr("../../table.csv", TABLE)
    else:
        file.write_bytes(COMPRESSORS[ending](TABLE.encode()))
    assert len(read_file(file, FileLayout()).frame) == 6000
    monkeypatch.setattr(content, "MIN_EXPANDED_BYTES", 100)
    monkeypatch.setattr(content, "MAX_EXPANSION", 2)
    with pytest.raises(UserError, match=r"dataset\.path='.*' holds more than .* without compression"):
        read_file(file, FileLayout())


def test_a_sheet_that_claims_more_cells_than_it_holds_is_read(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["x", "y"])
    workbook.active.append([1, "a"])
    workbook.save(tmp_path / "true.xlsx")
    with ZipFile(tmp_path / "true.xlsx") as true, ZipFile(tmp_path / "false.xlsx", "w") as false:
        for name in true.namelist():
            false.writestr(name, true.read(name).replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"'))
    assert read_file(tmp_path / "false.xlsx", FileLayout()).frame.to_numpy().tolist() == [[1, "a"]]


def test_a_sheet_with_a_cell_in_the_last_corner_is_refused(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["x", "y"])
    workbook.active["XFD100000"] = 1
    workbook.save(tmp_path / "corner.xlsx")
    with pytest.raises(UserError, match="spans 100,000 rows and 16,384 columns, which are more than 50,000,000 cells"):
        read_file(tmp_path / "corner.xlsx", FileLayout())
