"""What is no prediction is refused, wherever predictions are scored, counted, chosen by or served."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import wayward
from doubles import experiment
from wayward import WaywardClassifier, WaywardDecision, WaywardRegressor

from bakeoff.pipeline.errors import InvalidPredictions
from bakeoff.pipeline.experiment import evaluate_split
from bakeoff.pipeline.model.pyfunc import predict_table
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION, compute_scores
from bakeoff.pipeline.stages.scoring.predictions import Predictions, find_codes, locate_labels
from bakeoff.pipeline.stages.threshold import TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning

X = pd.DataFrame({"x": np.arange(6.0)})
Y = np.array(list("ababab"))
FOREIGN = ["foreign", "one foreign", "not rounded", "missing", "NaN"]
SHAPES = ["lists", "too few", "too many", "number"]


def numbers(n: int = 40) -> Dataset:
    rows = pd.DataFrame({"row": np.arange(float(n))})
    return Dataset("numbers", rows, np.sin(np.arange(float(n))), "regression", "y")


def refusal(learner: Any, dataset: Dataset | None = None, **parts: Any) -> str:
    """Return the message with which the first fold of an experiment is refused."""
    tried = experiment(dataset, learner, **parts)
    split = tried.make_splits().folds[0]
    with pytest.raises(InvalidPredictions) as refused:
        evaluate_split(tried, 0, split)
    return str(refused.value)


@pytest.mark.parametrize("labels", FOREIGN)
@pytest.mark.parametrize("metrics", [None, ["accuracy"], ["recall"], ["kappa"]])
def test_a_label_that_is_no_class_is_refused_by_every_metric(labels: str, metrics: list[str] | None) -> None:
    message = refusal(WaywardClassifier(labels=labels), metrics=metrics)
    assert message.startswith("fold 0: WaywardClassifier predicts ")
    label = {"not rounded": "0.4", "missing": "None", "NaN": "nan"}.get(labels, "'maybe'")
    assert f"predicts {label}, which is not one of the classes 'a', 'b' (" in message
    assert message.endswith("train rows); its method predict must return labels that fit was given.")


@pytest.mark.parametrize("labels", SHAPES)
def test_predictions_of_another_shape_are_refused(labels: str) -> None:
    assert "fold 0: WaywardClassifier.predict returns an array of shape (" in refusal(WaywardClassifier(labels=labels))


@pytest.mark.parametrize("name", sorted({*wayward.PROBABILITIES} - {"as fitted"}))
def test_what_are_no_probabilities_is_refused(name: str) -> None:
    message = refusal(WaywardClassifier(probabilities=name))
    assert message.startswith("fold 0: WaywardClassifier.predict_proba returns ")
    shown = {"percent": "such as (50, 50), whose sum is 100 (", "NaN": "returns nan (1 of ", "one column": ", 1) for "}
    assert shown.get(name, "") in message


def test_probabilities_of_float32_may_miss_the_sum_by_rounding() -> None:
    table = predict_table(_Single().fit(X, Y), X)
    assert table["probability_a"].dtype == np.float32


class _Single(WaywardClassifier):
    def predict_proba(self, X: Any) -> Any:
        return (super().predict_proba(X) * (1 + 1e-5)).astype(np.float32)


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ("reversed", "b, a, which must be sorted"),
        ("absent", "no classes_"),
        ("foreign", "one of the classes_ of WaywardClassifier is 'zebra', which is not one of the classes 'a', 'b'"),
    ],
)
def test_classes_that_say_nothing_of_the_columns_are_refused(classes: str, said: str) -> None:
    assert said in refusal(WaywardClassifier(classes=classes))


@pytest.mark.parametrize("name", ["NaN", "infinite", "text", "two columns", "too few"])
def test_what_are_no_decision_values_is_refused(name: str) -> None:
    message = refusal(WaywardDecision(decision=name))
    assert message.startswith("fold 0: WaywardDecision.decision_function returns ")


@pytest.mark.parametrize("name", ["NaN", "infinite", "text", "complex", "two columns", "too few"])
@pytest.mark.parametrize("metrics", [None, ["median_error"], ["neg_mean_gamma_deviance"]])
def test_what_are_no_numbers_is_refused_in_a_regression(name: str, metrics: list[str] | None) -> None:
    data = numbers()
    positive = Dataset("numbers", data.X, data.y + 2, "regression", "y")
    assert refusal(WaywardRegressor(name), positive, metrics=metrics).startswith("fold 0: WaywardRegressor")


def test_the_refusal_of_another_process_keeps_its_message() -> None:
    error = InvalidPredictions("fold 1: the message")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (InvalidPredictions, "fold 1: the message")


@pytest.mark.parametrize("calibrated", [True, False])
def test_calibration_and_threshold_learn_nothing_from_what_are_no_probabilities(calibrated: bool) -> None:
    stage: Any = (
        {"calibration": Calibration("platt", folds=2)} if calibrated else {"threshold": TunedThreshold(folds=2)}
    )
    message = refusal(WaywardClassifier(probabilities="percent"), **stage)
    assert "whose sum is 100" in message
    assert "inner validation rows" in message


# Tuning


@pytest.mark.parametrize("strict", [True, False])
def test_a_candidate_whose_labels_are_no_classes_is_never_chosen_and_a_warning_says_so(strict: bool) -> None:
    tuning = GridTuning({"labels": ["foreign", "as fitted"]}, folds=2, strict=strict)
    tried = experiment(None, WaywardClassifier(), tuning=tuning)
    result = evaluate_split(tried, 0, tried.make_splits().folds[0])
    assert result.model.pipeline[-1].labels == "as fitted"
    assert result.model.candidates is not None
    assert result.model.candidates["validation_score"].isna().tolist() == [True, False]
    (warning,) = (text for text in result.model.warnings if "left out" in text)
    assert "the candidate labels=foreign of tuning: WaywardClassifier predicts 'maybe'" in warning


# Labels


@pytest.mark.parametrize(
    ("classes", "labels", "codes"),
    [
        (["no", "yes"], ["yes", "maybe", "zz", "", "no"], [1, -1, -1, -1, 0]),
        ([0, 1], [1, 0.4, 2, -1, 0, np.nan], [1, -1, -1, -1, 0, -1]),
        ([0, 1], [True, False], [1, 0]),
        ([False, True], [1.0, 0.0, 0.5], [1, 0, -1]),
        ([0, 1], ["0", "1"], [-1, -1]),
        (["0", "1"], [0, 1], [-1, -1]),
        (["a", "b"], np.array(["b", None, np.nan, 3, "a"], dtype=object), [1, -1, -1, -1, 0]),
        (np.array(["a", "b"], dtype=object), ["b", "a", "c"], [1, 0, -1]),
        (np.array(["a", "b"], dtype=object), np.array([["b"], {}, "a"], dtype=object), [-1, -1, 0]),
    ],
)
def test_the_code_of_a_label_is_that_of_the_equal_class_or_none(classes: Any, labels: Any, codes: list[int]) -> None:
    assert find_codes(np.asarray(labels), np.asarray(classes)).tolist() == codes


def test_scores_of_stored_predictions_refuse_a_foreign_label() -> None:
    truth, predicted, classes = np.array(list("nyn")), np.array(list("nmn")), np.array(["n", "y"])
    with pytest.raises(InvalidPredictions, match="'m', which is not one of the classes 'n', 'y'"):
        compute_scores(CLASSIFICATION, Predictions(truth, predicted, classes=classes))
    with pytest.raises(InvalidPredictions, match="'9' and 2 more"):
        locate_labels(np.array([99]), np.array([str(digit) for digit in range(12)]))


# Models in use


@pytest.mark.parametrize(
    "learner",
    [
        WaywardClassifier(labels="one foreign"),
        WaywardClassifier(probabilities="percent"),
        WaywardClassifier(classes="reversed"),
        WaywardRegressor("NaN"),
    ],
)
def test_a_model_in_use_is_refused_as_well(learner: Any) -> None:
    y = np.arange(6.0) if isinstance(learner, WaywardRegressor) else Y
    with pytest.raises(InvalidPredictions, match=type(learner).__name__):
        predict_table(learner.fit(X, y), X)
