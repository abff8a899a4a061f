"""JSON files: an object for each row."""

from __future__ import annotations

from pathlib import Path

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


def test_a_list_of_objects_is_the_same_table(tmp_path: Path) -> None:
    lines = ['{"x": 1, "y": "a"}', '{"x": 2, "y": "b"}']
    listed = read(tmp_path, f"[{','.join(lines)}]", "people.json")
    in_lines = read(tmp_path, "\n".join(lines), "lines.json")
    as_pandas_reads = pd.read_json(tmp_path / "people.json")
    for raw in (listed, in_lines):
        assert raw.frame["x"].tolist() == as_pandas_reads["x"].tolist()
        assert raw.frame["y"].tolist() == as_pandas_reads["y"].tolist()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"x": 1}\n{"x": 2,}\n', "line 2 is not JSON: .* at character \\d"),
        ("a.jsonl", '{"x": 1}\n\n[1]\n', 'item 2 is not an object such as {"age": 29}'),
        ("a.json", '[{"x": 1}, 2]', "item 2 is not an object"),
        ("a.json", '[{"x": 1}', "the file is not JSON: .*a file contains one object per line, or a list of objects"),
        ("a.json", '{"x": [1, 2], "y": [3, 4]}', "has column names but no rows; add rows. Column 'x': cells of type "),
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
