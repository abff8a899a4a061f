"""The threshold between two classes: the best one on rows that the model has not seen, or a given one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles import experiment
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB

from bakeoff.learners import Perceptron
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_split, fit_model
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION
from bakeoff.pipeline.stages.threshold import (
    MAX_CANDIDATES,
    BinaryScores,
    ChosenThreshold,
    GivenThreshold,
    TunedThreshold,
    list_candidates,
)
from bakeoff.pipeline.tracking.card import describe_run_lines

CANCER = load_bundled("breast_cancer")
SCORES = np.array([0.1, 0.2, 0.3, 0.35, 0.6, 0.9])
TRUTH = np.array([False, False, True, False, True, True])


def rows(formula: Any = accuracy_score, greater_is_better: bool = True) -> BinaryScores:
    return BinaryScores(SCORES, "predict_proba", lambda chosen: float(formula(TRUTH, chosen)), greater_is_better)


def test_candidates_divide_the_rows_in_every_way_that_there_is() -> None:
    candidates = list_candidates(SCORES, 0.5)
    divisions = {tuple(value <= SCORES) for value in candidates}
    assert len(divisions) == len(SCORES) + 1
    assert 0.5 in candidates


def test_of_many_scores_a_limited_number_of_candidates_is_tried_where_the_rows_lie() -> None:
    scores = np.random.default_rng(0).beta(1, 9, 5000)
    candidates = list_candidates(scores, 0.5)
    assert len(candidates) <= MAX_CANDIDATES + 3
    shares = np.diff([np.mean(scores < value) for value in candidates])
    assert shares.max() < 2 / MAX_CANDIDATES


def test_scores_that_only_rounding_tells_apart_are_equal() -> None:
    # Higher by one unit in the last place the farther a threshold is from that of the learner.
    def score(chosen: np.ndarray) -> float:
        return 0.1 + 0.2 if chosen.sum() == 0 else 0.3

    binary = BinaryScores(SCORES, "predict_proba", score, True)
    assert TunedThreshold().choose(binary).value == 0.5


def test_the_best_score_wins_and_of_equal_ones_the_nearest_to_the_learners_own() -> None:
    chosen = TunedThreshold().choose(rows())
    assert chosen.score == 5 / 6
    assert chosen.value == 0.5
    by_f1 = TunedThreshold().choose(rows(f1_score))
    assert by_f1.value == pytest.approx(0.25)
    assert by_f1.score == 6 / 7
    assert by_f1.default_score == pytest.approx(0.8)


def test_the_least_error_wins_where_less_is_better() -> None:
    def count_missed(truth: Any, chosen: Any) -> float:
        return float(np.sum(truth & ~chosen))

    chosen = TunedThreshold().choose(rows(count_missed, greater_is_better=False))
    assert chosen.score == 0
    assert chosen.value == pytest.approx(0.25)


def test_a_score_that_is_never_defined_is_refused() -> None:
    with pytest.raises(UserError, match="not defined for any threshold"):
        TunedThreshold().choose(rows(lambda truth, chosen: np.nan))


@pytest.mark.parametrize("metric", ["f1", "accuracy", "balanced_accuracy"])
def test_it_is_the_choice_of_scikit_learn_among_the_same_candidates(metric: str) -> None:
    data = replace(CANCER, X=CANCER.X.iloc[:, [1, 8]])
    threshold = TunedThreshold(metric)
    built = experiment(data, GaussianNB(), threshold=threshold, threshold_metric=CLASSIFICATION[metric])
    (split,) = built.make_splits().folds
    model = fit_model(built, split)
    own = GaussianNB().fit(data.X.iloc[split.train], data.y[split.train])
    X, y = data.X.iloc[split.validation], data.y[split.validation]
    candidates = list_candidates(own.predict_proba(X)[:, 1], 0.5)
    scoring = make_scorer(f1_score, pos_label=data.positive) if metric == "f1" else metric
    tuned = TunedThresholdClassifierCV(own, scoring=scoring, thresholds=candidates, cv="prefit", refit=False)
    tuned.fit(X, y)
    assert model.threshold is not None
    assert model.threshold.score == pytest.approx(tuned.best_score_)
    assert model.threshold.score >= model.threshold.default_score


def test_the_positive_class_is_predicted_from_the_threshold_on() -> None:
    X = CANCER.X.iloc[:, :4]
    model = LogisticRegression(max_iter=5000).fit(X, CANCER.y)
    for positive, column in ((CANCER.classes[1], 1), (CANCER.classes[0], 0)):
        predictor = ChosenThreshold(0.8, "predict_proba").apply(model, positive)
        np.testing.assert_array_equal(predictor.predict(X) == positive, model.predict_proba(X)[:, column] >= 0.8)
        np.testing.assert_array_equal(predictor.predict_proba(X), model.predict_proba(X))


def test_decision_values_are_divided_where_there_are_no_probabilities() -> None:
    metric = CLASSIFICATION["recall"]
    built = experiment(CANCER, Perceptron(max_iter=10), threshold=TunedThreshold("recall"), threshold_metric=metric)
    (split,) = built.make_splits().folds
    fold = evaluate_split(built, 0, split)
    chosen = fold.model.threshold
    assert chosen is not None
    assert chosen.method == "decision_function"
    values = fold.model.pipeline.decision_function(CANCER.X.iloc[split.test])
    np.testing.assert_array_equal(fold.predictions.predicted == CANCER.positive, values >= chosen.value)
    assert fold.scores["validation_recall"] == 1


def test_a_given_threshold_is_applied_to_calibrated_probabilities() -> None:
    built = experiment(CANCER, Perceptron(max_iter=10), calibration=Calibration("platt"), threshold=GivenThreshold(0.9))
    (split,) = built.make_splits().folds
    fold = evaluate_split(built, 0, split)
    assert fold.predictions.probabilities is not None
    is_positive = fold.predictions.probabilities[:, 1] >= 0.9
    np.testing.assert_array_equal(fold.predictions.predicted == CANCER.classes[1], is_positive)
    assert CANCER.classes[1] == CANCER.positive
    (sentence,) = describe_run_lines(built, [fold], fold.model)
    assert sentence == "threshold: malignant from the probability 0.9 on"


@pytest.mark.parametrize("folds", [0, 4])
def test_the_choice_sees_the_validation_part_or_the_training_rows_and_never_a_test_row(folds: int) -> None:
    built = experiment(CANCER, GaussianNB(), threshold=TunedThreshold(folds=folds))
    (split,) = built.make_splits().folds
    seen = evaluate_split(built, 0, split).seen["threshold"].to_rows()
    assert seen.tolist() == sorted(split.train if folds else split.validation)
