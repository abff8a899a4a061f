"""Boosted trees of XGBoost and LightGBM: the libraries are oracles, the wrappers add labels, values and bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import extras
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_diabetes, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from bakeoff.learners.boosting import LightGBMClassifier, LightGBMRegressor, XGBoostClassifier, XGBoostRegressor
from bakeoff.pipeline.model.allowed_types import trusted_types

xgboost = extras.load("xgboost")
lightgbm = extras.load("lightgbm")
pytestmark = pytest.mark.extra("xgboost", "lightgbm")

CLASSES: list[Any] = [XGBoostClassifier, XGBoostRegressor, LightGBMClassifier, LightGBMRegressor]
LABELS = np.array(["a", "b", "c"])
WINE_X, WINE_CODES = load_wine(return_X_y=True)
DIABETES_X, DIABETES_Y = load_diabetes(return_X_y=True)
ROWS = np.arange(len(WINE_X))
MIXED = pd.DataFrame({
    "alcohol": np.where(ROWS % 7 == 3, np.nan, WINE_X[:, 0]),
    "colour": pd.Categorical(np.array(["red", "white", None, "rosé"])[(WINE_CODES + ROWS // 50) % 4]),
    "hue": WINE_X[:, 10],
})  # fmt: skip


def data_for(made: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a table and its target for a learner of either task."""
    return (WINE_X, LABELS[WINE_CODES]) if is_classifier(made) else (DIABETES_X, DIABETES_Y)


def outputs(fitted: Any, X: Any) -> np.ndarray:
    return np.asarray(fitted.predict_proba(X) if is_classifier(fitted) else fitted.predict(X))


def draw_rows(target: Any, **parameters: Any) -> Any:
    """Return a learner that draws rows for each tree."""
    drawing = {"subsample": 0.7, "random_state": 5, **parameters}
    if "subsample_freq" in target().get_params():
        drawing["subsample_freq"] = 1
    return target(**drawing)


def expect_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks that a learner does not pass, and why."""
    check = "check_sample_weight_equivalence_on_dense_data"
    reason = "XGBoost adds in single precision, so that the last digits depend on the order of the rows"
    return {check: reason} if isinstance(estimator, XGBoostClassifier) else {}


@parametrize_with_checks(
    [target(n_estimators=5, learning_rate=0.5) for target in CLASSES], expected_failed_checks=expect_failures
)
def test_boosted_trees_pass_scikit_learns_checks(
    estimator: BaseEstimator, check: Callable[[BaseEstimator], None]
) -> None:
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_xgboost(n_classes: int) -> None:
    rows = n_classes > WINE_CODES
    codes = WINE_CODES[rows]
    theirs = xgboost.XGBClassifier(n_estimators=20, n_jobs=1, tree_method="hist").fit(WINE_X[rows], codes)
    ours = XGBoostClassifier(n_estimators=20).fit(WINE_X[rows], LABELS[codes])
    np.testing.assert_allclose(ours.predict_proba(WINE_X), theirs.predict_proba(WINE_X), rtol=1e-5)
    assert ours.predict(WINE_X).tolist() == LABELS[theirs.predict(WINE_X)].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_lightgbm(n_classes: int) -> None:
    rows = n_classes > WINE_CODES
    codes = WINE_CODES[rows]
    theirs = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1, deterministic=True, force_row_wise=True)
    theirs.fit(WINE_X[rows], codes)
    ours = LightGBMClassifier(n_estimators=20).fit(WINE_X[rows], LABELS[codes])
    np.testing.assert_allclose(ours.predict_proba(WINE_X), theirs.predict_proba(WINE_X), rtol=1e-6)


def test_values_are_those_of_the_libraries() -> None:
    by_xgboost = xgboost.XGBRegressor(n_estimators=20, n_jobs=1).fit(DIABETES_X, DIABETES_Y)
    ours = XGBoostRegressor(n_estimators=20).fit(DIABETES_X, DIABETES_Y)
    np.testing.assert_allclose(ours.predict(DIABETES_X), by_xgboost.predict(DIABETES_X), rtol=1e-5)
    by_lightgbm = lightgbm.LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1).fit(DIABETES_X, DIABETES_Y)
    ours = LightGBMRegressor(n_estimators=20).fit(DIABETES_X, DIABETES_Y)
    np.testing.assert_allclose(ours.predict(DIABETES_X), by_lightgbm.predict(DIABETES_X), rtol=1e-6)


@pytest.mark.parametrize("target", [XGBoostClassifier, LightGBMClassifier])
def test_nominal_columns_are_those_of_the_libraries(target: Any) -> None:
    ours = target(n_estimators=20, **({} if target is XGBoostClassifier else {"min_data_per_group": 5}))
    ours.fit(MIXED, WINE_CODES)
    if target is XGBoostClassifier:
        theirs = xgboost.XGBClassifier(n_estimators=20, enable_categorical=True, tree_method="hist", n_jobs=1)
    else:
        theirs = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, min_data_per_group=5, n_jobs=1)
    theirs.fit(MIXED, WINE_CODES)
    np.testing.assert_allclose(ours.predict_proba(MIXED), theirs.predict_proba(MIXED), rtol=1e-5)
    assert ours.feature_importances_[1] > 0.2


@pytest.mark.parametrize("target", [XGBoostClassifier, LightGBMClassifier])
def test_a_value_that_training_lacks_counts_as_missing(target: Any) -> None:
    fitted = target(n_estimators=10).fit(MIXED, WINE_CODES)
    unseen = MIXED.assign(colour=pd.Categorical(["orange"] * len(MIXED)))
    missing = MIXED.assign(colour=pd.Categorical([None] * len(MIXED), categories=["red"]))
    assert outputs(fitted, unseen).tolist() == outputs(fitted, missing).tolist()


@pytest.mark.parametrize("target", CLASSES)
def test_a_stored_model_predicts_the_same_and_holds_no_object_of_the_library(target: Any) -> None:
    X, y = data_for(target())
    fitted = draw_rows(target, n_estimators=10).fit(X, y)
    dumped = skops.io.dumps(fitted)
    assert skops.io.get_untrusted_types(data=dumped) == [f"{target.__module__}.{target.__name__}"]
    loaded = skops.io.loads(dumped, trusted=trusted_types(dumped))
    assert outputs(loaded, X).tolist() == outputs(fitted, X).tolist()


@pytest.mark.parametrize("target", CLASSES)
def test_a_path_along_the_rounds_equals_fits_with_each_number(target: Any) -> None:
    X, y = data_for(target())
    learner = draw_rows(target)
    counts = [4, 12, 1]
    for count, on_path in zip(counts, learner.path(X, y, "n_estimators", counts), strict=True):
        alone = clone(learner).set_params(n_estimators=count).fit(X, y)
        assert on_path.n_estimators == on_path.n_rounds_ == count
        assert outputs(on_path, X).tolist() == outputs(alone, X).tolist()
        assert on_path.feature_importances_.tolist() == alone.feature_importances_.tolist()


@pytest.mark.parametrize("target", CLASSES)
def test_growing_stops_where_the_loss_on_rows_set_aside_is_least(target: Any) -> None:
    X, y = data_for(target())
    stopping = target(n_estimators=400, learning_rate=0.5, early_stopping_rounds=5, random_state=1)
    stopped = clone(stopping).fit(X, y)
    assert 0 < stopped.n_rounds_ < 400
    (on_path,) = stopping.path(X, y, "n_estimators", [400])
    assert outputs(on_path, X).tolist() == outputs(stopped, X).tolist()


@pytest.mark.parametrize("target", CLASSES)
def test_the_seed_decides_which_rows_are_drawn_and_threads_decide_nothing(target: Any) -> None:
    X, y = data_for(target())
    first = outputs(draw_rows(target, n_estimators=5).fit(X, y), X).tolist()
    assert outputs(draw_rows(target, n_estimators=5, n_jobs=2).fit(X, y), X).tolist() == first
    assert outputs(draw_rows(target, n_estimators=5, random_state=6).fit(X, y), X).tolist() != first


@pytest.mark.parametrize("target", [XGBoostClassifier, LightGBMClassifier])
def test_one_class_has_probability_one(target: Any) -> None:
    fitted = target().fit(WINE_X, np.repeat("only", len(WINE_X)))
    assert fitted.predict_proba(WINE_X).tolist() == [[1.0]] * len(WINE_X)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
@pytest.mark.parametrize("target", [XGBoostRegressor, LightGBMRegressor])
def test_each_loss_is_learnt(target: Any, loss: str) -> None:
    assert target(loss=loss, n_estimators=50).fit(DIABETES_X, DIABETES_Y).score(DIABETES_X, DIABETES_Y) > 0.5
