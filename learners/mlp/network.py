"""The network: layers of weighted sums with a curve between them, and the gradient of its loss by backpropagation.

    A_0 = X,   A_i = f(A_{i-1} W_i + b_i),   Z = A_{l-1} W_l + b_l          (forward)
    Δ_l = prediction - target,   Δ_i = Δ_{i+1} W_{i+1}ᵀ ∘ f'(A_i)           (backward)
    ∂L/∂W_i = A_{i-1}ᵀ Δ_i,   ∂L/∂b_i = Σ_rows Δ_i

All weights and biases are views into one flat vector, and so are their derivatives: a solver is then a handful of
operations on whole vectors.  Every array is made once and filled anew for each batch.

Reference: D. E. Rumelhart, G. E. Hinton, R. J. Williams, "Learning representations by back-propagating errors",
Nature 323, 1986.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from bakeoff.learners.mlp.losses import LOSSES, sigmoid

ACTIVATIONS = ("identity", "logistic", "relu", "tanh")


def activate(activation: str, z: np.ndarray) -> None:
    """Replace weighted sums by f of them."""
    if activation == "relu":
        np.maximum(z, 0.0, out=z)
    elif activation == "tanh":
        np.tanh(z, out=z)
    elif activation == "logistic":
        sigmoid(z)


def times_derivative(activation: str, a: np.ndarray, delta: np.ndarray) -> None:
    """Multiply delta by f', which for each of these curves is a function of a = f(z); overwrites a."""
    if activation == "relu":
        delta *= a > 0.0
    elif activation == "tanh":
        a *= a
        delta *= np.subtract(1.0, a, out=a)
    elif activation == "logistic":
        delta *= a
        delta *= np.subtract(1.0, a, out=a)


def forward(
    layers: Sequence[np.ndarray], coefs: Sequence[np.ndarray], intercepts: Sequence[np.ndarray], activation: str
) -> np.ndarray:
    """Fill ``layers[1:]`` from the rows in ``layers[0]``; return the last, whose sums have no curve put upon them."""
    for below, above, coef, intercept in zip(layers[:-1], layers[1:], coefs, intercepts, strict=True):
        np.matmul(below, coef, out=above)
        above += intercept
        if above is not layers[-1]:
            activate(activation, above)
    return layers[-1]


class Network:
    """Final: the parameters of a network, its loss on a batch, and the gradient of that loss.

    Parameters
    ----------
    sizes : sequence of int
        Units of each layer, the d features first and the outputs last.
    activation : {"identity", "logistic", "relu", "tanh"}
    output : {"identity", "logistic", "softmax"}
        What the outputs are, and so which loss: squared error, binary or multinomial cross-entropy.
    alpha : float
        L2 penalty on the weights.
    batch_size : int
        The most rows of a batch.
    random : RandomState
        Draws the starting point: uniform within ±√(6 / (units below + units above)), for logistic units √(2 / …)
        (X. Glorot, Y. Bengio, 2010).

    Attributes
    ----------
    parameters, gradient : ndarray of shape (p,)
        The weights of all layers, then all biases; and the derivative of the loss by each.
    coefs, intercepts : list of ndarray of shape (below, above), list of ndarray of shape (above,)
        Views into ``parameters``.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: str,
        output: str,
        alpha: float,
        batch_size: int,
        random: np.random.RandomState,
    ) -> None:
        self.activation, self.alpha = activation, alpha
        self._loss = LOSSES[output]
        self._pairs = pairs = list(itertools.pairwise(sizes))
        self._weights = sum(below * above for below, above in pairs)
        self.parameters = np.empty(self._weights + sum(sizes[1:]))  # (p,)
        self.gradient = np.empty_like(self.parameters)  # (p,)
        self.coefs, self.intercepts = self.layers(self.parameters)
        self._coef_gradients, self._intercept_gradients = self.layers(self.gradient)
        self._penalty_gradient = np.empty(self._weights)
        self._layers = [np.empty((batch_size, size)) for size in sizes]
        self._deltas = [np.empty((batch_size, size)) for size in sizes[1:-1]]
        for (below, above), coef, intercept in zip(pairs, self.coefs, self.intercepts, strict=True):
            bound = np.sqrt((2.0 if activation == "logistic" else 6.0) / (below + above))
            coef[:] = random.uniform(-bound, bound, coef.shape)
            intercept[:] = random.uniform(-bound, bound, intercept.shape)

    def layers(self, vector: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Cut a flat vector (p,) into the weight matrices and the bias vectors of each layer, without copying."""
        coefs, intercepts, start = [], [], 0
        for below, above in self._pairs:
            coefs.append(vector[start : start + below * above].reshape(below, above))
            start += below * above
        for _, above in self._pairs:
            intercepts.append(vector[start : start + above])
            start += above
        return coefs, intercepts

    def loss_and_gradient(self, X: np.ndarray, target: np.ndarray, rows: np.ndarray) -> float:
        """Return the mean loss over a batch, penalty included, and leave its derivative in ``gradient``.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        target : ndarray of shape (n,)
            Values, or class codes.
        rows : ndarray of shape (batch,), int
            The rows of X and target that make the batch, ``batch_size`` at most.
        """
        size = rows.shape[0]
        layers = [layer[:size] for layer in self._layers]
        X.take(rows, axis=0, out=layers[0], mode="clip")  # "clip" spares a buffer; all rows are within bounds
        delta = forward(layers, self.coefs, self.intercepts, self.activation)
        loss = self._loss(delta, target[rows])
        delta /= size
        for i in range(len(self.coefs) - 1, -1, -1):
            np.matmul(layers[i].T, delta, out=self._coef_gradients[i])
            np.sum(delta, axis=0, out=self._intercept_gradients[i])
            if i > 0:
                delta = np.matmul(delta, self.coefs[i].T, out=self._deltas[i - 1][:size])
                times_derivative(self.activation, layers[i], delta)
        weights = self.parameters[: self._weights]
        self.gradient[: self._weights] += np.multiply(weights, self.alpha / size, out=self._penalty_gradient)
        return float(loss + 0.5 * self.alpha * (weights @ weights)) / size
