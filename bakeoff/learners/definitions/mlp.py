"""Multilayer perceptron: layers of weighted sums with an activation f between them, trained by backpropagation.

    forward     a_0 = x,    a_l = f(W_lᵀ a_{l-1} + b_l),    and in the last layer, without f, z = Wᵀ a + b
    predict     z for regression, 1 / (1 + exp(-z)) for two classes, exp(z_k) / Σ_l exp(z_l) for more
    loss        ½ (z - y)² for regression, -log P(y | x) for classification
    backward    δ = prediction - target in the last layer, for all three losses;    δ_{l-1} = W_l δ_l ∘ f'(a_{l-1})
    gradient    ∂loss/∂W_l = a_{l-1} δ_lᵀ,    ∂loss/∂b_l = δ_l

The error δ of a layer is computed from the error of the layer above it, so that one backward pass yields the
derivatives with respect to all weights. For a batch, the losses and gradients of its rows are averaged, the penalty
α/2 Σ W² divided by the batch size is added, and all weights take a step against the gradient.

Cost: O(number of weights) for each row and pass.

References: D. E. Rumelhart, G. E. Hinton, R. J. Williams, "Learning representations by back-propagating errors",
Nature 323, 1986; C. M. Bishop, "Pattern Recognition and Machine Learning", 2006, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Problem, Regions, Step, bracket, write_point, write_products

Curves = dict[str, Callable[[np.ndarray], np.ndarray]]
CURVES: Curves = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0),
}
SLOPES: Curves = {
    "identity": lambda a: np.ones(a.shape),
    "logistic": lambda a: a * (1 - a),
    "tanh": lambda a: 1 - a**2,
    "relu": lambda a: np.where(a > 0, 1.0, 0.0),
}
"""The derivative f' of each activation, as a function of a = f(z)."""

Layers = list[tuple[np.ndarray, np.ndarray]]
"""For each layer, the weights W (below, above) and the biases b (above,), or the derivatives with respect to them."""


@dataclass
class Network:
    """The layers, the activation f, the output function ("identity", "logistic" or "softmax"), and the penalty α."""

    layers: Layers
    curve: str
    output: str
    alpha: float = 0.0


def forward(network: Network, x: np.ndarray) -> list[np.ndarray]:
    """Return the activations of all layers for a row x (d,): x itself, the hidden layers, and the sums z (o,)."""
    activations = [x]
    for W, b in network.layers[:-1]:
        activations.append(CURVES[network.curve](activations[-1] @ W + b))
    W, b = network.layers[-1]
    activations.append(activations[-1] @ W + b)
    return activations


def predict(network: Network, z: np.ndarray) -> np.ndarray:
    """Return the prediction (o,) for sums z (o,) of the output layer."""
    if network.output == "softmax":
        return np.asarray(np.exp(z) / np.exp(z).sum())
    return CURVES[network.output](z)


def loss(network: Network, z: np.ndarray, target: np.ndarray) -> float:
    """Return the loss of sums z (o,); the target (o,) is one-hot for classes."""
    p = predict(network, z)
    if network.output == "identity":
        return float(0.5 * ((p - target) ** 2).sum())
    if network.output == "logistic":
        return float(-np.log(np.where(target == 1, p, 1 - p)).sum())
    return float(-np.log(p[target == 1]).sum())


def backpropagate(network: Network, x: np.ndarray, target: np.ndarray) -> Layers:
    """Return the derivatives of the loss of one row x (d,) with target (o,) with respect to all weights and biases."""
    activations = forward(network, x)
    delta = predict(network, activations[-1]) - target  # (o,)
    gradient: Layers = []
    for (W, _), a in zip(reversed(network.layers), reversed(activations[:-1]), strict=True):
        gradient.insert(0, (np.outer(a, delta), delta))
        delta = W @ delta * SLOPES[network.curve](a)
    return gradient


def batch_loss(network: Network, X: np.ndarray, targets: np.ndarray) -> float:
    """Return the mean loss of rows X (n, d) with targets (n, o), penalty included."""
    losses = [loss(network, forward(network, x)[-1], target) for x, target in zip(X, targets, strict=True)]
    penalty = network.alpha / 2 * sum((W**2).sum() for W, _ in network.layers)
    return float((sum(losses) + penalty) / len(X))


def batch_gradient(network: Network, X: np.ndarray, targets: np.ndarray) -> Layers:
    """Return the derivatives of `batch_loss` for rows X (n, d) with targets (n, o)."""
    by_row = [backpropagate(network, x, target) for x, target in zip(X, targets, strict=True)]
    gradient: Layers = []
    for layer, (W, _) in enumerate(network.layers):
        by_weight = np.mean([row[layer][0] for row in by_row], axis=0) + network.alpha * W / len(X)
        by_bias = np.mean([row[layer][1] for row in by_row], axis=0)
        gradient.append((by_weight, by_bias))
    return gradient


def train(network: Network, X: np.ndarray, targets: np.ndarray, batches: Iterable[np.ndarray], rate: float) -> None:
    """Take a step against the gradient for each batch, given as positions in X (n, d) and targets (n, o).

    >>> X, targets = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> line = Network([(np.zeros((1, 1)), np.zeros(1))], curve="identity", output="identity")
    >>> train(line, X, targets, [np.arange(3)] * 500, rate=0.3)
    >>> [part.round(6).tolist() for part in line.layers[0]]
    [[[2.0]], [1.0]]
    """
    for rows in batches:
        gradient = batch_gradient(network, X[rows], targets[rows])
        for (W, b), (by_weight, by_bias) in zip(network.layers, gradient, strict=True):
            W -= rate * by_weight
            b -= rate * by_bias


CURVE_FORMULAS = {
    "identity": "z",
    "logistic": "1/(1 + exp(-z))",
    "tanh": "tanh(z)",
    "relu": "max(z, 0)",
    "softmax": "exp(z) / Σ exp(z)",
}


def work_network(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the passes of a trained network: forward and backward for the first row, and forward for each query."""
    layers = list(zip(learner.coefs_, learner.intercepts_, strict=True))
    network = Network(layers, learner.activation, learner.out_activation_)
    classes = getattr(learner, "classes_", None)
    yield from work_weights(network)
    row = f"row {problem.numbers[0]}"
    yield from work_forward(network, problem.X[0], row)
    target = problem.y[:1] if classes is None else np.where(classes == problem.y[0], 1, 0)
    # One output serves two classes: the probability of the second.
    yield from work_backward(network, problem.X[0], target[1:] if network.output == "logistic" else target, row)
    for number, query in enumerate(problem.queries, start=1):
        *steps, last = work_forward(network, query, f"query {number}")
        yield from steps
        p = predict(network, forward(network, query)[-1])  # (o,)
        if network.output == "logistic":
            p = np.append(1 - p, p)
        answer = float(p[0]) if classes is None else classes[np.argmax(p)]
        chosen = f"{problem.target} = {answer}"
        yield replace(last, chosen=chosen, drawing=Regions(), answer=answer, response=tuple(p))


def work_weights(network: Network) -> Iterator[Step]:
    """Yield the weights and the bias of each unit."""
    for number, (W, b) in enumerate(network.layers, start=1):
        rows = np.vstack([W, b]).T  # (above, below + 1)
        units = [f"w{unit} = {write_point(row)}" for unit, row in enumerate(rows, start=1)]
        sentence = "Start from the weights of each unit that training has found, the bias last."
        yield Step(sentence, ", ".join(units), place=f"layer {number}")


def work_forward(network: Network, x: np.ndarray, place: str) -> Iterator[Step]:
    """Yield the sums and the activations of each layer for a row x (d,)."""
    a = x
    activations = forward(network, x)
    activations[-1] = predict(network, activations[-1])
    for number, (W, b) in enumerate(network.layers, start=1):
        units = zip(W.T, b, a @ W + b, strict=True)
        sums = [f"{write_products(a, w)} + {bracket(bias)} = {z}" for w, bias, z in units]
        a = activations[number]
        curve = network.curve if number < len(network.layers) else network.output
        yield Step(
            "Compute the weighted sum z of each unit, and its activation f(z). In the last layer, this is the "
            "prediction: a number, the probability of the second of two classes, or of each class.",
            f"f(z) = {CURVE_FORMULAS[curve]}",
            table=(("unit", "z", "f(z)"), *zip(count(1), sums, a, strict=False)),
            place=f"{place}, layer {number}",
        )


def work_backward(network: Network, x: np.ndarray, target: np.ndarray, place: str) -> Iterator[Step]:
    """Yield the loss of a row x (d,) with target (o,), and the derivatives of each layer, the last layer first."""
    *activations, z = forward(network, x)
    value = loss(network, z, target)
    equation = "½ (z - y)²" if network.output == "identity" else "-ln P(y | x)"
    yield Step("Compute the loss.", f"loss = {equation} = {value}", place=place, values={"loss": value})
    terms = [f"{p} - {bracket(y)}" for p, y in zip(predict(network, z), target, strict=True)]
    gradient = backpropagate(network, x, target)
    for number in reversed(range(len(gradient))):
        by_weight, delta = gradient[number]
        errors = (f"{term} = {error}" for term, error in zip(terms, delta, strict=True))
        inputs = (f"∂ w{i + 1}" for i in range(len(by_weight)))
        yield Step(
            "Compute δ of each unit, the derivative of the loss with respect to its bias: prediction - target in the "
            "last layer, W δ ∘ f' below it. The derivative with respect to a weight is δ times its input.",
            table=(("unit", "δ", *inputs), *zip(count(1), errors, *by_weight, strict=False)),
            place=f"{place}, layer {number + 1}",
        )
        W, _ = network.layers[number]
        slopes = SLOPES[network.curve](activations[number])
        terms = [f"({write_products(w, delta)})·{slope}" for w, slope in zip(W, slopes, strict=True)]
