"""Training: passes over the rows in batches, until neither loss nor validation score improves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from learners.mlp.network import Network
from learners.mlp.solvers import Solver


@dataclass
class History:
    """Final: what happened, pass by pass.

    Attributes
    ----------
    losses : list of float
        Mean loss of each pass.
    scores : list of float
        Validation score after each pass; empty without validation rows.
    converged : bool
        Whether the passes ended for want of improvement, and not at ``max_iter``.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    converged: bool = False


@dataclass(frozen=True)
class Schedule:
    """Final: how many rows a batch has, in which order rows come, and when to stop."""

    batch_size: int
    max_iter: int
    shuffle: bool
    tol: float
    n_iter_no_change: int


class DivergedError(ValueError):
    """The loss or a parameter is no longer a finite number."""


def train(
    network: Network,
    solver: Solver,
    X: np.ndarray,
    target: np.ndarray,
    schedule: Schedule,
    random: np.random.RandomState,
    validation_score: Callable[[], float] | None,
) -> History:
    """Change the network's parameters until training converges or ``max_iter`` passes are done.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
    random : RandomState
        Draws the order of rows in each pass.
    validation_score : callable, optional
        The score of the network as it is, larger is better; then the best parameters met are the final ones.
        Without it the loss on training rows tells improvement.

    Raises
    ------
    DivergedError
    """
    history = History()
    order = np.arange(X.shape[0])
    best, best_parameters, idle = -math.inf, network.parameters.copy(), 0
    for _ in range(schedule.max_iter):
        if schedule.shuffle:
            order = order[random.permutation(X.shape[0])]
        history.losses.append(_one_pass(network, solver, X, target, order, schedule.batch_size))
        score = -history.losses[-1]
        if validation_score is not None:
            score = validation_score()
            history.scores.append(score)
        idle = idle + 1 if score < best + schedule.tol else 0
        if score > best:
            best = score
            if validation_score is not None:
                best_parameters[:] = network.parameters
        if idle > schedule.n_iter_no_change:
            history.converged = True
            break
    if validation_score is not None:
        network.parameters[:] = best_parameters
    return history


def _one_pass(
    network: Network, solver: Solver, X: np.ndarray, target: np.ndarray, order: np.ndarray, batch_size: int
) -> float:
    """Return the mean loss over all rows, each taken before its batch's step."""
    total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported below, once and in words
        for start in range(0, order.shape[0], batch_size):
            rows = order[start : start + batch_size]
            total += network.loss_and_gradient(X, target, rows) * rows.shape[0]
            solver.step(network.parameters, network.gradient)
        finite = math.isfinite(total) and all(np.isfinite(v).all() for v in (network.parameters, network.gradient))
    if not finite:
        raise DivergedError
    return total / order.shape[0]
