"""Whole commands with weights, balance, transformed targets, calibration and thresholds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff
from sklearn.datasets import load_breast_cancer, load_diabetes

SVM = ("dataset=breast_cancer", "learner=svm", "preprocessing=standardize")


def write_table(file: Path, frame: pd.DataFrame) -> None:
    frame.to_csv(file, index=False)


def test_a_calibrated_learner_with_a_threshold_is_stored_predicts_and_is_replayed(bakeoff: Bakeoff) -> None:
    answer = bakeoff(*SVM, "calibration=platt", "threshold=tuned", "threshold.metric=f1", "figures=[calibration]")
    assert answer.status == 0, answer.err
    assert "threshold: malignant from the probability" in answer.out
    assert "chosen by f1 on validation rows" in answer.out
    (run,) = bakeoff.runs()
    params = run.data.params
    assert (params["calibration"], params["calibration.folds"]) == ("platt", "0")
    assert (params["threshold"], params["threshold.metric"]) == ("tuned", "f1")
    assert "balance" not in params
    assert 0 < run.data.metrics["threshold/value"] < 1
    assert np.isfinite(run.data.metrics["test_log_loss"])
    X = load_breast_cancer(as_frame=True).data
    write_table(bakeoff.folder / "new.csv", X)
    assert bakeoff("predict", "latest", "new.csv", "output=answers.csv").status == 0
    answers = pd.read_csv(bakeoff.folder / "answers.csv")
    is_positive = answers["probability_malignant"] >= run.data.metrics["threshold/value"]
    assert (answers["prediction"] == np.where(is_positive, "malignant", "benign")).all()
    replayed = bakeoff("replay", "latest")
    assert "identical" in replayed.out


def test_a_cost_matrix_moves_the_threshold_towards_the_cheaper_mistake(bakeoff: Bakeoff) -> None:
    values = {}
    for missed, false_alarm in ((20, 1), (1, 20)):
        costs = f"evaluation.costs={{malignant: {{benign: {missed}}}, benign: {{malignant: {false_alarm}}}}}"
        words = ("learner=logistic_regression", "preprocessing=standardize", "threshold=tuned", "threshold.metric=cost")
        assert bakeoff(*words, costs).status == 0
        newest = bakeoff.runs()[0]
        values[missed] = newest.data.metrics["threshold/value"]
    assert values[20] < 0.5 < values[1]


def test_with_pruning_thresholds_use_inner_folds_and_the_audit_passes(bakeoff: Bakeoff) -> None:
    answer = bakeoff("dataset=breast_cancer", "threshold=tuned", "balance=oversample")
    assert answer.status == 0, answer.err
    (run,) = bakeoff.runs()
    assert run.data.params["pruning"] == "best_first"
    assert run.data.params["threshold.folds"] == "5"
    assert run.data.tags["audit"] == "passed"
    assert run.data.metrics["fits"] == 6
    assert run.data.params["balance"] == "oversample"


def test_a_transformed_target_is_stored_and_predicts_in_its_own_units(bakeoff: Bakeoff) -> None:
    answer = bakeoff("dataset=diabetes", "learner=ridge", "target=log", "evaluation=kfold", "figures=[residuals]")
    assert answer.status == 0, answer.err
    bunch = load_diabetes(as_frame=True)
    write_table(bakeoff.folder / "new.csv", bunch.data)
    assert bakeoff("predict", "latest", "new.csv", "output=answers.csv").status == 0
    answers = pd.read_csv(bakeoff.folder / "answers.csv")["prediction"]
    assert 100 < answers.mean() < bunch.target.mean()
    assert "identical" in bakeoff("replay", "latest").out


@pytest.mark.extra("optuna")
def test_a_study_chooses_by_the_validation_rows_that_the_dataset_names(bakeoff: Bakeoff) -> None:
    frame = load_breast_cancer(as_frame=True).frame
    frame["part"] = np.random.default_rng(0).choice(["train", "validation", "test"], len(frame))
    write_table(bakeoff.folder / "parts.csv", frame)
    words = ("hydra/sweeper=optuna", "dataset=file", "dataset.path=parts.csv", "dataset.target=target")
    further = ("dataset.split=part", "evaluation=fixed", "learner=knn", "learner.n_neighbors=range(1,4)")
    answer = bakeoff("-m", *words, *further, "calibration=platt", "hydra.sweeper.n_trials=1")
    assert answer.status == 2
    assert "calibration with calibration.folds=0 would use the same validation rows" in answer.err
    answer = bakeoff("-m", *words, *further, "hydra.sweeper.n_trials=1")
    assert (answer.status, len(bakeoff.runs())) == (0, 1), answer.err


@pytest.mark.extra("optuna")
def test_a_study_does_not_choose_by_rows_that_a_threshold_uses(bakeoff: Bakeoff) -> None:
    words = ("hydra/sweeper=optuna", "dataset=breast_cancer", "learner=knn", "learner.n_neighbors=int(interval(1,5))")
    answer = bakeoff("-m", *words, "threshold=tuned", "hydra.sweeper.n_trials=2")
    assert answer.status == 2
    assert "threshold with threshold.folds=0 would use the same validation rows" in answer.err
