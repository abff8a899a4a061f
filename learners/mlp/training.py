"""Training: epochs over the rows in batches, until neither the loss nor the validation score improves."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np

from bakeoff.learners.mlp.network import Network
from bakeoff.learners.mlp.solvers import Solver


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
        Whether training ended because there was no improvement, and not because ``max_iter`` was reached.
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
    """The loss or a parameter is no longer a finite number."""


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
        Returns the validation score of the network in its current state; larger is better. If it is set, the
        parameters with the best score are the final ones; otherwise, improvement is measured by the loss on the
        training rows.
    weight : ndarray of shape (n,), optional
        Weights of the rows, positive.

    Yields
    ------
    history : TrainingHistory
        Up to a stop, or to the epoch at which training converged.
    parameters : ndarray of shape (p,)
        The final parameters of a training run that ends there.

    Raises
    ------
    DivergedError
    """
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

        # As in scikit-learn, an improvement smaller than tol counts as none, but the best parameters are kept anyway.
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
    """Return the mean loss over all rows, that of each batch being computed before its step."""
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
