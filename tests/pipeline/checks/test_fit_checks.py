"""What changes a fit or its predictions is refused, before the first fit, where it cannot work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles import check_and_split, experiment, numbered
from imblearn.over_sampling import SMOTE
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from bakeoff.learners import SVC
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.balance import ClassWeights, Resampling
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.scoring.metrics import CLASSIFICATION
from bakeoff.pipeline.stages.splitting import Holdout, KFold, TimeSeries
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.threshold import GivenThreshold, TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning

WEIGHTED = replace(numbered(), weights=np.ones(40))
LOG = TransformedTarget(make_function("log"))
DIABETES = load_bundled("diabetes")
WEIGHTED_NUMBERS = replace(DIABETES, weights=np.ones(442))
PLATT = Calibration("platt")
BAYES = GaussianNB()
REFUSED: list[tuple[str, dict[str, Any]]] = [
    (
        "GaussianProcessRegressor does not accept weights; .*learner=decision_tree_regressor",
        {"dataset": WEIGHTED_NUMBERS, "learner": GaussianProcessRegressor()},
    ),
    (
        "balance=resample creates new rows, which have no weights",
        {"dataset": WEIGHTED, "learner": BAYES, "balance": Resampling(SMOTE())},
    ),
    (
        "calibration needs probabilities, but dataset=diabetes is for regression",
        {"dataset": DIABETES, "learner": Ridge(), "calibration": PLATT},
    ),
    (
        "threshold=fixed separates two classes, but dataset=diabetes is for regression",
        {"dataset": DIABETES, "learner": Ridge(), "threshold": GivenThreshold(0.5)},
    ),
    (
        r"threshold\.folds=0 needs a validation part",
        {"learner": BAYES, "threshold": TunedThreshold(), "splitter": KFold()},
    ),
    (
        r"calibration\.folds=0 and tuning would use the same validation rows",
        {"learner": BAYES, "calibration": PLATT, "tuning": GridTuning({"var_smoothing": [1e-9, 1e-8]})},
    ),
    (
        r"calibration\.folds=3 and threshold\.folds=5 differ",
        {"learner": BAYES, "calibration": Calibration("platt", 3), "threshold": TunedThreshold(folds=5)},
    ),
    (r"n_splits=30 greater than .* n_samples=24", {"learner": BAYES, "calibration": Calibration("platt", 30)}),
]


@pytest.mark.parametrize(("message", "parts"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_cannot_work_is_refused_with_its_cure(message: str, parts: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=message):
        check_and_split(experiment(**parts))


def test_tuning_by_probabilities_that_come_later_is_refused() -> None:
    built = experiment(learner=SVC(), calibration=Calibration("platt", 3), tuning=GridTuning({"C": [1, 2]}))
    with pytest.raises(UserError, match=r"tuning selects by log_loss, .* before calibration, but SVC has no predict"):
        check_and_split(replace(built, metrics={"log_loss": CLASSIFICATION["log_loss"]}))


def test_rows_to_learn_on_that_lack_a_class_are_refused() -> None:
    data = numbered()
    (split,) = experiment(data, splitter=Holdout(stratify=False)).make_splits().folds
    y = np.full(40, "b")
    y[split.train[:3]] = "a"
    y[split.test[:1]] = "a"
    rare = replace(data, y=y)
    learnt_on_validation = experiment(rare, BAYES, calibration=PLATT, splitter=Holdout(stratify=False))
    with pytest.raises(UserError, match=r"validation part of fold 0 has no rows of class 'a'; use calibration.folds=5"):
        check_and_split(learnt_on_validation)
    check_and_split(replace(learnt_on_validation, calibration=Calibration("platt", 3)))


def test_a_class_of_one_training_row_cannot_be_learnt_on_inner_folds() -> None:
    data = numbered()
    (split,) = experiment(data, splitter=Holdout(stratify=False)).make_splits().folds
    y = np.full(40, "b")
    y[[split.train[0], split.test[0]]] = "a"
    threshold = TunedThreshold(folds=4)
    built = experiment(replace(data, y=y), BAYES, threshold=threshold, splitter=Holdout(stratify=False))
    with pytest.raises(UserError, match=r"an inner fold of the training rows of fold 0 has no rows of class 'a'"):
        check_and_split(built)


def test_what_works_is_not_refused() -> None:
    check_and_split(experiment(WEIGHTED, GaussianNB(), balance=ClassWeights(), calibration=Calibration("isotonic")))
    check_and_split(experiment(learner=SVC(), calibration=Calibration("platt", 3), threshold=TunedThreshold(folds=3)))
    check_and_split(experiment(load_bundled("diabetes"), Ridge(), target=LOG))
    in_time = TimeSeries(folds=3)
    check_and_split(experiment(learner=GaussianNB(), calibration=Calibration("platt", 2), splitter=in_time))
