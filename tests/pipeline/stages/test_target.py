"""The target of a regression: transformed in every fit, and never in a prediction or a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import experiment
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler

from bakeoff.learners import DecisionTreeRegressor, KNeighborsRegressor
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_split, fit_model
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.pruning import Pruning
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.stages.target import TransformedTarget, make_function
from bakeoff.pipeline.stages.tuning import GridTuning

TRANSFORMERS = {
    "log": make_function("log"),
    "log1p": make_function("log1p"),
    "standardize": StandardScaler(),
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=50, output_distribution="normal", random_state=0),
}


DIABETES = load_bundled("diabetes")


def part(rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the features and the targets of some rows."""
    return DIABETES.X.iloc[rows], DIABETES.y[rows]


def only_split(built: Any) -> Split:
    (split,) = built.make_splits().folds
    return split


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_predictions_are_those_of_scikit_learns_regressor_fitted_on_the_training_rows(name: str) -> None:
    built = experiment(DIABETES, LinearRegression(), target=TransformedTarget(TRANSFORMERS[name]))
    split = only_split(built)
    fold = evaluate_split(built, 0, split)
    own = TransformedTargetRegressor(LinearRegression(), transformer=TRANSFORMERS[name])
    own.fit(*part(split.train))
    expected = own.predict(DIABETES.X.iloc[split.test])
    np.testing.assert_allclose(fold.predictions.predicted, expected, rtol=1e-12)
    assert fold.scores["test_rmse"] == pytest.approx(root_mean_squared_error(DIABETES.y[split.test], expected))


@pytest.mark.parametrize(
    ("learner", "space"),
    [
        (KNeighborsRegressor(), {"n_neighbors": [1, 3, 9]}),
        (Ridge(), {"alpha": [0.1, 10.0]}),
        (DecisionTreeRegressor(), {"max_depth": [1, 2, 3]}),
    ],
)
@pytest.mark.parametrize("folds", [0, 2])
def test_candidates_of_tuning_are_scored_in_the_units_of_the_target(learner: Any, space: Any, folds: int) -> None:
    target = TransformedTarget(make_function("log"))
    tuning = GridTuning(space, folds=folds)
    built = experiment(DIABETES, learner, target=target, tuning=tuning, metrics=["rmse"])
    split = only_split(built)
    candidates = fit_model(built, split).candidates
    assert candidates is not None
    if folds:
        # Errors of the size of the target's deviation, and not of its logarithm's, which is about 1/2.
        assert candidates["validation_score"].min() > 0.3 * DIABETES.y.std()
        return
    ((name, values),) = space.items()
    for value, score in zip(values, candidates["validation_score"], strict=True):
        own = TransformedTargetRegressor(learner.__class__(**{name: value}), func=np.log, inverse_func=np.exp)
        own.fit(*part(split.train))
        expected = root_mean_squared_error(DIABETES.y[split.validation], own.predict(DIABETES.X.iloc[split.validation]))
        assert score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["best_first", "bottom_up"])
def test_a_tree_is_pruned_by_the_error_that_it_was_grown_by(method: str) -> None:
    built = experiment(
        DIABETES, DecisionTreeRegressor(), target=TransformedTarget(make_function("log")), pruning=Pruning(method)
    )
    split = only_split(built)
    model = fit_model(built, split)
    X, y = part(split.train)
    own: Any = DecisionTreeRegressor().fit(X, np.log(y))
    Q, truth = part(split.validation)
    own.prune(Q, np.log(truth), method=method)
    test = DIABETES.X.iloc[split.test]
    np.testing.assert_allclose(model.predictor.predict(test), np.exp(own.predict(test)))
    before = DecisionTreeRegressor().fit(X, np.log(y))
    score = 1 - np.mean((DIABETES.y[split.test] - np.exp(before.predict(test))) ** 2) / np.var(DIABETES.y[split.test])
    assert model.scores_before_pruning["test"] == pytest.approx(score)


# What cannot be transformed


class Rounding(StandardScaler):
    """Gives back rounded values."""

    def inverse_transform(self, X: Any, copy: bool | None = None) -> Any:
        return np.round(super().inverse_transform(X, copy), -1)


def test_a_transformer_that_loses_the_values_is_refused() -> None:
    with pytest.raises(UserError, match="inverse of Rounding does not restore the values of 'y'"):
        TransformedTarget(Rounding()).check(np.array([1.0, 2.0, 50.0, 3.0]), "y")


def test_a_transformer_without_an_inverse_and_an_unknown_function_are_refused() -> None:
    with pytest.raises(UserError, match="Ridge has no method transform"):
        TransformedTarget(Ridge())
    with pytest.raises(UserError, match=r"function='sqrt' must be one of log, log1p"):
        make_function("sqrt")


def test_weights_and_a_transformed_target_go_together() -> None:
    weights = np.random.default_rng(1).uniform(0.1, 2, len(DIABETES.y))
    built = experiment(
        replace(DIABETES, weights=weights), LinearRegression(), target=TransformedTarget(make_function("log"))
    )
    split = only_split(built)
    fold = evaluate_split(built, 0, split)
    own = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    own.fit(*part(split.train), sample_weight=weights[split.train])
    np.testing.assert_allclose(fold.predictions.predicted, own.predict(DIABETES.X.iloc[split.test]), rtol=1e-12)
