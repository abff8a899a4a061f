"""Marks: what is right, what follows from a slip, and which slips are known."""

from __future__ import annotations

import math
from functools import cache

import pytest
from answer_sheets import SHEETS, find_box, make_key, solve

from bakeoff.pipeline.commands.grade.answers import HandIn
from bakeoff.pipeline.commands.grade.expressions import evaluate
from bakeoff.pipeline.commands.grade.formulas import find_formula, read_formulas
from bakeoff.pipeline.commands.grade.marking import Mark, mark_sheet
from bakeoff.pipeline.commands.grade.paper import Paper, list_cells
from bakeoff.pipeline.commands.work.calculation import HandCalculation

key_of = cache(make_key)


def mark(key: HandCalculation, changes: dict[str, str]) -> dict[str, Mark]:
    """Return the marks of a perfect sheet with some other answers."""
    hand_in = HandIn("a.csv", key.code, "", {**solve(key), **changes})
    return {each.cell.box: each for each in mark_sheet(key, hand_in, 4)}


@pytest.mark.parametrize("name", SHEETS)
def test_each_box_has_a_formula_but_results_of_iterations(name: str) -> None:
    key = key_of(name)
    paper = Paper(key, list_cells(key))
    without = {cell.column for cell in paper.cells if cell.box and find_formula(paper.at(cell)) is None}
    assert without <= {"α", "→"} if name in ("svm", "perceptron") else without == set()
    assert "→" not in without or name == "perceptron"


@pytest.mark.parametrize("name", SHEETS)
def test_a_perfect_sheet_has_full_marks_and_an_empty_one_none(name: str) -> None:
    key = key_of(name)
    assert {each.verdict for each in mark(key, {}).values()} == {"right"}
    empty = mark_sheet(key, HandIn("a.csv", key.code, "", {}), 4)
    assert {each.verdict for each in empty} == {"empty"}


def test_more_than_fifteen_slips_are_known_and_each_has_a_sentence() -> None:
    slips = read_formulas().slips
    assert len({slip.name for slip in slips}) >= 15
    assert all(slip.sentence and slip.name for slip in slips)


SLIPS = [
    ("decision_tree", "H", "", lambda v: v * math.log(2), "natural logarithms"),
    ("decision_tree", "gain", "wind", lambda v: None, "the impurity for the gain"),
    ("gain_ratio", "gain ratio", "wind", lambda v: None, "the gain for the gain ratio"),
    ("knn", "d", "1", lambda v: v**2, "the squared distance"),
    ("naive_bayes", "P(play)", "no", lambda v: None, "no pseudo-count"),
    ("naive_bayes", "product", "no", lambda v: None, "no prior"),
    ("naive_bayes", "P(class | x)", "no", lambda v: None, "the product for the probability"),
    ("logistic_regression", "L", "", lambda v: -v, "L with the other sign"),
    ("svm", "1/‖ω‖", "", lambda v: 1 / v, "the norm for the margin"),
]


@pytest.mark.parametrize(("name", "column", "row", "slip", "called"), SLIPS)
def test_a_known_slip_is_named(name: str, column: str, row: str, slip: object, called: str) -> None:
    key = key_of(name)
    boxes = {(cell.step, cell.column, cell.row): cell for cell in list_cells(key)}
    box = find_box(key, column, row)
    (step,) = {cell.step for cell in boxes.values() if cell.box == box}
    value = boxes[step, column, row].key
    made = slip(value)  # type: ignore[operator]
    if called == "the impurity for the gain":
        made = boxes[step, "weighted impurity", row].key
    elif called == "the gain for the gain ratio":
        made = boxes[step, "gain", row].key
    elif called == "the product for the probability":
        made = boxes[step, "product", row].key
    elif called == "no pseudo-count":
        made = (key.table.iloc[:, -1] == row).mean()
    elif called == "no prior":
        made = boxes[step, "product", row].key / boxes[0, "P(play)", row].key
    found = mark(key, {box: f"{made:.4f}"})[box]
    assert found.verdict == "slip"
    assert found.slip is not None
    assert found.slip.name == called


def test_the_planes_of_a_perceptron_follow_from_a_wrong_update() -> None:
    key = key_of("perceptron", 3)
    cells = [cell for cell in list_cells(key) if cell.box]
    updates = [cell.step for cell in cells if cell.column == "y (ω·x + b)"]
    X = key.table.iloc[:, :2].to_numpy(float)
    signs = {"yes": 1, "no": -1}
    w, b = (0.0, 0.0), 0.0
    changes = {}
    for number, step in enumerate(updates):
        row = key.steps[step].rows[0] - 1
        y = signs[str(key.table.iloc[row, -1])]
        margin = y * (w[0] * X[row, 0] + w[1] * X[row, 1] + b)
        changes[find_box(key, "y (ω·x + b)", step=step)] = f"{margin:g}"
        # In the first update, the student subtracts what is to be added.
        factor = -y if number == 0 else y
        w, b = (w[0] + factor * X[row, 0], w[1] + factor * X[row, 1]), b + y
        changes[find_box(key, "ω", step=step)] = f"({w[0]:g}, {w[1]:g})"
        changes[find_box(key, "b", step=step)] = f"{b:g}"
    marks = mark(key, changes)
    first = find_box(key, "ω", step=updates[0])
    assert marks[first].remark.startswith("the update with the other sign: ")
    others = [marks[box].verdict for box in changes if box != first]
    assert set(others) <= {"right", "follows"}
    assert others.count("follows") >= len(updates) - 1


def test_a_wrong_choice_of_a_split_leads_to_other_rows() -> None:
    key = key_of("decision_tree")
    root, children = list_cells(key), [cell for cell in list_cells(key) if cell.column == "→"]
    gains = {cell.row: cell.key for cell in root if (cell.step, cell.column) == (0, "gain")}
    other = min(gains, key=lambda name: gains[name])
    first = children[1]
    value = sorted(set(key.table[other]))[0]
    labels = key.table.loc[key.table[other] == value, "play"]
    shares = labels.value_counts(normalize=True)
    H = -sum(p * math.log2(p) for p in shares)
    changes = {children[0].box: other, find_box(key, "H", step=first.step): f"{H:.4f}"}
    marks = mark(key, changes)
    assert marks[children[0].box].verdict == "slip"
    assert marks[find_box(key, "H", step=first.step)].verdict in ("right", "follows")


def test_rounded_results_are_as_right_as_exact_ones() -> None:
    key = key_of("logistic_regression")
    cells = [cell for cell in list_cells(key) if cell.box and isinstance(cell.key, float)]
    for digit in (0.00004, -0.00004):
        changes = {cell.box: f"{cell.key + digit:.6f}" for cell in cells}
        assert {each.verdict for each in mark(key, changes).values()} <= {"right", "follows"}


def test_a_tie_is_right_both_ways() -> None:
    key = key_of("naive_bayes")
    products = {label: find_box(key, "product", label) for label in ("no", "yes")}
    shares = {label: find_box(key, "P(class | x)", label) for label in ("no", "yes")}
    tied = {**dict.fromkeys(products.values(), "0.02"), **dict.fromkeys(shares.values(), "0.5")}
    for label in ("no", "yes"):
        marks = mark(key, {**tied, find_box(key, "→"): label})
        assert marks[find_box(key, "→")].verdict in ("right", "follows")


def test_the_nearest_rows_may_stand_in_any_order_but_not_twice() -> None:
    key = key_of("knn")
    lines = [cell for cell in list_cells(key) if cell.column == "row" and cell.box]
    columns = {cell.column for cell in list_cells(key) if cell.step == lines[0].step and cell.row == lines[0].row}
    by_line = {line.row: {column: find_box(key, column, line.row, line.step) for column in columns} for line in lines}
    right = solve(key)
    first, last = by_line[lines[0].row], by_line[lines[-1].row]
    swapped = {first[column]: right[last[column]] for column in columns} | {
        last[column]: right[first[column]] for column in columns
    }
    marks = mark(key, swapped)
    assert {marks[box].verdict for box in swapped} <= {"right", "follows"}
    twice = {last[column]: right[first[column]] for column in columns}
    assert mark(key, twice)[last["row"]].verdict == "wrong"


@pytest.mark.parametrize(
    "text", ["__import__('os')", "(1).real", "[1][0]", "lambda: 1", "f(x=1)", "9 if 1 else 2", "x := 1"]
)
def test_an_expression_is_no_code(text: str) -> None:
    with pytest.raises((ValueError, SyntaxError, LookupError)):
        evaluate(text, {}, {})
