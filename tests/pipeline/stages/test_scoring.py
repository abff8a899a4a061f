"""Scores: equal to values by hand and to scikit-learn's, NaN where undefined; what cannot be computed is refused."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Perceptron
from sklearn.svm import LinearSVC

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.choice import choose_metrics
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION, REGRESSION, compute_score, compute_scores
from bakeoff.pipeline.stages.scoring.names import DEFAULTS
from bakeoff.pipeline.stages.scoring.predictions import Predictions, predict_rows

THREE = np.array(list("abc"))


def of(truth: str, predicted: str, positive: str | None = None, classes: str = "", **parts: Any) -> Predictions:
    labels = np.array(sorted(set(classes or truth + predicted)))
    return Predictions(np.array(list(truth)), np.array(list(predicted)), classes=labels, positive=positive, **parts)


def value(name: str, predictions: Predictions) -> float:
    chosen = {**CLASSIFICATION, **REGRESSION}[name]
    return compute_scores({name: chosen}, predictions)[name]


# Values by hand


def test_accuracy_and_error_of_the_lectures_seven_predictions() -> None:
    predictions = of("aaaabbb", "aabbbba")
    assert value("accuracy", predictions) == pytest.approx(4 / 7, rel=1e-15)
    assert value("error", predictions) == pytest.approx(3 / 7, rel=1e-15)


def test_average_precision_is_of_the_positive_class() -> None:
    ranks = np.array([0.1, 0.4, 0.35, 0.8])  # of n, n, y, y
    proba = of("nnyy", "nnny", "y", probabilities=np.column_stack([1 - ranks, ranks]))
    assert value("average_precision", proba) == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3)
    negative = replace(proba, positive="n")  # n, n, y, y in the other order: the first, and the second of the first 3
    assert value("average_precision", negative) == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 3)
    assert value("average_precision", of("nnyy", "nnny", "y", decision=ranks - 1)) == value("average_precision", proba)
    assert value("average_precision", replace(proba, positive=None)) == value("average_precision", proba)


def test_average_precision_of_three_classes_is_the_mean_of_one_against_the_rest() -> None:
    probabilities = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]])
    each = [
        metrics.average_precision_score(np.array(list("abcc")) == c, probabilities[:, j]) for j, c in enumerate("abc")
    ]
    predictions = of("abcc", "abbc", probabilities=probabilities)
    assert value("average_precision", predictions) == pytest.approx(np.mean(each))
    assert value("average_precision", replace(predictions, positive="c")) == pytest.approx(each[2])


def test_brier_is_halved_for_two_classes() -> None:
    two = of("ab", "ab", probabilities=np.array([[0.8, 0.2], [0.4, 0.6]]))
    assert value("brier", two) == pytest.approx((0.04 + 0.16) / 2)
    three = of("ab", "ab", classes="abc", probabilities=np.array([[0.8, 0.1, 0.1], [0.4, 0.6, 0.0]]))
    assert value("brier", three) == pytest.approx((0.04 + 0.01 + 0.01 + 0.16 + 0.16) / 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mse", 9 / 4),
        ("rmse", 3 / 2),
        ("mae", 5 / 4),
        ("r2", 1 - 9 / 20),
        ("mape", (1 / 4 + 1 / 3 + 1 / 4) / 4),
        ("median_error", 3 / 2),
        ("max_error", 2),
        ("pinball", 5 / 8),
    ],
)
def test_regression_by_hand(name: str, expected: float) -> None:
    predictions = Predictions(np.array([2.0, 4.0, 6.0, 8.0]), np.array([2.0, 5.0, 4.0, 6.0]))
    assert value(name, predictions) == pytest.approx(expected, rel=1e-15)


# Weights


@examples(10)
@given(st.integers(2, 4), st.integers(2, 20), st.integers(0, 1000))
def test_a_row_of_weight_k_scores_as_k_rows_and_one_of_weight_zero_as_none(c: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(max(m, c)) % c)
    probabilities = rng.dirichlet(np.ones(c), size=len(truth))
    weights = rng.integers(0, 4, size=len(truth))
    weighted = Predictions(truth, probabilities.argmax(axis=1), probabilities, classes=np.arange(c), positive=1)
    rows = np.repeat(np.arange(len(truth)), weights)
    repeated = replace(
        weighted, truth=truth[rows], predicted=weighted.predicted[rows], probabilities=probabilities[rows]
    )
    scores = compute_scores(CLASSIFICATION, replace(weighted, weights=weights.astype(float)))
    assert scores == pytest.approx(compute_scores(CLASSIFICATION, repeated), rel=1e-12, nan_ok=True)
    numbers = Predictions(truth.astype(float), probabilities[:, 0], weights=weights.astype(float))
    repeated_numbers = Predictions(numbers.truth[rows], numbers.predicted[rows])
    scores = compute_scores(REGRESSION, numbers)
    assert scores == pytest.approx(compute_scores(REGRESSION, repeated_numbers), rel=1e-12, nan_ok=True)


# Undefined scores


@pytest.mark.parametrize(
    ("name", "predictions"),
    [
        ("precision", of("yn", "nn", "y")),  # no row is predicted y
        ("recall", of("nn", "yn", "y")),  # no row is y
        ("f1", of("nn", "nn", "y", classes="ny")),
        ("roc_auc", of("abc", "abc", decision=np.eye(3))),
        ("average_precision", of("aa", "aa", classes="ab", probabilities=np.full((2, 2), 0.5))),
        ("average_precision", of("abc", "abc", decision=np.eye(3))),
        ("mape", Predictions(np.array([0.0, 1.0]), np.array([0.5, 1.0]))),
        ("r2", Predictions(np.array([1.0]), np.array([1.0]))),
        ("r2", Predictions(np.array([1.0, 1.0]), np.array([1.0, 1.0]))),
        ("r2", Predictions(np.array([1.0, 1.0]), np.array([1.0, 2.0]))),
    ],
)
def test_what_is_not_defined_is_nan_and_not_zero(name: str, predictions: Predictions) -> None:
    assert math.isnan(value(name, predictions))


def test_a_class_missing_from_training_has_probability_zero_and_all_scores_are_given() -> None:
    model = DummyClassifier().fit([[0]] * 4, list("aaac"))
    predictions = predict_rows(model, np.zeros((3, 1)), np.array(list("abc")), THREE, None)
    assert predictions.probabilities is not None
    np.testing.assert_allclose(predictions.probabilities, [[0.75, 0.0, 0.25]] * 3)
    scores = compute_scores(CLASSIFICATION, predictions)
    assert scores["accuracy"] == pytest.approx(1 / 3)
    assert scores["recall"] == pytest.approx(1 / 3)
    assert math.isnan(scores["precision"])  # b and c are never predicted
    assert scores["roc_auc"] == pytest.approx(0.5)
    assert scores["log_loss"] > 10


# Predictions


def test_a_model_without_probabilities_gives_decision_values() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(list("nnyy"))
    predictions = predict_rows(LinearSVC().fit(X, y), X, y, np.array(["n", "y"]), "y")
    assert predictions.probabilities is None
    assert predictions.decision is not None
    assert value("roc_auc", predictions) == 1.0
    assert predictions.seconds > 0


def test_predictions_in_a_column_are_taken_as_they_are_meant() -> None:
    class Column(DummyRegressor):
        def predict(self, X: Any) -> Any:
            return super().predict(X)[:, np.newaxis]

    X = np.zeros((2, 1))
    predictions = predict_rows(Column().fit(X, [1.0, 3.0]), X, np.array([2.0, 4.0]), None, None)
    assert value("mae", predictions) == 1.0


# The choice of metrics


def test_defaults_are_all_that_the_learner_can_give() -> None:
    assert tuple(choose_metrics(None, "classification", DummyClassifier())) == DEFAULTS["classification"]
    without = choose_metrics(None, "classification", Perceptron())
    assert "roc_auc" in without
    assert "log_loss" not in without
    assert next(iter(without)) == "accuracy"
    assert tuple(choose_metrics(None, "regression", DummyRegressor())) == DEFAULTS["regression"]


def test_less_is_better_for_errors_only() -> None:
    lesser = {name for name, metric in {**CLASSIFICATION, **REGRESSION}.items() if not metric.greater_is_better}
    assert lesser == {
        "error", "log_loss", "brier", "rmse", "mse", "mae", "mape", "median_error", "max_error", "pinball",
    }  # fmt: skip


@pytest.mark.parametrize("entries", ["accuracy", []])
def test_metrics_that_cannot_be_had_are_refused(entries: Any) -> None:
    with pytest.raises(UserError, match=r"must be a list of names, such as \[accuracy\]"):
        choose_metrics(entries, "classification", DummyClassifier())


N_DRAWS = 60
OWN_SCORES = ("precision", "recall", "f1", "log_loss", "roc_auc")
LETTERS = np.array(list("abcdefghijkl"))


def draw_predictions() -> Iterator[Predictions]:
    """Yield predictions of 1 to 300 rows and 2 to 12 classes: tied and certain ones, absent classes, weights."""
    random = np.random.default_rng(0)
    for draw in range(N_DRAWS):
        n_classes = int(random.integers(2, 13)) if draw % 3 else 2
        n_rows = int(random.integers(1, 300))
        true_shares = random.dirichlet(np.full(n_classes, random.choice([0.1, 1, 10])))
        truth = random.choice(n_classes, size=n_rows, p=true_shares)
        probabilities = random.dirichlet(np.full(n_classes, random.choice([0.02, 0.3, 1, 30])), size=n_rows)
        is_good = random.random(n_rows) < random.random()
        probabilities[is_good] = 0.5 * probabilities[is_good] + 0.5 * np.eye(n_classes)[truth[is_good]]
        if draw % 4 == 1:
            # Equal ranks, and rows of which the model is certain.
            probabilities = np.eye(n_classes)[probabilities.argmax(axis=1)] if draw % 8 == 1 else probabilities
            probabilities = np.round(4 * probabilities) / 4
            probabilities /= probabilities.sum(axis=1, keepdims=True) + (probabilities.sum(axis=1, keepdims=True) == 0)
            probabilities[probabilities.sum(axis=1) == 0] = 1 / n_classes
        classes = LETTERS[:n_classes]
        predicted = probabilities.argmax(axis=1)
        drawn = Predictions(classes[truth], classes[predicted], probabilities, classes=classes)
        yield drawn
        yield replace(drawn, weights=random.random(n_rows) * 10.0 ** random.integers(-3, 4, size=n_rows))
        yield replace(drawn, weights=random.integers(0, 3, size=n_rows).astype(float))
        if n_classes == 2:
            yield replace(drawn, probabilities=None, decision=np.round(random.normal(size=n_rows), 1))


def score_by_scikit_learn(name: str, predictions: Predictions) -> float:
    """Return the score by scikit-learn's function, of the rows whose weight is not 0."""
    counts = np.ones(len(predictions.truth), dtype=bool) if predictions.weights is None else predictions.weights > 0
    if not counts.any():
        return math.nan
    truth = predictions.truth[counts]
    predicted = predictions.predicted[counts]
    weights = None if predictions.weights is None else predictions.weights[counts]
    if name in {"precision", "recall", "f1"}:
        by_class = metrics.precision_recall_fscore_support(
            truth, predicted, labels=predictions.classes, sample_weight=weights, zero_division=np.nan
        )
        return float(np.mean(by_class[["precision", "recall", "f1"].index(name)]))
    assert predictions.classes is not None
    probabilities = None if predictions.probabilities is None else predictions.probabilities[counts]
    if name == "log_loss":
        return float(metrics.log_loss(truth, probabilities, labels=predictions.classes, sample_weight=weights))
    if len(set(truth)) < len(predictions.classes):
        return math.nan
    if len(predictions.classes) > 2:
        is_class = truth[:, np.newaxis] == predictions.classes
        return float(metrics.roc_auc_score(is_class, probabilities, sample_weight=weights))
    if predictions.decision is not None:
        ranking = predictions.decision[counts]
    else:
        assert probabilities is not None
        ranking = probabilities[:, 1]
    return float(metrics.roc_auc_score(truth == predictions.classes[1], ranking, sample_weight=weights))


@pytest.mark.parametrize("name", OWN_SCORES)
def test_scores_are_scikit_learns_to_the_last_bit(name: str) -> None:
    n_defined = 0
    for predictions in draw_predictions():
        if name == "log_loss" and predictions.probabilities is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = score_by_scikit_learn(name, predictions)
        score = compute_score(CLASSIFICATION[name], predictions)
        assert score == expected or (math.isnan(score) and math.isnan(expected)), (name, predictions)
        n_defined += not math.isnan(score)
    assert n_defined > N_DRAWS / 4


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("precision", metrics.precision_score), ("recall", metrics.recall_score), ("f1", metrics.f1_score)],
)
def test_scores_of_a_positive_class_are_scikit_learns(name: str, oracle: Callable[..., float]) -> None:
    for predictions in draw_predictions():
        assert predictions.classes is not None
        positive = str(predictions.classes[-1])
        counts = slice(None) if predictions.weights is None else predictions.weights > 0
        if positive not in predictions.predicted[counts] or positive not in predictions.truth[counts]:
            continue
        score = compute_score(CLASSIFICATION[name], replace(predictions, positive=positive))
        expected = oracle(
            predictions.truth == positive, predictions.predicted == positive, sample_weight=predictions.weights
        )
        assert score == pytest.approx(expected, rel=1e-12)
