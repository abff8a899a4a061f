"""Exercises: sheets with boxes in place of results, their keys, and random tables whose calculation has no ties."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from short_calculations import name_words

from bakeoff.learners.definitions.calculations import CALCULATIONS
from bakeoff.learners.definitions.steps import Neighbours, Step
from bakeoff.pipeline.commands.work.calculate import _is_close, calculate
from bakeoff.pipeline.commands.work.calculation import BOX, HandCalculation
from bakeoff.pipeline.commands.work.command import make_class_sheet, render, work_by_hand
from bakeoff.pipeline.commands.work.exercise import blank_formula, blank_results, choose_steps, list_results
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.errors import UserError

PERCEPTRON = WorkRequest(words={"learner": "perceptron"}, table="random", rows="6", seed=1)
NUMBER = re.compile(r"\d+/\d+|√\d+|\d+\.\d+|\([^()]*,[^()]*\)")


@pytest.fixture(scope="module")
def key() -> HandCalculation:
    return calculate(PERCEPTRON)


@pytest.mark.parametrize("name", CALCULATIONS)
@pytest.mark.parametrize(("share", "seed"), [(0.3, None), (1.0, 2)])
def test_a_sheet_has_boxes_in_place_of_results(name: str, share: float, seed: int | None) -> None:
    key = calculate(replace(PERCEPTRON, words=name_words(name)))
    sheet = blank_results(key, share, seed)
    steps = key.steps[:-1]
    blanked = choose_steps(steps, share, seed)
    assert 0 < len(blanked) <= len(sheet.steps) == len(steps)
    for position in blanked:
        blank, step = sheet.steps[position], steps[position]
        assert blank.sentence == step.sentence
        assert [row[0] for row in blank.table] in ([row[0] for row in step.table], ["row", *[BOX] * len(step.rows)])
        shown = f"{blank.formula} {blank.chosen} {[row[1:] for row in blank.table[1:]]}"
        assert BOX in shown
        assert {*list_results(step)} & {*NUMBER.findall(shown)} == set()
        assert (blank.values, blank.drawing, blank.answer, blank.response) == ({}, None, None, ())
    assert (sheet.answer, sheet.learner_answer) == ((), ())


def test_without_a_seed_the_last_results_are_left_out_and_seeds_draw_others(key: HandCalculation) -> None:
    places = [BOX in str(step) for step in blank_results(key, 0.4).steps]
    assert places == sorted(places)
    sheets = [tuple(BOX in str(step) for step in blank_results(key, 0.4, seed).steps) for seed in range(10)]
    assert len(set(sheets)) > 5
    n_steps = len(places)
    later = sum(sum(sheet[n_steps // 2 :]) for sheet in sheets)
    assert later > sum(sum(sheet[: n_steps // 2]) for sheet in sheets)


def test_a_sheet_hides_what_follows_from_a_result_that_it_leaves_out() -> None:
    gains = (("feature", "gain", "rows"), ("wind", 0.246749, "1, 2"), ("air", 0.1, "3"))
    steps = (
        Step("Which feature?", table=gains, chosen="wind", values={"gain": 0.246749}),
        Step("Count.", "H = 2·0.246749 = 0.5", place="query 1, wind = weak", rows=(1, 3), drawing=Neighbours((0.0,))),
    )
    (first, second) = blank_results(HandCalculation("", steps), 0.5, seed=2).steps
    assert first == replace(steps[0], table=(gains[0], ("wind", BOX, BOX), ("air", BOX, BOX)), chosen=BOX, values={})
    assert (second.formula, second.place, second.rows, second.drawing) == (f"H = 2·{BOX} = 0.5", "query 1", (), None)
    (first, second) = blank_results(HandCalculation("", steps), 0.5).steps
    assert (second.formula, second.place, second.rows) == (f"H = {BOX} = {BOX}", "query 1, wind = weak", (1, 3))
    (_, second) = blank_results(HandCalculation("", steps), 1).steps
    assert (second.formula, second.place, second.rows) == (f"H = {BOX} = {BOX}", "query 1", ())


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("log2(x1) = x1² = Σ p log2 p = 1.5", f"log2(x1) = x1² = Σ p log2 p = {BOX}"),
        ("f(x) = ω·x + b, ω = (1.0, 2.0), b = -1", f"f(x) = ω·x + b, ω = {BOX}, b = {BOX}"),
        ("G = Σ π (1 - π) = 2/8·(1 - 2/8) = 0.1875", f"G = Σ π (1 - π) = {BOX} = {BOX}"),
        ("K(x, z) = (x·z + 1)² = (1·2 + 1)² = 9.0, C = 1.0", f"K(x, z) = (x·z + 1)² = {BOX} = {BOX}, C = 1.0"),
        ("", ""),
    ],
)
def test_a_formula_keeps_its_equation(formula: str, expected: str) -> None:
    assert blank_formula(formula) == expected


def test_the_key_is_the_calculation_and_has_the_numbers_of_the_sheet(tmp_path: Path) -> None:
    request = replace(PERCEPTRON, blank=0.5, output=tmp_path / "sheet.md", key=tmp_path / "key.md")
    work_by_hand(request)
    work_by_hand(replace(PERCEPTRON, output=tmp_path / "plain.md"))
    sheet, key, plain = ((tmp_path / f"{name}.md").read_text() for name in ("sheet", "key", "plain"))
    assert key == plain
    assert BOX in sheet
    assert BOX not in key
    numbers = [re.findall(r"^(\d+\. .*)", text, re.MULTILINE) for text in (sheet, key)]
    assert numbers[0] == numbers[1][:-1]
    assert "Name: ………" in sheet
    assert "Sheet 1" in sheet


def test_a_class_receives_sheets_with_other_tables_and_their_keys(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    request = replace(PERCEPTRON, seed=5, blank=0.5, students=3, to="terminal", output=folder)
    work_by_hand(request)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [*(f"{kind}-0{number}.txt" for kind in ("key", "sheet") for number in (1, 2, 3)), "sheets.json"]
    texts = {path.read_text() for path in folder.iterdir()}
    assert len(texts) == 7
    plain = tmp_path / "plain.txt"
    work_by_hand(replace(PERCEPTRON, seed=7, output=plain))
    key = (folder / "key-03.txt").read_text()
    assert re.sub(r"\[b\d+\]|\s", "", key) == re.sub(r"\s", "", plain.read_text())
    boxes = re.findall(r"(b\d+)\[…+\]", (folder / "sheet-03.txt").read_text())
    assert boxes == [f"b{number}" for number in range(1, len(boxes) + 1)] == re.findall(r"\[(b\d+)\]", key)
    with pytest.raises(UserError, match=r"output=.* is a folder that is not empty; choose another name"):
        work_by_hand(request)


@pytest.mark.parametrize("seed", [0, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CALCULATIONS)
def test_a_random_table_has_no_ties_and_small_numbers(name: str, seed: int) -> None:
    made = calculate(replace(PERCEPTRON, words=name_words(name), rows="8", seed=seed))
    assert "; the same (" in made.steps[-1].chosen
    assert len(made.table) == 8
    assert len(made.steps) <= 48
    assert not (made.table.drop(columns=made.table.columns[-1]) == made.queries.iloc[0]).all(axis=1).any()
    gains = [
        sorted(row[-1] for row in step.table[1:]) for step in made.steps if "the gain of each split" in step.sentence
    ]
    assert all(each[-1] - each[-2] >= 0.02 for each in gains if len(each) > 1)
    numbers = made.queries.select_dtypes("number").to_numpy()
    assert (numbers == numbers.round()).all()
    if name.startswith("knn"):
        squares = ((made.table[["x1", "x2"]] - made.queries.iloc[0]) ** 2).sum(axis=1).nsmallest(6)
        assert squares.is_unique
    shares = sorted(next(step.response for step in made.steps if step.response))
    assert "regress" in name or all(high - low >= 0.02 for low, high in pairwise(shares))


@pytest.mark.parametrize(
    ("response", "is_close"),
    [((0.5, 0.49, 0.01), True), ((0.5, 0.4), False), ((0.01,), True), ((-0.01,), True), ((1.0,), False)],
)
def test_answers_are_close_if_two_shares_or_a_decision_value_and_0_are(
    response: tuple[float, ...], is_close: bool
) -> None:
    assert _is_close(response) == is_close


def test_a_seed_draws_one_table() -> None:
    tables = [calculate(replace(PERCEPTRON, seed=seed)).table for seed in (3, 3, 4)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


@pytest.mark.parametrize(
    ("form", "pattern"),
    [("latex", r"\\result\{(b\d+)\}"), ("html", r'<input name="(b\d+)"'), ("markdown", r"(b\d+)\[…+")],
)
def test_each_format_shows_the_names_of_the_boxes_in_their_order(tmp_path: Path, form: str, pattern: str) -> None:
    request = replace(PERCEPTRON, blank=0.5, students=1, output=tmp_path)
    sheet, key = make_class_sheet(request, 1)
    names = re.findall(pattern, render(sheet, form, 4).replace("\\[", "["))
    assert names == [f"b{number}" for number in range(1, len(names) + 1)]
    assert len(names) == len(re.findall(r"\[b\d+\]", str(key.steps))) > 0
    assert sheet.code == key.code
    assert sheet.code in render(sheet, form, 4)
