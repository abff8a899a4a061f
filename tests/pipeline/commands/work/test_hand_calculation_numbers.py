"""The lectures' worked numbers of neighbours and counts, in the steps of whole tables and of single steps."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculate import calculate
from bakeoff.pipeline.commands.work.request import WorkRequest

W5 = {"manhattan": [3, 2, 3, 2, 4, 1], "chebyshev": [2, 1, 3, 2, 2, 1]}
W5_CUBE = [2.0801, 1.2599, 3, 2, 2.5198, 1]
W6 = [1.4142, 1.0078, 2.1542, 1.4361, 2.9262, 1.0308]
W6_BY_N = [1.5492, 1.1040, 2.3598, 1.5732, 3.2055, 1.1292]


def work_colours(**words: str) -> tuple[Step, ...]:
    """Return the steps for the query (1, 2) on the six coloured points."""
    given = {key.replace("__", "."): value for key, value in words.items()}
    request = WorkRequest(query="{x1: 1, x2: 2}", words={"learner": "knn", "dataset": "colours", **given})
    found = calculate(request)
    assert found.answer == found.learner_answer
    return found.steps


def work_bayes(dataset: str, query: str, **words: str) -> tuple[Step, ...]:
    """Return the steps of naive Bayes on a lecture's table."""
    given = {f"learner.{key}": value for key, value in words.items()}
    found = calculate(WorkRequest(query=query, words={"learner": "naive_bayes", "dataset": dataset, **given}))
    assert found.answer == found.learner_answer
    return found.steps


def find_step(steps: tuple[Step, ...], words: str) -> Step:
    """Return the step whose sentence contains the words."""
    return next(step for step in steps if words in step.sentence)


def read_column(step: Step, column: int = 1) -> list[str]:
    """Return the results of a column of a step's table."""
    return [str(line[column]).split(" = ")[-1] for line in step.table[1:]]


def test_the_distances_of_w1_are_roots() -> None:
    step = find_step(work_colours(learner__n_neighbors="1"), "distance")
    assert [*step.values.values()] == pytest.approx(np.sqrt([5, 2, 9, 4, 8, 1]))
    assert step.table[6] == (6, "√((1.0-1.0)² + (1.0-2.0)²) = √1 = 1.0")


@pytest.mark.parametrize("k", range(1, 7))
def test_the_votes_of_w2(k: int) -> None:
    steps = work_colours(learner__n_neighbors=str(k))
    assert find_step(steps, "nearest").rows == (6, 2, 4, 1, 5, 3)[:k]
    vote = find_step(steps, "votes")
    is_tie = vote.values["votes Red"] == vote.values["votes Blue"]
    assert is_tie == (k % 2 == 0)
    assert vote.answer == ("Red" if k == 1 else "Blue")


@pytest.mark.parametrize(
    ("weights", "k", "red", "blue"),
    [
        ("distance", 2, 1.0000, 0.7071),
        ("distance", 3, 1.0, 1.2071),
        ("distance", 4, 1.4472, 1.2071),
        ("distance", 5, 1.4472, 1.5607),
        ("distance", 6, 1.7805, 1.5607),
        ("gaussian", 3, 0.2420, 0.2008),
        ("gaussian", 5, 0.2747, 0.2081),
    ],
)
def test_the_weighted_votes_of_w3_and_w4(weights: str, k: int, red: float, blue: float) -> None:
    steps = work_colours(learner__n_neighbors=str(k), learner__weights=weights)
    votes = find_step(steps, "Add up").values
    assert votes == pytest.approx({"votes Red": red, "votes Blue": blue}, abs=5e-5)


@pytest.mark.parametrize("metric", W5)
def test_the_metrics_of_w5(metric: str) -> None:
    steps = work_colours(learner__metric=metric, learner__n_neighbors="1")
    assert [*find_step(steps, "distance").values.values()] == W5[metric]


def test_the_other_metrics_of_w5_and_w6() -> None:
    cube = find_step(work_colours(learner__p="3"), "distance")
    assert [*cube.values.values()] == pytest.approx(W5_CUBE, abs=5e-5)
    steps = work_colours(learner__metric="mahalanobis", learner__n_neighbors="1")
    covariance = [line[1:] for line in steps[0].table[1:3]]
    np.testing.assert_allclose(covariance, [[2.2667, -0.6], [-0.6, 1.1]], atol=5e-5)
    assert [*find_step(steps, "distance").values.values()] == pytest.approx(W6, abs=5e-5)
    assert find_step(steps, "Add up").answer == "Blue"
    given = "{V: [[1.8888888888888888, -0.5], [-0.5, 0.9166666666666666]]}"
    steps = work_colours(learner__metric="mahalanobis", learner__metric_params=given)
    assert [*find_step(steps, "distance").values.values()] == pytest.approx(W6_BY_N, abs=5e-5)


def test_the_scales_of_w7() -> None:
    x1, x2, *_ = work_colours(preprocessing="min_max")
    assert [*x1.values.values()] == pytest.approx([0.25, 1, 0, 0.25, 0.25, 0.75, 0.75])
    assert [*x2.values.values()] == pytest.approx([1, 1 / 3, 2 / 3, 2 / 3, 0, 1 / 3, 2 / 3])
    for chosen in ("standardize", "auto"):
        x1, x2, *_ = work_colours(preprocessing=chosen)
        assert (x1.values["x1 1"], x2.values["x2 1"]) == pytest.approx((-0.4851, 1.5667), abs=5e-5)


MORTGAGE = "{job: 'true', deposit: high, family: children}"
PLAIN = {"job": ["1/5", "4/5", "3/5", "2/5"], "deposit": ["2/5", "3/5", "1/5", "4/5"]}
SMOOTHED = {"job": ["2/7", "5/7", "4/7", "3/7"], "deposit": ["3/7", "4/7", "2/7", "5/7"]}
FAMILY = {"0": ["0/5", "2/5", "3/5", "2/5", "2/5", "1/5"], "1": ["1/8", "3/8", "4/8", "3/8", "3/8", "2/8"]}


@pytest.mark.parametrize(("alpha", "tables", "prior"), [("0", PLAIN, "5/10"), ("1", SMOOTHED, "6/12")])
def test_the_fractions_of_w19_and_w21(alpha: str, tables: dict[str, list[str]], prior: str) -> None:
    steps = work_bayes("mortgage", MORTGAGE, alpha=alpha)
    assert read_column(find_step(steps, "decision")) == [prior, prior]
    for name, fractions in {**tables, "family": FAMILY[alpha]}.items():
        step = find_step(steps, name)
        assert [*read_column(step, 1), *read_column(step, 2)] == fractions


def test_the_products_of_w20_and_w22() -> None:
    plain = find_step(work_bayes("mortgage", MORTGAGE, alpha="0"), "Multiply")
    products = [str(line[1]).split(" = ")[1:] for line in plain.table[1:]]
    assert products == [["0/50", "0.0"], ["4/250", "0.016"]]
    assert plain.response == (0, 1)
    *_, product, _ = work_bayes("mortgage", MORTGAGE)
    assert str(product.table[2][1]).startswith("1/2·3/7·2/7·3/8 = 18/784 = ")
    assert str(product.table[1][1]).split(" = ")[1] == "15/784"
    assert [str(line[2]).split(" = ")[0] for line in product.table[1:]] == ["5/11", "6/11"]
    assert product.response == (float(Fraction(5, 11)), float(Fraction(6, 11)))


@pytest.mark.parametrize(("smooth_prior", "known", "unknown"), [("true", 0.8200, 0.9011), ("false", 0.7915, 0.8836)])
def test_the_probabilities_of_w23(smooth_prior: str, known: float, unknown: float) -> None:
    query = ", ".join(
        f"{{author: {author}, thread: new, length: short, where: work}}" for author in ("known", "unknown")
    )
    steps = work_bayes("reading", f"[{query}]", smooth_prior=smooth_prior)
    reads = [step.values["P(reads | x)"] for step in steps if step.answer is not None]
    assert reads == pytest.approx([known, unknown], abs=5e-5)


@pytest.mark.parametrize(
    ("step", "words", "result"),
    [
        ("distance", {"a": "[1,2]", "b": "[4,6]"}, {"d 1": 5}),
        ("distance", {"a": "[1,2]", "b": "[4,6]", "metric": "minkowski", "p": ".inf"}, {"d 1": 4}),
        ("distance", {"a": "[a,b]", "b": "[a,c]", "metric": "hamming"}, {"d 1": 0.5}),
        ("vote", {"labels": "[R,B,B]", "weights": "[1,.5,.2]"}, {"votes B": 0.7, "votes R": 1}),
        ("weight", {"distance": "2", "weights": "gaussian"}, {"w 1": 0.05399}),
        ("weight", {"distance": "[0,2]"}, {"w 1": 1, "w 2": 0}),
        ("density", {"value": "1", "mean": "0", "variance": "2"}, {"p x": 0.21970}),
        ("scale", {"values": "[1,2,3]", "method": "standardize"}, {"x 1": -1.22474, "x 2": 0, "x 3": 1.22474}),
    ],
)
def test_single_steps(step: str, words: dict[str, Any], result: dict[str, float]) -> None:
    (found,) = calculate(WorkRequest(step=step, words=words)).steps
    assert found.values == pytest.approx(result, abs=5e-6)


def test_a_single_step_of_smoothing() -> None:
    (found,) = calculate(WorkRequest(step="smoothing", words={"counts": "[4,1]"})).steps
    assert read_column(found) == ["5/7", "2/7"]


def test_nominal_columns_are_encoded_in_a_first_step() -> None:
    steps = calculate(WorkRequest(words={"learner": "knn", "dataset": "mortgage", "preprocessing": "one_hot"})).steps
    assert "Preprocess" in steps[0].sentence
    assert len(steps[0].table) == 11
