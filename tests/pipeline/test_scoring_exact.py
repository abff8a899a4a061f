"""Scores that are computed without scikit-learn's functions are equal to theirs, to the last bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from bakeoff.pipeline.stages.scoring import CLASSIFICATION, Predictions, compute_score, count_confusions

N_DRAWS = 60
OWN_SCORES = ("precision", "recall", "f1", "balanced_accuracy", "mcc", "kappa", "log_loss", "roc_auc")
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


def score_by_scikit_learn(name: str, given: Predictions) -> float:
    """Return the score by scikit-learn's function, of the rows whose weight is not 0."""
    counts = np.ones(len(given.truth), dtype=bool) if given.weights is None else given.weights > 0
    if not counts.any():
        return math.nan
    truth = given.truth[counts]
    predicted = given.predicted[counts]
    weights = None if given.weights is None else given.weights[counts]
    values: dict[str, Callable[..., Any]] = {
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "mcc": metrics.matthews_corrcoef,
        "kappa": metrics.cohen_kappa_score,
    }
    if name in {"mcc", "kappa"} and len(set(truth)) == 1:
        return math.nan
    if name in values:
        labels = {"labels": given.classes} if name == "kappa" else {}
        return float(values[name](truth, predicted, sample_weight=weights, **labels))
    if name in {"precision", "recall", "f1"}:
        by_class = metrics.precision_recall_fscore_support(
            truth, predicted, labels=given.classes, sample_weight=weights, zero_division=np.nan
        )
        return float(np.mean(by_class[["precision", "recall", "f1"].index(name)]))
    assert given.classes is not None
    probabilities = None if given.probabilities is None else given.probabilities[counts]
    if name == "log_loss":
        return float(metrics.log_loss(truth, probabilities, labels=given.classes, sample_weight=weights))
    if len(set(truth)) < len(given.classes):
        return math.nan
    if len(given.classes) > 2:
        is_class = truth[:, np.newaxis] == given.classes
        return float(metrics.roc_auc_score(is_class, probabilities, sample_weight=weights))
    if given.decision is not None:
        ranking = given.decision[counts]
    else:
        assert probabilities is not None
        ranking = probabilities[:, 1]
    return float(metrics.roc_auc_score(truth == given.classes[1], ranking, sample_weight=weights))


@pytest.mark.parametrize("name", OWN_SCORES)
def test_scores_are_scikit_learns_to_the_last_bit(name: str) -> None:
    n_defined = 0
    for given in draw_predictions():
        if name == "log_loss" and given.probabilities is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = score_by_scikit_learn(name, given)
        score = compute_score(CLASSIFICATION[name], given)
        assert score == expected or (math.isnan(score) and math.isnan(expected)), (name, given)
        n_defined += not math.isnan(score)
    assert n_defined > N_DRAWS / 4


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("precision", metrics.precision_score), ("recall", metrics.recall_score), ("f1", metrics.f1_score)],
)
def test_scores_of_a_positive_class_are_scikit_learns(name: str, oracle: Callable[..., float]) -> None:
    for given in draw_predictions():
        assert given.classes is not None
        positive = str(given.classes[-1])
        counts = slice(None) if given.weights is None else given.weights > 0
        if positive not in given.predicted[counts] or positive not in given.truth[counts]:
            continue
        score = compute_score(CLASSIFICATION[name], replace(given, positive=positive))
        expected = oracle(given.truth == positive, given.predicted == positive, sample_weight=given.weights)
        assert score == pytest.approx(expected, rel=1e-12)


def test_confusions_are_scikit_learns() -> None:
    for given in draw_predictions():
        assert given.classes is not None
        counts = count_confusions(given.truth, given.predicted, given.classes)
        expected = metrics.confusion_matrix(given.truth, given.predicted, labels=given.classes)
        assert counts.dtype == expected.dtype
        assert np.array_equal(counts, expected)
