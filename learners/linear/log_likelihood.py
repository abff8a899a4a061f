"""The likelihood that logistic regression maximises: its value, its gradient, its curvature.

With the table T (the columns, and a column of ones for the intercept), a row θ_k of weights per free class, and row
shares s_i that sum to 1, the scores are f_ik = T_i·θ_k and the classes' probabilities p_ik = exp(f_ik) / Σ_l exp(f_il).
To minimise is the negative mean log-likelihood with its penalty,

    J(θ) = -Σ_i s_i log p_{i,y_i} + ½ Σ_kj λ_j θ_kj²,
    ∂J/∂θ_k = Σ_i s_i (p_ik - [y_i = k]) T_i + λθ_k,
    ∂²J/∂θ_k∂θ_l = Σ_i s_i p_ik ([k = l] - p_il) T_i T_iᵀ + [k = l] diag(λ).

In the softmax form every class is free.  In the reference-class form the last class has score 0 and K = c - 1 rows
are free; with two classes that is P(Y=1|x) = exp(f) / (1 + exp(f)).

Cost, for D columns of T: O(n D c) for value and gradient, O(n (cD)²) for the curvature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bakeoff.learners.base.scaling import Standardized, Table

TILE = 1 << 18
"""Cells of the table looked at together: 2 MiB."""

MOST_KEPT = 1 << 20
"""Cells of a standardized table that is made: 8 MiB.  Of a larger one there is no copy."""


class Point(NamedTuple):
    """A place in the space of weights, and what the objective is there."""

    theta: np.ndarray  # (K, D)
    value: float
    magnitude: float  # of the sums that value is the difference of; rounding is in proportion to it
    gradient: np.ndarray  # (K, D)
    probability: np.ndarray  # (c, n)


class Likelihood:
    """The penalised negative mean log-likelihood of linear class scores.

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
        Whether the last class is held at score 0.

    Attributes
    ----------
    origin : ndarray of shape (K, D)
        Where a search starts: zeros, so that every class is as likely as every other, unless set.
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
        self.table: Standardized | Table
        if isinstance(table, Standardized) and table.shape[0] * table.shape[1] > MOST_KEPT:
            self.table = table
        else:
            self.table = Table(table[:])
        self.share, self.penalty, self.c = share, penalty, c
        self.free = c - 1 if reference else c  # K
        self.mine = codes == np.arange(c)[:, None]  # (c, n), whether the row is of the class
        self.origin = np.zeros((self.free, table.shape[1]))
        self.newton_work = table.shape[0] * (self.free * table.shape[1]) ** 2

    def start(self) -> Point:
        """Return the point at the origin."""
        return self.at(self.origin)

    def at(self, theta: np.ndarray) -> Point:
        """Evaluate J and its gradient, tile by tile, so that the table is fetched from memory only once."""
        level, own, gradient = 0.0, 0.0, self.penalty * theta
        probability = np.empty((self.c, self.table.shape[0]))
        for rows in self._tiles():
            share, p = self.share[rows], probability[:, rows]
            target = self.mine[: self.free, rows] * share  # (K, tile)
            scores = self._scores(theta, rows)  # (c, tile)
            own += float(np.vdot(target, scores[: self.free]))
            top = scores.max(axis=0)  # (tile,)
            scores -= top
            np.exp(scores, out=p)
            total = p.sum(axis=0)  # (tile,)
            p /= total
            level += float(share @ (np.log(total) + top))
            residual = p[: self.free] * share - target  # (K, tile)
            gradient += self.table.pull(residual, rows)
        value = level - own + 0.5 * float(np.sum(self.penalty * theta**2))
        return Point(theta, value, level + value, gradient, probability)

    def _tiles(self) -> list[slice]:
        n, D = self.table.shape
        step = max(64, TILE // D)
        return [slice(start, start + step) for start in range(0, n, step)]

    def _scores(self, theta: np.ndarray, rows: slice) -> np.ndarray:
        """Return the scores of some rows, of shape (c, rows)."""
        free = self.table.scores(theta, rows)
        scores = np.zeros((self.c, free.shape[1]))
        scores[: self.free] = free
        return scores

    def hessian(self, point: Point) -> np.ndarray:
        """Return the second derivatives, of shape (K D, K D).

        Adding the same weights to all classes changes no probability.  In the softmax form J is flat that way, or
        only the penalty bends it, and the gradient is zero; some curvature is added there, which moves no optimum
        and makes the matrix regular.
        """
        K, D = point.theta.shape
        blocks = np.empty((K, D, K, D))
        for k in range(K):
            p = point.probability[k]
            for other in range(k + 1):
                bend = self.share * p * ((other == k) - point.probability[other])  # (n,)
                block = self._gram(bend)
                blocks[k, :, other, :] = blocks[other, :, k, :] = block
        columns = np.arange(D)
        if self.free == self.c:
            level = np.einsum("kjkj->j", blocks) / K  # (D,)
            blocks[:, columns, :, columns] += level[:, None, None]
        for k in range(K):
            blocks[k, columns, k, columns] += self.penalty
        return blocks.reshape(K * D, K * D)

    def bound(self) -> np.ndarray:
        """Return a matrix of shape (D, D) that bends at least as much as J does, per class and everywhere.

        ½(1 - 1/c) TᵀST + diag(λ), after D. Böhning, "Multinomial logistic regression algorithm", Annals of the
        Institute of Statistical Mathematics 44, 1992; the classes' part of his bound is left at its largest value.
        """
        equal = np.ptp(self.share) == 0  # then all rows weigh the same, which spares a multiplication
        gram = self._gram(None) * self.share[0] if equal else self._gram(self.share)
        steepest = 0.25 if self.c == 2 else 0.5
        return steepest * gram + np.diag(self.penalty)

    def _gram(self, weight: np.ndarray | None) -> np.ndarray:
        """Return TᵀWT, of shape (D, D), for weights of the rows (n,), or 1."""
        gram = np.zeros(2 * self.table.shape[1:])
        for rows in self._tiles():
            table = self.table[rows]
            gram += table.T @ (table if weight is None else table * weight[rows, None])
        return gram

    def separates(self, point: Point) -> bool:
        """Return whether every row's own class has the largest score: then larger weights are always better."""
        scores = np.hstack([self._scores(point.theta, rows) for rows in self._tiles()])
        own = np.where(self.mine, scores, -np.inf).max(axis=0)
        others = np.where(self.mine, -np.inf, scores).max(axis=0)
        return bool(np.all(own > others))
