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


class Point(NamedTuple):
    """A place in the space of weights, and what the objective is there."""

    theta: np.ndarray  # (K, D)
    value: float
    magnitude: float  # of the sums that value is the difference of; rounding is in proportion to it
    gradient: np.ndarray  # (K, D)
    scores: np.ndarray  # (c, n)
    probability: np.ndarray  # (c, n)


class Likelihood:
    """The penalised negative mean log-likelihood of linear class scores.

    Parameters
    ----------
    table : ndarray of shape (n, D)
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
        self, table: np.ndarray, codes: np.ndarray, share: np.ndarray, penalty: np.ndarray, c: int, *, reference: bool
    ) -> None:
        self.table, self.share, self.penalty, self.c = table, share, penalty, c
        self.free = c - 1 if reference else c  # K
        self.mine = codes == np.arange(c)[:, None]  # (c, n), whether the row is of the class
        self.target = self.mine[: self.free] * share  # (K, n)
        self.origin = np.zeros((self.free, table.shape[1]))
        self.newton_work = table.shape[0] * (self.free * table.shape[1]) ** 2

    def start(self) -> Point:
        """Return the point at the origin."""
        return self.at(self.origin)

    def at(self, theta: np.ndarray) -> Point:
        """Evaluate J and its gradient."""
        scores = np.zeros((self.c, self.table.shape[0]))
        np.matmul(theta, self.table.T, out=scores[: self.free])
        own = np.vdot(self.target, scores[: self.free])
        top = scores.max(axis=0)  # (n,)
        probability = scores - top
        np.exp(probability, out=probability)
        total = probability.sum(axis=0)  # (n,)
        probability /= total
        level = self.share @ (np.log(total) + top)
        value = level - own + 0.5 * np.sum(self.penalty * theta**2)
        residual = probability[: self.free] * self.share - self.target  # (K, n)
        gradient = residual @ self.table + self.penalty * theta
        return Point(theta, float(value), float(level + value), gradient, scores, probability)

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
                block = (self.table * bend[:, None]).T @ self.table
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
        equal = np.ptp(self.share) == 0  # then the copy is spared
        rooted = self.table if equal else self.table * np.sqrt(self.share)[:, None]
        gram = rooted.T @ rooted * (self.share[0] if equal else 1.0)  # (D, D)
        steepest = 0.25 if self.c == 2 else 0.5
        return steepest * gram + np.diag(self.penalty)

    def separates(self, point: Point) -> bool:
        """Return whether every row's own class has the largest score: then larger weights are always better."""
        own = np.where(self.mine, point.scores, -np.inf).max(axis=0)
        others = np.where(self.mine, -np.inf, point.scores).max(axis=0)
        return bool(np.all(own > others))
