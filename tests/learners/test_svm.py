"""The support vector machine: optimality, agreement with scikit-learn, the schemes for more classes, bad input."""

from typing import Any

import numpy as np
import pytest
from example_counts import examples
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as LibSVC

from bakeoff.learners import SVC
from bakeoff.learners.definitions import svm
from bakeoff.learners.svm.classifier import count_votes
from bakeoff.learners.svm.gram import StoredGram, compute_feature_map, make_gram_of_values, make_training_space

INF = float("inf")

KERNELS: list[dict[str, Any]] = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    {"kernel": "poly"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.5, "C": 50.0},
    {"kernel": "rbf", "gamma": "auto", "class_weight": "balanced"},
]


def noisy(n: int = 120, d: int = 4, c: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        n, d, n_informative=d, n_redundant=0, n_classes=c, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )


def separable(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X @ [1.0, 2.0] > 0.3, 1, 0)
    return X + 0.2 * (2 * y[:, None] - 1) * np.array([1.0, 2.0]), y


def rows_of(X: np.ndarray, kernel: dict[str, Any]) -> np.ndarray:
    """The Gram matrix by the definitions of the kernels."""
    if kernel["kernel"] == "linear":
        return svm.linear(X, X)
    if kernel["kernel"] == "poly":
        assert kernel["gamma"] == kernel["coef0"] == 1.0
        return svm.polynomial(X, X, kernel["degree"])
    return svm.gaussian(X, X, sigma=1 / np.sqrt(2 * kernel["gamma"]))


def alphas(machine: SVC, n: int) -> np.ndarray:
    """Return y α of a two-class machine, for all n training rows."""
    beta = np.zeros(n)
    beta[machine.support_] = machine.dual_coef_[0]
    return beta


# Optimality, on the solver's own output ------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear"},
        {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 2},
        {"kernel": "rbf", "gamma": 0.5},
    ],
)
def test_the_optimality_conditions_hold_for_the_soft_margin(kernel: dict[str, Any], C: float) -> None:
    X, y = noisy()
    signs = 2.0 * y - 1
    machine = SVC(C=C, **kernel).fit(X, y)
    beta = alphas(machine, y.size)
    K = rows_of(X, kernel)
    margin = signs * machine.decision_function(X)
    alpha = signs * beta

    np.testing.assert_allclose(machine.decision_function(X), K @ beta + machine.intercept_, atol=1e-8 * (1 + C))
    assert abs(beta.sum()) < 1e-9 * C
    assert (alpha >= 0).all()
    assert (alpha <= C).all()
    free = (alpha > 0) & (alpha < C)
    assert free.any()
    np.testing.assert_allclose(margin[free], 1.0, atol=1e-5)
    assert (margin[alpha == 0] >= 1 - 1e-5).all()
    assert (margin[alpha == C] <= 1 + 1e-5).all()
    squared_norm = beta @ K @ beta
    dual = alpha.sum() - 0.5 * squared_norm
    primal = 0.5 * squared_norm + C * np.maximum(0, 1 - margin).sum()
    np.testing.assert_allclose([dual, machine.dual_objective_[0]], primal, rtol=1e-6)
    np.testing.assert_allclose(machine.primal_objective_, primal, rtol=1e-6)
    np.testing.assert_allclose(machine.margin_, 1 / np.sqrt(squared_norm), rtol=1e-6)
    assert machine.kkt_residual_[0] <= machine.tol
    assert machine.fit_status_ == 0


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.5}])
def test_the_optimality_conditions_hold_for_the_hard_margin(kernel: dict[str, Any]) -> None:
    X, y = separable()
    signs = 2.0 * y - 1
    machine = SVC(C=INF, **kernel).fit(X, y)
    beta = alphas(machine, y.size)
    margin = signs * machine.decision_function(X)
    squared_norm = beta @ rows_of(X, kernel) @ beta

    assert abs(beta.sum()) < 1e-8 * np.abs(beta).sum()
    assert (signs * beta >= 0).all()
    assert (margin >= 1 - 1e-5).all()
    np.testing.assert_allclose(margin[machine.support_], 1.0, atol=1e-5)
    np.testing.assert_allclose(np.abs(beta).sum() - 0.5 * squared_norm, 0.5 * squared_norm, rtol=1e-6)
    np.testing.assert_allclose(machine.dual_objective_, machine.primal_objective_, rtol=1e-6)
    np.testing.assert_allclose(machine.margin_, 1 / np.sqrt(squared_norm), rtol=1e-6)


def test_the_hard_margin_of_three_points_is_the_one_drawn_by_hand() -> None:
    # (0, 0) and (0, 2) against (2, 1): the line x1 = 1, half-way, at distance 1.
    machine = SVC(C=INF, kernel="linear").fit([[0, 0], [0, 2], [2, 1]], [0, 0, 1])
    np.testing.assert_allclose(machine.coef_, [[1.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(machine.intercept_, [-1.0], atol=1e-9)
    np.testing.assert_allclose(machine.margin_, [1.0])
    np.testing.assert_allclose(machine.dual_coef_, [[-0.25, -0.25, 0.5]], atol=1e-9)


def test_the_intercept_is_averaged_over_the_free_support_vectors() -> None:
    X, y = noisy()
    machine = SVC(kernel="rbf", gamma=0.5).fit(X, y)
    beta = alphas(machine, y.size)
    free = (np.abs(beta) > 0) & (np.abs(beta) < 1.0)
    values = rows_of(X, {"kernel": "rbf", "gamma": 0.5}) @ beta
    np.testing.assert_allclose(machine.intercept_, (2 * y - 1 - values)[free].mean(), atol=1e-9)


# Agreement with scikit-learn -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", KERNELS)
def test_the_optimum_is_that_of_scikit_learn(parameters: dict[str, Any]) -> None:
    X, y = noisy()
    signs = 2.0 * y - 1
    ours = SVC(tol=1e-8, **parameters).fit(X, y)
    theirs = LibSVC(tol=1e-8, **parameters).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    beta = alphas(theirs, y.size)
    f = theirs.decision_function(X) - theirs.intercept_
    dual = signs @ beta - 0.5 * beta @ f
    np.testing.assert_allclose(ours.dual_objective_[0], dual, rtol=1e-6)
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3 * np.abs(theirs.dual_coef_).max())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_more_classes_one_against_one_are_as_in_scikit_learn(kernel: str, break_ties: bool) -> None:
    X, y = noisy(150, 4, 4)
    ours = SVC(kernel=kernel, break_ties=break_ties, tol=1e-6).fit(X, y)
    theirs = LibSVC(kernel=kernel, break_ties=break_ties, tol=1e-6).fit(X, y)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert ours.support_.tolist() == theirs.support_.tolist()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    pairs = ours.set_params(decision_function_shape="ovo").decision_function(X)
    theirs.set_params(decision_function_shape="ovo", break_ties=False)
    np.testing.assert_allclose(pairs, theirs.decision_function(X), atol=1e-3)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_one_against_the_rest_is_one_binary_problem_for_each_class() -> None:
    X, y = load_iris(return_X_y=True)
    machine = SVC(kernel="rbf", multi_class="ovr").fit(X, y)
    decision = machine.decision_function(X)
    for code in range(3):
        single = SVC(kernel="rbf").fit(X, y == code)
        np.testing.assert_allclose(decision[:, code], single.decision_function(X), atol=1e-6)
    assert machine.predict(X).tolist() == decision.argmax(axis=1).tolist()
    assert machine.dual_coef_.shape == (3, machine.support_.size)


def test_the_linear_primal_and_the_dual_find_the_same_hyperplane() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    primal = SVC(C=100.0, kernel="linear").fit(X, y)  # too long for the dual alone: the interior point comes first
    dual = SVC(C=100.0, kernel="precomputed").fit(X @ X.T, y)
    np.testing.assert_allclose(primal.dual_objective_, dual.dual_objective_, rtol=1e-6)
    np.testing.assert_allclose(primal.decision_function(X), dual.decision_function(X @ X.T), atol=1e-4)
    assert primal.n_iter_[0] < dual.n_iter_[0]


@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_a_large_C_reaches_the_optimum_for_overlapping_classes(C: float) -> None:
    X, y = make_moons(400, noise=0.4, random_state=0)
    gamma = float(1 / (2 * X.var()))
    machine = SVC(C=C).fit(X, y)
    signs, beta = 2.0 * y - 1, alphas(machine, y.size)
    f = rows_of(X, {"kernel": "rbf", "gamma": gamma}) @ beta
    primal = 0.5 * beta @ f + C * np.maximum(0, 1 - signs * (f + machine.intercept_)).sum()
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum()
    assert (signs * beta >= 0).all()
    assert (signs * beta <= C).all()
    np.testing.assert_allclose(signs @ beta - 0.5 * beta @ f, primal, rtol=1e-6)  # between them lies the optimum
    assert machine.n_iter_[0] < 3000
    if C == 1e4:
        theirs = LibSVC(C=C, tol=1e-2).fit(X, y)
        assert machine.score(X, y) == theirs.score(X, y)


def test_every_C_above_all_multipliers_gives_the_hard_margin_and_a_C_too_large_for_floats_is_reported() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    hard, dear = SVC(C=INF, kernel="linear").fit(X, y), SVC(C=1e20, kernel="linear").fit(X, y)
    np.testing.assert_allclose(dear.margin_, hard.margin_, rtol=1e-6)
    X, y = noisy(40)
    with pytest.warns(ConvergenceWarning, match="lower C"):
        assert SVC(C=1e20).fit(np.vstack([X, X]), np.concatenate([y, 1 - y])).fit_status_ == 1


@pytest.mark.parametrize("C", [1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize("flipped", [0, 20])  # labels, so that the classes overlap
def test_a_large_C_reaches_the_optimum_for_columns_in_very_different_units(C: float, flipped: int) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    y[:flipped] = 1 - y[:flipped]
    signs = 2.0 * y - 1
    machine = SVC(C=C, kernel="linear").fit(X, y)
    alpha, margin = signs * alphas(machine, y.size), signs * machine.decision_function(X)
    assert machine.fit_status_ == 0
    assert (alpha >= 0).all()
    assert (alpha <= C * (1 + 1e-12)).all()
    assert abs(signs @ alpha) <= 1e-10 * alpha.sum()
    assert (margin[alpha < C] >= 1 - 1e-6).all()
    assert (margin[alpha > 0] <= 1 + 1e-6).all()
    # The objectives from the multipliers alone and from the plane alone: between them lies the optimum.
    w = (X - X.mean(axis=0)).T @ (signs * alpha)
    primal = 0.5 * machine.coef_[0] @ machine.coef_[0] + C * np.maximum(0.0, 1.0 - margin).sum()
    np.testing.assert_allclose(alpha.sum() - 0.5 * w @ w, primal, rtol=1e-6)


def test_an_indefinite_kernel_has_no_feature_map() -> None:
    assert (
        compute_feature_map(make_gram_of_values(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))) is None
    )
    K = rows_of(noisy(30)[0], {"kernel": "rbf", "gamma": 0.5})
    rows = compute_feature_map(StoredGram(K, np.zeros(30)))
    assert rows is not None
    centred = np.eye(30) - 1 / 30
    np.testing.assert_allclose(rows @ rows.T, centred @ K @ centred, atol=1e-12)


def test_many_rows_of_few_features_are_solved_to_the_optimum() -> None:
    X, y = noisy(6000, 5)
    machine = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(machine.primal_objective_, machine.dual_objective_, rtol=1e-6)
    fewer = SVC(kernel="linear").fit(X[:600], y[:600])
    np.testing.assert_allclose(fewer.coef_, LibSVC(kernel="linear", tol=1e-7).fit(X[:600], y[:600]).coef_, atol=1e-5)


def test_more_rows_than_a_working_set_reach_the_optimum() -> None:
    X, y = noisy(3500, 5)
    machine = SVC(kernel="rbf").fit(X, y)
    assert machine.kkt_residual_[0] <= machine.tol
    np.testing.assert_allclose(machine.primal_objective_, machine.dual_objective_, rtol=1e-6)


# Kernels given by the user -------------------------------------------------------------------------------------------


def gaussian(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return svm.gaussian(A, B, sigma=1.0)


@pytest.mark.parametrize("c", [2, 3])
def test_callable_and_precomputed_kernels_are_the_named_one(c: int) -> None:
    X, y = noisy(100, 4, c)
    query = noisy(40, 4, c, seed=1)[0]
    named = SVC(kernel="rbf", gamma=0.5).fit(X, y)
    called = SVC(kernel=gaussian).fit(X, y)
    given = SVC(kernel="precomputed").fit(gaussian(X, X), y)
    expected = named.decision_function(query)
    np.testing.assert_allclose(called.decision_function(query), expected, atol=1e-6)
    np.testing.assert_allclose(given.decision_function(gaussian(query, X)), expected, atol=1e-6)
    assert given.support_.tolist() == named.support_.tolist()
    assert given.support_vectors_.size == 0


def test_a_precomputed_kernel_forgets_rows_of_weight_zero() -> None:
    X, y = noisy(80)
    weight = np.arange(80) % 3 > 0
    K = gaussian(X, X)
    weighted = SVC(kernel="precomputed").fit(K, y, sample_weight=weight)
    fewer = SVC(kernel="precomputed").fit(K[np.ix_(weight, weight)], y[weight])
    np.testing.assert_allclose(
        weighted.decision_function(K), fewer.decision_function(K[:, weight]), rtol=1e-9, atol=1e-9
    )
    assert set(weighted.support_) <= set(np.flatnonzero(weight))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.triu(np.ones((4, 4))), "symmetric"),
        (np.ones((4, 3)), "square"),
    ],
)
def test_an_invalid_precomputed_kernel_is_rejected(kernel: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVC(kernel="precomputed").fit(kernel, [0, 0, 1, 1])


# Laws ----------------------------------------------------------------------------------------------------------------


@examples(25)
@given(
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(["linear", "rbf", "poly"]),
    C=st.sampled_from([0.1, 1.0, 20.0]),
    multi_class=st.sampled_from(["ovo", "ovr"]),
)
@example(seed=193, kernel="linear", C=0.1, multi_class="ovo")  # no free row, but one a rounding error from its bound
def test_weight_two_is_the_row_twice(seed: int, kernel: str, C: float, multi_class: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    weight = rng.integers(0, 3, 30)
    weight[:3] = 1
    machine = SVC(kernel=kernel, C=C, multi_class=multi_class)
    weighted = machine.fit(X, y, sample_weight=weight).decision_function(X)
    repeated = machine.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_rows_with_both_labels_have_no_hard_margin(kernel: str) -> None:
    X, y = noisy(20)
    with pytest.raises(ValueError, match="C=inf requires a hyperplane that separates the classes"):
        SVC(C=INF, kernel=kernel).fit(np.vstack([X, X]), np.concatenate([y, 1 - y]))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_lengths_whose_squares_overflow_are_rejected(scale: float) -> None:
    X, y = separable()
    with pytest.raises(ValueError, match="scale the columns"):
        SVC(kernel="linear").fit(X * scale, y)


def test_rounding_of_the_mean_of_constant_columns_is_no_variance() -> None:
    X = np.full((7, 3), 0.1)
    assert X.var() > 0
    space = make_training_space("rbf", "scale", 0.0, 3, X, np.ones(7), for_all_rows=False)
    assert space.gamma == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_proportions_of_enormous_weights_still_count(kernel: str) -> None:
    X, y, weight = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1], np.array([3.0, 1.0, 1.0, 3.0])
    for unit in (1.0, 1e307):
        machine = SVC(kernel=kernel, C=100.0).fit(X, y, sample_weight=weight * unit)
        np.testing.assert_allclose(machine.decision_function(X), [-1, -1, 1, 1], atol=1e-4)
        assert machine.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_a_distant_origin_costs_no_digits() -> None:
    X, y = noisy()
    for kernel in ("linear", "rbf"):
        near, far = SVC(kernel=kernel, gamma=0.5).fit(X, y), SVC(kernel=kernel, gamma=0.5).fit(X + 1e6, y)
        np.testing.assert_allclose(far.decision_function(X + 1e6), near.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_no_more_steps_are_taken_than_allowed(max_iter: int) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=rf"terminated early \(max_iter={max_iter}\)"):
        machine = SVC(kernel="poly", C=100, max_iter=max_iter).fit(X, y)
    assert machine.n_iter_.max() == max_iter
    assert machine.fit_status_ == 1
    assert machine.kkt_residual_.max() > machine.tol


def test_a_class_without_weight_is_rejected() -> None:
    with pytest.raises(ValueError, match="class_weight assigns 0 to a class"):
        SVC(class_weight={0: 0.0}).fit([[0.0], [1.0]], [0, 1])


def test_ties_are_not_broken_by_scores_of_pairs() -> None:
    X, y = load_iris(return_X_y=True)
    machine = SVC(break_ties=True, decision_function_shape="ovo", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        machine.predict(X)


def test_a_pair_whose_plane_contains_the_row_votes_for_the_higher_class_as_in_libsvm() -> None:
    assert count_votes(np.zeros((1, 3)), 3).tolist() == [[0.0, 1.0, 2.0]]
