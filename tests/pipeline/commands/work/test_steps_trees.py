"""The steps of trees, pruning and forests give the answers of their definitions and of the learners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions import splits
from bakeoff.learners.definitions.calculations import CALCULATIONS, SINGLE_STEPS
from bakeoff.learners.definitions.decision_tree import Node, grow_tree, predict_row, work_queries
from bakeoff.learners.definitions.pruning import METHODS, accuracy, minus_squared_error, prune
from bakeoff.learners.definitions.random_forest import Draw, grow_forest, predict_row_by_vote
from bakeoff.learners.definitions.steps import Problem, Step
from bakeoff.pipeline.commands.work.calculate import calculate, measure_difference
from bakeoff.pipeline.commands.work.request import WorkRequest

TABLES = 60
KINDS = ("grid", "normal", "nominal")
CRITERIA = ("entropy", "gain_ratio", "gini", "log_loss", "misclassification")


def draw_problem(seed: int, is_regression: bool, pruning: str = "none") -> Problem:
    """Return 6 to 14 rows of whole numbers with ties, of normal numbers, or with nominal features, and queries."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % 3]
    n = int(rng.integers(6, 15))
    d = int(rng.integers(2, 4))
    c = int(rng.integers(2, 4))
    X = rng.normal(size=(n + 12, d)) if kind == "normal" else rng.integers(0, 4, (n + 12, d)).astype(float)
    codes = rng.integers(0, c, n + 12)
    codes[:c] = np.arange(c)
    y = rng.integers(-4, 5, n + 12) / 4 if is_regression else np.array(["a", "b", "c"])[codes]
    return Problem(
        X=X[:n],
        y=y[:n],
        queries=X[n : n + 4],
        features=tuple(f"x{j}" for j in range(1, d + 1)),
        target="y",
        nominal=[0, 1] if kind == "nominal" else (),
        validation_X=X[n + 4 :],
        validation_y=y[n + 4 :],
        pruning=pruning,
        classes=None if is_regression else np.unique(y[:n]),
    )


def work_out(name: str, problem: Problem, **parameters: Any) -> tuple[Any, list[Step], list[Step]]:
    """Return the fitted learner, all steps of its calculation, and those that answer a query; compare the responses."""
    learner = REGISTRY[name](categorical_features=list(problem.nominal) or None, **parameters)
    learner.fit(problem.X, problem.y)
    if problem.pruning != "none":
        learner.prune(problem.validation_X, problem.validation_y, method=problem.pruning)
    steps = list(CALCULATIONS[name].work(learner, problem))
    answers = [step for step in steps if step.answer is not None]
    responses = getattr(learner, CALCULATIONS[name].response)(problem.queries)
    assert measure_difference([step.response for step in answers], responses) <= CALCULATIONS[name].tolerance
    predicted = learner.predict(problem.queries).tolist()
    assert [step.answer for step in answers] == (predicted if problem.classes is not None else pytest.approx(predicted))
    return learner, steps, answers


def grow_by_definition(problem: Problem, criterion: str, max_depth: float, min_rows: int) -> Node:
    """Return the tree of the definition."""
    by_ratio = criterion == "gain_ratio"
    impurity = splits.IMPURITIES[criterion]
    return grow_tree(problem.X, problem.y, impurity, by_ratio, problem.nominal, max_depth, min_rows)


@pytest.mark.parametrize("pruning", ["none", *METHODS])
@pytest.mark.parametrize("is_regression", [False, True])
def test_the_steps_of_a_tree_answer_as_the_definition_and_the_learner(is_regression: bool, pruning: str) -> None:
    name = "decision_tree_regressor" if is_regression else "decision_tree"
    n_pruned = 0
    n_tables = TABLES if pruning == "none" else TABLES // 2
    for seed in range(n_tables):
        problem = draw_problem(seed, is_regression, pruning)
        criterion = "squared_error" if is_regression else CRITERIA[seed % len(CRITERIA)]
        depth = (None, 2)[seed % 2]
        limits: dict[str, Any] = {"max_depth": depth, "min_samples_split": 2 + seed % 4}
        learner, steps, answers = work_out(name, problem, criterion=criterion, **limits)
        tree = grow_by_definition(problem, criterion, depth or math.inf, limits["min_samples_split"])
        passes = [step for step in steps if "score" in step.values]
        if passes:
            score = minus_squared_error if is_regression else accuracy
            assert problem.validation_X is not None
            assert problem.validation_y is not None
            list(prune(tree, problem.validation_X, problem.validation_y, pruning, score))
            assert passes[0].values["score"] == pytest.approx(learner.pruning_path_["score"][0])
            n_pruned += passes[0].chosen != "no node"
        combine = [np.mean] if is_regression else []
        expected = [predict_row(tree, query, *combine) for query in problem.queries]
        assert [step.answer for step in answers] == (pytest.approx(expected) if is_regression else expected)
    assert n_pruned >= (0 if pruning == "none" else n_tables / 5)


@pytest.mark.parametrize("name", ["random_forest", "random_forest_regressor"])
def test_the_steps_of_a_forest_answer_as_the_definition_and_the_learner(name: str) -> None:
    is_regression = name.endswith("regressor")
    for seed in range(TABLES):
        problem = draw_problem(seed, is_regression)
        shape: dict[str, Any] = {
            "n_estimators": 3,
            "random_state": seed,
            "max_features": 1 + seed % 2,
            "feature_subset": ("split", "tree")[seed % 4 == 1],
            "bootstrap": seed % 5 > 0,
            "max_samples": (None, 0.7)[seed % 7 == 0],
            "max_depth": (None, 2)[seed % 3 == 0],
        }
        if not is_regression:
            shape["voting"] = ("average", "majority")[seed % 2]
        learner, steps, answers = work_out(name, problem, **shape)
        draws = [Draw(*drawn) for drawn in learner.list_draws(problem.X, problem.y)]
        assert steps[0].rows == tuple(np.unique(draws[0].rows) + 1)
        if is_regression or shape["voting"] == "majority":
            impurity = splits.squared_error if is_regression else splits.gini
            depth = shape["max_depth"] or math.inf
            forest = grow_forest(problem.X, problem.y, draws, shape["max_features"], impurity, problem.nominal, depth)
            combine = [np.mean] if is_regression else []
            expected = [predict_row_by_vote(forest, query, *combine) for query in problem.queries]
            assert [step.answer for step in answers] == (pytest.approx(expected) if is_regression else expected)


def work_table(dataset: str, learner: str, query: str | None = None, **words: str) -> list[Step]:
    """Return the steps of a learner on a dataset."""
    request = WorkRequest(words={"dataset": dataset, "learner": learner, **words}, query=query)
    return list(calculate(request).steps)


def find_split(steps: list[Step]) -> Step:
    """Return the first comparison of features."""
    return next(step for step in steps if "the gain of each split" in step.sentence)


@pytest.mark.parametrize(
    ("criterion", "chosen", "weighted", "merits"),
    [
        ("entropy", "second", [0.71683, 0.69141], [0.27594, 0.30137]),
        ("gain_ratio", "first", [0.71683, 0.69141], [0.38223, 0.30356]),
        ("gini", "second", [0.34375, 0.30707], None),
    ],
)
def test_w16_w17_w18_the_criterion_decides_between_the_two_splits(
    criterion: str, chosen: str, weighted: list[float], merits: list[float] | None
) -> None:
    split = find_split(work_table("two_splits", "decision_tree", **{"learner.criterion": criterion}))
    assert split.chosen == chosen
    cells = [row[2] for row in split.table[1:]]
    assert [float(cell.split(" = ")[1]) for cell in cells] == pytest.approx(weighted, abs=5e-6)
    if merits is not None:
        assert [row[-1] for row in split.table[1:]] == pytest.approx(merits, abs=5e-6)
        assert "0.896" in cells[0]
        assert "0.8453" in cells[1]
        assert "0.5032" in cells[1]


def test_w23_the_reading_table_is_split_by_length_alone() -> None:
    rest = "thread: new, length: short, where: work"
    queries = f"[{{author: known, {rest}}}, {{author: unknown, {rest}}}]"
    steps = work_table("reading", "decision_tree", queries, **{"learner.criterion": "entropy"})
    split = find_split(steps)
    gains = {"author": 0.0441, "thread": 0.4591, "length": 0.9183, "where": 0}
    assert {row[0]: row[-1] for row in split.table[1:]} == pytest.approx(gains, abs=5e-5)
    assert sum("the gain of each split" in step.sentence for step in steps) == 1
    assert [step.answer for step in steps if step.answer is not None] == ["reads", "reads"]


def test_w8_equality_goes_right() -> None:
    rows = np.arange(3)
    inner = Node(rows, np.array(["Blue", "Red"]), (0, 5.0))
    inner.branches = {"< 5.0": Node(rows[:1], np.array(["Blue"])), "≥ 5.0": Node(rows[:1], np.array(["Red"]))}
    tree = Node(rows, np.array(["Blue", "Blue", "Red"]), (1, 3.0))
    tree.branches = {"< 3.0": Node(rows[:1], np.array(["Blue"])), "≥ 3.0": inner}
    query = np.array([[5.0, 3.0]])
    problem = Problem(query, np.array(["Red"]), query, ("x1", "x2"), "colour", classes=np.array(["Blue", "Red"]))
    steps = list(work_queries(problem, tree))
    assert [step.chosen for step in steps] == ["x2 ≥ 3.0", "x1 ≥ 5.0", "colour = Red"]
    assert SINGLE_STEPS["question"](value=3, threshold=3).chosen == "3 ≥ 3"


W9 = {"parts": [[2, 1], [3, 4]]}
NUMBERS = [
    ("cost", {**W9, "logarithm": "natural"}, "3·0.63651416829481", 6.689899),
    ("cost", W9, "", 9.651484),
    ("cost", {**W9, "criterion": "gini"}, "", 4.761905),
    ("cost", {**W9, "criterion": "misclassification"}, "", 4),
    ("information", {"p": 0.25}, "-log2(0.25) = 2.0", 2),
    ("information", {"p": 0.97}, "", 0.0439),
    ("information", {"p": 0.01}, "", 6.6439),
    ("entropy", {"counts": [97, 1, 1, 1]}, "-97/100·log2(97/100) - 1/100·log2(1/100)", 0.2419),
    ("entropy", {"counts": [11, 9]}, "-11/20·log2(11/20) - 9/20·log2(9/20)", 0.99277),
    ("gini", {"counts": [1, 2]}, "1/3·(1 - 1/3) + 2/3·(1 - 2/3)", 4 / 9),
    ("misclassification", {"counts": [1, 3]}, "1 - 3/4", 0.25),
    ("squared_error", {"values": [1, 2, 6]}, "((1 - 3.0)² + (2 - 3.0)² + (6 - 3.0)²)/3", 14 / 3),
    ("gain", {"parts": [[4, 0], [5, 11]]}, "-9/20·log2(9/20)", 0.27594),
    ("gain_ratio", {"parts": [[8, 3], [1, 8]]}, "", 0.30356),
    ("accuracy", {"actual": list("aabbabb"), "predicted": list("aabbbaa")}, "4/7 : 3/7", 4 / 7),
]
"""W9, W11 to W17 and W24 as single steps."""


@pytest.mark.parametrize(("step", "numbers", "formula", "result"), NUMBERS)
def test_single_steps_have_the_numbers_of_the_lectures(
    step: str, numbers: dict[str, Any], formula: str, result: float
) -> None:
    shown = SINGLE_STEPS[step](**numbers)
    assert formula in shown.formula
    assert list(shown.values.values())[-1] == pytest.approx(result, abs=5e-5 if len(str(result)) <= 6 else 5e-6)


def test_draws_are_repeated_from_a_number_alone() -> None:
    X = np.arange(6.0)[:, None]
    forest = REGISTRY["random_forest"](2, random_state=None).fit(X, [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="must be an integer"):
        forest.list_draws(X, np.array([0, 0, 0, 1, 1, 1]))
