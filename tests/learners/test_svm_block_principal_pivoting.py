"""Block principal pivoting: it ends at the optimum, or leaves everything as it was."""

from __future__ import annotations

import numpy as np
import pytest
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.learners.definitions.svm import gaussian
from bakeoff.learners.svm.dual_solver import run_smo
from bakeoff.learners.svm.gram import Gram, Kernel, StoredGram, make_gram
from bakeoff.learners.svm.newton import (
    BoxConstraints,
    DualPoint,
    guess_free_rows,
    measure_violation,
    solve_by_pivoting,
    solve_kkt_system,
)


def make_program(seed: int, n: int, C: float) -> tuple[np.ndarray, BoxConstraints, np.ndarray]:
    """Return a Gaussian kernel, the box of a soft margin, and the signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    signs = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    K = gaussian(X, X, sigma=np.sqrt(2.5))
    return K, BoxConstraints(np.minimum(0.0, C * signs), np.maximum(0.0, C * signs), [slice(0, n)]), signs


@examples(60)
@given(st.integers(0, 10**6), st.integers(2, 80), st.sampled_from([0.1, 1.0, 50.0]), st.integers(0, 200))
def test_pivoting_solves_the_program_or_changes_nothing(seed: int, n: int, C: float, steps: int) -> None:
    K, box, signs = make_program(seed, n, C)
    point = DualPoint(np.zeros(n), -signs)
    run_smo(K, box, point, 1e-9, steps)
    before = point.beta.copy(), point.gradient.copy()
    guess = guess_free_rows(box, point, 1e-9)
    if solve_by_pivoting(StoredGram(K, np.zeros(n)), box, point, guess, 1e-9, n):
        beta, gradient = point.beta, point.gradient
        assert measure_violation(box, point) <= 1e-8
        assert (beta >= box.low).all()
        assert (beta <= box.high).all()
        assert abs(beta.sum()) <= 1e-9 * max(1.0, np.abs(beta).sum())
        np.testing.assert_allclose(gradient, K @ beta - signs, atol=1e-9 * max(1.0, C))
    else:
        np.testing.assert_array_equal(point.beta, before[0])
        np.testing.assert_array_equal(point.gradient, before[1])


@pytest.mark.parametrize("seed", range(5))
def test_near_the_optimum_pivoting_finds_the_solution_of_many_smo_steps(seed: int) -> None:
    n = 200
    K, box, signs = make_program(seed, n, 1.0)
    slow, fast = DualPoint(np.zeros(n), -signs), DualPoint(np.zeros(n), -signs)
    run_smo(K, box, slow, 1e-10, 100_000)
    run_smo(K, box, fast, 1e-10, 100)
    assert solve_by_pivoting(StoredGram(K, np.zeros(n)), box, fast, guess_free_rows(box, fast, 1e-10), 1e-10, n)
    np.testing.assert_allclose(fast.beta, slow.beta, atol=1e-7)


def test_a_negative_definite_kernel_changes_nothing() -> None:
    _, box, signs = make_program(0, 40, 1.0)
    point = DualPoint(np.zeros(40), -signs)
    assert not solve_by_pivoting(StoredGram(-np.eye(40), np.zeros(40)), box, point, np.ones(40, dtype=bool), 1e-9, 40)
    assert not point.beta.any()


def test_a_pair_of_classes_has_the_kernel_values_of_its_rows() -> None:
    K, _, _ = make_program(3, 60, 1.0)
    whole = StoredGram(K, np.arange(60.0))
    for rows in (np.r_[40:55, 3:20], np.arange(0, 60, 2)):
        part: Gram = whole.restrict_to(rows)
        inner = np.array([1, 4, 9])
        expected = K[np.ix_(rows, rows)]
        np.testing.assert_array_equal(part.take_block(np.arange(rows.size)), expected)
        np.testing.assert_array_equal(part.take_block(inner), expected[np.ix_(inner, inner)])
        np.testing.assert_array_equal(part.take_rows(inner), expected[inner])
        np.testing.assert_allclose(part.multiply_columns(inner, np.ones(3)), expected[:, inner].sum(axis=1))
        np.testing.assert_array_equal(part.restrict_to(inner).take_rows(np.arange(3)), expected[np.ix_(inner, inner)])
        np.testing.assert_array_equal(part.diagonal, expected.diagonal())
        np.testing.assert_array_equal(part.offset, rows)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_pairs_of_classes_share_what_lies_within_a_class(name: str) -> None:
    X, kernel = np.random.default_rng(0).normal(size=(60, 5)), Kernel(name, 0.3, 1.0, 3)
    computed = make_gram(kernel, X, for_all_rows=False)
    for rows in (np.r_[20:45, 0:20], np.r_[45:60, 0:20], np.r_[45:60, 20:45]):
        part = computed.restrict_to(rows)
        K = part.take_block(np.arange(rows.size)) + part.offset[:, None] + part.offset[None, :]
        lacking = kernel(X[rows], X[rows]) - K  # a constant, which shifts b alone
        np.testing.assert_allclose(lacking, lacking[0, 0], atol=1e-12 * np.abs(K).max())


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_parts_computed_on_request_are_those_of_the_whole_matrix(name: str) -> None:
    X, kernel = np.random.default_rng(1).normal(size=(60, 5)), Kernel(name, 0.3, 1.0, 3)
    K, rows = kernel(X, X), np.array([3, 20, 59])
    computed = make_gram(kernel, X, for_all_rows=False)
    np.testing.assert_allclose(computed.take_rows(rows), K[rows], rtol=1e-12)
    np.testing.assert_allclose(computed.take_block(rows), K[np.ix_(rows, rows)], rtol=1e-12)
    np.testing.assert_allclose(computed.multiply_columns(rows, np.ones(3)), K[:, rows].sum(axis=1), rtol=1e-10)


@examples(40)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([-1.0, 0.0, 3.0]))
def test_the_free_rows_have_one_gradient_and_the_sum_asked_for(seed: int, f: int, total: float) -> None:
    K, _, _ = make_program(seed, f, 1.0)
    slope = np.random.default_rng(seed).normal(size=f)
    for kernel in (K, K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()):  # the second one singular by itself
        solved = solve_kkt_system(kernel, [slice(0, f)], slope, [total], 1e-13)
        assert solved is not None
        size = 1.0 + float(np.abs(solved[0]).max())
        np.testing.assert_allclose(slope + kernel @ solved[0], solved[1][0], atol=1e-9 * size)
        assert solved[0].sum() == pytest.approx(total, abs=1e-9 * size)


def test_second_order_selection_reaches_the_same_optimum_in_fewer_steps() -> None:
    K, box, signs = make_program(1, 150, 5.0)
    plain, gaining = DualPoint(np.zeros(150), -signs), DualPoint(np.zeros(150), -signs)
    by_violation = run_smo(K, box, plain, 1e-9, 100_000)
    by_gain = run_smo(K, box, gaining, 1e-9, 100_000, second_order=True)
    assert max(measure_violation(box, plain), measure_violation(box, gaining)) <= 1e-9
    assert by_gain < by_violation
    np.testing.assert_allclose(gaining.beta, plain.beta, atol=1e-7)
