"""The page of a calculation by hand, as a file: tables, formulas, marks and pictures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from html_page import Page

from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions.steps import Branch, Drawing, Neighbours, Plane, Problem, Regions, Step
from bakeoff.pipeline.commands.drawing.steps import StepPictures
from bakeoff.pipeline.commands.work.calculate import calculate
from bakeoff.pipeline.commands.work.calculation import HandCalculation, write_formula
from bakeoff.pipeline.commands.work.page import render_page
from bakeoff.pipeline.commands.work.request import WorkRequest

PERCEPTRON = {"learner": "perceptron", "dataset": "colours"}
ROWS = [["1", "−1", "3", "Red"], ["2", "2", "1", "Blue"], ["3", "−2", "2", "Red"]]
TREE = Branch("outlook", "", (Branch("yes (4)", "overcast"), Branch("rows <4>, 5", "rain", is_current=True)))
DRAWINGS = [
    Regions(),
    Neighbours((0.0, 0.5), (1, 2), (0.5, 1.5)),
    Plane((1.0, -1.0), 0.5, has_margin=True, marked=(1,)),
    Plane((0.0, 0.0), 0.0),
]
MAX_BYTES = 2_000_000


@pytest.fixture(scope="module")
def calculation() -> HandCalculation:
    return calculate(WorkRequest(words=PERCEPTRON, rows="3", query="{x1: 1, x2: 2}"))


def make_problem(d: int, *, is_regression: bool) -> tuple[Problem, Any]:
    """Return ten rows of d features, and k-NN fitted on them."""
    X = np.random.default_rng(d).normal(size=(10, d))
    y = X[:, 0] if is_regression else np.where(X[:, 0] > 0, "in", "out")
    features = tuple(f"x{j}" for j in range(d))
    learner = REGISTRY["knn_regressor" if is_regression else "knn"]()
    learner.fit(pd.DataFrame(X, columns=list(features)), y)
    return Problem(X, y, X[:1], features, "y"), learner


def test_a_page_has_every_step_with_its_formula_and_the_rows_in_play(calculation: HandCalculation) -> None:
    html = render_page(calculation, 4)
    page = Page(html)
    assert page.open == []
    assert page.tables[0] == [["row", "x1", "x2", "colour"], *ROWS]
    for step in calculation.steps:
        assert write_formula(step.sentence, 4) in page.text.replace("−", "-")
    assert page.get("data-rows") == [" ".join(map(str, step.rows)) for step in calculation.steps]
    assert page.text.count("Red; the same (its numbers differ by at most 0; 1·10−12 is allowed)") == 1


def test_a_page_needs_no_network_and_has_no_id_twice(calculation: HandCalculation) -> None:
    page = Page(render_page(calculation, 4))
    assert page.get("src") == []
    links = [*page.get("href"), *page.get("xlink:href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    ids = page.get("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_a_picture_is_drawn_once_for_equal_drawings_in_a_row() -> None:
    drawings = [None, TREE, None, TREE, Branch("leaf"), TREE]
    steps = tuple(Step("A tree.", drawing=drawing) for drawing in drawings)
    html = render_page(HandCalculation("trees", steps), 4)
    pictured = [bool(re.search("<figure", section)) for section in html.split('class="step"')[1:]]
    assert pictured == [False, True, False, False, True, True]


def test_fractions_roots_and_names_are_markup_of_the_page_alone() -> None:
    step = Step("<b>", "H = 5/14·log2(14/5) = -0.5", table=(("a<b", "n"), ("√(-2.5)", 0.123456)), drawing=TREE)
    html = render_page(HandCalculation("<i>", (step,)), 3)
    assert "<b>" not in html
    assert "<i>" not in html
    assert "&lt;4&gt;" in html
    assert "<mfrac><mn>5</mn><mn>14</mn></mfrac>" in html
    assert "= −0.5" in html
    assert ["√(−2.5)", "0.123"] in Page(html).tables[0]


@pytest.mark.parametrize("drawing", DRAWINGS)
@pytest.mark.parametrize(("d", "is_regression"), [(2, False), (1, True), (3, False), (2, True)])
def test_rows_are_drawn_in_the_plane_or_on_the_line(drawing: Drawing, d: int, is_regression: bool) -> None:
    problem, learner = make_problem(d, is_regression=is_regression)
    is_drawn = d == (1 if is_regression else 2)
    if isinstance(drawing, Plane):
        drawing = Plane(drawing.w[:d], drawing.b, drawing.has_margin, drawing.marked)
    if isinstance(drawing, Neighbours):
        drawing = Neighbours(drawing.query[:d], drawing.rows, drawing.distances)
    pictures = StepPictures(problem, learner)
    assert bool(pictures.rows) is is_drawn
    first = pictures.render(drawing, "a")
    assert first.count('href="#rows"') == is_drawn
    # A picture contains nothing of the picture before it.
    assert pictures.render(drawing, "a") == first


def test_a_tree_is_drawn_without_rows_and_its_current_node_is_bold() -> None:
    svg = StepPictures(None).render(TREE, "a")
    texts = re.findall(r"<text style=\"([^\"]*)\"[^>]*>([^<]*)</text>", svg)
    assert [text for style, text in texts if "bold" in style or "700" in style] == ["rows &lt;4&gt;, 5"]
    assert {text for _, text in texts} == {"outlook", "overcast", "rain", "yes (4)", "rows &lt;4&gt;, 5"}


def test_of_a_wide_tree_the_path_to_the_current_node_is_drawn() -> None:
    wide = Branch("a", "", tuple(Branch(f"leaf {number}", "") for number in range(20)))
    tree = Branch("root", "", (wide, Branch("b", "", (Branch("here", "", is_current=True), Branch("there")))))
    svg = StepPictures(None).render(tree, "a")
    assert re.findall(r">([^<>\s]+)</text>", svg) == ["root", "…", "b", "here", "there"]


def test_a_hundred_pictures_fit_in_two_megabytes() -> None:
    problem, learner = make_problem(2, is_regression=False)
    steps = tuple(Step("A line.", drawing=Plane((1.0, float(k)), 1.0, True, (1, 2))) for k in range(100))
    html = render_page(HandCalculation("lines", steps, problem=problem, learner=learner), 4)
    assert len(html.encode()) < MAX_BYTES
