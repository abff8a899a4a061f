"""Metrics of the user and cost matrices: what they receive, their sign, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import brier_score_loss, fbeta_score, hinge_loss, make_scorer, mean_pinball_loss, roc_auc_score

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring import (
    DEFAULTS,
    Metric,
    Predictions,
    Target,
    choose_metrics,
    compute_score,
    is_bounded,
    is_greater_better,
    name_entry,
    predict_rows,
)

LABELS = np.array(["no", "yes"])
TWO = Target(np.array(["no", "yes", "yes", "no"]), LABELS, positive="yes")
TRUTH = np.array(["yes", "yes", "yes", "no", "no", "no", "no", "no"])
PREDICTED = np.array(["yes", "yes", "no", "yes", "no", "no", "no", "no"])
ROWS = np.linspace(-2, 2, 8).reshape(-1, 1)


# Metrics of the user, which dotted names stand for below


def profit(y_true: np.ndarray, y_pred: np.ndarray, gain: float = 5.0, loss: float = 1.0) -> float:
    """Return the profit of a campaign that calls all who are predicted to say yes."""
    is_called = y_pred == "yes"
    return float(gain * np.sum(is_called & (y_true == "yes")) - loss * np.sum(is_called & (y_true == "no")))


def weighted_error(y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return float(np.average(y_true != y_pred, weights=sample_weight))


def returns_array(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    return np.asarray(y_true == y_pred)


def divides(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return 1 / int(np.sum(y_true == "perhaps"))


FOUND = {
    "mine.profit": profit,
    "mine.weighted_error": weighted_error,
    "mine.returns_array": returns_array,
    "mine.divides": divides,
    "mine.f2": make_scorer(fbeta_score, beta=2, pos_label="yes"),
    "mine.loss": make_scorer(weighted_error, greater_is_better=False),
    "mine.sharpness": make_scorer(brier_score_loss, response_method="predict_proba", pos_label="yes"),
    "sklearn.metrics.fbeta_score": fbeta_score,
    "sklearn.metrics.hinge_loss": hinge_loss,
    "sklearn.metrics.brier_score_loss": brier_score_loss,
    "sklearn.metrics.roc_auc_score": roc_auc_score,
    "sklearn.metrics.mean_pinball_loss": mean_pinball_loss,
}


def choose(entry: Any, learner: Any = None, target: Target = TWO) -> Metric:
    task = "regression" if target.classes is None else "classification"
    learner = LogisticRegression() if learner is None else learner
    chosen = choose_metrics([entry], task, learner, target, find_function=FOUND.__getitem__)
    return chosen[name_entry(entry)]


def value(entry: Any, target: Target = TWO, **parts: Any) -> float:
    predictions = Predictions(TRUTH, PREDICTED, classes=LABELS, positive=target.positive, **parts)
    return compute_score(choose(entry, target=target), predictions)


def test_a_function_gets_the_labels_of_the_dataset_and_further_arguments() -> None:
    entry = {"_target_": "mine.profit", "greater_is_better": True, "loss": 2}
    assert value(entry) == 2 * 5 - 2
    assert value({**entry, "gain": 1}) == 2 - 2


def test_a_function_keeps_its_natural_sign() -> None:
    entry = {"_target_": "mine.weighted_error", "greater_is_better": False}
    assert value(entry) == 2 / 8
    assert not choose(entry).greater_is_better
    assert not is_greater_better("weighted_error", [entry])
    assert not is_bounded("weighted_error", [entry])


def test_a_scorer_gives_the_number_of_make_scorer_of_which_more_is_better() -> None:
    X, y = ROWS, TRUTH
    model = LogisticRegression().fit(X, y)
    predictions = predict_rows(model, X, y, LABELS, "yes")
    for name in ("f2", "loss", "sharpness"):
        metric = choose({"_target_": f"mine.{name}"})
        scorer: Any = FOUND[f"mine.{name}"]
        assert compute_score(metric, predictions) == pytest.approx(scorer(model, X, y), rel=1e-14)
        assert metric.greater_is_better
    assert choose({"_target_": "mine.sharpness"}).needs == ("predict_proba",)
    assert choose({"_target_": "mine.f2"}).needs == ()


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_the_positive_class_of_the_dataset_is_that_of_a_function_that_takes_one(positive: str) -> None:
    target = Target(TWO.y, LABELS, positive=positive)
    entry = {"_target_": "sklearn.metrics.fbeta_score", "beta": 2, "greater_is_better": True}
    expected = fbeta_score(TRUTH, PREDICTED, beta=2, pos_label=positive)
    assert value(entry, target) == pytest.approx(expected)
    given = {**entry, "pos_label": "no"}
    assert value(given, target) == pytest.approx(fbeta_score(TRUTH, PREDICTED, beta=2, pos_label="no"))


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_a_function_of_probabilities_gets_those_of_its_positive_class(positive: str) -> None:
    target = Target(TWO.y, LABELS, positive=positive)
    entry = {"_target_": "sklearn.metrics.brier_score_loss", "greater_is_better": False, "needs": "predict_proba"}
    model = LogisticRegression().fit(ROWS, TRUTH)
    column = model.predict_proba(ROWS)[:, list(LABELS).index(positive)]
    score = compute_score(choose(entry, target=target), predict_rows(model, ROWS, TRUTH, LABELS, positive))
    assert score == pytest.approx(brier_score_loss(TRUTH, column, pos_label=positive))


def test_a_function_of_decision_values_gets_them_from_a_model_with_probabilities() -> None:
    entry = {"_target_": "sklearn.metrics.hinge_loss", "greater_is_better": False, "needs": "decision_function"}
    metric = choose(entry)
    assert metric.needs == ("decision_function",)
    model = LogisticRegression().fit(ROWS, TRUTH)
    predictions = predict_rows(model, ROWS, TRUTH, LABELS, "yes", with_decision=True)
    assert compute_score(metric, predictions) == pytest.approx(hinge_loss(TRUTH, model.decision_function(ROWS)))


def test_a_function_of_either_response_gets_probabilities_where_there_are_any() -> None:
    entry = {
        "_target_": "sklearn.metrics.roc_auc_score",
        "name": "area",
        "greater_is_better": True,
        "needs": ["decision_function", "predict_proba"],
    }
    metric = choose(entry)
    assert metric.needs == ("predict_proba", "decision_function")
    opposite = np.column_stack([np.arange(8), 8 - np.arange(8)]) / 8
    predictions = Predictions(TRUTH, PREDICTED, probabilities=opposite, decision=np.arange(8.0), classes=LABELS)
    assert compute_score(metric, predictions) == roc_auc_score(TRUTH, opposite[:, 1]) != 0


def test_a_function_of_numbers_is_computed_in_regression() -> None:
    target = Target(np.array([1.0, 2.0, 4.0]))
    entry = {"_target_": "sklearn.metrics.mean_pinball_loss", "name": "p90", "alpha": 0.9, "greater_is_better": False}
    predictions = Predictions(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    assert compute_score(choose(entry, Ridge(), target), predictions) == pytest.approx((0.1 + 0.9) / 2)


def test_weights_reach_a_function_that_takes_them_and_others_are_refused() -> None:
    weighted = Target(TWO.y, LABELS, "yes", has_weights=True)
    entry = {"_target_": "mine.weighted_error", "greater_is_better": False}
    weights = np.array([0, 0, 3.0, 0, 1, 0, 0, 0])
    assert value(entry, weighted, weights=weights) == 3 / 4
    with pytest.raises(UserError, match=r"mine.profit fails on .* unexpected keyword argument 'sample_weight'"):
        choose({"_target_": "mine.profit", "greater_is_better": True}, target=weighted)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "x"}, "has no _target_"),
        ({"_target_": "mine.profit"}, "does not say whether greater values are better"),
        ({"_target_": "mine.profit", "greater_is_better": True, "gian": 3}, "mine.profit fails on .* argument 'gian'"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "f1"}, "'f1', which is the name of another"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "cost"}, "is the name of another"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "a b"}, "must be letters, digits and"),
        ({"_target_": "mine.profit", "greater_is_better": True, "name": "x_std"}, "must not end with _std"),
        ({"_target_": "mine.f2", "greater_is_better": False}, "is a scorer, which was made with its own greater_is_b"),
        ({"_target_": "mine.f2", "beta": 3}, "is a scorer, which was made with its own beta; remove it"),
        ({"_target_": "mine.returns_array", "greater_is_better": True}, "fails on made-up predictions .*TypeError"),
        ({"_target_": "mine.divides", "greater_is_better": True}, "fails on made-up .* ZeroDivisionError: division by"),
    ],
)
def test_metrics_of_the_user_that_cannot_be_computed_are_refused(entry: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(entry)


def test_a_metric_whose_responses_the_learner_lacks_is_refused() -> None:
    with pytest.raises(UserError, match="names 'sharpness', which needs predict_proba, and Perceptron has none"):
        choose({"_target_": "mine.sharpness"}, Perceptron())


def test_two_metrics_of_one_name_are_refused() -> None:
    entries = [{"_target_": "mine.f2", "name": "f"}, {"_target_": "mine.loss", "name": "f"}]
    with pytest.raises(UserError, match="has two metrics called 'f'"):
        choose_metrics(entries, "classification", LogisticRegression(), TWO, find_function=FOUND.__getitem__)


# Costs


def cost(costs: Any, truth: str, predicted: str, labels: str = "abc", weights: Any = None) -> float:
    classes = np.array(list(labels))
    target = Target(np.array(list(truth)), classes)
    chosen = choose_metrics(["cost"], "classification", LogisticRegression(), target, costs)
    predictions = Predictions(np.array(list(truth)), np.array(list(predicted)), classes=classes, weights=weights)
    return compute_score(chosen["cost"], predictions)


THREE_COSTS = {"a": {"b": 1, "c": 2}, "b": {"a": 3, "c": 4}, "c": {"a": 5, "b": 6}}


def test_the_cost_is_the_mean_over_rows() -> None:
    assert cost(THREE_COSTS, "aabbcc", "abbcca") == pytest.approx((1 + 4 + 5) / 6)
    assert cost(THREE_COSTS, "aabbcc", "aabbcc") == 0
    weights = np.array([1, 1, 0, 1, 0, 1.0])
    assert cost(THREE_COSTS, "aabbcc", "abbcca", weights=weights) == pytest.approx((1 + 4 + 5) / 4)


def test_a_right_prediction_may_gain() -> None:
    gains = {"a": {"a": -2, "b": 1}, "b": {"a": 10}}
    assert cost(gains, "aab", "aba", "ab") == pytest.approx((-2 + 1 + 10) / 3)


def test_costs_add_their_metric_at_the_end() -> None:
    target = Target(np.array(list("ab")), np.array(list("ab")))
    costs = {"a": {"b": 1}, "b": {"a": 2}}
    chosen = choose_metrics(None, "classification", LogisticRegression(), target, costs)
    assert list(chosen) == [*DEFAULTS["classification"], "cost"]
    assert not chosen["cost"].greater_is_better
    named = choose_metrics(["cost", "f1"], "classification", LogisticRegression(), target, costs)
    assert list(named) == ["cost", "f1"]


@pytest.mark.parametrize("classes", [[False, True], ["False", "True"], ["false", "true"]])
def test_labels_are_those_of_yaml_however_the_dataset_spells_them(classes: list[Any]) -> None:
    labels = np.array(classes)
    target = Target(labels, labels)
    costs = {True: {False: 10}, "false": {"True": 1}}
    metric = choose_metrics(["cost"], "classification", LogisticRegression(), target, costs)["cost"]
    predictions = Predictions(labels, labels[::-1], classes=labels)
    assert compute_score(metric, predictions) == pytest.approx(11 / 2)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[0, 1], [5, 0]], r"must map each true class .*: \{ill: \{well: 1\}, well: \{ill: 1\}\}"),
        ({"ill": {"well": 1}}, "does not say what a row of well that is predicted as ill costs; write all"),
        ({"ill": {"well": 1}, "wel": {"ill": 5}}, r"names 'wel', which is not a class .* Did you mean 'well'\?"),
        ({"ill": {"wel": 1}, "well": {"ill": 5}}, r"evaluation.costs.ill names 'wel'"),
        ({"ill": {"well": "much"}, "well": {"ill": 5}}, "evaluation.costs.ill.well='much' must be a number"),
        ({"ill": {"well": math.inf}, "well": {"ill": 5}}, "evaluation.costs.ill.well=inf must be a number"),
    ],
)
def test_costs_that_are_not_those_of_the_classes_are_refused(costs: Any, message: str) -> None:
    labels = np.array(["ill", "well"])
    with pytest.raises(UserError, match=message):
        choose_metrics(None, "classification", LogisticRegression(), Target(labels, labels), costs)


def test_the_metric_without_costs_and_costs_of_numbers_are_refused() -> None:
    labels = np.array(["ill", "well"])
    with pytest.raises(UserError, match=r"needs evaluation.costs. .*=\{ill: \{well: 1\}, well: \{ill: 1\}\}"):
        choose_metrics(["cost"], "classification", LogisticRegression(), Target(labels, labels))
    with pytest.raises(UserError, match="the task is regression; remove it"):
        choose_metrics(None, "regression", Ridge(), Target(np.array([1.0, 2.0])), {"a": {"b": 1}})
