"""ARFF files: real ones, what a declaration means, and every line that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from wheel_data import wheel_text

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.dataset.convert import convert_like
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import ColumnRules, FileLayout
from bakeoff.pipeline.stages.dataset.source import Source

HEADER = "@relation people\n@attribute age numeric\n@attribute job {cook,'sous chef'}\n@data\n"


def read(folder: Path, text: str, **layout: object) -> Source:
    file = folder / "people.arff"
    file.write_text(text, encoding="utf-8")
    return read_file(file, FileLayout(**layout))  # type: ignore[arg-type]


def cells(raw: Source) -> dict[str, list[object]]:
    """Return the cells by column, None where missing."""
    frame = raw.frame.astype(object)
    return frame.where(raw.frame.notna(), None).to_dict(orient="list")  # type: ignore[return-value]


def test_declared_values_are_known(tmp_path: Path) -> None:
    raw = read(tmp_path, wheel_text("titanic"))
    declared = {"survived": ("0", "1"), "sex": ("female", "male"), "embarked": ("C", "Q", "S")}
    assert (raw.name, raw.declared) == ("people", declared)


def test_a_question_mark_is_missing_unless_it_is_quoted(tmp_path: Path) -> None:
    text = "@relation r\n@attribute a string\n@attribute b {x,?}\n@data\n?,?\n'?',x\n"
    raw = read(tmp_path, text)
    assert cells(raw) == {"a": [None, "?"], "b": [None, "x"]}
    assert raw.declared == {"b": ("x",)}


def test_a_file_with_every_oddity_is_read_as_by_weka(tmp_path: Path) -> None:
    text = (
        "@relation 'a test'\n% said\n@attribute 'it\\'s' numeric\n@attribute \"n m\" {'a b',c,\"d'e\"}\n"
        "@attribute s string\n@attribute f integer\n@data\n"
        "1.5,'a b','x, y',7\n?,c,?,1.5\n% said\n2e3,\"d'e\",'?',-3\n"
    )
    # Printed by weka.core.converters.CSVSaver of WEKA 3.9; its quotation marks are left out, and ? is None.
    weka = {"it's": [1.5, None, 2000], "n m": ["a b", "c", "d'e"], "s": ["x, y", None, "?"], "f": [7, 1.5, -3]}
    found = cells(read(tmp_path, text))
    numbers = {name: [cell and float(str(cell)) for cell in found[name]] for name in ("it's", "f")}
    assert found | numbers == weka


ROWS = [("1.5", "cook"), ("2", "'sous chef'"), ("-3e1", "cook")]


@pytest.mark.parametrize("row", ["{},{}", "{},{},", "{} {}", "{}\t{}\t", " {} , {} ,", "{{0 {}, 1 {}}}"])
@pytest.mark.parametrize("weight", ["", ",{2}", ", {{2.5}}", " {2e0}"])
def test_rows_are_separated_and_weighted_as_weka_reads_them(tmp_path: Path, row: str, weight: str) -> None:
    weight = weight.replace("{{", "{").replace("}}", "}")
    lines = [row.format(*cells_of_row) + weight * (number > 0) for number, cells_of_row in enumerate(ROWS)]
    raw = read(tmp_path, f"{HEADER}{chr(10).join(lines)}\n% said\n")
    found = cells(raw)
    assert (found["age"], found["job"]) == (["1.5", "2", "-3e1"], ["cook", "sous chef", "cook"])
    if weight:
        assert [float(str(cell)) for cell in found["weight"]] == [1, *2 * [float(weight.strip(", {}"))]]
        assert "dataset.drop=[weight] leaves them out" in raw.notes[0]
    assert raw.weights == ("weight" if weight else None)


@pytest.mark.parametrize(("keys", "weights"), [({}, [1.0, 2.0]), ({"drop": ["weight"]}, None)])
def test_weights_of_rows_are_used_unless_they_are_dropped(
    tmp_path: Path, keys: dict[str, Any], weights: list[float] | None
) -> None:
    (tmp_path / "people.arff").write_text(f"{HEADER}1,cook\n2,cook,{{2}}\n")
    (tmp_path / "more.arff").write_text(f"{HEADER}1,cook\n2,cook,{{2}}\n")
    dataset = read_table(str(tmp_path / "people.arff"), "job", **keys)
    assert (None if dataset.weights is None else dataset.weights.tolist()) == weights
    assert [*dataset.X] == ["age"]
    several = read_table([str(tmp_path / name) for name in ("people.arff", "more.arff")], "job", **keys)
    assert (several.weights is None) == (weights is None)


def test_sparse_rows_hold_zeros(tmp_path: Path) -> None:
    assert cells(read(tmp_path, f"{HEADER}{{0 1, 1 'sous chef'}}\n{{}}\n")) == {
        "age": ["1", "0"],
        "job": ["sous chef", "cook"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEADER}% said\n\n12 mm,cook\n", "at line 7"),
        (f"{HEADER}1\n", "in line 5"),
        ("@relation r\n@attribute a relational\n@data\n", "line 2 declares a as 'relational'; allowed are numeric,"),
        ("@relation r\n@attribute a {x y}\n@data\n", "line 2 declares no column: '@attribute a {x y}'"),
        ("@relation r\n@attribute a real\n@attribute 'a' real\n@data\n1,2\n", "declares 2 columns named 'a'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, text)


def test_values_without_a_closing_brace_are_refused_at_once(tmp_path: Path) -> None:
    # liac-arff alone takes exponential time.
    many = ",".join(f"'v {number}'" for number in range(60))
    with pytest.raises(UserError, match="line 2 declares no column"):
        read(tmp_path, f"@relation r\n@attribute a {{{many}\n@data\n'v 1'\n")


def test_declared_values_that_differ_in_their_spelling_are_two_values(tmp_path: Path) -> None:
    header = (
        "@relation r\n@attribute a {TRUE,true,1.0,1}\n@attribute x numeric\n@attribute y {False,true,FALSE}\n@data\n"
    )
    file = tmp_path / "a.arff"
    file.write_text(header + "TRUE,1,true\ntrue,2,False\n1.0,3,FALSE\n1,4,true\n", encoding="utf-8")
    dataset = read_table(str(file), "y")
    assert dataset.X["a"].tolist() == ["TRUE", "true", "1.0", "1"]
    assert dataset.y.tolist() == ["true", "False", "FALSE", "true"]
    assert dataset.class_order == ("False", "true", "FALSE")
    column = next(column for column in dataset.columns if column.name == "a")
    further = convert_like(pd.DataFrame({"a": ["true", "TRUE", "1", "1.0"]}), [column], ColumnRules())
    assert further.frame["a"].tolist() == ["true", "TRUE", "1", "1.0"]
