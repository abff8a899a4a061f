"""Datasets: those that come with bakeoff, files of the user, types of columns, and every error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_bundled, load_lecture_table, read_table

PEOPLE = """\
age,height,job,owner,code,bought
30,1.7,cook,true,007,yes
41,1.8,smith,false,010,no
,1.6,,true,007,yes
29,,cook,false,011,no
"""


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return str(path)


def written(folder: Path, text: str, name: str = "table.csv") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


# Datasets that come with bakeoff


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), ["setosa", "versicolor", "virginica"]),
        ("wine", (178, 13), ["class_0", "class_1", "class_2"]),
        ("breast_cancer", (569, 30), ["benign", "malignant"]),
        ("digits", (1797, 64), list("0123456789")),
    ],
)
def test_bundled_classes_bear_their_names(name: str, shape: tuple[int, int], classes: list[str]) -> None:
    data, original = load_bundled(name), getattr(datasets, f"load_{name}")()
    assert data.X.shape == shape
    assert data.classes.tolist() == classes
    assert (data.X.to_numpy() == original.data).all()
    assert (data.y == original.target_names.astype(str)[original.target]).all()
    assert (data.task, data.nominal, data.target) == ("classification", [], "target")


def test_cars_are_rs_fifty_stopping_distances() -> None:
    data = load_lecture_table("cars", "distance", task="regression")
    assert (data.task, data.X.shape) == ("regression", (50, 1))
    slope, intercept = np.polyfit(data.X["speed"], data.y, 1)
    assert (slope, intercept) == pytest.approx((3.932409, -17.579095), abs=1e-6)  # lm(dist~speed)


# Task and target


@pytest.mark.parametrize(
    ("cells", "task", "kind"),
    [
        (["yes", "no", "yes"], "classification", "U"),
        (["true", "false", "true"], "classification", "U"),
        (["0", "1", "2"], "classification", "i"),
        (["1.0", "2.0", "1.0"], "classification", "i"),
        (["1.5", "2.0", "1.0"], "regression", "f"),
        ([str(value) for value in range(20)], "classification", "i"),
        ([str(value) for value in range(21)], "regression", "f"),
    ],
)
def test_task_is_inferred_from_the_target(tmp_path: Path, cells: list[str], task: str, kind: str) -> None:
    rows = "".join(f"{number % 3},{cell}\n" for number, cell in enumerate(cells))
    data = read_table(written(tmp_path, f"x,y\n{rows}"), "y")
    assert (data.task, data.y.dtype.kind) == (task, kind)


def test_positive_class_is_given_in_any_spelling_of_its_label(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\n1,0\n2,1\n")
    assert read_table(path, "y").positive == 1
    assert read_table(path, "y", positive="0").positive == 0
    assert read_table(path, "y", task="regression").positive is None


# Files without names


def test_a_file_without_names_is_read_whole(tmp_path: Path) -> None:
    data = read_table(written(tmp_path, "5.1,red,yes\n4.9,blue,no\n4.7,red,no\n"), "last", header=False)
    assert data.X.columns.tolist() == ["column_1", "column_2"]
    assert (data.target, data.nominal, len(data.y)) == ("column_3", ["column_2"], 3)
    assert data.X["column_1"].tolist() == [5.1, 4.9, 4.7]


def test_the_last_column_is_a_target_in_any_file(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, "x,y\n1,a\n2,b\n"), "last").target == "y"
    assert read_table(written(tmp_path, "last,y\na,1\nb,2\n"), "last").target == "last"


@pytest.mark.parametrize(
    "text",
    [
        "5.1,3.5,setosa\n4.9,3.0,setosa\n",
        "2, 1, 3, 5\n1, 1, 3, 1\n",
        "x,o,positive\no,o,negative\nx,x,positive\n",
        "true,1.5\nfalse,2.5\ntrue,0.5\n",
        "1.5,,a\n2.5,3,a\n",
    ],
)
def test_a_first_row_of_data_is_not_taken_for_names(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=r"looks like data; add dataset.header=false .* or dataset.header=true"):
        read_table(path, "last")
    n_rows = text.count("\n")
    assert len(read_table(path, "last", header=False).y) == n_rows
    assert len(read_table(path, "last", header=True).y) == n_rows - 1


@pytest.mark.parametrize("text", ["x,y\n1,a\n2,b\n", "a,b\n1,a\n2,b\n", "1,y\n3,a\n"])
def test_names_that_may_be_meant_are_taken_for_names(tmp_path: Path, text: str) -> None:
    assert len(read_table(written(tmp_path, text), "last").y) == text.count("\n") - 1


# Digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("30,1.7", "31,1.7"),
        ("smith", "cook"),
        (",1.6", "0,1.6"),
        ("age,height", "years,height"),
        ("011,no", "011,yes"),
        ("bought", "sold"),
        ("41,1.8,smith,false,010,no\n", ""),
    ],
)
def test_digest_changes_with_each_cell_and_name(people: str, tmp_path: Path, old: str, new: str) -> None:
    text = PEOPLE.replace(old, new)
    assert text != PEOPLE
    changed = read_table(written(tmp_path, text), "sold" if new == "sold" else "bought")
    assert changed.digest() != read_table(people, "bought").digest()


def test_digest_changes_with_each_kind_and_part(people: str) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"nominal": ["code"]},
        {"drop": ["code"]},
        {"positive": "no"},
        {"groups": "code"},
        {"groups": "owner"},
    ]
    digests = {read_table(people, "bought", **option).digest() for option in options}
    assert len(digests) == len(options)


# Errors


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,y\n1,2\n", {"target": "z"}, r"dataset.target='z' is not a column of the data. Allowed: x, y"),
        ("x,y\n1,a\n", {"drop": ["y"]}, "name a column twice"),
        ("x,y\n1,a\n", {"groups": "y"}, "name a column twice"),
        ("x,w,y\n1,2,a\n1,,a\n", {"groups": "w"}, "dataset.groups='w' has 1 missing cell;"),
        ("x,y\n1,a\n", {"task": "clasification"}, r"dataset.task='clasification' .* Did you mean 'classification'\?"),
        ("x,y\n1,a\n2,b\n", {"positive": "c"}, "dataset.positive='c' is not a class of the target. Allowed: a, b"),
    ],
)
def test_bad_files_and_options_are_refused(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_table(written(tmp_path, text), **({"target": "y"} | options))
