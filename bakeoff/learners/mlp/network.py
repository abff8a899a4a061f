"""The network: layers of weighted sums and activations, the gradient of its loss by backpropagation, and its training.

    A_0 = X,   A_i = f(A_{i-1} W_i + b_i),   Z = A_{l-1} W_l + b_l          (forward)
    Δ_l = prediction - target,   Δ_i = Δ_{i+1} W_{i+1}ᵀ ∘ f'(A_i)           (backward)
    ∂L/∂W_i = A_{i-1}ᵀ Δ_i,   ∂L/∂b_i = Σ_rows Δ_i

`bakeoff.learners.definitions.mlp` defines the same computation for one row at a time. Here each step is one matrix
product for a whole batch. All weights and biases are views of one flat vector, and so are their derivatives, so that a
solver needs only a few operations on whole vectors. Every array is allocated once and reused for each batch. Output
functions and losses are computed so that no exponential overflows, and each kind of output has the loss for which the
derivative with respect to the sums of the outputs is simply prediction - target.

*Stochastic descent* passes over the rows in batches, until neither the loss nor the validation score improves. A solver
updates the parameters from a gradient and stores its state in flat vectors.

*L-BFGS* uses all rows at once, with steps that approximate Newton's method, which SciPy's L-BFGS-B computes. For a few
thousand rows it needs fewer passes than stochastic descent and no learning rate. Cost: O(n·w) for w weights per
evaluation of the loss, of which an iteration needs one or a few; O(n · units) memory.

References
----------
D. E. Rumelhart, G. E. Hinton, R. J. Williams, "Learning representations by back-propagating errors", Nature 323, 1986.
X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010.
D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015. I. Sutskever, J. Martens, G. Dahl, G.
Hinton, "On the importance of initialization and momentum in deep learning", ICML 2013 (Nesterov's momentum in the form
used here). R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
Journal on Scientific Computing 16, 1995.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np
from scipy.optimize import OptimizeResult, minimize

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
    # For a batch, computing maxima in column order is several times faster than row by row, because rows are short.
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


MIN_ROWS_OF_R2 = 2


@final
@dataclass(frozen=True)
class TrainingProblem:
    """The rows to learn from, and the kind of output.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
        Values or class codes.
    strata : ndarray of shape (n,)
        The strata, from each of which validation rows are drawn in proportion to its size.
    n_outputs : int
    output : {"identity", "logistic", "softmax"}
        The function of the outputs.
    weight : ndarray of shape (n,) or None
        Positive weights of the rows; None if all are 1.
    """

    X: np.ndarray
    target: np.ndarray
    strata: np.ndarray
    n_outputs: int
    output: str
    weight: np.ndarray | None = None

    def take_rows(self, rows: np.ndarray) -> TrainingProblem:
        """Return the problem restricted to the given rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingProblem(self.X[rows], self.target[rows], self.strata[rows], self.n_outputs, self.output, weight)


def drop_unit_weights(weight: np.ndarray) -> np.ndarray | None:
    """Return the weights (n,), or None if all are 1, so that no multiplications are needed."""
    return None if (weight == 1.0).all() else weight


def count_validation_rows(problem: TrainingProblem, fraction: float, solver: str) -> int:
    """Return the number of validation rows of a problem.

    Raises
    ------
    ValueError
        The solver has no epochs, no row is left to train on, or the score of the rows is undefined.
    """
    if solver == "lbfgs":
        raise ValueError(
            "early_stopping needs a solver that trains in epochs, and 'lbfgs' does not; choose 'adam' or 'sgd'."
        )
    n = problem.X.shape[0]
    count = max(1, round(n * fraction))
    if count >= n:
        raise ValueError(f"early_stopping with validation_fraction={fraction} leaves none of the {n} rows to train on.")
    if problem.output == "identity" and count < MIN_ROWS_OF_R2:
        raise ValueError(
            f"The validation set is too small. Increase 'validation_fraction' or the size of your dataset: "
            f"validation_fraction={fraction} of {n} rows is one row, for which R² is not defined."
        )
    return count


def split_validation_rows(
    strata: np.ndarray, count: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``count`` validation rows, stratified; return the training and the validation rows, sorted.

    Parameters
    ----------
    strata : ndarray of shape (n,)
    count : int
    random : RandomState
    """
    n = strata.shape[0]
    shuffled = random.permutation(n)
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    # Evenly spaced positions among rows sorted by stratum select rows from each stratum in proportion to its size.
    positions = ((np.arange(count) + 0.5) * n / count).astype(np.intp)
    validation_rows = np.sort(by_stratum[positions])
    training_rows = np.setdiff1d(np.arange(n), validation_rows)
    return training_rows, validation_rows


@final
@dataclass
class TrainingHistory:
    """The history of a training run, epoch by epoch.

    Attributes
    ----------
    losses : list of float
        Mean loss of each epoch.
    scores : list of float
        Validation score after each epoch; empty without validation rows.
    converged : bool
        Whether training ended because there was no improvement rather than because ``max_iter`` was reached.
    n_idle_epochs : int
        Number of epochs without improvement at the end.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    converged: bool = False
    n_idle_epochs: int = 0


@final
@dataclass(frozen=True)
class TrainingSchedule:
    """The batches of an epoch, and the rule for stopping.

    Attributes
    ----------
    batch_size : int
    shuffle : bool
        Whether to shuffle the rows before every epoch.
    tol : float
        Smallest improvement that counts.
    n_iter_no_change : float
        Stop after more than this number of consecutive epochs without improvement.
    """

    batch_size: int
    shuffle: bool
    tol: float
    n_iter_no_change: float


class DivergedError(ValueError):
    """The loss or a parameter is no longer finite."""


def train_network(
    network: Network,
    solver: Solver,
    problem: TrainingProblem,
    schedule: TrainingSchedule,
    stops: Collection[int],
    random: np.random.RandomState,
    score_validation: Callable[[], float] | None,
) -> Iterator[tuple[TrainingHistory, np.ndarray]]:
    """Train the network until training converges or the last stop is reached.

    Parameters
    ----------
    network : Network
    solver : Solver
    problem : TrainingProblem
        The n training rows.
    schedule : TrainingSchedule
    stops : collection of int
        Numbers of epochs after which to yield the state; training ends after the largest.
    random : RandomState
        Draws the order of the rows in each epoch.
    score_validation : callable, optional
        Returns the validation score of the network in its current state; larger is better. If given, the final
        parameters are those with the best score; otherwise, improvement is measured by the loss on the training rows.

    Yields
    ------
    history : TrainingHistory
        The history up to a stop, or to the epoch at which training converged.
    parameters : ndarray of shape (p,)
        The final parameters of a training run that ends at that point.

    Raises
    ------
    DivergedError
    """
    n = problem.X.shape[0]
    problem = replace(problem, X=np.ascontiguousarray(problem.X))  # batches of rows are taken from it
    losses: list[float] = []
    scores: list[float] = []
    order = np.arange(n)
    best_score = -math.inf
    best_parameters = network.parameters.copy()  # (p,)
    n_idle_epochs = 0
    for epoch in range(1, max(stops) + 1):
        if schedule.shuffle:
            order = order[random.permutation(n)]
        loss = _train_epoch(network, solver, problem, order, schedule.batch_size)
        losses.append(loss)
        if score_validation is None:
            score = -loss
        else:
            score = score_validation()
            scores.append(score)

        # As in scikit-learn, an improvement smaller than tol does not count, but the best parameters are still kept.
        n_idle_epochs = n_idle_epochs + 1 if score < best_score + schedule.tol else 0
        if score > best_score:
            best_score = score
            best_parameters[:] = network.parameters
        solver.end_epoch(epoch * n)
        converged = n_idle_epochs > schedule.n_iter_no_change
        if converged and solver.reduce_learning_rate():
            converged = False
            n_idle_epochs = 0
        if converged or epoch in stops:
            parameters = network.parameters if score_validation is None else best_parameters
            yield TrainingHistory(losses.copy(), scores.copy(), converged, n_idle_epochs), parameters.copy()
        if converged:
            return


def _train_epoch(
    network: Network, solver: Solver, problem: TrainingProblem, order: np.ndarray, batch_size: int
) -> float:
    """Return the mean loss over all rows, with the loss of each batch computed before its step."""
    n = order.shape[0]
    total = 0.0
    # An overflow is reported once, by the error below.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, batch_size):
            rows = order[start : start + batch_size]
            mean_loss = network.compute_loss_and_gradient(problem.X, problem.target, rows, problem.weight)
            total += mean_loss * rows.shape[0]
            solver.update_parameters(network.parameters, network.gradient)
        is_finite = (
            math.isfinite(total) and np.isfinite(network.parameters).all() and np.isfinite(network.gradient).all()
        )
    if not is_finite:
        raise DivergedError
    return total / n


def train_by_lbfgs(
    network: Network, problem: TrainingProblem, stops: Collection[int], tol: float, max_fun: int
) -> Iterator[tuple[TrainingHistory, np.ndarray]]:
    """Train the network until no component of the gradient exceeds ``tol``, or a limit is reached.

    Parameters
    ----------
    network : Network
        A network whose batches contain n rows.
    problem : TrainingProblem
        The n training rows.
    stops : collection of int
        Numbers of iterations after which to yield the state; training ends after the largest.
    tol : float
    max_fun : int
        Maximum number of evaluations of the loss.

    Yields
    ------
    history : TrainingHistory
        The loss after each iteration, up to a stop or the end.
    parameters : ndarray of shape (p,)

    Raises
    ------
    DivergedError
    """
    rows = np.arange(problem.X.shape[0])
    losses: list[float] = []
    states: dict[int, np.ndarray] = {}  # the parameters at stops

    def evaluate(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        network.parameters[:] = parameters
        loss = network.compute_loss_and_gradient(problem.X, problem.target, rows, problem.weight)
        return loss, network.gradient.copy()

    def record(intermediate_result: OptimizeResult) -> None:
        losses.append(float(intermediate_result.fun))
        if len(losses) in stops:
            states[len(losses)] = intermediate_result.x.copy()

    options = {"maxiter": max(stops), "maxfun": max_fun, "gtol": tol}
    with np.errstate(over="ignore", invalid="ignore"):
        result = minimize(
            evaluate, network.parameters.copy(), jac=True, method="L-BFGS-B", callback=record, options=options
        )
    if not (np.isfinite(result.fun) and np.isfinite(result.x).all()):
        raise DivergedError
    final_losses = losses or [float(result.fun)]  # no iterations took place if the gradient was zero from the start
    for n_iter, parameters in states.items():
        if n_iter < len(final_losses):
            yield TrainingHistory(final_losses[:n_iter]), parameters
    yield TrainingHistory(final_losses, converged=result.status == 0), result.x


MIN_ADAPTIVE_LEARNING_RATE = 1e-6
"""The minimum of an adaptive learning rate, below which training ends."""

LEARNING_RATE_DIVISOR = 5.0


class Solver(Protocol):
    """Abstract: updates parameters along a gradient."""

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Update ``parameters`` (p,) in place; ``gradient`` (p,) may be overwritten."""

    def end_epoch(self, n_rows_seen: int) -> None:
        """Adapt the learning rate after an epoch; ``n_rows_seen`` counts the rows of all epochs so far."""

    def reduce_learning_rate(self) -> bool:
        """Reduce the learning rate after epochs without improvement, or return False to end training."""


@final
class SGD:
    """Stochastic gradient descent with momentum: v ← μv - ηg, ω ← ω + v (Nesterov: ω ← ω + μv - ηg).

    The learning rate η is constant; equals η_0 / (t + 1)^power after t rows ("invscaling"); or is divided by 5 whenever
    epochs bring no improvement, until it is below 1e-6 ("adaptive").
    """

    def __init__(
        self, p: int, learning_rate: float, momentum: float, nesterov: bool, schedule: str, power: float
    ) -> None:
        self.initial_learning_rate = learning_rate
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.power = power
        self.momentum = momentum
        self.nesterov = nesterov
        self._velocity = np.zeros(p)
        self._change = np.empty(p)

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """See `Solver`."""
        gradient *= self.learning_rate
        self._velocity *= self.momentum
        self._velocity -= gradient
        if not self.nesterov:
            parameters += self._velocity
            return
        np.multiply(self._velocity, self.momentum, out=self._change)
        self._change -= gradient
        parameters += self._change

    def end_epoch(self, n_rows_seen: int) -> None:
        """See `Solver`."""
        if self.schedule == "invscaling":
            self.learning_rate = self.initial_learning_rate / float(n_rows_seen + 1) ** self.power

    def reduce_learning_rate(self) -> bool:
        """See `Solver`."""
        if self.schedule != "adaptive" or self.learning_rate <= MIN_ADAPTIVE_LEARNING_RATE:
            return False
        self.learning_rate /= LEARNING_RATE_DIVISOR
        return True


@final
class Adam:
    """Adam: steps of about equal length in every coordinate, ω ← ω - η_t m / (√v + ε).

    m and v are running means of g and g². Here they are stored as decaying sums, Σ β₁^… g and Σ β₂^… g²: the factors
    (1 - β) of the means are included in η and ε, which saves two passes over the vectors.
    """

    def __init__(self, p: int, learning_rate: float, beta_1: float, beta_2: float, epsilon: float) -> None:
        self.learning_rate = learning_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self._n_steps = 0
        self._first_moment = np.zeros(p)
        self._second_moment = np.zeros(p)
        self._change = np.empty(p)

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """See `Solver`."""
        self._n_steps += 1
        bias_correction = math.sqrt(1.0 - self.beta_2**self._n_steps) / (1.0 - self.beta_1**self._n_steps)
        second_moment_unit = math.sqrt(1.0 - self.beta_2)
        self._first_moment *= self.beta_1
        self._first_moment += gradient
        gradient *= gradient
        self._second_moment *= self.beta_2
        self._second_moment += gradient

        # η m / (√v + ε) with both numerator and denominator in the units of the plain sums.
        change = self._change
        np.sqrt(self._second_moment, out=change)
        change += self.epsilon / second_moment_unit
        np.divide(self._first_moment, change, out=change)
        change *= self.learning_rate * bias_correction * (1.0 - self.beta_1) / second_moment_unit
        parameters -= change

    def end_epoch(self, n_rows_seen: int) -> None:
        """See `Solver`; Adam's steps only adapt to the gradients."""

    def reduce_learning_rate(self) -> bool:
        """See `Solver`."""
        return False
