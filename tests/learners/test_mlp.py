"""Multilayer perceptron: gradient by differences, scikit-learn's training step for step, stopping, bad input."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sklearn.neural_network as reference
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from bakeoff.learners import MLPClassifier, MLPRegressor
from bakeoff.learners.mlp.network import ACTIVATIONS, LOSSES

DATA = {"wine": load_wine, "breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def standardized(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = DATA[name](return_X_y=True)
    return scale(X), scale(y) if name == "diabetes" else y


@contextmanager
def cut_short() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def weights(model: Any) -> np.ndarray:
    return np.concatenate([array.ravel() for array in [*model.coefs_, *model.intercepts_]])


# The gradient


def test_losses_of_enormous_sums_do_not_overflow() -> None:
    z = np.array([[1e4, -1e4], [-1e4, 1e4]])
    assert LOSSES["softmax"](z.copy(), np.array([0, 1])) == 0.0
    assert LOSSES["softmax"](z.copy(), np.array([1, 0])) == pytest.approx(4e4)
    assert LOSSES["logistic"](z[:, :1].copy(), np.array([1, 0])) == 0.0
    assert LOSSES["logistic"](z[:, :1].copy(), np.array([0, 1])) == pytest.approx(2e4)


# The same training as scikit-learn's


@pytest.mark.parametrize("name", sorted(DATA))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    "solver",
    [
        {"solver": "adam", "learning_rate_init": 0.005},
        {"solver": "sgd", "learning_rate_init": 0.01},
        {"solver": "sgd", "learning_rate_init": 0.01, "nesterovs_momentum": False, "momentum": 0.5},
        {"solver": "adam", "shuffle": False, "alpha": 1.0},
        {"solver": "sgd", "learning_rate_init": 0.02, "learning_rate": "invscaling", "power_t": 0.3},
        {"solver": "sgd", "learning_rate": "adaptive", "tol": 1.0, "n_iter_no_change": 1},
    ],
)
def test_training_follows_scikit_learn_step_for_step(
    name: str, weighted: bool, activation: str, solver: dict[str, Any]
) -> None:
    X, y = standardized(name)
    weight = np.random.RandomState(0).uniform(0.2, 3.0, len(y)) if weighted else None
    kind = "MLPRegressor" if name == "diabetes" else "MLPClassifier"
    common = {"hidden_layer_sizes": (12, 7), "activation": activation, "batch_size": 64, "max_iter": 8, **solver}
    ours = {"MLPClassifier": MLPClassifier, "MLPRegressor": MLPRegressor}[kind](random_state=5, **common)
    theirs = getattr(reference, kind)(random_state=5, **common)
    with cut_short():
        ours.fit(X, y, sample_weight=weight)
        theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-9)
    np.testing.assert_allclose(weights(ours), weights(theirs), rtol=1e-8, atol=1e-10)
    if kind == "MLPClassifier":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
    assert (ours.n_layers_, ours.n_outputs_, ours.out_activation_) == (4, theirs.n_outputs_, theirs.out_activation_)


def test_weights_of_validation_rows_count_in_their_score() -> None:
    X, y = standardized("wine")
    common: dict[str, Any] = {"early_stopping": True, "max_iter": 4, "learning_rate_init": 0.01, "random_state": 0}
    with cut_short():
        plain = MLPClassifier(**common).fit(X, y)
        ones = MLPClassifier(**common).fit(X, y, sample_weight=np.ones(len(y)))
        only_first = MLPClassifier(**common).fit(X, y, sample_weight=np.where(y == 0, 1.0, 1e-6))
    assert plain.validation_scores_ == ones.validation_scores_
    assert only_first.best_validation_score_ == pytest.approx(1.0, abs=1e-4)


# L-BFGS


@pytest.mark.parametrize("name", sorted(DATA))
@pytest.mark.parametrize("weighted", [False, True])
def test_lbfgs_takes_scikit_learns_first_steps_and_ends_as_low(name: str, weighted: bool) -> None:
    X, y = standardized(name)
    weight = np.random.RandomState(0).uniform(0.2, 3.0, len(y)) if weighted else None
    kind = "MLPRegressor" if name == "diabetes" else "MLPClassifier"
    ours_class = {"MLPClassifier": MLPClassifier, "MLPRegressor": MLPRegressor}[kind]
    common: dict[str, Any] = {
        "hidden_layer_sizes": (6,),
        "activation": "tanh",
        "solver": "lbfgs",
        "alpha": 1.0,
        "random_state": 5,
    }
    with cut_short():
        ours = ours_class(max_iter=5, **common).fit(X, y, sample_weight=weight)
        theirs = getattr(reference, kind)(max_iter=5, **common).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(weights(ours), weights(theirs), rtol=1e-5, atol=1e-6)
        assert len(ours.loss_curve_) == ours.n_iter_ == theirs.n_iter_ == 5
        assert ours.loss_ == pytest.approx(theirs.loss_, rel=1e-9)
        end = ours_class(max_iter=60, **common).fit(X, y, sample_weight=weight)
    assert (np.diff(end.loss_curve_) <= 0).all()
    assert end.loss_ < ours.loss_


def test_limits_of_lbfgs_are_told() -> None:
    X, y = standardized("wine")
    limits: list[dict[str, Any]] = [{"max_iter": 3}, {"max_fun": 3}]
    for limit in limits:
        with pytest.warns(ConvergenceWarning, match="lbfgs failed to converge after"):
            model = MLPClassifier(solver="lbfgs", random_state=0, **limit).fit(X, y)
        assert 1 <= model.n_iter_ <= 3


def test_one_run_of_lbfgs_serves_every_number_of_iterations() -> None:
    X, y = standardized("wine")
    model = MLPClassifier((8,), solver="lbfgs", random_state=0)
    values = [2, 5, 400]
    with cut_short():
        together = list(model.path(X, y, "max_iter", values))
        alone = [model.set_params(max_iter=value).fit(X, y).loss_curve_ for value in values]
    assert [fitted.loss_curve_ for fitted in together] == [alone[0], alone[1], alone[2]]
    assert together[2].n_iter_ < 400


def test_without_patience_training_runs_to_the_end() -> None:
    with cut_short():
        model = MLPClassifier(tol=1e9, n_iter_no_change=np.inf, max_iter=30, random_state=0).fit(XOR, [0, 1, 1, 0])
    assert model.n_iter_ == 30


@pytest.mark.parametrize(
    ("n", "message"),
    [(3, "The validation set is too small"), (1, "validation_fraction=0.1 leaves none of the 1 rows to train on")],
)
def test_too_few_rows_for_early_stopping_are_refused(n: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLPRegressor(early_stopping=True).fit(np.ones((n, 1)), np.arange(float(n)))


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_equal_targets_have_a_score_of_zero_in_any_unit(unit: float) -> None:
    X = np.random.RandomState(0).normal(size=(20, 2))
    model = MLPRegressor(early_stopping=True, random_state=0).fit(X, np.full(20, unit))
    assert set(model.validation_scores_ or []) == {0.0}
    assert model.n_iter_ == 12


def test_divergence_is_told_where_validation_rows_find_it() -> None:
    X, y = standardized("diabetes")
    model = MLPRegressor(
        activation="identity", solver="sgd", learning_rate_init=1e3, early_stopping=True, random_state=0
    )
    with pytest.raises(ValueError, match="MLPRegressor diverged"):
        model.fit(X * 1e100, y)


def test_training_ends_at_the_same_epoch_as_scikit_learn() -> None:
    X, y = standardized("wine")
    common: dict[str, Any] = {"learning_rate_init": 0.02, "tol": 1e-3, "random_state": 0}
    ours, theirs = MLPClassifier(**common).fit(X, y), reference.MLPClassifier(**common).fit(X, y)
    assert 10 < ours.n_iter_ == theirs.n_iter_ < 200
    assert ours.best_loss_ == pytest.approx(theirs.best_loss_, rel=1e-6)
    assert ours.loss_ == ours.loss_curve_[-1]


# Stopping


def test_reaching_max_iter_is_a_warning() -> None:
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_iter=3 epochs.*increase max_iter"):
        model = MLPClassifier(max_iter=3, random_state=0).fit(XOR, [0, 1, 1, 0])
    assert model.n_iter_ == len(model.loss_curve_) == 3


@pytest.mark.parametrize("name", sorted(DATA))
def test_early_stopping_keeps_the_best_weights(name: str) -> None:
    X, y = standardized(name)
    estimator = MLPRegressor if name == "diabetes" else MLPClassifier
    model = estimator((30,), learning_rate_init=0.02, early_stopping=True, n_iter_no_change=5, random_state=2).fit(X, y)
    scores = model.validation_scores_
    assert scores is not None
    assert len(scores) == model.n_iter_ < model.max_iter
    assert model.best_loss_ is None
    best_epoch = int(np.argmax(scores)) + 1
    with cut_short():
        until_then = estimator(
            (30,), learning_rate_init=0.02, early_stopping=True, max_iter=best_epoch, random_state=2
        ).fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(until_then))
    assert until_then.validation_scores_ is not None
    assert model.best_validation_score_ == max(scores) == until_then.validation_scores_[-1]


@examples(40)
@given(st.integers(2, 200), st.integers(1, 5), st.floats(0.01, 0.9), st.integers(0, 1000))
def test_validation_rows_are_a_stratified_share_without_repeats(n: int, c: int, fraction: float, seed: int) -> None:
    from bakeoff.learners.mlp.network import split_validation_rows

    strata = np.random.default_rng(seed).integers(0, c, n)
    count = min(max(1, round(n * fraction)), n - 1)
    training, validation = split_validation_rows(strata, count, np.random.RandomState(seed))
    assert validation.shape[0] == count
    assert sorted([*training, *validation]) == list(range(n))
    for code in range(c):
        expected = count * np.mean(strata == code)
        assert abs(np.sum(strata[validation] == code) - expected) <= 1 + 1e-9


# Bad input


def test_targets_in_an_absurd_unit_are_reported() -> None:
    X, y = standardized("diabetes")
    with pytest.warns(ConvergenceWarning, match="no epoch had a lower loss.*also the target"):
        MLPRegressor(random_state=0).fit(X, y * 1e150)


@pytest.mark.parametrize("estimator", [MLPClassifier, MLPRegressor])
@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_divergence_is_one_clear_error(estimator: Any, solver: str) -> None:
    X, y = standardized("breast_cancer")
    model = estimator(solver=solver, activation="identity", learning_rate_init=1e160, random_state=0)
    with pytest.raises(ValueError, match=r"diverged: loss or weights overflowed\. Standardize .*learning_rate_init"):
        model.fit(X, y)


@pytest.mark.parametrize("estimator", [MLPClassifier, MLPRegressor])
def test_features_too_large_to_square_are_rejected_in_training_and_prediction(estimator: Any) -> None:
    with pytest.raises(ValueError, match="diverged"):
        estimator(random_state=0).fit(XOR * 1e300, [0, 1, 1, 0])
    with cut_short():
        model = estimator(activation="identity", max_iter=3, random_state=0).fit(XOR, [0, 1, 1, 0])
    model.coefs_[0] *= 100.0
    with pytest.raises(ValueError, match="overflow; scale X as the training data"):
        model.predict(np.full((1, 2), 1.7e308))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": (5, 0)}, "hidden_layer_sizes must be positive integers"),
        ({"hidden_layer_sizes": (2.5,)}, "hidden_layer_sizes must be positive integers"),
        ({"solver": "lbfgs", "early_stopping": True}, "early_stopping needs a solver that trains in epochs"),
    ],
)
def test_parameters_out_of_range_are_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLPClassifier(**parameters).fit(XOR, [0, 1, 1, 0])


def test_a_row_with_equal_probabilities_has_the_first_class() -> None:
    X, y = np.arange(8.0).reshape(-1, 1), np.array(["a", "b"] * 4)
    model = MLPClassifier(hidden_layer_sizes=[2], max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    for array in (*model.coefs_, *model.intercepts_):
        array[...] = 0.0
    assert model.predict_proba(X[:1]).tolist() == [[0.5, 0.5]]
    assert model.predict(X[:1]).tolist() == ["a"]
