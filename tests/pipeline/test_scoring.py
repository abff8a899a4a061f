"""Scores: equal to values computed by hand, NaN where undefined, and rejected if the learner lacks the method."""

from __future__ import annotations

import math
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
from sklearn.svm import SVC, LinearSVC

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring import (
    CLASSIFICATION,
    DEFAULTS,
    REGRESSION,
    Predictions,
    choose_metrics,
    compute_scores,
    count_confusions,
    predict_rows,
)

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


@pytest.mark.parametrize(
    ("name", "positive", "expected"),
    [
        ("precision", "y", 3 / 4),  # 3 of 4 rows predicted y are y
        ("recall", "y", 3 / 5),  # 3 of 5 rows of y are predicted y
        ("f1", "y", 2 / 3),
        ("precision", "n", 2 / 4),
        ("recall", "n", 2 / 3),
        ("f1", "n", 4 / 7),
        ("balanced_accuracy", None, (3 / 5 + 2 / 3) / 2),
        ("accuracy", None, 5 / 8),
    ],
)
def test_two_classes_by_hand(name: str, positive: str | None, expected: float) -> None:
    assert value(name, of("yyyyynnn", "yyynnynn", positive)) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("precision", (1 + 1 / 3 + 1) / 3),
        ("recall", (1 / 2 + 1 + 1 / 2) / 3),
        ("f1", (2 / 3 + 1 / 2 + 2 / 3) / 3),
        ("balanced_accuracy", (1 / 2 + 1 + 1 / 2) / 3),
        ("error", 2 / 5),
    ],
)
def test_three_classes_are_averaged_alike(name: str, expected: float) -> None:
    assert value(name, of("aabcc", "abbcb")) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mcc", (3 * 2 - 1 * 2) / math.sqrt(5 * 3 * 4 * 4)),  # of 3 hits, 2 rejections, 1 false alarm and 2 misses
        ("kappa", (5 / 8 - 1 / 2) / (1 / 2)),  # half of the rows would agree by chance
    ],
)
def test_agreement_beyond_chance_by_hand(name: str, expected: float) -> None:
    assert value(name, of("yyyyynnn", "yyynnynn", "y")) == pytest.approx(expected, rel=1e-12)


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


def test_log_loss_is_in_nats_and_finite_for_a_probability_of_zero() -> None:
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    expected = -(math.log(0.5) + math.log(0.8)) / 2
    assert value("log_loss", of("ab", "ab", classes="abc", probabilities=probabilities)) == pytest.approx(expected)
    wrong = of("a", "b", classes="ab", probabilities=np.array([[0.0, 1.0]]))
    assert value("log_loss", wrong) == pytest.approx(-math.log(np.finfo(float).eps))


def test_roc_auc_counts_pairs_in_order() -> None:
    ranks = np.array([0.1, 0.4, 0.35, 0.8])  # of n, n, y, y: 3 of 4 pairs are in order
    proba = of("nnyy", "nnny", "y", probabilities=np.column_stack([1 - ranks, ranks]))
    assert value("roc_auc", proba) == pytest.approx(3 / 4)
    decision = of("nnyy", "nnny", "y", decision=ranks - 0.5)
    assert value("roc_auc", decision) == pytest.approx(3 / 4)
    tied = of("ny", "nn", "y", probabilities=np.full((2, 2), 0.5))
    assert value("roc_auc", tied) == pytest.approx(1 / 2)


def test_roc_auc_does_not_depend_on_which_class_is_positive() -> None:
    probabilities = np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]])
    both = [value("roc_auc", of("nnyy", "nnny", positive, probabilities=probabilities)) for positive in "ny"]
    assert both[0] == both[1] == pytest.approx(3 / 4)


def test_roc_auc_of_three_classes_is_the_mean_of_one_against_the_rest() -> None:
    probabilities = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]])
    each = [metrics.roc_auc_score(np.array(list("abcc")) == c, probabilities[:, j]) for j, c in enumerate("abc")]
    assert value("roc_auc", of("abcc", "abbc", probabilities=probabilities)) == pytest.approx(np.mean(each))
    assert each == [1.0, 1.0, pytest.approx(0.875)]


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


@examples(50)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_every_label_score_is_scikit_learns_where_that_is_defined(pairs: list[tuple[str, str]]) -> None:
    truth, predicted = ("".join(side) for side in zip(*pairs, strict=True))
    predictions = of(truth, predicted, classes="abc")
    for name, formula in (
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
        ("f1", metrics.f1_score),
    ):
        ours = value(name, predictions)
        known = {"f1": set(truth) | set(predicted), "precision": set(predicted), "recall": set(truth)}[name]
        if known == set("abc"):
            theirs = formula(predictions.truth, predictions.predicted, average="macro", labels=THREE, zero_division=0)
            assert ours == pytest.approx(theirs)
        else:
            assert math.isnan(ours)
    assert value("error", predictions) == pytest.approx(1 - value("accuracy", predictions))


@examples(50)
@given(st.integers(2, 4), st.integers(2, 30), st.integers(0, 1000))
def test_scores_of_probabilities_are_scikit_learns(c: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(max(m, c)) % c)
    probabilities = rng.integers(0, 4, size=(len(truth), c)) + 1e-9  # with ties
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    predictions = Predictions(truth, probabilities.argmax(axis=1), probabilities, classes=np.arange(c))
    area = {"multi_class": "ovr"} if c > 2 else {}
    ranking = probabilities if c > 2 else probabilities[:, 1]
    assert value("roc_auc", predictions) == pytest.approx(metrics.roc_auc_score(truth, ranking, **area), rel=1e-12)
    assert value("log_loss", predictions) == pytest.approx(metrics.log_loss(truth, probabilities), rel=1e-12)
    theirs = metrics.balanced_accuracy_score(truth, predictions.predicted)
    assert value("balanced_accuracy", predictions) == pytest.approx(theirs, rel=1e-12)


@examples(50)
@given(st.integers(2, 30), st.integers(0, 1000))
def test_scores_of_numbers_are_scikit_learns(m: int, seed: int) -> None:
    truth, predicted = np.random.default_rng(seed).normal(size=(2, m))
    for name, formula in (
        ("mse", metrics.mean_squared_error),
        ("rmse", metrics.root_mean_squared_error),
        ("mae", metrics.mean_absolute_error),
        ("r2", metrics.r2_score),
    ):
        assert value(name, Predictions(truth, predicted)) == pytest.approx(formula(truth, predicted), rel=1e-12)


def test_confusion_counts_truth_in_rows_for_all_classes() -> None:
    predictions = of("aabb", "abbb", classes="abc")
    assert count_confusions(predictions.truth, predictions.predicted, THREE).tolist() == [
        [1, 1, 0],
        [0, 2, 0],
        [0, 0, 0],
    ]


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


def test_weights_reach_the_scores_of_a_model() -> None:
    model = DummyClassifier().fit([[0]] * 3, list("aab"))
    weights = np.array([3.0, 1.0])
    predictions = predict_rows(
        model, np.zeros((2, 1)), np.array(["a", "b"]), np.array(["a", "b"]), None, weights=weights
    )
    assert value("accuracy", predictions) == 3 / 4


# Undefined scores


@pytest.mark.parametrize(
    ("name", "predictions"),
    [
        ("precision", of("yn", "nn", "y")),  # no row is predicted y
        ("recall", of("nn", "yn", "y")),  # no row is y
        ("f1", of("nn", "nn", "y", classes="ny")),
        ("recall", of("ab", "ab", classes="abc")),
        ("f1", of("ab", "ab", classes="abc")),
        ("roc_auc", of("aa", "aa", classes="ab", probabilities=np.full((2, 2), 0.5))),
        ("roc_auc", of("ab", "ab", classes="abc", probabilities=np.full((2, 3), 1 / 3))),
        ("roc_auc", of("abc", "abc", decision=np.eye(3))),
        ("average_precision", of("aa", "aa", classes="ab", probabilities=np.full((2, 2), 0.5))),
        ("average_precision", of("abc", "abc", decision=np.eye(3))),
        ("mcc", of("aa", "ab", classes="ab")),
        ("kappa", of("aa", "aa", classes="ab")),
        ("kappa", of("aa", "ab", classes="ab")),
        ("mape", Predictions(np.array([0.0, 1.0]), np.array([0.5, 1.0]))),
        ("r2", Predictions(np.array([1.0]), np.array([1.0]))),
        ("r2", Predictions(np.array([1.0, 1.0]), np.array([1.0, 1.0]))),
        ("r2", Predictions(np.array([1.0, 1.0]), np.array([1.0, 2.0]))),
    ],
)
def test_what_is_not_defined_is_nan_and_not_zero(name: str, predictions: Predictions) -> None:
    assert math.isnan(value(name, predictions))


def test_balanced_accuracy_is_of_the_classes_that_are_there() -> None:
    assert value("balanced_accuracy", of("aab", "acb")) == pytest.approx((1 / 2 + 1) / 2)


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

    predictions = predict_rows(Column().fit([[0], [0]], [1.0, 3.0]), [[0], [0]], np.array([2.0, 4.0]), None, None)
    assert value("mae", predictions) == 1.0


def test_regression_is_observed_by_its_values_alone() -> None:
    predictions = predict_rows(DummyRegressor().fit([[0], [0]], [1.0, 3.0]), [[0]], np.array([5.0]), None, None)
    assert predictions.predicted.tolist() == [2.0]
    assert predictions.classes is None


# The choice of metrics


def test_defaults_are_all_that_the_learner_can_give() -> None:
    assert tuple(choose_metrics(None, "classification", DummyClassifier())) == DEFAULTS["classification"]
    without = choose_metrics(None, "classification", Perceptron())
    assert "roc_auc" in without
    assert "log_loss" not in without
    assert next(iter(without)) == "accuracy"
    assert tuple(choose_metrics(None, "regression", DummyRegressor())) == DEFAULTS["regression"]


def test_the_order_given_is_kept() -> None:
    assert list(choose_metrics(["f1", "error"], "classification", DummyClassifier())) == ["f1", "error"]


def test_less_is_better_for_errors_only() -> None:
    lesser = {name for name, metric in {**CLASSIFICATION, **REGRESSION}.items() if not metric.greater_is_better}
    assert lesser == {
        "error", "log_loss", "brier", "rmse", "mse", "mae", "mape", "median_error", "max_error", "pinball",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("names", "task", "learner", "message"),
    [
        (
            ["acuracy"],
            "classification",
            SVC(),
            r"names 'acuracy', which is not a metric of classification. Did you mean 'accuracy'\?",
        ),
        (
            ["r2"],
            "classification",
            SVC(),
            "names 'r2', which is not a metric of classification but of regression. Allowed: accuracy",
        ),
        (["accuracy"], "regression", DummyRegressor(), "names 'accuracy', which is not a metric of regression"),
        (["log_loss"], "classification", SVC(), "'log_loss', which needs predict_proba, and SVC has none"),
        ("accuracy", "classification", SVC(), r"evaluation.metrics='accuracy' must be a list of names, such as \[acc"),
        ([], "regression", DummyRegressor(), r"evaluation.metrics=\[\] must be a list of names, such as \[r2\]"),
        (5, "classification", SVC(), "evaluation.metrics=5 must be a list"),
    ],
)
def test_metrics_that_cannot_be_had_are_refused(names: Any, task: str, learner: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_metrics(names, task, learner)
