"""JSON files: an object for each row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.source import Source


def read(folder: Path, text: str, name: str = "people.jsonl") -> Source:
    (folder / name).write_text(text, encoding="utf-8")
    return read_file(folder / name, FileLayout())


def test_types_are_those_of_json(tmp_path: Path) -> None:
    raw = read(tmp_path, '{"age": 30, "zip": "007", "owner": true, "size": 1.70}\n\n{"age": null, "size": 2}\n')
    assert [str(dtype) for dtype in raw.frame.dtypes] == ["Int64", "string", "boolean", "float64"]
    assert raw.frame["zip"].tolist() == ["007", pd.NA]
    assert raw.frame["size"].tolist() == [1.7, 2.0]


FRAME = pd.DataFrame({"x": [1, 2, 3, 4], "c": ["007", None, "a", "a"], "y": ["b", "a", "b", "a"]})


@pytest.mark.parametrize("indent", [0, 2])
@pytest.mark.parametrize("labels", [None, ["p", "q", "r", "s"]])
@pytest.mark.parametrize("orient", ["columns", "index", "split", "table", "records"])
def test_every_form_of_pandas_is_the_same_table(
    tmp_path: Path,
    orient: Literal["columns", "index", "split", "table", "records"],
    labels: list[str] | None,
    indent: int,
) -> None:
    frame = FRAME if labels is None else FRAME.set_axis(labels)
    raw = read(tmp_path, frame.to_json(orient=orient, indent=indent), "frame.json")
    assert raw.frame[["x", "c", "y"]].astype(object).where(raw.frame.notna(), None).equals(FRAME.astype(object))
    is_said = "The labels of the rows, such as 'p', are left out." in raw.notes
    assert is_said == (labels is not None and orient in ("columns", "index"))


@pytest.mark.parametrize("key", ["data", "results"])
def test_rows_under_a_key_and_lists_by_column_are_tables(tmp_path: Path, key: str) -> None:
    raw = read(tmp_path, json.dumps({"count": 3, key: FRAME.to_dict("records")}), "frame.json")
    assert raw.notes == (f"The rows are those of the key {key!r}.",)
    assert raw.frame["x"].tolist() == [1, 2, 3, 4]
    assert read(tmp_path, json.dumps(FRAME.to_dict("list")), "frame.json").frame["y"].tolist() == ["b", "a", "b", "a"]


def test_a_single_line_is_a_row(tmp_path: Path) -> None:
    assert read(tmp_path, '{"x": 1, "y": "a"}').frame.to_dict("list") == {"x": [1], "y": ["a"]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"x": 1}\n\n[1]\n', 'item 2 is not an object such as {"age": 29}'),
        ("a.json", '[{"x": 1}, 2]', "item 2 is not an object"),
        ("a.json", '[{"x": 1}', "line 1 is not JSON: .*a file contains one object per line, or a list of objects"),
        ("a.json", '{"x": [1, 2], "y": [3]}', "All arrays must be of the same length"),
        ("a.json", "[[1, 2], [3, 4]]", "item 1 is not an object .*pandas writes them with orient='records'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, text, name)


def test_signs_that_end_lines_elsewhere_are_part_of_a_cell(tmp_path: Path) -> None:
    assert read(tmp_path, '{"x": "a\u2028b"}\r\n{"x": "c"}').frame["x"].tolist() == ["a\u2028b", "c"]


def test_another_encoding_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"x": 1}\n{"x": "é"}\n'.encode("cp1252"))
    with pytest.raises(UserError, match=r"line 2 of a.jsonl is not UTF-8: .* dataset.encoding=cp1252"):
        read_file(tmp_path / "a.jsonl", FileLayout())
    assert read_file(tmp_path / "a.jsonl", FileLayout(encoding="cp1252")).frame["x"].tolist() == ["1", "é"]
