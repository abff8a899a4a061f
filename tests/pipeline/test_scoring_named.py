"""scikit-learn's scorers by name: the numbers of the same scorer on the model itself, and metrics that are tried."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.neighbors import KNeighborsClassifier

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring import (
    CLASSIFICATION,
    REGRESSION,
    Predictions,
    Target,
    choose_metrics,
    compute_score,
    is_bounded,
    is_greater_better,
    list_scorer_names,
    predict_rows,
)

OF_NUMBERS = {
    "d2_absolute_error_score", "explained_variance", "neg_max_error", "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error", "neg_mean_gamma_deviance", "neg_mean_poisson_deviance",
    "neg_mean_squared_error", "neg_mean_squared_log_error", "neg_median_absolute_error", "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error", "r2",
}  # fmt: skip
"""The scorers under "Regression" in scikit-learn's user guide."""
OF_TWO_CLASSES = {
    "average_precision", "f1", "jaccard", "neg_negative_likelihood_ratio", "negative_likelihood_ratio",
    "positive_likelihood_ratio", "precision", "recall", "roc_auc", "top_k_accuracy",
}  # fmt: skip
"""Scorers that scikit-learn does not compute for three classes, or, the last, not for two."""
WITHOUT_WEIGHTS = {
    "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score", "fowlkes_mallows_score",
    "homogeneity_score", "mutual_info_score", "neg_negative_likelihood_ratio",
    "negative_likelihood_ratio", "normalized_mutual_info_score", "positive_likelihood_ratio", "rand_score",
    "v_measure_score",
}  # fmt: skip
"""Scorers whose functions have no ``sample_weight``."""
OTHERS_OF_CLASSES = [name for name in list_scorer_names("classification") if name not in CLASSIFICATION]
OTHERS_OF_NUMBERS = [name for name in list_scorer_names("regression") if name not in REGRESSION]


def of_classes(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of classes 0, 1, … that no model separates."""
    X, y = make_classification(200, 6, n_informative=4, n_classes=n_classes, flip_y=0.3, random_state=0)
    return X, y


def of_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Return rows with positive targets, whose predictions are positive as well."""
    X, y = make_regression(200, 6, noise=50, random_state=0)
    return X, y - y.min() + 1000


def score(name: str, model: Any, X: np.ndarray, y: np.ndarray, **parts: Any) -> float:
    """Return a score of the second half of some rows by its name."""
    is_classifier = hasattr(model, "classes_")
    classes = parts.pop("classes", np.unique(y) if is_classifier else None)
    task = "classification" if is_classifier else "regression"
    metric = choose_metrics([name], task, model)[name]
    positive = parts.pop("positive", None)
    return compute_score(metric, predict_rows(model, X[100:], y[100:], classes, positive, **parts))


def score_by_scikit_learn(name: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the value of the scorer of a name, or minus that of the negative scorer of a natural name."""
    if name in get_scorer_names():
        return float(get_scorer(name)(model, X[100:], y[100:]))
    return -float(get_scorer(f"neg_{name}")(model, X[100:], y[100:]))


TWO = sorted(set(OTHERS_OF_CLASSES) - {"top_k_accuracy"})
THREE = sorted(set(OTHERS_OF_CLASSES) - OF_TWO_CLASSES | {"top_k_accuracy"})


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*((name, 2) for name in TWO), *((name, 3) for name in THREE), *((name, 0) for name in OTHERS_OF_NUMBERS)],
)
def test_a_scorer_gives_the_number_of_the_scorer_on_the_model(name: str, n_classes: int) -> None:
    X, y = of_classes(n_classes) if n_classes else of_numbers()
    model = (LogisticRegression() if n_classes else Ridge()).fit(X[:100], y[:100])
    assert score(name, model, X, y) == pytest.approx(score_by_scikit_learn(name, model, X, y), rel=1e-14)


@pytest.mark.parametrize("name", ["jaccard", "f1_macro", "positive_likelihood_ratio", "neg_brier_score"])
def test_the_positive_class_is_the_one_of_the_dataset_and_not_the_last(name: str) -> None:
    X, y = of_classes(2)
    swapped = 1 - y
    reference = LogisticRegression().fit(X[:100], swapped[:100])  # 1 stands for "a"
    labels = np.array(["a", "b"])[y]
    model = LogisticRegression().fit(X[:100], labels[:100])
    theirs = get_scorer(name)(reference, X[100:], swapped[100:])
    assert score(name, model, X, labels, positive="a") == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("name", [*TWO, *OTHERS_OF_NUMBERS])
def test_a_row_of_weight_two_scores_as_two_rows_where_scikit_learn_takes_weights(name: str) -> None:
    is_of_classes = name in OTHERS_OF_CLASSES
    X, y = of_classes(2) if is_of_classes else of_numbers()
    learner = KNeighborsClassifier(7) if is_of_classes else Ridge()
    model = learner.fit(X[:100], y[:100])
    weights = np.random.default_rng(1).integers(0, 3, size=100)
    task = "classification" if is_of_classes else "regression"
    target = Target(y, np.unique(y) if is_of_classes else None, has_weights=True)
    if name in WITHOUT_WEIGHTS:
        with pytest.raises(UserError, match=r"unexpected keyword argument 'sample_weight'"):
            choose_metrics([name], task, model, target)
        return
    metric = choose_metrics([name], task, model, target)[name]
    rows = 100 + np.repeat(np.arange(100), weights)
    classes = target.classes
    weighted = predict_rows(model, X[100:], y[100:], classes, None, weights=weights.astype(float))
    repeated = predict_rows(model, X[rows], y[rows], classes, None)
    # The median of weighted rows lies at a row, and that of repeated rows may lie between two.
    tolerance = 1e-2 if "median" in name or name == "d2_absolute_error_score" else 1e-9
    assert compute_score(metric, weighted) == pytest.approx(compute_score(metric, repeated), rel=tolerance)


def test_scorers_are_listed_under_the_task_that_scikit_learns_guide_gives_them() -> None:
    natural = {name.removeprefix("neg_") for name in OF_NUMBERS if name.startswith("neg_")}
    assert set(list_scorer_names("regression")) == OF_NUMBERS | natural
    others = {name for name in get_scorer_names() if name not in OF_NUMBERS and not name.endswith("_samples")}
    assert others <= set(list_scorer_names("classification"))
    assert not set(list_scorer_names("classification")) & set(list_scorer_names("regression"))


def test_the_negative_of_an_error_is_better_if_greater_and_the_error_if_lower() -> None:
    for name in get_scorer_names():
        if name.startswith("neg_"):
            assert is_greater_better(name)
            assert not is_greater_better(name.removeprefix("neg_"))
    with pytest.raises(KeyError):
        is_greater_better("neg_accuracy")


def test_differences_of_scores_on_a_fixed_scale_are_absolute() -> None:
    for name in ("accuracy", "f1_macro", "r2", "brier_score", "neg_brier_score", "mcc"):
        assert is_bounded(name)
    for name in ("rmse", "log_loss", "neg_log_loss", "max_error", "mutual_info_score", "cost"):
        assert not is_bounded(name)


# Undefined scores


def test_what_scikit_learn_calls_undefined_is_nan() -> None:
    predictions = Predictions(np.array([0, 0, 1]), np.array([0, 0, 0]), classes=np.arange(2))
    metric = choose_metrics(["precision_macro"], "classification", DummyClassifier())["precision_macro"]
    assert math.isnan(compute_score(metric, predictions))


def test_an_error_of_a_scorer_on_some_rows_is_an_undefined_score_and_a_warning() -> None:
    metric = choose_metrics(["mean_squared_log_error"], "regression", Ridge())["mean_squared_log_error"]
    predictions = Predictions(np.array([1.0, 2.0]), np.array([-3.0, 2.0]))
    with pytest.warns(UserWarning, match="mean_squared_log_error is not defined on some rows: Root|Mean Squared"):
        assert math.isnan(compute_score(metric, predictions))


def test_a_class_that_a_fold_lacks_does_not_make_probabilities_undefined() -> None:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    predictions = Predictions(np.array([0, 1]), np.array([0, 1]), probabilities, classes=np.arange(3))
    metric = choose_metrics(["neg_log_loss"], "classification", DummyClassifier())["neg_log_loss"]
    assert compute_score(metric, predictions) == pytest.approx((math.log(0.7) + math.log(0.8)) / 2)


def test_a_scorer_does_not_depend_on_whether_another_metric_needs_decision_values() -> None:
    X, y = of_classes(2)
    model = LogisticRegression().fit(X[:100], y[:100])
    metric = choose_metrics(["roc_auc_ovr"], "classification", model)["roc_auc_ovr"]
    both = predict_rows(model, X, y, np.arange(2), 1, with_decision=True)
    assert both.decision is not None
    assert compute_score(metric, both) == compute_score(metric, replace(both, decision=None))


# Metrics that are rejected before a fit


@pytest.mark.parametrize(
    ("name", "learner", "y", "message"),
    [
        ("f1_macro", Ridge(), [1.0, 2.0], "'f1_macro', which is not a metric of regression"),
        ("f1_samples", KNeighborsClassifier(), list("ab"), "'f1_samples', which is not a metric of classification"),
        ("jaccard_macr", KNeighborsClassifier(), list("ab"), "Did you mean 'jaccard_macro'?"),
        ("jaccard", KNeighborsClassifier(), list("abc"), "3 classes and KNeighborsClassifier: Target is multi"),
        ("neg_brier_score", Perceptron(), list("ab"), "needs predict_proba, and Perceptron has none"),
        ("roc_auc", Perceptron(), list("abc"), "with more than two classes it needs predict_proba"),
        ("top_k_accuracy", KNeighborsClassifier(), list("ab"), "not defined for 2 classes"),
        ("mape", Ridge(), [0.0, 1.0, 2.0], "not defined for targets from 0 to 2 and Ridge: .* none of which may be 0"),
        ("mean_squared_log_error", Ridge(), [-2.0, 1.0, 2.0], "not defined for targets from -2 to 2"),
        ("r2", DummyRegressor(), [5.0, 5.0], "not defined for targets from 5 to 5 and DummyRegressor"),
    ],
)
def test_a_metric_that_is_not_defined_for_the_dataset_is_refused(
    name: str, learner: Any, y: list[Any], message: str
) -> None:
    values = np.array(y)
    is_text = values.dtype.kind == "U"
    target = Target(values, np.unique(values) if is_text else None)
    with pytest.raises(UserError, match=message):
        choose_metrics([name], "classification" if is_text else "regression", learner, target)
