"""Output functions and their losses, computed so that no exponential overflows.

Each kind of output has the loss for which the derivative with respect to the sums of the outputs is simply
prediction - target.
"""

from __future__ import annotations

from collections.abc import Callable

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


def squared_loss(z: np.ndarray, target: np.ndarray) -> float:
    """Return ½ Σ (z - y)² for z of shape (batch, 1), and replace z by z - y."""
    z[:, 0] -= target
    return 0.5 * float(np.vdot(z, z))


def logistic_loss(z: np.ndarray, codes: np.ndarray) -> float:
    """Return Σ ln(1 + exp(z)) - yz for z of shape (batch, 1), and replace z by P(class 1) - y."""
    loss = float(np.logaddexp(0.0, z).sum() - codes @ z[:, 0])
    apply_sigmoid(z)
    z[:, 0] -= codes
    return loss


def softmax_loss(z: np.ndarray, codes: np.ndarray) -> float:
    """Return Σ ln Σ_k exp(z_k) - z_code for z of shape (batch, c), and replace z by probabilities minus one-hot."""
    rows = np.arange(z.shape[0])
    z -= z.max(axis=1, keepdims=True)
    target_sum = z[rows, codes].sum()
    np.exp(z, out=z)
    normalizer = z.sum(axis=1, keepdims=True)  # (batch, 1)
    z /= normalizer
    z[rows, codes] -= 1.0
    return float(np.log(normalizer).sum() - target_sum)


Loss = Callable[[np.ndarray, np.ndarray], float]

LOSSES: dict[str, Loss] = {
    "identity": squared_loss,
    "logistic": logistic_loss,
    "softmax": softmax_loss,
}
