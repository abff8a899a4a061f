"""What the classifier and the regressor share: parameters, training, and the forward pass over query rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bakeoff.learners.base.estimator import Learner
from bakeoff.learners.base.paths import checked_values
from bakeoff.learners.mlp.network import ACTIVATIONS, Network, forward
from bakeoff.learners.mlp.solvers import SGD, Adam, Solver
from bakeoff.learners.mlp.training import DivergedError, History, Schedule, train

TILE = 128
"""Query rows are put through the network so many at a time, the last tile filled up: a matrix product of one fixed
shape gives a row the same bits whatever rows stand beside it."""

NOTHING = 1e-9
"""The share of its first value by which the loss must fall: steps may be too small for the data, or too large."""


class Problem(NamedTuple):
    """What is to be learnt: rows X (n, d), targets or class codes (n,), and what the outputs are.

    Of every stratum, (n,), a share is held back for validation.
    """

    X: np.ndarray
    target: np.ndarray
    strata: np.ndarray
    outputs: int
    kind: str


class MultilayerPerceptron(Learner):
    """Abstract: parameters, training and the forward pass that classifier and regressor share."""

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
            A parameter out of range, no row left to train on, or a loss that overflowed.
        """
        for network, history, parameters in self._train(self._problem(X, y), [self.max_iter]):
            self._adopt(network, history, parameters)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Train once for many numbers of passes: fewer passes are the first of more (see `learners.base.paths`)."""
        values = checked_values(self, parameter, values)
        if sample_weight is not None:
            raise TypeError(f"{type(self).__name__} takes no sample_weight; give None.")
        trained = clone(self)
        states: dict[int, tuple[Network, History, np.ndarray]] = {}
        training = trained._train(trained._problem(X, y), values) if values else iter(())
        for value in values:
            while value not in states and not (states and states[max(states)][1].converged):
                state = next(training)
                states[len(state[1].losses)] = state
            fitted = copy(trained)
            fitted.max_iter = value
            fitted._adopt(*states.get(value, states[max(states)]))
            yield fitted

    @abstractmethod
    def _problem(self, X: Any, y: Any) -> Problem:
        """Check what ``fit`` is given."""

    @abstractmethod
    def _validation_score(self, output: np.ndarray, target: np.ndarray) -> float:
        """Score outputs (v, o) on validation rows against their targets (v,); larger is better."""

    def _train(self, problem: Problem, stops: Collection[int]) -> Iterator[tuple[Network, History, np.ndarray]]:
        """Train, holding back rows for validation if asked; yield what it has come to at each stop."""
        X, target = problem.X, problem.target
        random = check_random_state(self.random_state)
        held_back = self._held_back(X.shape[0])
        sizes = [X.shape[1], *self._hidden_sizes(), problem.outputs]
        batch_size = min(200 if self.batch_size == "auto" else int(self.batch_size), X.shape[0] - held_back)
        network = Network(sizes, self.activation, problem.kind, self.alpha, batch_size, random)
        self.coefs_, self.intercepts_ = network.coefs, network.intercepts  # the score is of the network as it is
        self.n_layers_, self.n_outputs_, self.out_activation_ = len(sizes), problem.outputs, problem.kind
        score = None
        if held_back:
            training, validation = _hold_back(problem.strata, held_back, random)
            score = self._scorer(X[validation], target[validation])
            X, target = X[training], target[training]
        schedule = Schedule(batch_size, self.shuffle, self.tol, self.n_iter_no_change)
        solver = self._solver(network.parameters.shape[0])
        try:
            for history, parameters in train(network, solver, X, target, schedule, stops, random, score):
                yield network, history, parameters
        except DivergedError as error:
            raise ValueError(
                f"{type(self).__name__} diverged: loss or weights overflowed. Standardise the features (for "
                f"regression the target too), or lower learning_rate_init={self.learning_rate_init}."
            ) from error

    def _adopt(self, network: Network, history: History, parameters: np.ndarray) -> None:
        """Be the network that training left."""
        self.coefs_, self.intercepts_ = network.layers(parameters)
        self.loss_curve_, self.n_iter_, self.loss_ = history.losses, len(history.losses), history.losses[-1]
        self.best_loss_ = None if self.early_stopping else min(history.losses)
        self.validation_scores_ = history.scores if self.early_stopping else None
        self.best_validation_score_ = max(history.scores) if self.early_stopping else None
        if not history.converged:
            self._warn(
                f"stopped after max_iter={self.max_iter} passes while still improving; raise max_iter or "
                f"learning_rate_init={self.learning_rate_init}, or standardise the features."
            )
        elif history.losses[0] > 0 and min(history.losses) > (1.0 - NOTHING) * history.losses[0]:
            self._warn(
                f"learnt nothing: no pass had a lower loss than the first. Standardise the features (for regression "
                f"the target too), or change learning_rate_init={self.learning_rate_init}."
            )

    def _warn(self, message: str) -> None:
        warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=4)

    def _held_back(self, n: int) -> int:
        """Return how many of n rows are for validation."""
        count = max(1, round(n * self.validation_fraction)) if self.early_stopping else 0
        if count >= n:
            raise ValueError(
                f"early_stopping with validation_fraction={self.validation_fraction} leaves no row of {n} to train on."
            )
        return count

    def _hidden_sizes(self) -> list[int]:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or (sizes < 1).any())):
            raise ValueError(
                f"hidden_layer_sizes must be whole numbers ≥ 1, one for each layer; given {self.hidden_layer_sizes!r}."
            )
        return [int(size) for size in sizes]

    def _solver(self, p: int) -> Solver:
        if self.solver == "sgd":
            return SGD(p, self.learning_rate_init, self.momentum, self.nesterovs_momentum)
        return Adam(p, self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)

    def _scorer(self, X: np.ndarray, target: np.ndarray) -> Callable[[], float]:
        return lambda: self._validation_score(self._outputs(X), target)

    def _outputs(self, X: np.ndarray) -> np.ndarray:
        """Put rows X of shape (m, d) through the network: shape (m, n_outputs_), before the outputs' own curve."""
        layers = [np.zeros((TILE, coef.shape[0])) for coef in self.coefs_]
        layers.append(np.zeros((TILE, self.n_outputs_)))
        output = np.empty((X.shape[0], self.n_outputs_))  # (m, o)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, X.shape[0], TILE):
                part = output[start : start + TILE]
                layers[0][: part.shape[0]] = X[start : start + TILE]
                part[:] = forward(layers, self.coefs_, self.intercepts_, self.activation)[: part.shape[0]]
        if not np.isfinite(output).all():
            raise ValueError("X holds values so large that the network's sums overflow; scale X as in training.")
        return output


def _hold_back(strata: np.ndarray, count: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``count`` of the rows, from each stratum its share: positions of the others, and of those, sorted."""
    shuffled = random.permutation(strata.shape[0])
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    evenly = ((np.arange(count) + 0.5) * strata.shape[0] / count).astype(np.intp)
    validation = np.sort(by_stratum[evenly])
    return np.setdiff1d(np.arange(strata.shape[0]), validation), validation
