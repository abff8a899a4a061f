"""Base class of the MLP classifier and regressor: parameters, training, and prediction in tiles of rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.base.paths import check_path_values
from bakeoff.learners.mlp.network import ACTIVATIONS, Network, propagate_forward
from bakeoff.learners.mlp.solvers import SGD, Adam, Solver
from bakeoff.learners.mlp.training import DivergedError, TrainingHistory, TrainingSchedule, train_network

TILE_ROWS = 128
"""Query rows that pass through the network together; the last tile is filled up.

In a matrix product of fixed shape, the result for a row does not depend on the other rows, to the last bit.
"""

AUTO_BATCH_ROWS = 200
"""Rows of a batch for ``batch_size="auto"``."""

MIN_LOSS_DECREASE_RATIO = 1e-9
"""Share of its first value by which the loss must fall: learning rates may be too small for the data, or too large."""


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
        Validation rows are drawn from each stratum in proportion to its size.
    n_outputs : int
    output : {"identity", "logistic", "softmax"}
        Function of the outputs.
    """

    X: np.ndarray
    target: np.ndarray
    strata: np.ndarray
    n_outputs: int
    output: str


@final
@dataclass(frozen=True)
class TrainedNetwork:
    """The state of a training run at a stop: the network, its history, and its parameters (p,) at that point."""

    network: Network
    history: TrainingHistory
    parameters: np.ndarray


class MultilayerPerceptron(Learner):
    """Abstract: parameters, training, and the forward pass over query rows."""

    path_parameters: ClassVar[tuple[str, ...]] = ("max_iter",)
    """The parameters that `path` takes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "solver": [StrOptions({"adam", "sgd"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "nesterovs_momentum": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "beta_1": [Interval(Real, 0, 1, closed="left")],
        "beta_2": [Interval(Real, 0, 1, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: int | str = "auto",
        learning_rate_init: float = 0.001,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: int = 10,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter is out of range, no row is left to train on, or the loss overflowed.
        """
        problem = self._check_problem(X, y)
        for state in self._train(problem, [self.max_iter]):
            self._store_network(state)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for several values of ``max_iter`` with one training run (see `bakeoff.learners.base.paths`).

        The epochs of a smaller value are the first epochs of a larger one.
        """
        values = check_path_values(self, parameter, values)
        if sample_weight is not None:
            raise TypeError(f"{type(self).__name__} does not support sample_weight; pass None.")
        if not values:
            return
        trained = clone(self)
        training = trained._train(trained._check_problem(X, y), values)
        states: dict[int, TrainedNetwork] = {}  # by number of epochs
        for max_iter in values:
            while max_iter not in states and not _has_converged(states):
                state = next(training)
                states[len(state.history.losses)] = state
            fitted = copy(trained)
            fitted.max_iter = max_iter
            # A training run that converged earlier has the same result for every larger max_iter.
            fitted._store_network(states.get(max_iter, states[max(states)]))
            yield fitted

    @abstractmethod
    def _check_problem(self, X: Any, y: Any) -> TrainingProblem:
        """Validate parameters and input of ``fit``."""

    @abstractmethod
    def _score_validation(self, output: np.ndarray, target: np.ndarray) -> float:
        """Score outputs (v, o) for validation rows against their targets (v,); larger is better."""

    def _train(self, problem: TrainingProblem, stops: Collection[int]) -> Iterator[TrainedNetwork]:
        """Train a network, without the validation rows if there are any; yield its state at each stop."""
        X = problem.X
        target = problem.target
        n, d = X.shape
        random = check_random_state(self.random_state)
        n_validation = self._count_validation_rows(n)
        sizes = [d, *self._check_hidden_layer_sizes(), problem.n_outputs]
        max_batch_size = AUTO_BATCH_ROWS if self.batch_size == "auto" else int(self.batch_size)
        batch_size = min(max_batch_size, n - n_validation)
        network = Network(sizes, self.activation, problem.output, self.alpha, batch_size, random)
        self.n_layers_ = len(sizes)
        self.n_outputs_ = problem.n_outputs
        self.out_activation_ = problem.output

        # Validation rows are drawn after the initial weights, in the order in which scikit-learn draws.
        score_validation = None
        if n_validation:
            training_rows, validation_rows = split_validation_rows(problem.strata, n_validation, random)
            score_validation = self._make_scorer(network, X[validation_rows], target[validation_rows])
            X = X[training_rows]
            target = target[training_rows]
        schedule = TrainingSchedule(batch_size, self.shuffle, self.tol, self.n_iter_no_change)
        solver = self._make_solver(network.parameters.size)
        training = train_network(network, solver, X, target, schedule, stops, random, score_validation)
        try:
            for history, parameters in training:
                yield TrainedNetwork(network, history, parameters)
        except DivergedError as error:
            raise ValueError(
                f"{type(self).__name__} diverged: loss or weights overflowed. Standardize the features (for "
                f"regression also the target), or lower learning_rate_init={self.learning_rate_init}."
            ) from error

    def _store_network(self, state: TrainedNetwork) -> None:
        """Set the fitted attributes from the state of a training run; warn if it ended too early or had no effect."""
        losses = state.history.losses
        scores = state.history.scores
        self.coefs_, self.intercepts_ = state.network.view_layers(state.parameters)
        self.loss_curve_ = losses
        self.n_iter_ = len(losses)
        self.loss_ = losses[-1]
        self.best_loss_ = None if self.early_stopping else min(losses)
        self.validation_scores_ = scores if self.early_stopping else None
        self.best_validation_score_ = max(scores) if self.early_stopping else None
        if not state.history.converged:
            self._warn_of_convergence(
                f"stopped after max_iter={self.max_iter} epochs while still improving; raise max_iter or "
                f"learning_rate_init={self.learning_rate_init}, or standardize the features."
            )
        elif losses[0] > 0 and min(losses) > (1.0 - MIN_LOSS_DECREASE_RATIO) * losses[0]:
            self._warn_of_convergence(
                f"learned nothing: no epoch had a lower loss than the first. Standardize the features (for regression "
                f"also the target), or change learning_rate_init={self.learning_rate_init}."
            )

    def _warn_of_convergence(self, message: str) -> None:
        warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=4)

    def _count_validation_rows(self, n: int) -> int:
        """Return the number of validation rows among n rows."""
        if not self.early_stopping:
            return 0
        count = max(1, round(n * self.validation_fraction))
        if count >= n:
            raise ValueError(
                f"early_stopping with validation_fraction={self.validation_fraction} leaves no row of {n} to train on."
            )
        return count

    def _check_hidden_layer_sizes(self) -> list[int]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        are_whole = sizes.dtype.kind in "iu" and (sizes >= 1).all()
        if sizes.ndim != 1 or (sizes.size and not are_whole):
            raise ValueError(
                f"hidden_layer_sizes must be integers ≥ 1, one for each layer; given {self.hidden_layer_sizes!r}."
            )
        return [int(size) for size in sizes]

    def _make_solver(self, p: int) -> Solver:
        if self.solver == "sgd":
            return SGD(p, self.learning_rate_init, self.momentum, self.nesterovs_momentum)
        return Adam(p, self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)

    def _make_scorer(self, network: Network, X: np.ndarray, target: np.ndarray) -> Callable[[], float]:
        """Return a function that scores the network in its current state on validation rows X (v, d)."""
        # The views reflect the parameters during training.
        self.coefs_ = network.coefs
        self.intercepts_ = network.intercepts
        return lambda: self._score_validation(self._compute_outputs(X), target)

    def _compute_outputs(self, X: np.ndarray) -> np.ndarray:
        """Return the sums of the output units for rows X (m, d), of shape (m, n_outputs_)."""
        layers = [np.zeros((TILE_ROWS, coef.shape[0])) for coef in self.coefs_]
        layers.append(np.zeros((TILE_ROWS, self.n_outputs_)))
        output = np.empty((X.shape[0], self.n_outputs_))  # (m, o)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, X.shape[0], TILE_ROWS):
                tile = output[start : start + TILE_ROWS]
                n_rows = tile.shape[0]
                layers[0][:n_rows] = X[start : start + TILE_ROWS]
                sums = propagate_forward(layers, self.coefs_, self.intercepts_, self.activation)
                tile[:] = sums[:n_rows]
        if not np.isfinite(output).all():
            raise ValueError("X holds values so large that the network's sums overflow; scale X as in training.")
        return output


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


def _has_converged(states: dict[int, TrainedNetwork]) -> bool:
    """Return whether the last of the states, by number of epochs, is that of a converged training run."""
    return bool(states) and states[max(states)].history.converged
