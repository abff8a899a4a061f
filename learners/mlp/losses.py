"""Output functions and their losses, computed so that no exponential overflows.

Each kind of output has the loss for which the derivative with respect to the sums of the outputs is simply
prediction - target.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


def apply_sigmoid(z: np.ndarray) -> None:
    """Replace z by 1 / (1 + exp(-z)) = (1 + tanh(z/2)) / 2."""
    z *= 0.5
    np.tanh(z, out=z)
    z += 1.0
    z *= 0.5


def apply_softmax(z: np.ndarray) -> None:
    """Replace each row of z by exp(z) / Σ exp(z)."""
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)


def squared_loss(z: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return ½ Σ w (z - y)² for z of shape (batch, 1), and replace z by w (z - y)."""
    z[:, 0] -= target
    if weight is None:
        return 0.5 * float(np.vdot(z, z))
    loss = 0.5 * float(weight @ np.square(z[:, 0]))
    z *= weight[:, None]
    return loss


def logistic_loss(z: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return Σ w (ln(1 + exp(z)) - yz) for z of shape (batch, 1), and replace z by w (P(class 1) - y)."""
    if weight is None:
        loss = float(np.logaddexp(0.0, z).sum() - target @ z[:, 0])
    else:
        loss = float(weight @ (np.logaddexp(0.0, z[:, 0]) - target * z[:, 0]))
    apply_sigmoid(z)
    z[:, 0] -= target
    if weight is not None:
        z *= weight[:, None]
    return loss


def softmax_loss(z: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return Σ w (ln Σ_k exp(z_k) - z_code), and replace z (batch, c) by w times probabilities minus one-hot."""
    rows = np.arange(z.shape[0])
    z -= z.max(axis=1, keepdims=True)
    own = z[rows, target]  # (batch,)
    np.exp(z, out=z)
    normalizer = z.sum(axis=1, keepdims=True)  # (batch, 1)
    z /= normalizer
    z[rows, target] -= 1.0
    if weight is None:
        return float(np.log(normalizer).sum() - own.sum())
    z *= weight[:, None]
    return float(weight @ (np.log(normalizer[:, 0]) - own))


class Loss(Protocol):
    """Abstract: a function that sums the losses of rows and computes their derivatives."""

    def __call__(self, z: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None) -> float:
        """Return the sum for weights w (1 if None), and replace z by its derivative."""


LOSSES: dict[str, Loss] = {
    "identity": squared_loss,
    "logistic": logistic_loss,
    "softmax": softmax_loss,
}
