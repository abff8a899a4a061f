"""The likelihood that `definitions.logistic_regression` maximises, computed a tile of rows at a time.

With the table T (the columns, and a column of ones for the intercept), a row θ_k of weights per free class, and row
shares s_i that sum to 1, the scores are f_ik = T_i·θ_k and the class probabilities p_ik = exp(f_ik) / Σ_l exp(f_il).
The objective to minimise is the negative mean log-likelihood with its penalty,

    J(θ) = -Σ_i s_i log p_{i,y_i} + ½ Σ_kj λ_j θ_kj²,
    ∂J/∂θ_k = Σ_i s_i (p_ik - [y_i = k]) T_i + λθ_k,
    ∂²J/∂θ_k∂θ_l = Σ_i s_i p_ik ([k = l] - p_il) T_i T_iᵀ + [k = l] diag(λ).

In the softmax form every class is free. In the reference-class form the last class has score 0 and K = c - 1 classes
are free; with two classes that is P(Y=1|x) = exp(f) / (1 + exp(f)).

Cost, for D columns of T: O(n D c) for value and gradient, O(n (cD)²) for the Hessian.
"""

from __future__ import annotations

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
            residual = p[:K] * share - target  # (K, tile)
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
        scores = np.zeros((self.c, free_scores.shape[1]))
        scores[: self.n_free_classes] = free_scores
        return scores

    def compute_hessian(self, point: Evaluation) -> np.ndarray:
        """Return the second derivatives, of shape (K D, K D).

        Adding the same weights to all classes does not change any probability. In the softmax form, J is flat in that
        direction or curved only by the penalty, and the gradient is zero; curvature is added in that direction, which
        does not change the optimum and makes the matrix regular.
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
