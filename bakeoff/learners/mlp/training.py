"""Training: epochs over the rows in batches, until neither the loss nor the validation score improves.

*L-BFGS* uses all rows at once, with steps that approximate Newton's method. SciPy's L-BFGS-B computes the steps from
the gradient of `bakeoff.learners.mlp.network`. For a few thousand rows it needs fewer passes than stochastic descent
and no learning rate.

Cost: O(n·w) per evaluation of the loss, of which an iteration needs one or a few; O(n · units) memory.

References
----------
R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM Journal on
Scientific Computing 16, 1995.

*Stochastic descent*: a solver updates the parameters from a gradient and stores its state in flat vectors.

References
----------
D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of initialization and momentum in deep learning", ICML
2013 (Nesterov's momentum in the form used here).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol, final

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from bakeoff.learners.mlp.network import Network


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
    X: np.ndarray,
    target: np.ndarray,
    schedule: TrainingSchedule,
    stops: Collection[int],
    random: np.random.RandomState,
    score_validation: Callable[[], float] | None,
    weight: np.ndarray | None = None,
) -> Iterator[tuple[TrainingHistory, np.ndarray]]:
    """Train the network until training converges or the last stop is reached.

    Parameters
    ----------
    network : Network
    solver : Solver
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
    schedule : TrainingSchedule
    stops : collection of int
        Numbers of epochs after which to yield the state; training ends after the largest.
    random : RandomState
        Draws the order of the rows in each epoch.
    score_validation : callable, optional
        Returns the validation score of the network in its current state; larger is better. If given, the final
        parameters are those with the best score; otherwise, improvement is measured by the loss on the training rows.
    weight : ndarray of shape (n,), optional
        Positive weights of the rows.

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
    X = np.ascontiguousarray(X)  # batches of rows are taken from it
    losses: list[float] = []
    scores: list[float] = []
    order = np.arange(X.shape[0])
    best_score = -math.inf
    best_parameters = network.parameters.copy()  # (p,)
    n_idle_epochs = 0
    for epoch in range(1, max(stops) + 1):
        if schedule.shuffle:
            order = order[random.permutation(X.shape[0])]
        loss = _train_epoch(network, solver, X, target, order, schedule.batch_size, weight)
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
        solver.end_epoch(epoch * X.shape[0])
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
    network: Network,
    solver: Solver,
    X: np.ndarray,
    target: np.ndarray,
    order: np.ndarray,
    batch_size: int,
    weight: np.ndarray | None,
) -> float:
    """Return the mean loss over all rows, with the loss of each batch computed before its step."""
    n = order.shape[0]
    total = 0.0
    # An overflow is reported once, by the error below.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, batch_size):
            rows = order[start : start + batch_size]
            mean_loss = network.compute_loss_and_gradient(X, target, rows, weight)
            total += mean_loss * rows.shape[0]
            solver.update_parameters(network.parameters, network.gradient)
        is_finite = (
            math.isfinite(total) and np.isfinite(network.parameters).all() and np.isfinite(network.gradient).all()
        )
    if not is_finite:
        raise DivergedError
    return total / n


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


def train_by_lbfgs(
    network: Network,
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    stops: Collection[int],
    tol: float,
    max_fun: int,
) -> Iterator[tuple[TrainingHistory, np.ndarray]]:
    """Train the network until no component of the gradient exceeds ``tol``, or a limit is reached.

    Parameters
    ----------
    network : Network
        A network whose batches contain n rows.
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
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
    rows = np.arange(X.shape[0])
    losses: list[float] = []
    states: dict[int, np.ndarray] = {}  # the parameters at stops

    def evaluate(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        network.parameters[:] = parameters
        loss = network.compute_loss_and_gradient(X, target, rows, weight)
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
