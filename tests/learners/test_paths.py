"""Paths: every estimator on one is the estimator that a fit of its own gives, and stays so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

from bakeoff import learners
from bakeoff.learners import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    NaiveBayesClassifier,
    Perceptron,
    RandomForestClassifier,
    RandomForestRegressor,
    Ridge,
)
from bakeoff.learners.knn.ranking import Search
from bakeoff.learners.linear.perceptron import BlockedPass
from bakeoff.learners.mlp import network

PATHS = [(name, learner) for name, learner in learners.REGISTRY.items() if hasattr(learner, "path_parameters")]
VALUES: dict[str, list[Any]] = {
    "n_neighbors": [7, 1, 30, 2],
    "alpha": [1.0, 0.0, 100.0, 0.5],
    "C": [0.01, 1.0, 100.0],
    "max_depth": [3, 1, None, 2],
    "ccp_alpha": [0.0, 0.1, 0.01],
    "max_leaf_nodes": [7, 2, None],
    "n_estimators": [3, 1, 7],
    "max_iter": [20, 5],
}


def table(rows: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rounded rows, so that there are ties, labels and values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)).round(1)
    value = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows) / 2
    return X, np.array(["low", "middle", "top"])[np.digitize(value, [-0.5, 0.5])], value


def target_of(learner: Any, labels: np.ndarray, value: np.ndarray) -> np.ndarray:
    return labels if is_classifier(learner) else value


def said(model: Any, Q: Any) -> list[Any]:
    """Return predictions, and what a forest says of its out-of-bag rows."""
    out_of_bag = ("oob_score_", "oob_prediction_", "oob_decision_function_")
    answers = [getattr(model, method)(Q) for method in ("predict", "predict_proba") if hasattr(model, method)]
    return [*answers, *(getattr(model, name) for name in out_of_bag if hasattr(model, name))]


def same_as_refitting(
    learner: Any, X: Any, y: Any, Q: Any, parameter: str, values: list[Any], weight: Any = None
) -> None:
    given = {} if weight is None else {"sample_weight": weight}
    path = list(learner.path(X, y, parameter, values, **given))  # all of them, before one is asked
    assert len(path) == len(values)
    for fitted, value in zip(path, values, strict=True):
        alone = clone(learner).set_params(**{parameter: value}).fit(X, y, **given)
        assert fitted.get_params()[parameter] == value
        for one, other in zip(said(fitted, Q), said(alone, Q), strict=True):
            np.testing.assert_array_equal(one, other)


# Every learner


@pytest.mark.parametrize(("name", "learner"), PATHS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_leaves_the_learner_as_it_is_and_yields_fitted_clones_in_the_order_given(
    name: str, learner: Any
) -> None:
    X, labels, value = table()
    for parameter in learner.path_parameters:
        model = learner()
        before = model.get_params()
        path = list(model.path(X, target_of(model, labels, value), parameter, VALUES[parameter]))
        assert [fitted.get_params()[parameter] for fitted in path] == VALUES[parameter]
        assert vars(model) == before
        for fitted in path:
            assert type(fitted) is learner
            assert {**fitted.get_params(), parameter: None} == {**before, parameter: None}
            assert fitted.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize(("name", "learner"), PATHS)
def test_a_parameter_without_a_path_is_refused(name: str, learner: Any) -> None:
    X, labels, value = table()
    with pytest.raises(ValueError, match="nonsense"):
        list(learner().path(X, target_of(learner(), labels, value), "nonsense", [1]))


@pytest.mark.parametrize("learner", [KNeighborsClassifier, NaiveBayesClassifier, Ridge, LogisticRegression])
def test_a_value_that_the_learner_refuses_is_refused_on_the_path(learner: Any) -> None:
    X, labels, value = table()
    (parameter,) = learner.path_parameters
    with pytest.raises(ValueError, match=parameter):
        list(learner().path(X, target_of(learner(), labels, value), parameter, [1, -1]))


# k nearest neighbours


@pytest.mark.parametrize(
    "learner",
    [
        KNeighborsClassifier(),
        KNeighborsClassifier(algorithm="brute", weights="distance"),
        KNeighborsClassifier(algorithm="kd_tree", ties="all"),
        KNeighborsClassifier(metric="manhattan", weights="gaussian", ties="all"),
        KNeighborsClassifier(ties="random", random_state=3),
        KNeighborsRegressor(weights="distance"),
        KNeighborsRegressor(regression="linear", ties="random", random_state=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_on_a_path_are_bit_identical_to_refitting(learner: Any, weighted: bool) -> None:
    X, labels, value = table(400)
    weight = np.random.default_rng(1).integers(0, 3, 400) if weighted else None
    Q = np.concatenate([X[:50], table(50, seed=9)[0]])
    same_as_refitting(learner, X, target_of(learner, labels, value), Q, "n_neighbors", VALUES["n_neighbors"], weight)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of queries of each search among training rows."""
    seen: list[int] = []
    for kind in Search.__subclasses__():
        if kind.__name__ != "CachedSearch":
            monkeypatch.setattr(kind, "find_nearest", _counted(kind.find_nearest, seen))
    return seen


def _counted(nearest: Callable[..., Any], seen: list[int]) -> Callable[..., Any]:
    def wrapped(self: Search, Q: np.ndarray, k: int, *, whole_ties: bool) -> Any:
        seen.append(Q.shape[1])
        return nearest(self, Q, k, whole_ties=whole_ties)

    return wrapped


def test_one_search_serves_every_k(searches: list[int]) -> None:
    X, labels, _ = table()
    for fitted in KNeighborsClassifier(algorithm="brute").path(X, labels, "n_neighbors", list(range(1, 51))):
        said(fitted, X[:60])
    assert sum(searches) == 60


def test_a_table_that_was_changed_in_place_is_searched_again(searches: list[int]) -> None:
    X, labels, _ = table()
    first, second = KNeighborsClassifier(algorithm="brute").path(X, labels, "n_neighbors", [1, 3])
    Q = X[:20].copy()
    first.predict(Q)
    Q[-1] += 5
    np.testing.assert_array_equal(second.predict(Q), KNeighborsClassifier(3).fit(X, labels).predict(Q))
    assert sum(searches) >= 40


# Pseudo-counts, penalties


def test_pseudo_counts_on_a_path_are_bit_identical_to_refitting() -> None:
    X, labels, _ = table()
    absent: Any = None
    mixed = pd.DataFrame(X, columns=list("abde")).assign(
        kind=pd.Categorical(np.where(X[:, 0] > 0.3, "a", "b"), categories=["a", "b", "c"]),
        side=pd.Categorical(np.where(X[:, 1] > 0, "left", absent)),
    )
    weight = np.random.default_rng(2).integers(0, 3, len(X))
    for learner in (NaiveBayesClassifier(), NaiveBayesClassifier(smooth_prior=False, feature_alpha={"kind": 2})):
        for given in (None, weight):
            same_as_refitting(learner, mixed, labels, mixed, "alpha", VALUES["alpha"], given)


@pytest.mark.parametrize("rows", [442, 8])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_penalties_on_a_path_are_bit_identical_to_refitting(rows: int, fit_intercept: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).random(rows)
    for given in (None, weight):
        learner = Ridge(fit_intercept=fit_intercept)
        same_as_refitting(learner, X[:rows], y[:rows], X, "alpha", [1.0, 0.0, 1e-3, 1e4], given)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
@pytest.mark.parametrize("form", ["softmax", "reference"])
def test_logistic_penalties_on_a_path_agree_with_refitting_within_the_tolerance(load: Any, form: str) -> None:
    X, y = load(return_X_y=True)
    X = X[:500] / np.maximum(1, X[:500].std(axis=0))
    learner, values = LogisticRegression(form=form, tol=1e-7, max_iter=3000), [0.01, 1.0, 10.0]
    for fitted, C in zip(learner.path(X, y[:500], "C", values), values, strict=True):
        alone = clone(learner).set_params(C=C).fit(X, y[:500])
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=2e-4)


# Passes over the rows


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("learner", [MLPClassifier, MLPRegressor])
def test_passes_on_a_path_are_bit_identical_to_refitting_also_past_the_end_of_training(
    learner: Any, early_stopping: bool
) -> None:
    X, labels, value = table()
    model = learner((8,), learning_rate_init=0.05, tol=1e-2, n_iter_no_change=3, random_state=0)
    model.set_params(early_stopping=early_stopping)
    values = [30, 1, 4, 400, 300]
    same_as_refitting(model, X, target_of(model, labels, value), X[:60], "max_iter", values)
    *_, longest, long = model.path(X, target_of(model, labels, value), "max_iter", values)
    assert longest.n_iter_ == long.n_iter_ < 300


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_training_serves_every_number_of_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(*given: Any) -> float:
        seen.append(1)
        return train_epoch(*given)

    train_epoch = network._train_epoch
    monkeypatch.setattr(network, "_train_epoch", counted)
    X, labels, _ = table()
    assert len(list(MLPClassifier((4,), tol=0, random_state=0).path(X, labels, "max_iter", [5, 20, 10]))) == 3
    assert len(seen) == 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"averaged": True},
        {"shuffle": True, "averaged": True, "random_state": 3},
        {"tol": 1e-3, "n_iter_no_change": 2},
        {"class_weight": "balanced", "coef_init": 1.0, "eta0": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("c", [2, 3])
def test_passes_of_the_perceptron_on_a_path_are_bit_identical_to_refitting(given: dict[str, Any], c: int) -> None:
    X, labels, _ = table(300)
    X, labels = X * 2.0**400, labels if c == 3 else np.where(labels == "top", "top", "other")
    learner, values = Perceptron(**({"random_state": 0} | given)), [30, 1, 4, 100, 30]
    for fitted, value in zip(list(learner.path(X, labels, "max_iter", values)), values, strict=True):
        alone = clone(learner).set_params(max_iter=value).fit(X, labels)
        np.testing.assert_array_equal(fitted.predict(X), alone.predict(X))
        np.testing.assert_array_equal(fitted.coef_, alone.coef_)
        np.testing.assert_array_equal(fitted.intercept_, alone.intercept_)
        assert (fitted.max_iter, fitted.n_iter_, fitted.loss_curve_) == (value, alone.n_iter_, alone.loss_curve_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_walk_serves_every_number_of_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(self: BlockedPass, order: Any) -> None:
        seen.append(1)
        run_pass(self, order)

    run_pass = BlockedPass.run_pass
    monkeypatch.setattr(BlockedPass, "run_pass", counted)
    X, labels, _ = table()
    assert len(list(Perceptron().path(X, labels == "top", "max_iter", [5, 20, 10]))) == 3
    assert len(seen) == 20


# Trees and forests

LIMITS: dict[str, list[Any]] = {
    "max_depth": [3, 1, None, 20, 7, 3],
    "max_leaf_nodes": [5, 2, None, 40, 13],
    "ccp_alpha": [0.002, 0.0, 0.02, 1e-4, 0.5],
}
BESIDE: list[dict[str, Any]] = [
    {"categorical_features": [2, 3]},
    {"categorical_features": [2, 3], "nominal_splits": "binary"},
    {"max_leaf_nodes": 9},
    {"max_depth": 4},
    {"ccp_alpha": 0.004},
    {"max_features": 2, "random_state": 3},
    {"max_features": 2, "random_state": 3, "max_leaf_nodes": 9},
    {"splitter": "random", "random_state": 3},
    {"min_samples_leaf": 4, "min_impurity_decrease": 0.001},
]


def tree_table() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of numbers, some of them missing, and of few values; labels, values, and weights, some of them 0."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(180, 2)), rng.integers(0, 4, (180, 2))])
    value = (X[:, 0] > 0) + (X[:, 2] == 1) * 2 - X[:, 1] + rng.normal(size=180)
    X[rng.random(180) < 0.1, 0] = np.nan
    labels = np.array(["low", "mid", "top"])[np.clip(value, 0, 2).astype(int)]
    return X, labels, value, rng.uniform(0, 2, 180) * (np.arange(180) % 7 > 0)


@pytest.mark.parametrize("parameter", LIMITS)
@pytest.mark.parametrize("beside", BESIDE, ids=str)
@pytest.mark.parametrize(("tree", "weighted"), [(DecisionTreeClassifier, True), (DecisionTreeRegressor, False)])
def test_limits_on_a_path_are_bit_identical_to_refitting(
    parameter: str, beside: dict[str, Any], tree: Any, weighted: bool
) -> None:
    X, labels, value, weight = tree_table()
    learner = tree(**beside)
    target = target_of(learner, labels, value)
    same_as_refitting(learner, X, target, X, parameter, LIMITS[parameter], weight if weighted else None)


def test_c45_on_a_path_is_bit_identical_to_refitting() -> None:
    X, labels, _, _ = tree_table()
    rules: dict[str, Any] = {"criterion": "gain_ratio", "pruning_confidence": 0.25, "subtree_raising": True}
    for parameter, values in LIMITS.items():
        same_as_refitting(DecisionTreeClassifier(**rules, collapse=True), X, labels, X, parameter, values)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("forest", [RandomForestClassifier, RandomForestRegressor])
@pytest.mark.parametrize(
    "beside",
    [
        {"oob_score": True},
        {"feature_subset": "tree", "max_features": 2, "bootstrap": False},
        {"max_leaf_nodes": 6, "ccp_alpha": 0.01},
    ],
    ids=str,
)
def test_numbers_of_trees_on_a_path_are_bit_identical_to_refitting(forest: Any, beside: dict[str, Any]) -> None:
    X, labels, value, weight = tree_table()
    for given in (None, weight):
        learner = forest(random_state=5, categorical_features=[2, 3], **beside)
        same_as_refitting(learner, X, target_of(learner, labels, value), X, "n_estimators", [4, 1, 11, 4], given)
