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
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled
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


def diabetes() -> Dataset:
    return load_bundled("diabetes")


def part(data: Dataset, rows: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
    return data.X.iloc[rows], data.y[rows]


def only_split(built: Any) -> Split:
    (split,) = built.make_splits().folds
    return split


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_predictions_are_those_of_scikit_learns_regressor_fitted_on_the_training_rows(name: str) -> None:
    data = diabetes()
    built = experiment(data, LinearRegression(), target=TransformedTarget(TRANSFORMERS[name]))
    split = only_split(built)
    fold = evaluate_split(built, 0, split)
    own = TransformedTargetRegressor(LinearRegression(), transformer=TRANSFORMERS[name])
    own.fit(*part(data, split.train))
    expected = own.predict(data.X.iloc[split.test])
    np.testing.assert_allclose(fold.predictions.predicted, expected, rtol=1e-12)
    assert fold.scores["test_rmse"] == pytest.approx(root_mean_squared_error(data.y[split.test], expected))


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
    data = diabetes()
    target = TransformedTarget(make_function("log"))
    tuning = GridTuning(space, folds=folds)
    built = experiment(data, learner, target=target, tuning=tuning, metrics=["rmse"])
    split = only_split(built)
    candidates = fit_model(built, split).candidates
    assert candidates is not None
    if folds:
        # Errors of the size of the target's deviation, and not of its logarithm's, which is about 1/2.
        assert candidates["validation_score"].min() > 0.3 * data.y.std()
        return
    ((name, values),) = space.items()
    for value, score in zip(values, candidates["validation_score"], strict=True):
        own = TransformedTargetRegressor(learner.__class__(**{name: value}), func=np.log, inverse_func=np.exp)
        own.fit(*part(data, split.train))
        expected = root_mean_squared_error(data.y[split.validation], own.predict(data.X.iloc[split.validation]))
        assert score == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["best_first", "bottom_up"])
def test_a_tree_is_pruned_by_the_error_that_it_was_grown_by(method: str) -> None:
    data = diabetes()
    built = experiment(
        data, DecisionTreeRegressor(), target=TransformedTarget(make_function("log")), pruning=Pruning(method)
    )
    split = only_split(built)
    model = fit_model(built, split)
    X, y = part(data, split.train)
    own: Any = DecisionTreeRegressor().fit(X, np.log(y))
    Q, truth = part(data, split.validation)
    own.prune(Q, np.log(truth), method=method)
    test = data.X.iloc[split.test]
    np.testing.assert_allclose(model.predictor.predict(test), np.exp(own.predict(test)))
    before = DecisionTreeRegressor().fit(X, np.log(y))
    score = 1 - np.mean((data.y[split.test] - np.exp(before.predict(test))) ** 2) / np.var(data.y[split.test])
    assert model.scores_before_pruning["test"] == pytest.approx(score)


# What cannot be transformed


def test_a_logarithm_of_targets_that_are_not_positive_is_refused_with_their_number() -> None:
    y = np.array([3.0, 0.0, -2.0, 5.0])
    with pytest.raises(UserError, match=r"not defined for 2 of the 4 values of 'cost', with a minimum of -2; .*power"):
        TransformedTarget(make_function("log")).check(y, "cost")
    TransformedTarget(make_function("log1p")).check(np.array([3.0, 0.0]), "cost")
    TransformedTarget(PowerTransformer()).check(y, "cost")


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
    data = diabetes()
    weights = np.random.default_rng(1).uniform(0.1, 2, len(data.y))
    built = experiment(
        replace(data, weights=weights), LinearRegression(), target=TransformedTarget(make_function("log"))
    )
    split = only_split(built)
    fold = evaluate_split(built, 0, split)
    own = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    own.fit(*part(data, split.train), sample_weight=weights[split.train])
    np.testing.assert_allclose(fold.predictions.predicted, own.predict(data.X.iloc[split.test]), rtol=1e-12)
