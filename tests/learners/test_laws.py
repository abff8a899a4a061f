"""Laws of every learner in the registry, beyond scikit-learn's checks; where one does not hold, the reason stands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import skops.io
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.model.estimator_file import trusted_types

NAMES = sorted(REGISTRY)
CLASSIFIERS = [name for name in NAMES if is_classifier(REGISTRY[name]())]
WEIGHTED = [name for name in NAMES if has_fit_parameter(REGISTRY[name](), "sample_weight")]
DRAWN = {"random_forest", "random_forest_regressor"}  # features are drawn by position; rows by what they hold
SEQUENTIAL = {"mlp", "mlp_regressor"}  # rows come in an order, and weights begin at random by position
ORDERED = {"perceptron"}  # the solution depends on the order of rows: the lecture says so
ROUNDED = {"svm"}  # sums over rows in an order that depends on their number


def anywhere(law: Callable[..., None]) -> Callable[..., None]:
    """Try a law on rows of several seeds."""
    return examples(8)(given(seed=st.integers(0, 10**6))(law))


def build(name: str) -> Any:
    """Return the learner, seeded; k-NN with all ties voting, since the first row of a tie depends on the order."""
    parameters = inspect.signature(REGISTRY[name]).parameters
    given: dict[str, Any] = {"random_state": 0} if "random_state" in parameters else {}
    given |= {"ties": "all"} if "ties" in parameters else {}
    given |= {"max_iter": 2000} if name in ORDERED | SEQUENTIAL else {}
    return REGISTRY[name](**given)


def build_weighted(name: str) -> Any:
    """Return the learner as `build` does; of a network, few epochs, whose one batch holds all rows."""
    learner = build(name)
    return learner.set_params(max_iter=60) if name in SEQUENTIAL else learner


def rows(name: str, seed: int = 7, n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Return three separate groups in five features, none of whose values are tied."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    codes = np.repeat([0, 1, 2], n // 3)
    X[:, :3] += 6 * np.eye(3)[codes]
    return X, codes if name in CLASSIFIERS else X @ np.arange(1.0, 6) + rng.normal(size=n)


def answers(learner: Any, X: np.ndarray) -> np.ndarray:
    """Return probabilities, decisions or values: what is finest."""
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(learner, method):
            return np.asarray(getattr(learner, method)(X))
    raise AssertionError


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SEQUENTIAL | ORDERED])
@anywhere
def test_the_order_of_rows_does_not_matter(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    order = np.random.default_rng(seed + 1).permutation(len(y))
    one, two = build(name).fit(X, y), build(name).fit(X[order], y[order])
    np.testing.assert_allclose(answers(one, X), answers(two, X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DRAWN | SEQUENTIAL])
@anywhere
def test_the_order_of_features_does_not_matter(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    order = np.random.default_rng(seed + 1).permutation(5)
    one, two = build(name).fit(X, y), build(name).fit(X[:, order], y)
    np.testing.assert_allclose(answers(one, X), answers(two, X[:, order]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", sorted({*NAMES} - {*CLASSIFIERS} - SEQUENTIAL))
@pytest.mark.parametrize("exponent", [-498, -20, 20, 498])
def test_the_unit_of_the_target_is_that_of_the_predictions_and_decides_nothing(name: str, exponent: int) -> None:
    X, y = rows(name)
    unit = 2.0**exponent
    one, two = build(name).fit(X, y), build(name).fit(X, y * unit)
    np.testing.assert_allclose(two.predict(X), one.predict(X) * unit, rtol=1e-9)


@pytest.mark.parametrize("name", CLASSIFIERS)
@anywhere
def test_the_names_of_labels_do_not_matter(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    names = np.array(["ash", "beech", "cherry"])
    one, two = build(name).fit(X, y), build(name).fit(X, names[y])
    np.testing.assert_array_equal(names[one.predict(X)], two.predict(X))


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if hasattr(REGISTRY[name], "predict_proba")])
@anywhere
def test_probabilities_are_none_below_zero_and_sum_to_one(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    learner = build(name).fit(X, y)
    for query in (X, 100.0 * X):
        p = learner.predict_proba(query)
        assert p.shape == (len(query), 3)
        assert p.min() >= 0.0
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(np.exp(learner.predict_log_proba(query)), p, atol=1e-12)
        likeliest = p[np.arange(len(p)), np.searchsorted(learner.classes_, learner.predict(query))]
        np.testing.assert_allclose(likeliest, p.max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    X, y = rows(name)
    learner = build(name)
    one, two = clone(learner).fit(X, y), clone(learner).fit(X, y)
    assert answers(one, X).tobytes() == answers(two, X).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_model_is_the_same_after_its_file(name: str) -> None:
    X, y = rows(name)
    learner = build(name).fit(X, y)
    written = skops.io.dumps(learner)
    again = skops.io.loads(written, trusted=trusted_types(written))
    assert answers(learner, X).tobytes() == answers(again, X).tobytes()


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.filterwarnings("ignore:MLP:sklearn.exceptions.ConvergenceWarning")
@anywhere
def test_weight_two_equals_the_row_twice(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    weight = np.random.default_rng(seed + 1).integers(1, 3, len(y))
    one = build_weighted(name).fit(X, y, sample_weight=weight)
    two = build_weighted(name).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(answers(one, X), answers(two, X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.filterwarnings("ignore:MLP:sklearn.exceptions.ConvergenceWarning")
@anywhere
def test_weight_zero_equals_no_row(name: str, seed: int) -> None:
    X, y = rows(name, seed)
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    one = build_weighted(name).fit(X, y, sample_weight=weight)
    two = build_weighted(name).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(answers(one, X), answers(two, X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_input_is_never_written_to(name: str) -> None:
    X, y = rows(name)
    X.flags.writeable = y.flags.writeable = False
    build(name).fit(X, y).predict(X)


@pytest.mark.parametrize("name", NAMES)
def test_a_prediction_does_not_depend_on_the_other_rows(name: str) -> None:
    X, y = rows(name)
    learner = build(name).fit(X, y)
    together = answers(learner, X)
    alone = np.concatenate([answers(learner, X[[i]]) for i in range(0, len(y), 9)])
    np.testing.assert_allclose(alone, together[::9], rtol=1e-9 if name in ROUNDED else 0)
