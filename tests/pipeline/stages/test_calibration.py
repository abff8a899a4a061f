"""Calibration: what scikit-learn's CalibratedClassifierCV fits, on rows that the model has not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles import experiment
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bakeoff.learners import SVC, DecisionTreeClassifier, Perceptron
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, evaluate_split, fit_model, list_inner_splits
from bakeoff.pipeline.stages.balance import ClassWeights
from bakeoff.pipeline.stages.calibration import METHODS, Calibration, Outputs
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import Holdout, Split

LEARNERS: dict[str, Any] = {
    "svm": SVC(),
    "perceptron": Perceptron(max_iter=20, random_state=0),
    "naive_bayes": GaussianNB(),
}


def calibrated(name: str, learner: str, method: str, folds: int, **parts: Any) -> tuple[Experiment, Split]:
    built = experiment(
        load_bundled(name),
        LEARNERS[learner],
        preprocessing=make_preprocessing([StandardScaler()]),
        calibration=Calibration(method, folds),
        **parts,
    )
    return built, built.make_splits().folds[0]


@pytest.mark.filterwarnings("ignore:Perceptron. rows were still misclassified")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_on_the_validation_part_it_is_that_of_a_frozen_model(name: str, learner: str, method: str) -> None:
    built, split = calibrated(name, learner, method, folds=0)
    X, y = built.dataset.X, built.dataset.y
    fold = evaluate_split(built, 0, split)
    own = make_pipeline(StandardScaler().set_output(transform="pandas"), LEARNERS[learner])
    own.fit(X.iloc[split.train], y[split.train])
    expected = CalibratedClassifierCV(FrozenEstimator(own), method=METHODS[method])
    expected.fit(X.iloc[split.validation], y[split.validation])
    probabilities = expected.predict_proba(X.iloc[split.test])
    assert fold.predictions.probabilities is not None
    np.testing.assert_allclose(fold.predictions.probabilities, probabilities, atol=1e-7)
    np.testing.assert_array_equal(
        fold.predictions.predicted, fold.model.predictor.classes_[probabilities.argmax(axis=1)]
    )


@pytest.mark.parametrize("learner", ["svm", "naive_bayes"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_on_inner_folds_it_is_that_of_cross_validated_outputs_and_one_model(name: str, learner: str) -> None:
    built, split = calibrated(name, learner, "platt", folds=4, splitter=Holdout(validation=0))
    X, y = built.dataset.X, built.dataset.y
    fold = evaluate_split(built, 0, split)
    places = {row: position for position, row in enumerate(split.train)}
    inner = list_inner_splits(built, split)
    cv = [tuple([places[row] for row in rows] for rows in (each.train, each.test)) for each in inner]
    own = make_pipeline(StandardScaler().set_output(transform="pandas"), LEARNERS[learner])
    expected = CalibratedClassifierCV(own, method="sigmoid", cv=cv, ensemble=False)
    expected.fit(X.iloc[split.train], y[split.train])
    assert fold.predictions.probabilities is not None
    np.testing.assert_allclose(fold.predictions.probabilities, expected.predict_proba(X.iloc[split.test]), atol=1e-7)
    assert fold.model.n_fits == 1 + 4


def test_weights_of_rows_count_in_the_calibrators() -> None:
    data = load_bundled("breast_cancer")
    weights = np.random.default_rng(0).uniform(0.1, 3, len(data.y))
    built = experiment(replace(data, weights=weights), GaussianNB(), calibration=Calibration("platt"))
    (split,) = built.make_splits().folds
    fold = evaluate_split(built, 0, split)
    own = GaussianNB().fit(data.X.iloc[split.train], data.y[split.train], weights[split.train])
    expected = CalibratedClassifierCV(FrozenEstimator(own), method="sigmoid")
    with pytest.warns(UserWarning, match="does not appear to accept sample_weight"):
        expected.fit(data.X.iloc[split.validation], data.y[split.validation], sample_weight=weights[split.validation])
    assert fold.model.warnings == ()
    assert fold.predictions.probabilities is not None
    np.testing.assert_allclose(
        fold.predictions.probabilities, expected.predict_proba(data.X.iloc[split.test]), atol=1e-7
    )


def test_calibration_puts_back_the_shares_of_classes_that_balance_has_evened() -> None:
    data = load_bundled("breast_cancer")
    rare = np.concatenate([np.flatnonzero(data.y == data.classes[0]), np.flatnonzero(data.y == data.classes[1])[:40]])
    data = replace(data, X=data.X.iloc[rare, [0, 4, 8, 14]], y=data.y[rare])
    built = experiment(data, GaussianNB(), balance=ClassWeights(), calibration=Calibration("platt", 5))
    (split,) = built.make_splits().folds
    model = fit_model(built, split)
    train = data.X.iloc[split.train]
    share = np.mean(data.y[split.train] == data.classes[1])
    balanced = model.pipeline.predict_proba(train)[:, 1].mean()
    assert abs(model.predictor.predict_proba(train)[:, 1].mean() - share) < 0.3 * abs(balanced - share)


# What a threshold is chosen on


def recorded_outputs(m: int = 60) -> Outputs:
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(m) < 0.4, "yes", "no")
    scores = rng.normal(size=m) + 2 * (truth == "yes")
    return Outputs(scores, "decision_function", np.array(["no", "yes"]), truth, np.ones(m))


def test_no_row_counts_in_the_calibrators_of_its_own_probability() -> None:
    outputs = recorded_outputs()
    calibration = Calibration("platt")
    before = calibration.predict_unseen(outputs, 0).scores
    assert outputs.weights is not None
    for row in (0, 17, 59):
        heavy = outputs.weights.copy()
        heavy[row] = 1000
        after = calibration.predict_unseen(replace(outputs, weights=heavy), 0).scores
        np.testing.assert_array_equal(after[row], before[row])
        assert (after != before).any()


# The record of the rows


@pytest.mark.parametrize(("folds", "pruned"), [(0, False), (3, False), (3, True)])
def test_calibration_sees_the_validation_part_or_the_training_rows_and_never_a_test_row(
    folds: int, pruned: bool
) -> None:
    parts = {"pruning": Pruning("best_first")} if pruned else {}
    built = experiment(load_bundled("iris"), DecisionTreeClassifier(), calibration=Calibration("platt", folds), **parts)
    (split,) = built.make_splits().folds
    seen = evaluate_split(built, 0, split).seen["calibration"].to_rows()
    expected = split.train if folds else split.validation
    if pruned:
        expected = np.concatenate([split.train, split.validation])
    assert seen.tolist() == sorted(expected)


def test_wrong_keys_are_refused() -> None:
    with pytest.raises(UserError, match=r"calibration.method='plat' is not a method. Did you mean 'platt'"):
        Calibration("plat")
    for folds in (1, -1, 2.5, True):
        with pytest.raises(UserError, match=r"calibration.folds=.* must be 0 .* or an integer of at least 2"):
            Calibration("platt", folds)  # type: ignore[arg-type]
