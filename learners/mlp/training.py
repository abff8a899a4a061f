"""Training: passes over the rows in batches, until neither loss nor validation score improves."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from bakeoff.learners.mlp.network import Network
from bakeoff.learners.mlp.solvers import Solver


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
    stops: Collection[int],
    random: np.random.RandomState,
    validation_score: Callable[[], float] | None,
) -> Iterator[tuple[History, np.ndarray]]:
    """Change the network's parameters until training converges or the last stop is reached.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
    stops : collection of int
        Numbers of passes after which to say what training has come to; the last is the most passes there are.
    random : RandomState
        Draws the order of rows in each pass.
    validation_score : callable, optional
        The score of the network as it is, larger is better; then the best parameters met are the final ones.
        Without it the loss on training rows tells improvement.

    Yields
    ------
    history : History
        Up to a stop, or to the pass where training converged.
    parameters : ndarray of shape (p,)
        What a training that ends there leaves.

    Raises
    ------
    DivergedError
    """
    losses: list[float] = []
    scores: list[float] = []
    order = np.arange(X.shape[0])
    best, best_parameters, idle = -math.inf, network.parameters.copy(), 0
    for passes in range(1, max(stops) + 1):
        if schedule.shuffle:
            order = order[random.permutation(X.shape[0])]
        losses.append(_one_pass(network, solver, X, target, order, schedule.batch_size))
        score = -losses[-1]
        if validation_score is not None:
            score = validation_score()
            scores.append(score)
        idle = idle + 1 if score < best + schedule.tol else 0
        if score > best:
            best = score
            best_parameters[:] = network.parameters
        converged = idle > schedule.n_iter_no_change
        if converged or passes in stops:
            left = network.parameters if validation_score is None else best_parameters
            yield History(losses.copy(), scores.copy(), converged), left.copy()
        if converged:
            return


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
