"""The likelihood that `definitions.logistic_regression` maximises, computed a tile of rows at a time, and its solvers.

With the table T (the columns, and a column of ones for the intercept), a row θ_k of weights per free class, and row
shares s_i that sum to 1, the scores are f_ik = T_i·θ_k and the class probabilities p_ik = exp(f_ik) / Σ_l exp(f_il).
The objective to minimise is the negative mean log-likelihood with its penalty,

    J(θ) = -Σ_i s_i log p_{i,y_i} + ½ Σ_kj λ_j θ_kj²,
    ∂J/∂θ_k = Σ_i s_i (p_ik - [y_i = k]) T_i + λθ_k,
    ∂²J/∂θ_k∂θ_l = Σ_i s_i p_ik ([k = l] - p_il) T_i T_iᵀ + [k = l] diag(λ).

In the softmax form every class is free. In the reference-class form the last class has score 0 and K = c - 1 classes
are free; with two classes that is P(Y=1|x) = exp(f) / (1 + exp(f)).

Cost, for D columns of T: O(n D c) for value and gradient, O(n (cD)²) for the Hessian.

*Solvers*: gradient descent, Newton's method and L-BFGS minimise it. All of them step from θ to θ + t·direction until no
component of the gradient exceeds ``tol``. Gradient descent steps against the gradient with a fixed t. Newton's method
solves ∇²J · direction = -∇J, and halves t until J decreases sufficiently (damping). L-BFGS replaces ∇²J by a bound,
which is corrected with the last steps and the corresponding changes of the gradient.

Reference: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., 2006, chapters 3 and 7.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from bakeoff.learners.base.scaling import Standardized, Table

TILE_CELLS = 1 << 18
"""Cells of the table that are processed together: 2 MiB."""

MIN_TILE_ROWS = 64

MAX_COPIED_CELLS = 1 << 20
"""Cells of a standardized table that is copied: 8 MiB. A larger one is standardized tile by tile."""


class Evaluation(NamedTuple):
    """The objective and its gradient for given weights."""

    theta: np.ndarray  # (K, D)
    value: float
    magnitude: float  # of the sums whose difference is the value; the rounding error is proportional to it
    gradient: np.ndarray  # (K, D)
    probability: np.ndarray  # (c, n)


class LogLikelihood:
    """Final: the penalised negative mean log-likelihood of linear class scores.

    Parameters
    ----------
    table : ndarray of shape (n, D), or Standardized
    codes : ndarray of shape (n,), int
        Class codes 0..c-1.
    share : ndarray of shape (n,)
        Row weights that sum to 1.
    penalty : ndarray of shape (D,)
        λ.
    c : int
    reference : bool
        Whether the last class has score 0.

    Attributes
    ----------
    initial_theta : ndarray of shape (K, D)
        The starting point of solvers; by default zeros, for which all classes are equally likely.
    n_free_classes : int
        K.
    hessian_multiplications : int
        The cost of one Hessian.
    """

    def __init__(
        self,
        table: np.ndarray | Standardized,
        codes: np.ndarray,
        share: np.ndarray,
        penalty: np.ndarray,
        c: int,
        *,
        reference: bool,
    ) -> None:
        n, D = table.shape
        self.table: Standardized | Table
        if isinstance(table, Standardized) and n * D > MAX_COPIED_CELLS:
            self.table = table
        else:
            self.table = Table(table[:])
        self.share = share
        self.penalty = penalty
        self.c = c
        self.n_free_classes = c - 1 if reference else c
        self.is_own_class = codes == np.arange(c)[:, None]  # (c, n)
        self.initial_theta = np.zeros((self.n_free_classes, D))
        self.hessian_multiplications = n * (self.n_free_classes * D) ** 2

    def evaluate_initial(self) -> Evaluation:
        """Evaluate the objective at the starting point of solvers."""
        return self.evaluate(self.initial_theta)

    def evaluate(self, theta: np.ndarray) -> Evaluation:
        """Compute J and its gradient for θ of shape (K, D), reading the table from memory only once."""
        K = self.n_free_classes
        log_normalizer = 0.0  # Σ_i s_i log Σ_l exp(f_il)
        own_score = 0.0  # Σ_i s_i f_{i,y_i}
        gradient = self.penalty * theta  # (K, D)
        probability = np.empty((self.c, self.table.shape[0]))
        for rows in self._tiles():
            share = self.share[rows]
            p = probability[:, rows]  # (c, tile), a view
            target = self.is_own_class[:K, rows] * share  # (K, tile)
            scores = self._compute_scores(theta, rows)  # (c, tile)
            own_score += float(np.vdot(target, scores[:K]))
            # The largest score of each row is subtracted, so that no exponential overflows.
            largest = scores.max(axis=0)  # (tile,)
            scores -= largest
            np.exp(scores, out=p)
            total = p.sum(axis=0)  # (tile,)
            p /= total
            log_normalizer += float(share @ (np.log(total) + largest))
            residual = np.multiply(p[:K], share, out=scores[:K])  # (K, tile)
            residual -= target
            gradient += self.table.multiply_residual(residual, rows)
        value = log_normalizer - own_score + 0.5 * float(np.sum(self.penalty * theta**2))
        return Evaluation(theta, value, log_normalizer + value, gradient, probability)

    def _tiles(self) -> list[slice]:
        n, D = self.table.shape
        step = max(MIN_TILE_ROWS, TILE_CELLS // D)
        return [slice(start, start + step) for start in range(0, n, step)]

    def _compute_scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return the scores of some rows, of shape (c, rows)."""
        free_scores = self.table.compute_scores(theta, rows)  # (K, rows)
        if self.n_free_classes == self.c:
            return free_scores
        scores = np.zeros((self.c, free_scores.shape[1]))
        scores[: self.n_free_classes] = free_scores
        return scores

    def compute_hessian(self, point: Evaluation) -> np.ndarray:
        """Return the second derivatives, of shape (K D, K D).

        Adding the same weights to all classes does not change any probability. In the softmax form, J is flat in that
        direction or curved only by the penalty, and the gradient is zero; curvature is added in that direction, which
        does not change the optimum and makes the matrix nonsingular.
        """
        K, D = point.theta.shape
        blocks = np.empty((K, D, K, D))
        for k in range(K):
            p = point.probability[k]
            for other in range(k + 1):
                row_weight = self.share * p * ((other == k) - point.probability[other])  # (n,)
                block = self._compute_gram(row_weight)
                blocks[other, :, k, :] = block
                blocks[k, :, other, :] = block
        columns = np.arange(D)
        if self.n_free_classes == self.c:
            mean_curvature = np.einsum("kjkj->j", blocks) / K  # (D,)
            blocks[:, columns, :, columns] += mean_curvature[:, None, None]
        for k in range(K):
            blocks[k, columns, k, columns] += self.penalty
        return blocks.reshape(K * D, K * D)

    def bound_curvature(self) -> np.ndarray:
        """Return a matrix of shape (D, D) that bounds the Hessian of each class from above, everywhere.

        ½(1 - 1/c) TᵀST + diag(λ), after D. Böhning, "Multinomial logistic regression algorithm", Annals of the
        Institute of Statistical Mathematics 44, 1992; the factor of his bound that depends on the classes is replaced
        by its largest value.
        """
        if np.ptp(self.share) == 0:  # all rows have the same weight, which saves a multiplication for each cell
            gram = self._compute_gram(None) * self.share[0]
        else:
            gram = self._compute_gram(self.share)
        max_curvature = 0.25 if self.c == 2 else 0.5
        return max_curvature * gram + np.diag(self.penalty)

    def _compute_gram(self, weight: np.ndarray | None) -> np.ndarray:
        """Return TᵀWT, of shape (D, D), for row weights (n,), or 1."""
        D = self.table.shape[1]
        gram = np.zeros((D, D))
        for rows in self._tiles():
            table = self.table[rows]
            weighted = table if weight is None else table * weight[rows, None]
            gram += table.T @ weighted
        return gram

    def is_separated(self, point: Evaluation) -> bool:
        """Return whether every row's own class has the largest score; if so, larger weights are always better."""
        scores = np.hstack([self._compute_scores(point.theta, rows) for rows in self._tiles()])  # (c, n)
        own = np.where(self.is_own_class, scores, -np.inf).max(axis=0)  # (n,)
        largest_other = np.where(self.is_own_class, -np.inf, scores).max(axis=0)  # (n,)
        return bool(np.all(own > largest_other))


N_REMEMBERED_STEPS = 10
"""Steps that L-BFGS uses to correct its Hessian."""

MIN_STEP_LENGTH = 1e-10
"""The line search gives up below this part of a direction."""

SUFFICIENT_DECREASE = 1e-4
"""The line search accepts this part of the decrease that the slope promises (the Armijo condition)."""

RELATIVE_ROUNDING = 1e-15

MIN_RELATIVE_CURVATURE = 1e-11
"""Curvatures below this fraction of the largest are treated as zero: columns are collinear there."""


def minimize_by_gradient_descent(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Step against the gradient by 1/L, where L is the largest curvature anywhere: no step increases J."""
    point = objective.evaluate_initial()
    largest_curvature = np.linalg.eigvalsh(objective.bound_curvature())[-1]
    step_length = 1.0 / largest_curvature
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        point = objective.evaluate(point.theta - step_length * point.gradient)
    return point, max_iter


def minimize_by_newton(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Step to the minimum of the quadratic approximation of J, with a line search."""
    point = objective.evaluate_initial()
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        next_point = _search_line(objective, point, solve_newton_direction(objective, point))
        if next_point is None:
            return point, iteration + 1
        point = next_point
    return point, max_iter


def solve_newton_direction(objective: LogLikelihood, point: Evaluation) -> np.ndarray:
    """Solve ∇²J · direction = -∇J; if columns are collinear, return the shortest direction, of shape (K, D)."""
    hessian = objective.compute_hessian(point)
    gradient = point.gradient.ravel()  # (K D,)
    min_curvature = MIN_RELATIVE_CURVATURE * np.diagonal(hessian).max()
    try:
        # This factor exists if and only if every curvature is larger than the minimum.
        np.linalg.cholesky(hessian - min_curvature * np.eye(len(hessian)))
        direction = -np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        curvature, axes = np.linalg.eigh(hessian)
        is_curved = curvature > min_curvature
        axes = axes[:, is_curved]
        direction = -axes @ (axes.T @ gradient / curvature[is_curved])
    return direction.reshape(point.theta.shape)


def minimize_by_lbfgs(objective: LogLikelihood, tol: float, max_iter: int) -> tuple[Evaluation, int]:
    """Approximate Newton's method with a Hessian that is estimated from the last steps."""
    point = objective.evaluate_initial()
    bound = objective.bound_curvature()  # (D, D)
    # Collinear columns would make the bound singular.
    bound[np.diag_indices_from(bound)] += 1e-9 * np.diagonal(bound).max()
    inverse_bound = np.linalg.inv(bound)
    history: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=N_REMEMBERED_STEPS)
    for iteration in range(max_iter):
        if has_converged(point, tol):
            return point, iteration
        direction = -_multiply_inverse_hessian(point.gradient, inverse_bound, history)
        next_point = _search_line(objective, point, direction)
        if next_point is None:
            return point, iteration + 1
        step = next_point.theta - point.theta
        gradient_change = next_point.gradient - point.gradient
        if np.vdot(step, gradient_change) > 0:
            history.append((step, gradient_change))
        point = next_point
    return point, max_iter


def _multiply_inverse_hessian(
    gradient: np.ndarray, inverse_bound: np.ndarray, history: deque[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Multiply the gradient by the estimated inverse Hessian (two-loop recursion: Nocedal and Wright, alg. 7.4)."""
    q = gradient
    alphas = []
    for step, change in reversed(history):
        alpha = np.vdot(step, q) / np.vdot(step, change)
        q = q - alpha * change
        alphas.append(alpha)
    r = q @ inverse_bound
    if history:
        # The last step shows by how much the bound exceeds the curvature.
        step, change = history[-1]
        r = r * (np.vdot(step, change) / np.vdot(change, change @ inverse_bound))
    for (step, change), alpha in zip(history, reversed(alphas), strict=True):
        beta = np.vdot(change, r) / np.vdot(step, change)
        r = r + (alpha - beta) * step
    return r


def _search_line(objective: LogLikelihood, point: Evaluation, direction: np.ndarray) -> Evaluation | None:
    """Step along the direction by 1, ½, ¼ … until J decreases sufficiently; None if it never does."""
    slope = np.vdot(point.gradient, direction)
    rounding = RELATIVE_ROUNDING * point.magnitude
    t = 1.0
    while slope < 0 and t > MIN_STEP_LENGTH:
        candidate = objective.evaluate(point.theta + t * direction)
        if candidate.value <= point.value + SUFFICIENT_DECREASE * t * slope + rounding:
            return candidate
        t /= 2
    return None


def has_converged(point: Evaluation, tol: float) -> bool:
    """Return whether no component of the gradient exceeds ``tol``."""
    return bool(np.abs(point.gradient).max() <= tol)


SOLVERS = {
    "newton": minimize_by_newton,
    "newton-cg": minimize_by_newton,
    "newton-cholesky": minimize_by_newton,
    "lbfgs": minimize_by_lbfgs,
    "sag": minimize_by_lbfgs,
    "saga": minimize_by_lbfgs,
    "gradient_descent": minimize_by_gradient_descent,
}
"""The method of each name. The optimum is the same, so that scikit-learn's other names need no methods of their own."""

FAILURE_BY_SOLVER = {
    "newton": "Newton solver did not converge",
    "newton-cholesky": "Newton solver did not converge",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}
"""How scikit-learn's warnings begin; otherwise with the name of the solver."""
