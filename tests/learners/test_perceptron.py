"""The perceptron: the walk of the lecture, row by row, and that order and start decide where it ends."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from bakeoff.learners import Perceptron
from bakeoff.learners.linear import perceptron

ROWS = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]])
LABELS = np.array([1, 1, -1])


def make_lecture_perceptron(*arguments: Any, **parameters: Any) -> Perceptron:
    """Return the perceptron of the lecture: rows in their order, and the last plane."""
    return Perceptron(*arguments, **({"shuffle": False, "pocket": False} | parameters))


def separable(n: int = 300, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes of integers, so that sums are exact, with a gap between them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (n, d)).astype(float)
    score = X @ rng.integers(1, 4, d) - 1.5
    keep = np.abs(score) > 2
    return X[keep], np.where(score > 0, 1, -1)[keep]


def noisy(n: int = 300, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with a fifth of the labels turned round."""
    X, y = separable(n, d, seed)
    return X, np.where(np.random.default_rng(seed).random(len(y)) < 0.2, -y, y)


def quiet_fit(model: Perceptron, X: Any, y: Any) -> Perceptron:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def test_three_points_by_hand() -> None:
    model = make_lecture_perceptron().fit(ROWS, LABELS)
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[1, 1]], [-3])
    assert model.loss_curve_ == [7, 4, 1, 7, 2, 0]  # each the sum over the rows met on the wrong side
    assert model.n_iter_ == 6


def test_another_order_or_start_ends_with_another_plane() -> None:
    model = make_lecture_perceptron().fit(ROWS[::-1], LABELS[::-1])
    assert (model.coef_.tolist(), model.intercept_.tolist()) != ([[1, 1]], [-3])
    assert (model.predict(ROWS) == LABELS).all()
    model = make_lecture_perceptron(coef_init=[2.0, 0.0], intercept_init=-5.0).fit(ROWS, LABELS)
    assert (model.coef_.tolist(), model.intercept_.tolist(), model.n_iter_) == ([[2, 0]], [-5], 1)


@pytest.mark.parametrize("class_weight", ["balanced", "by label"])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("c", [2, 3])
def test_class_weights_turn_the_plane_as_in_scikit_learn(class_weight: str, shuffled: bool, c: int) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[25 if c == 3 else 75 :], y[25 if c == 3 else 75 :]  # classes of unequal size
    order = np.random.default_rng(0).permutation(len(y)) if shuffled else np.arange(len(y))
    given: dict[str, Any] = {"max_iter": 7, "class_weight": "balanced"}
    if class_weight == "by label":
        given["class_weight"] = {1: 4.0, 2: 0.25} if c == 2 else {0: 0.5, 1: 4.0, 2: 0.25}
    ours = quiet_fit(make_lecture_perceptron(**given), X[order], y[order])
    theirs = sklearn.linear_model.Perceptron(tol=None, shuffle=False, **given).fit(X[order], y[order])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
    plain = quiet_fit(make_lecture_perceptron(max_iter=7), X[order], y[order])
    assert not np.array_equal(plain.coef_, ours.coef_)


def test_the_mean_plane_bears_the_weights_of_classes() -> None:
    X, y = noisy(300, 3)
    weight = {-1: 1.0, 1: 3.0}
    w, b, total = np.zeros(3), 0.0, np.zeros(4)
    for _ in range(5):
        for x, label in zip(X, y, strict=True):
            if label * (w @ x + b) <= 0:
                w, b = w + weight[label] * label * x, b + weight[label] * label
            total += np.append(w, b)
    averaged = quiet_fit(make_lecture_perceptron(max_iter=5, averaged=True, class_weight=weight), X, y)
    np.testing.assert_allclose(np.append(averaged.coef_, averaged.intercept_), total / (5 * len(y)), rtol=1e-9)


@pytest.mark.parametrize("n", [500, 6000])
@pytest.mark.parametrize("clean", [True, False])
def test_the_plane_is_scikit_learns_in_the_same_order(n: int, clean: bool) -> None:
    X, y = (separable if clean else noisy)(n, 8)
    X = X + np.random.default_rng(0).normal(size=X.shape) / 100
    ours = quiet_fit(make_lecture_perceptron(max_iter=10), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = sklearn.linear_model.Perceptron(shuffle=False, tol=None, max_iter=ours.n_iter_).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_)


@pytest.mark.parametrize("tol", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("patience", [1, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_tol_learning_ends_at_scikit_learns_pass(tol: float, patience: int, seed: int) -> None:
    X, y = noisy(400, 4, seed)
    rule: dict[str, Any] = {"tol": tol, "n_iter_no_change": patience, "max_iter": 300, "shuffle": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it ended by the rule that was asked for
        ours = make_lecture_perceptron(**rule).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(**rule).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_ < 300
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)


def test_tol_is_counted_in_the_loss_of_a_row_whatever_the_unit() -> None:
    X, y = noisy()
    plain = make_lecture_perceptron(fit_intercept=False, tol=0.5, max_iter=300).fit(X, y)
    scaled = make_lecture_perceptron(fit_intercept=False, tol=0.5 * 2.0**800, max_iter=300).fit(X * 2.0**400, y)
    assert plain.n_iter_ == scaled.n_iter_ < 300
    np.testing.assert_array_equal(scaled.coef_, plain.coef_ * 2.0**400)


def test_classes_that_no_plane_separates_end_at_max_iter_with_a_warning() -> None:
    model = make_lecture_perceptron(max_iter=13)
    with pytest.warns(ConvergenceWarning, match="misclassified in the last of max_iter=13 passes"):
        model.fit(*noisy())
    assert model.n_iter_ == len(model.loss_curve_) == 13
    assert min(model.loss_curve_) > 0


def test_a_shuffled_order_follows_its_seed() -> None:
    X, y = noisy()
    first, again, other = (
        quiet_fit(make_lecture_perceptron(shuffle=True, random_state=seed), X, y) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.coef_, again.coef_)
    assert (first.coef_ != other.coef_).any()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n", [20, 300, 2500])
@pytest.mark.parametrize("class_weight", [None, {-1: 1.0, 1: 3.0}])
def test_shuffled_passes_are_those_of_the_lectures_loop(d: int, n: int, class_weight: dict[int, float] | None) -> None:
    X, y = noisy(n, d)
    model = quiet_fit(Perceptron(max_iter=3, pocket=False, class_weight=class_weight, random_state=0), X, y)
    rows = np.column_stack([X, np.ones(len(y))]) * y[:, None]
    (seed,) = np.random.RandomState(0).randint(2**31, size=1)
    random_state = np.random.RandomState(seed)
    plane, losses = np.zeros(d + 1), []
    for _ in range(3):
        margins = []
        for i in random_state.permutation(len(y)):
            margin = rows[i] @ plane
            if margin <= 0:
                margins.append(margin)
                plane = plane + rows[i] * (class_weight or {}).get(y[i], 1.0)
        losses.append(-sum(margins))
    assert [*model.coef_[0], *model.intercept_] == plane.tolist()
    assert model.loss_curve_ == losses


def test_without_intercept_the_plane_passes_through_the_origin() -> None:
    X, y = separable()
    model = quiet_fit(make_lecture_perceptron(fit_intercept=False, intercept_init=4.0), X, y)
    assert model.intercept_ == [0]
    assert not model.decision_function(np.zeros((1, 3))).any()


@pytest.mark.parametrize("factor", [2.0**-500, 2.0**-1, 2.0**500, 2.0**1000])
def test_the_unit_does_not_matter_without_intercept(factor: float) -> None:
    X, y = noisy()
    plain = quiet_fit(make_lecture_perceptron(fit_intercept=False), X, y)
    scaled = quiet_fit(make_lecture_perceptron(fit_intercept=False), X * factor, y)
    np.testing.assert_array_equal(scaled.coef_ / factor, plain.coef_)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))


def test_scores_beyond_floats_are_refused_in_a_sentence() -> None:
    X, y = separable()
    model = quiet_fit(make_lecture_perceptron(), X * 1e300, y)
    assert np.isfinite(model.coef_).all()
    with pytest.raises(ValueError, match=r"scores of a row overflow.*rescale"):
        model.predict(X * 1e300)


def test_weights_beyond_floats_are_refused_in_a_sentence() -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match="weights overflowed; rescale"):
        make_lecture_perceptron(eta0=1e300).fit(X * 1e9, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"coef_init": [1.0, 2.0, 3.0]}, r"coef_init has shape \(3,\)"),
        ({"coef_init": [np.nan, 1.0]}, "must be finite"),
        ({"intercept_init": [1.0, 2.0]}, r"intercept_init has shape \(2,\)"),
        ({"class_weight": {-1: 0.0, 1: 1.0}}, "class_weight.*positive"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_lecture_perceptron(**parameters).fit(ROWS, LABELS)


def make_overlapping_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 2) of two classes that no plane separates, sorted by class, two thirds in the first."""
    rng = np.random.default_rng(seed)
    y = np.sort((rng.random(n) > 2 / 3).astype(int))
    return rng.normal(0, 1, (n, 2)) + 0.3 * y[:, None], y


def test_the_pocket_has_the_fewest_mistakes_of_all_passes() -> None:
    X, y = make_overlapping_rows(150, 0)
    given: dict[str, Any] = {"random_state": 1}
    scores = [quiet_fit(Perceptron(pocket=False, max_iter=k, **given), X, y).score(X, y) for k in range(1, 21)]
    best = quiet_fit(Perceptron(max_iter=20, **given), X, y).score(X, y)
    assert best == max(*scores, np.mean(y == 0))
    assert best > scores[-1]


def test_of_planes_with_equally_few_mistakes_the_pocket_holds_the_last() -> None:
    pocket = perceptron.Pocket(np.array([[1.0, 1.0], [2.0, 1.0], [-3.0, -1.0]]), np.ones(3))
    assert pocket.plane.tolist() == [0, 1 / 3]  # the larger class, and one mistake
    for plane in ([0.0, 2.0], [1.0, 0.0], [-1.0, 0.0]):  # one, one, two
        pocket.offer(np.array(plane))
    assert pocket.plane.tolist() == [1, 0]


def test_a_pass_that_lowers_the_best_loss_by_exactly_tol_is_progress_as_in_scikit_learn() -> None:
    trainer = perceptron.BlockedPass(np.ones((2, 2)), np.ones(2), np.zeros(2), averaged=False)
    counts = []
    for loss in (5.0, 4.0, 3.5, 4.0, 2.5):
        trainer.losses.append(loss)
        counts.append(trainer.count_passes_without_progress(1.0))
    assert counts == [0, 0, 1, 2, 0]
