"""Training by L-BFGS: all rows at once, with steps that approximate Newton's.

SciPy's L-BFGS-B finds the step; the gradient is that of `bakeoff.learners.mlp.network`. For a few thousand rows it
needs fewer passes than stochastic descent, and no learning rate.

Cost: O(n·w) for each evaluation of the loss, of which an iteration needs one or a few; memory O(n · units).

References
----------
R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM Journal on
Scientific Computing 16, 1995.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from bakeoff.learners.mlp.network import Network
from bakeoff.learners.mlp.training import DivergedError, TrainingHistory


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
        Its batches hold n rows.
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
    final_losses = losses or [float(result.fun)]  # no iteration, if the gradient was zero from the start
    for n_iter, parameters in states.items():
        if n_iter < len(final_losses):
            yield TrainingHistory(final_losses[:n_iter]), parameters
    yield TrainingHistory(final_losses, converged=result.status == 0), result.x
