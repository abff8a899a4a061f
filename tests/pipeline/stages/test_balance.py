"""Balance: rows of the training part alone are weighted, repeated, left out or made, in every fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from doubles import Log, Recorder, experiment, numbered
from imblearn.over_sampling import SMOTE
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.class_weight import compute_sample_weight

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_split, fit_model
from bakeoff.pipeline.stages.balance import (
    Balance,
    BalancedRows,
    ClassWeights,
    NoBalance,
    Oversampling,
    Resampling,
    Undersampling,
)
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.splitting import Holdout
from bakeoff.pipeline.stages.tuning import GridTuning

Y = np.array(["a"] * 4 + ["b"] * 10 + ["c"] * 7)


def rows(weights: np.ndarray | None = None) -> BalancedRows:
    X = pd.DataFrame({"x": np.arange(21.0), "z": np.cos(np.arange(21.0))}, index=np.arange(100, 121))
    return BalancedRows(X, Y, weights, X.index)


def counts(balanced: BalancedRows) -> dict[str, int]:
    labels, numbers = np.unique(balanced.y, return_counts=True)
    return dict(zip(labels.tolist(), numbers.tolist(), strict=True))


def test_class_weights_are_scikit_learns() -> None:
    weights = ClassWeights().balance(rows(), 0).weights
    assert weights is not None
    np.testing.assert_allclose(weights, compute_sample_weight("balanced", Y))


@pytest.mark.parametrize(
    ("balance", "expected"),
    [
        (NoBalance(), {"a": 4, "b": 10, "c": 7}),
        (Oversampling(), {"a": 10, "b": 10, "c": 10}),
        (Oversampling(ratio=0.6), {"a": 6, "b": 10, "c": 7}),
        (Undersampling(), {"a": 4, "b": 4, "c": 4}),
        (Undersampling(ratio=0.5), {"a": 4, "b": 8, "c": 7}),
        (Resampling(SMOTE(k_neighbors=2)), {"a": 10, "b": 10, "c": 10}),
    ],
)
def test_classes_have_as_many_rows_as_the_ratio_says(balance: Balance, expected: dict[str, int]) -> None:
    assert counts(balance.balance(rows(), 0)) == expected


@pytest.mark.parametrize("balance", [Oversampling(), Undersampling()])
def test_rows_are_taken_with_their_cells_classes_and_weights(balance: Balance) -> None:
    given = np.arange(1.0, 22.0)
    balanced = balance.balance(rows(given), 3)
    positions = balanced.index.to_numpy() - 100
    np.testing.assert_array_equal(balanced.X["x"], positions)
    np.testing.assert_array_equal(balanced.y, Y[positions])
    np.testing.assert_array_equal(balanced.weights, given[positions])


def test_the_seed_decides_what_is_drawn() -> None:
    first, again, other = (Undersampling().balance(rows(), seed).index.tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_a_sampler_gets_the_seed_and_does_what_imbalanced_learn_does() -> None:
    X, y = SMOTE(k_neighbors=2, random_state=5).fit_resample(rows().X, Y)
    balanced = Resampling(SMOTE(k_neighbors=2)).balance(rows(), 5)
    np.testing.assert_array_equal(balanced.X, X)
    np.testing.assert_array_equal(balanced.y, y)


def test_an_object_that_does_not_resample_is_refused() -> None:
    with pytest.raises(UserError, match="GaussianNB has no method fit_resample"):
        Resampling(GaussianNB())


# In the loop


def test_weights_of_the_dataset_reach_the_fit_and_the_scores() -> None:
    data = load_bundled("breast_cancer")
    weights = np.random.default_rng(0).uniform(0, 2, len(data.y))
    data = replace(data, X=data.X.iloc[:, :5], weights=weights)
    built = experiment(data, GaussianNB(), metrics=["accuracy"])
    (split,) = built.make_splits().folds
    fold = evaluate_split(built, 0, split)
    own = GaussianNB().fit(data.X.iloc[split.train], data.y[split.train], weights[split.train])
    right = own.predict(data.X.iloc[split.test]) == data.y[split.test]
    assert fold.scores["test_accuracy"] == pytest.approx(np.average(right, weights=weights[split.test]))


def test_weights_count_in_the_scores_of_candidates() -> None:
    data = numbered()
    weights = np.where(data.y == "a", 9.0, 1.0)
    built = experiment(replace(data, weights=weights), GaussianNB(), tuning=GridTuning({"var_smoothing": [1e-9, 1e9]}))
    (split,) = built.make_splits().folds
    candidates = fit_model(built, split).candidates
    assert candidates is not None
    for smoothing, score in zip(candidates["var_smoothing"], candidates["validation_score"], strict=True):
        own = GaussianNB(var_smoothing=smoothing).fit(
            data.X.iloc[split.train], data.y[split.train], weights[split.train]
        )
        right = own.predict(data.X.iloc[split.validation]) == data.y[split.validation]
        assert score == pytest.approx(np.average(right, weights=weights[split.validation]))


@pytest.mark.parametrize("folds", [0, 3])
def test_rows_are_balanced_within_each_fit_of_tuning_and_never_where_they_are_scored(folds: int) -> None:
    log = Log()
    built = experiment(
        learner=Recorder(log),
        balance=Oversampling(),
        tuning=GridTuning({"mark": [1, 2]}, folds=folds),
        splitter=Holdout(),
    )
    (split,) = built.make_splits().folds
    fold = evaluate_split(built, 0, split)
    events = [(kind, set(numbers), len(numbers)) for kind, numbers in log]
    fitted: set[int] = set()
    for kind, numbers, length in events:
        if kind.startswith("fit"):
            fitted = numbers
            assert length > len(numbers)
            assert numbers <= set(split.train)
        elif numbers not in (set(split.train), fitted):
            assert length == len(numbers)
            assert not numbers & fitted
    assert len(fold.predictions.truth) == len(split.test)
    assert fold.seen["learner.fit"].to_rows().tolist() == sorted(split.train)
