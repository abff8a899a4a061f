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
from sklearn.neighbors import KNeighborsClassifier

from bakeoff.learners import SVC
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.balance import ClassWeights, Resampling
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.scoring import CLASSIFICATION
from bakeoff.pipeline.stages.splitting import Holdout, KFold, TimeSeries
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.threshold import GivenThreshold, TunedThreshold
from bakeoff.pipeline.stages.tuning import GridTuning

WEIGHTED = replace(numbered(), weights=np.ones(40))
LOG = TransformedTarget(make_function("log"))
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "weights in a regression": (
        {"dataset": replace(load_bundled("diabetes"), weights=np.ones(442)), "learner": GaussianProcessRegressor()},
        "GaussianProcessRegressor does not accept weights; .*learner=decision_tree_regressor",
    ),
    "new rows have no weights": (
        {"dataset": WEIGHTED, "learner": GaussianNB(), "balance": Resampling(SMOTE())},
        "balance=resample creates new rows, which have no weights",
    ),
    "probabilities of a regression": (
        {"dataset": load_bundled("diabetes"), "learner": Ridge(), "calibration": Calibration("platt")},
        "calibration is of probabilities, but dataset=diabetes is regression",
    ),
    "a threshold without a validation part": (
        {"learner": GaussianNB(), "threshold": TunedThreshold(), "splitter": KFold()},
        r"threshold\.folds=0 needs a validation part",
    ),
    "a validation part that tuning uses": (
        {
            "learner": KNeighborsClassifier(),
            "calibration": Calibration("platt"),
            "tuning": GridTuning({"n_neighbors": [1, 3]}),
        },
        r"calibration\.folds=0 and tuning would use the same validation rows",
    ),
    "different rows for both": (
        {"learner": GaussianNB(), "calibration": Calibration("platt", 3), "threshold": TunedThreshold(folds=5)},
        r"calibration\.folds=3 and threshold\.folds=5 differ",
    ),
    "more folds than rows": (
        {"learner": GaussianNB(), "calibration": Calibration("platt", 30)},
        r"n_splits=30 greater than .* n_samples=24",
    ),
    "a threshold of a regression": (
        {"dataset": load_bundled("diabetes"), "learner": Ridge(), "threshold": GivenThreshold(0.5)},
        "threshold=fixed separates two classes, but dataset=diabetes is regression",
    ),
    "tuning by probabilities that come later": (
        {
            "learner": SVC(),
            "calibration": Calibration("platt", 3),
            "tuning": GridTuning({"C": [1, 2]}),
            "headline": "log_loss",
        },
        r"tuning selects by log_loss, .* before calibration, but SVC has no predict_proba",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_with_its_cure(case: str) -> None:
    parts, message = REFUSED[case]
    given = dict(parts)
    headline = given.pop("headline", None)
    built = experiment(given.pop("dataset", None), given.pop("learner"), **given)
    if headline is not None:
        built = replace(built, metrics={headline: CLASSIFICATION[headline], **built.metrics})
    with pytest.raises(UserError, match=message):
        check_and_split(built)


def test_rows_to_learn_on_that_lack_a_class_are_refused() -> None:
    data = numbered()
    y = data.y.copy()
    y[:] = "b"
    (split,) = experiment(data, splitter=Holdout(stratify=False)).make_splits().folds
    y[split.train[:3]] = "a"
    y[split.test[:1]] = "a"
    rare = replace(data, y=y)
    learnt_on_validation = experiment(
        rare, GaussianNB(), calibration=Calibration("platt"), splitter=Holdout(stratify=False)
    )
    with pytest.raises(
        UserError, match=r"the validation part of fold 0 has no rows of class 'a'; use calibration.folds=5"
    ):
        check_and_split(learnt_on_validation)
    check_and_split(replace(learnt_on_validation, calibration=Calibration("platt", 3)))


def test_a_class_of_one_training_row_cannot_be_learnt_on_inner_folds() -> None:
    data = numbered()
    (split,) = experiment(data, splitter=Holdout(stratify=False)).make_splits().folds
    y = np.full(40, "b")
    y[[split.train[0], split.test[0]]] = "a"
    built = experiment(
        replace(data, y=y), GaussianNB(), threshold=TunedThreshold(folds=4), splitter=Holdout(stratify=False)
    )
    with pytest.raises(UserError, match=r"an inner fold of the training rows of fold 0 has no rows of class 'a'"):
        check_and_split(built)


def test_what_works_is_not_refused() -> None:
    check_and_split(experiment(WEIGHTED, GaussianNB(), balance=ClassWeights(), calibration=Calibration("isotonic")))
    check_and_split(experiment(learner=SVC(), calibration=Calibration("platt", 3), threshold=TunedThreshold(folds=3)))
    check_and_split(experiment(load_bundled("diabetes"), Ridge(), target=LOG))
    in_time = TimeSeries(folds=3)
    check_and_split(experiment(learner=GaussianNB(), calibration=Calibration("platt", 2), splitter=in_time))
