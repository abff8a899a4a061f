"""The rows of a calculation by hand: they keep their numbers in every format, with each preprocessing and learner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from short_calculations import name_words
from sklearn.base import is_classifier

import bakeoff
from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions.calculations import CALCULATIONS
from bakeoff.learners.definitions.steps import Plane, Step
from bakeoff.pipeline.commands.work.calculate import _conclude, calculate
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.commands.work.command import render, work_by_hand
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.errors import UserError

N_SHIFT = 4
"""The rows in front of those of a calculation, so that row 1 of the calculation is row 5 of the table."""
PREPROCESSING = ("none", "auto", "standardize", "min_max", "robust", "quantile", "power", "target_encoding")
OF_NOMINAL = ("standardize", "target_encoding")
"""Preprocessing that is tried on columns of which none is a number."""
OF_EVERY_LEARNER = ("auto", *OF_NOMINAL)
SEVERAL_LEARNERS = ("knn", "naive_bayes", "logistic_regression", "decision_tree_regressor")
"""Learners that are tried with all other preprocessing as well."""
PAIRS = [
    (name, preprocessing)
    for name in CALCULATIONS
    for preprocessing in PREPROCESSING
    if preprocessing in OF_EVERY_LEARNER or name in SEVERAL_LEARNERS
]
MIXED = pd.DataFrame(
    {
        "p": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 2.5],
        "q": [3.0, 1.0, 2.0, 5.0, 9.0, 2.0, 1.0, 4.0, 8.0],
        "r": ["x", "x", "z", "z", "x", "z", "u", "u", "u"],
        "s": ["a", "b", "a", "b", "a", "b", "b", "a", "a"],
    }
)
NO_NUMBERS = MIXED[["r", "s"]]
TARGETS = {True: [*"ynynyynyn"], False: [1.5, 2.0, 4.0, 4.5, 6.25, 7.0, 2.5, 1.0, 3.0]}
REFUSED = re.compile(
    r"as preprocessing=one_hot does|set learner\.metric=hamming or preprocessing=one_hot|collinear.*set a penalty"
)


def write_table(path: Path, name: str, features: pd.DataFrame) -> dict[str, str]:
    """Write features with a target for a learner; return the words of its dataset."""
    table = features.assign(y=TARGETS[is_classifier(REGISTRY[name]())])
    table.to_csv(path, index=False)
    return {"dataset": "file", "dataset.path": str(path), "dataset.target": "y"}


@pytest.mark.parametrize(("name", "preprocessing"), PAIRS)
def test_each_learner_calculates_columns_of_each_kind_with_each_preprocessing_or_names_the_cure(
    name: str, preprocessing: str, tmp_path: Path
) -> None:
    tables = [MIXED, NO_NUMBERS] if preprocessing in OF_NOMINAL else [MIXED]
    for number, features in enumerate(tables):
        data = write_table(tmp_path / f"{number}.csv", name, features)
        request = WorkRequest(words={**name_words(name, preprocessing=preprocessing), **data})
        try:
            found = calculate(request)
        except UserError as error:
            unexplained = [] if REFUSED.search(str(error)) else [error]
            assert unexplained == []
            continue
        assert len(found.answer) == 1
        assert "; the same (" in found.steps[-1].chosen
        assert render(found, "terminal", digits=4)


def test_numbers_beside_text_are_scaled_by_their_own_steps(tmp_path: Path) -> None:
    data = write_table(tmp_path / "mixed.csv", "naive_bayes", MIXED)
    for method, first in (("standardize", (1 - 38.5 / 9) / np.std(MIXED["p"])), ("min_max", 0.0)):
        p, q, *_ = calculate(WorkRequest(words={**name_words("naive_bayes", preprocessing=method), **data})).steps
        assert p.values["p 1"] == pytest.approx(first)
        assert next(iter(q.values)) == "q 1"


def list_numbers(step: Step) -> Iterator[Any]:
    """Yield the numbers of rows that a step names."""
    yield from step.rows
    yield from getattr(step.drawing, "rows", ())
    yield from step.drawing.marked if isinstance(step.drawing, Plane) else ()
    if step.table and step.table[0][0] in ("row", "K"):
        yield from (row[0] for row in step.table[1:] if not str(row[0]).startswith("query"))
    if step.table and step.table[0][0] == "K":
        yield from step.table[0][1:]
    texts = f"{step.chosen}; {step.sentence}; {step.place}"
    for listed in re.findall(r"\brows? \(?(\d+(?:, \d+)*)", texts):
        yield from map(int, listed.split(", "))


def shift(calculation: HandCalculation) -> list[list[int]]:
    """Return the numbers of rows in the steps of a calculation, and in its tables."""
    tables = (calculation.table, calculation.validation)
    return [[*map(int, list_numbers(step))] for step in calculation.steps] + [table.index.tolist() for table in tables]


@pytest.mark.parametrize("preprocessing", ["none", "standardize"])
@pytest.mark.parametrize("name", CALCULATIONS)
def test_chosen_rows_keep_their_numbers_in_all_steps(name: str, preprocessing: str, tmp_path: Path) -> None:
    data = write_table(tmp_path / "few.csv", name, MIXED[["p", "q"]])
    few = pd.read_csv(tmp_path / "few.csv")
    pd.concat([few.iloc[:N_SHIFT], few]).to_csv(tmp_path / "more.csv", index=False)
    words = {**name_words(name, preprocessing=preprocessing), **data}
    alone = calculate(WorkRequest(words=words))
    rows = str([number + N_SHIFT for number in range(1, len(few) + 1)])
    chosen = calculate(WorkRequest(rows=rows, words={**words, "dataset.path": str(tmp_path / "more.csv")}))
    assert shift(chosen) == [[number + N_SHIFT for number in numbers] for numbers in shift(alone)]
    assert any(shift(alone)[:-2]) or name in ("majority", "mean", "linear_regression", "ridge", "naive_bayes")


def test_validation_rows_and_training_rows_keep_their_numbers_in_each_format() -> None:
    words = {"learner": "decision_tree", "dataset": "colours", "pruning": "bottom_up"}
    found = calculate(WorkRequest(rows="[2,4,5,6]", validation="[4,6]", words=words))
    assert (found.table.index.tolist(), found.validation.index.tolist()) == ([2, 5], [4, 6])
    found = calculate(WorkRequest(validation="[1,2,3,4]", words=words))
    text = render(found, "terminal", 4)
    assert "row  x1  x2  colour\n5    -1  0   Blue\n6    1   1   Red\n" in text
    assert "[x1 < 0, row 5]" in text
    assert r"{}5 & $-1$ & $0$ & Blue" in render(found, "latex", 4)
    assert "| 5 | -1 | 0 | Blue |" in render(found, "markdown", 4)
    page = render(found, "html", 4)
    assert 'data-rows="5"' in page
    drawing = page[page.index('id="rows"') : page.index("</svg>")]
    assert {"5", "6"} <= {*re.findall(r">([0-9])</text>", drawing)}
    assert [step.rows for step in found.steps[:3]] == [(5, 6), (5,), (6,)]
    given = bakeoff.work("learner=decision_tree", "dataset=colours", "pruning=bottom_up", validation=[1, 2, 3, 4])
    assert [step.rows for step in given.steps] == [step.rows for step in found.steps]


def test_the_sheets_of_students_have_the_numbers_of_the_table(tmp_path: Path) -> None:
    words = {"learner": "knn", "dataset": "colours", "learner.n_neighbors": "1"}
    folder = tmp_path / "sheets"
    work_by_hand(WorkRequest(rows="[3,5,6]", blank=0.3, students=1, output=folder, to="markdown", words=words))
    for name in ("sheet-01.md", "key-01.md"):
        text = (folder / name).read_text()
        assert re.findall(r"\| ([3-6]) \| -?\d \| -?\d \| ", text) == ["3", "5", "6"]
        assert [*map(int, re.findall(r"\| (\d) \| √", text))] == [3, 5, 6]


@pytest.mark.parametrize("given", ["true", "[true,2]", "[1,1]", "0", "7"])
def test_rows_are_whole_numbers_of_the_table(given: str) -> None:
    with pytest.raises(UserError, match=f"rows={re.escape(given)} must be a number of rows"):
        calculate(WorkRequest(rows=given, words={"learner": "knn", "dataset": "colours"}))


def test_a_query_may_name_the_target_as_a_row_of_the_table_does() -> None:
    request = WorkRequest(query="{x1: 1, x2: 2, colour: Red}", words={"learner": "knn", "dataset": "colours"})
    assert calculate(request).queries.columns.tolist() == ["x1", "x2"]


def test_a_missing_cell_is_named_by_its_row_in_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n,a\n4,b\n")
    data = {"dataset": "file", "dataset.path": str(tmp_path / "t.csv"), "dataset.target": "y"}
    words = name_words("knn", preprocessing="none", **data)
    with pytest.raises(UserError, match="row 3 has no x, and"):
        calculate(WorkRequest(rows="[2,3,4]", words=words))
    with pytest.raises(UserError, match="query 2 has no x, and"):
        calculate(WorkRequest(rows="[2,4]", query="[{x: 1}, {x: NA}]", words=words))


@pytest.mark.parametrize(
    ("answer", "learner_answer", "difference", "is_same"),
    [
        (("a",), ("a",), 1e-12, True),
        (("a",), ("a",), 1e-3, False),
        (("a",), ("b",), 0.0, False),
        ((1.0,), (1.0 + 1e-13,), 1e-13, True),
        ((1,), (2,), 0.0, False),
    ],
)
def test_answers_are_the_same_if_classes_are_equal_and_numbers_differ_by_at_most_the_tolerance(
    answer: tuple[Any, ...], learner_answer: tuple[Any, ...], difference: float, is_same: bool
) -> None:
    chosen = _conclude("knn", 1e-12, answer, learner_answer, difference).chosen
    assert ("; the same (" in chosen, "NOT the same" in chosen) == (is_same, not is_same)
