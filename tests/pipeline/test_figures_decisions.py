"""Figures of runs with weights, transformed targets, calibration and thresholds show what predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles import experiment
from finished_runs import finish
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import root_mean_squared_error

from bakeoff.learners import SVC, DecisionTreeRegressor, KNeighborsRegressor
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.figures import Importances, Reliability, RocCurves, Trees, ValidationCurve
from bakeoff.pipeline.figures.run_figure import check_variants
from bakeoff.pipeline.stages.balance import ClassWeights
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.scoring import CLASSIFICATION
from bakeoff.pipeline.stages.splitting import KFold
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.threshold import GivenThreshold, TunedThreshold

LOG = TransformedTarget(make_function("log"))


def weighted_diabetes() -> Any:
    data = load_bundled("diabetes")
    return replace(data, weights=np.random.default_rng(0).uniform(0.1, 2, len(data.y)))


def test_a_validation_curve_has_the_weighted_errors_in_the_units_of_the_target() -> None:
    data = weighted_diabetes()
    run = finish(experiment(data, KNeighborsRegressor(), target=LOG, metrics=["rmse"], splitter=KFold(folds=2)))
    training, test = run.compute_validation_curve("n_neighbors", [1, 9])
    assert data.weights is not None
    for number, fold in enumerate(run.folds):
        rows = fold.split.train
        for position, k in enumerate([1, 9]):
            own = KNeighborsRegressor(n_neighbors=k)
            own.fit(data.X.iloc[rows], np.log(data.y[rows]), sample_weight=data.weights[rows])
            for part, scores in ((rows, training), (fold.split.test, test)):
                predicted = np.exp(own.predict(data.X.iloc[part]))
                expected = root_mean_squared_error(data.y[part], predicted, sample_weight=data.weights[part])
                assert scores[position, number] == pytest.approx(expected)


def test_a_variant_predicts_in_the_units_of_the_target_and_its_learner_does_not() -> None:
    run = finish(experiment(load_bundled("diabetes"), LinearRegression(), target=LOG))
    X, _ = run.select_rows(run.split.test)
    predictor = run.get_variant({"learner__fit_intercept": True})
    np.testing.assert_allclose(predictor.predict(X), run.model.predictor.predict(X))
    np.testing.assert_allclose(np.exp(run.fit_variant({}).predict(X)), predictor.predict(X))


def test_the_scores_of_a_variant_are_those_of_a_run_with_its_parameters() -> None:
    data = weighted_diabetes()
    run = finish(experiment(data, Ridge(), target=LOG, metrics=["mae"], splitter=KFold(folds=2)))
    other = finish(experiment(data, Ridge(alpha=0.01), target=LOG, metrics=["mae"], splitter=KFold(folds=2)))
    assert run.score_variant({"learner__alpha": 0.01}) == pytest.approx(other.score_variant({}))


def test_a_balanced_variant_is_the_balanced_run() -> None:
    run = finish(experiment(load_bundled("breast_cancer"), SVC(), balance=ClassWeights()))
    X, _ = run.select_rows(run.split.test)
    variant = run.fit_variant({})
    np.testing.assert_array_equal(variant.decision_function(X), run.model.pipeline.decision_function(X))


def test_the_runs_own_variant_is_what_predicts() -> None:
    run = finish(experiment(load_bundled("breast_cancer"), SVC(), threshold=TunedThreshold()))
    assert run.get_variant({}) is run.model.predictor


def test_calibrated_learners_have_the_figures_of_probabilities() -> None:
    built = experiment(load_bundled("breast_cancer"), SVC())
    splits = built.make_splits()
    with pytest.raises(UserError, match="SVC has none; add calibration=platt"):
        Reliability().check(built, splits)
    calibrated = replace(built, calibration=Calibration("platt"))
    Reliability().check(calibrated, splits)
    RocCurves().check(calibrated, splits)


def test_importances_are_those_of_the_predictor() -> None:
    # Every row is positive from this threshold on, so that no column is important, whatever the learner has learnt.
    built = experiment(
        load_bundled("breast_cancer"),
        SVC(),
        calibration=Calibration("platt"),
        threshold=GivenThreshold(1e-9),
        metrics=["accuracy"],
    )
    table = Importances(repeats=2).measure(finish(built))
    assert table["mean"].abs().max() == 0


def test_figures_that_would_show_other_numbers_are_refused() -> None:
    built = experiment(load_bundled("diabetes"), DecisionTreeRegressor(), target=LOG)
    with pytest.raises(UserError, match="values of a transformed target; set target=none"):
        Trees(draw_tree=lambda learner: learner).check(built, built.make_splits())
    uncalibrated = experiment(load_bundled("breast_cancer"), SVC(), calibration=Calibration("platt"))
    by_log_loss = replace(uncalibrated, metrics={"log_loss": CLASSIFICATION["log_loss"]})
    splits = by_log_loss.make_splits()
    with pytest.raises(UserError, match=r"log_loss, .* models fitted for a figure are not calibrated"):
        ValidationCurve(parameter="C", values=[1, 2]).check(by_log_loss, splits)
    check_variants(uncalibrated, splits, [{"learner__C": 2}])
