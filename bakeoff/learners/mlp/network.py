"""The network: layers of weighted sums and activations, with the gradient of its loss by backpropagation.

    A_0 = X,   A_i = f(A_{i-1} W_i + b_i),   Z = A_{l-1} W_l + b_l          (forward)
    Δ_l = prediction - target,   Δ_i = Δ_{i+1} W_{i+1}ᵀ ∘ f'(A_i)           (backward)
    ∂L/∂W_i = A_{i-1}ᵀ Δ_i,   ∂L/∂b_i = Σ_rows Δ_i

`bakeoff.learners.definitions.mlp` defines the same computation for one row at a time. Here each step is one matrix
product for a whole batch.

All weights and biases are views of one flat vector, and so are their derivatives, so that a solver needs only a few
operations on whole vectors. Every array is allocated once and reused for each batch.

References
----------
D. E. Rumelhart, G. E. Hinton, R. J. Williams, "Learning representations by back-propagating errors", Nature 323, 1986.
X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.

Output functions and losses are computed so that no exponential overflows. Each kind of output has the loss for which
the derivative with respect to the sums of the outputs is simply prediction - target.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol, final

import numpy as np

ACTIVATIONS = ("identity", "logistic", "relu", "tanh")


def apply_activation(activation: str, z: np.ndarray) -> None:
    """Replace weighted sums z by f(z)."""
    if activation == "relu":
        np.maximum(z, 0.0, out=z)
    elif activation == "tanh":
        np.tanh(z, out=z)
    elif activation == "logistic":
        apply_sigmoid(z)


def multiply_by_derivative(activation: str, a: np.ndarray, delta: np.ndarray) -> None:
    """Multiply ``delta`` by f'(z), which is a function of a = f(z) for each activation; overwrites ``a``."""
    if activation == "relu":
        delta *= a > 0.0
    elif activation == "tanh":
        a *= a
        np.subtract(1.0, a, out=a)
        delta *= a
    elif activation == "logistic":
        delta *= a
        np.subtract(1.0, a, out=a)
        delta *= a


def propagate_forward(
    layers: Sequence[np.ndarray], coefs: Sequence[np.ndarray], intercepts: Sequence[np.ndarray], activation: str
) -> np.ndarray:
    """Fill ``layers[1:]`` from the rows in ``layers[0]``; return the last layer, which has no activation applied."""
    for below, above, coef, intercept in zip(layers[:-1], layers[1:], coefs, intercepts, strict=True):
        np.matmul(below, coef, out=above)
        above += intercept
        if above is not layers[-1]:
            apply_activation(activation, above)
    return layers[-1]


def check_hidden_layer_sizes(hidden_layer_sizes: Any) -> list[int]:
    """Return the units of each hidden layer; raise ValueError unless they are positive integers."""
    sizes = np.atleast_1d(np.asarray(hidden_layer_sizes))
    are_whole = sizes.dtype.kind in "iu" and (sizes >= 1).all()
    if sizes.ndim != 1 or (sizes.size and not are_whole):
        raise ValueError(
            f"hidden_layer_sizes must be positive integers, one for each layer; got {hidden_layer_sizes!r}."
        )
    return [int(size) for size in sizes]


@final
class Network:
    """The parameters of a network, its loss on a batch, and the gradient of that loss.

    Parameters
    ----------
    sizes : sequence of int
        Number of units in each layer, from the d features to the outputs.
    activation : {"identity", "logistic", "relu", "tanh"}
    output : {"identity", "logistic", "softmax"}
        The output function, which determines the loss: squared error, binary or multinomial cross-entropy.
    alpha : float
        L2 penalty on the weights.
    batch_size : int
        Maximum number of rows in a batch.
    random : RandomState
        Draws the initial parameters uniformly within ±√(6 / (units below + units above)), or √(2 / …) for logistic
        units (Glorot and Bengio).

    Attributes
    ----------
    parameters, gradient : ndarray of shape (p,)
        The weights of all layers followed by all biases, and the derivative of the loss with respect to each.
    coefs, intercepts : list of ndarray of shape (below, above), list of ndarray of shape (above,)
        Views of ``parameters``.
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
        self.activation = activation
        self.alpha = alpha
        self._loss = LOSSES[output]
        self._shapes = list(itertools.pairwise(sizes))
        self._n_weights = sum(below * above for below, above in self._shapes)
        n_biases = sum(sizes[1:])
        self.parameters = np.empty(self._n_weights + n_biases)  # (p,)
        self.gradient = np.empty_like(self.parameters)  # (p,)
        self.coefs, self.intercepts = self.view_layers(self.parameters)
        self._coef_gradients, self._intercept_gradients = self.view_layers(self.gradient)
        self._penalty_gradient = np.empty(self._n_weights)
        self._layers = [np.empty((batch_size, size)) for size in sizes]
        self._deltas = [np.empty((batch_size, size)) for size in sizes[1:-1]]
        self._draw_parameters(random)

    def view_layers(self, vector: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return the weight matrices and the bias vectors of a flat vector (p,), without copying."""
        coefs = []
        intercepts = []
        start = 0
        for below, above in self._shapes:
            stop = start + below * above
            coefs.append(vector[start:stop].reshape(below, above))
            start = stop
        for _, above in self._shapes:
            stop = start + above
            intercepts.append(vector[start:stop])
            start = stop
        return coefs, intercepts

    def compute_loss_and_gradient(
        self, X: np.ndarray, target: np.ndarray, rows: np.ndarray, weight: np.ndarray | None = None
    ) -> float:
        """Return the mean loss over a batch, with penalty, and store its derivative in ``gradient``.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        target : ndarray of shape (n,)
            Values, or class codes.
        rows : ndarray of shape (batch,), int
            The rows of X and target in the batch, at most ``batch_size``.
        weight : ndarray of shape (n,), optional
            The positive weights of the rows in the mean.
        """
        size = rows.shape[0]
        layers = [layer[:size] for layer in self._layers]
        # mode="clip" avoids a temporary copy; all rows are within bounds.
        X.take(rows, axis=0, out=layers[0], mode="clip")
        delta = propagate_forward(layers, self.coefs, self.intercepts, self.activation)  # (batch, outputs)
        batch_weight = None if weight is None else weight[rows]  # (batch,)
        total_weight = float(size) if batch_weight is None else float(batch_weight.sum())
        loss = self._loss(delta, target[rows], batch_weight)
        delta /= total_weight
        self._propagate_backward(layers, delta)

        # The penalty applies to weights but not to biases.
        weights = self.parameters[: self._n_weights]
        np.multiply(weights, self.alpha / total_weight, out=self._penalty_gradient)
        self.gradient[: self._n_weights] += self._penalty_gradient
        return float(loss + 0.5 * self.alpha * (weights @ weights)) / total_weight

    def _propagate_backward(self, layers: list[np.ndarray], delta: np.ndarray) -> None:
        """Fill the gradient, given the activations of all layers and the derivative at the outputs."""
        size = delta.shape[0]
        for i in reversed(range(len(self.coefs))):
            np.matmul(layers[i].T, delta, out=self._coef_gradients[i])
            np.add.reduce(delta, axis=0, out=self._intercept_gradients[i])
            # Chain rule for the layer below; no derivative with respect to the inputs is needed.
            if i > 0:
                delta_below = self._deltas[i - 1][:size]
                # Unlike np.matmul, np.dot uses BLAS for the outer product that a single output requires.
                np.dot(delta, self.coefs[i].T, out=delta_below)
                multiply_by_derivative(self.activation, layers[i], delta_below)
                delta = delta_below

    def _draw_parameters(self, random: np.random.RandomState) -> None:
        numerator = 2.0 if self.activation == "logistic" else 6.0
        for (below, above), coef, intercept in zip(self._shapes, self.coefs, self.intercepts, strict=True):
            bound = np.sqrt(numerator / (below + above))
            coef[:] = random.uniform(-bound, bound, coef.shape)
            intercept[:] = random.uniform(-bound, bound, intercept.shape)


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
    # For a batch, maxima in column order are several times as fast as those of one short row after another.
    z -= z.copy(order="F").max(axis=1, keepdims=True)
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
