"""Multilayer perceptron: layers of units like those of logistic regression, trained by gradient descent in batches.

    h_1 = f(x W_1 + b_1),  …,  prediction = g(h_{l-1} W_l + b_l)
    minimize  mean loss(prediction, y) + α/2n Σ W²

g is the identity with squared error for regression, and the logistic function or softmax with cross-entropy for
classes.

`bakeoff.learners.definitions.mlp` defines the algorithm. This implementation is faster because it computes a whole
batch with one matrix product per layer, in arrays that are allocated once, and updates all parameters as one flat
vector.

Cost: O(n·w) per epoch to fit, where w is the total number of weights; O(m·w) to predict; O(w + batch · units) memory in
addition to the data.

The data should be standardized first, because all features share one learning rate.

References
----------
C. M. Bishop, "Pattern Recognition and Machine Learning", Springer, 2006, chapter 5.
"""

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
from sklearn.utils._param_validation import Interval, Options, StrOptions

from bakeoff.learners.base.estimator import Learner, ProbabilisticClassifier, Regressor
from bakeoff.learners.base.input_checks import check_path_values
from bakeoff.learners.mlp.network import (
    ACTIVATIONS,
    SGD,
    Adam,
    DivergedError,
    Network,
    Solver,
    TrainingHistory,
    TrainingProblem,
    TrainingSchedule,
    apply_sigmoid,
    apply_softmax,
    check_hidden_layer_sizes,
    count_validation_rows,
    drop_unit_weights,
    propagate_forward,
    split_validation_rows,
    train_by_lbfgs,
    train_network,
)

TILE_ROWS = 128
"""Number of query rows that pass through the network together; the last tile is padded.

In a matrix product of fixed shape, the result for a row does not depend on the other rows, down to the last bit.
"""

AUTO_BATCH_ROWS = 200
"""Number of rows in a batch for ``batch_size="auto"``."""

MIN_LOSS_DECREASE_RATIO = 1e-9
"""Fraction by which the loss must fall from its first value; otherwise the learning rate may be unsuitable."""


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
        "solver": [StrOptions({"adam", "lbfgs", "sgd"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"constant", "invscaling", "adaptive"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "power_t": [Interval(Real, 0, None, closed="left")],
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
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), Options(Real, {np.inf})],
        "max_fun": [Interval(Integral, 1, None, closed="left")],
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
        n_iter_no_change: float = 10,
        learning_rate: str = "constant",
        power_t: float = 0.5,
        max_fun: int = 15000,
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
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.max_fun = max_fun

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the mean loss of their batch. If a single batch contains all rows, a row of weight 2
            is equivalent to two equal rows; otherwise the batches differ.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A parameter is out of range, no row is left to train on, or the loss has overflowed.
        """
        problem = self._check_problem(X, y, sample_weight)
        for state in self._train(problem, [self.max_iter]):
            self._store_network(state)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None) -> Iterator[Self]:
        """Fit for several values of ``max_iter`` with one training run (see `bakeoff.learners.base.input_checks`).

        The epochs of a smaller value are the first epochs of a larger one.
        """
        values = check_path_values(self, parameter, values)
        if not values:
            return
        trained = clone(self)
        training = trained._train(trained._check_problem(X, y, sample_weight), values)
        states: dict[int, TrainedNetwork] = {}  # by number of epochs
        for max_iter in values:
            while max_iter not in states and (state := next(training, None)) is not None:
                states[len(state.history.losses)] = state
            fitted = copy(trained)
            fitted.max_iter = max_iter
            # A training run that converged earlier has the same result for every larger max_iter.
            fitted._store_network(states.get(max_iter, states[max(states)]))
            yield fitted

    @abstractmethod
    def _check_problem(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingProblem:
        """Validate parameters and input of ``fit``."""

    @abstractmethod
    def _score_validation(self, output: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> float:
        """Score outputs (v, o) for validation rows against their targets, with weights (v,); larger is better."""

    def _train(self, problem: TrainingProblem, stops: Collection[int]) -> Iterator[TrainedNetwork]:
        """Train a network without any validation rows; yield its state at each stop."""
        random = check_random_state(self.random_state)
        n, d = problem.X.shape
        n_validation = 0
        if self.early_stopping:
            n_validation = count_validation_rows(problem, self.validation_fraction, self.solver)
        sizes = [d, *check_hidden_layer_sizes(self.hidden_layer_sizes), problem.n_outputs]
        batch_size = self._choose_batch_size(n - n_validation)
        network = Network(sizes, self.activation, problem.output, self.alpha, batch_size, random)
        self.n_layers_ = len(sizes)
        self.n_outputs_ = problem.n_outputs
        self.out_activation_ = problem.output

        # Validation rows are drawn after the initial weights, in the order in which scikit-learn draws.
        score_validation = None
        if n_validation:
            training_rows, validation_rows = split_validation_rows(problem.strata, n_validation, random)
            score_validation = self._make_scorer(network, problem.take_rows(validation_rows))
            problem = problem.take_rows(training_rows)
        if self.solver == "lbfgs":
            training = train_by_lbfgs(network, problem, stops, self.tol, self.max_fun)
        else:
            schedule = TrainingSchedule(batch_size, self.shuffle, self.tol, self.n_iter_no_change)
            solver = self._make_solver(network.parameters.size)
            training = train_network(network, solver, problem, schedule, stops, random, score_validation)
        try:
            for history, parameters in training:
                yield TrainedNetwork(network, history, parameters)
        except DivergedError as error:
            raise ValueError(
                "Solver produced non-finite parameter weights. The input data may contain large values and need to be "
                f"preprocessed. {type(self).__name__} diverged: loss or weights overflowed. Standardize the features "
                f"(for regression also the target), or lower learning_rate_init={self.learning_rate_init}."
            ) from error

    def _choose_batch_size(self, n: int) -> int:
        """Return the number of rows in a batch, given the number of training rows."""
        if self.solver == "lbfgs":
            return n
        max_batch_size = AUTO_BATCH_ROWS if self.batch_size == "auto" else int(self.batch_size)
        return min(max_batch_size, n)

    def _store_network(self, state: TrainedNetwork) -> None:
        """Set the fitted attributes from the state of a training run; warn if it ended too early or had no effect."""
        losses = state.history.losses
        scores = state.history.scores
        self.coefs_, self.intercepts_ = state.network.view_layers(state.parameters)
        self.loss_curve_ = losses
        self.n_iter_ = len(losses)
        self._no_improvement_count = state.history.n_idle_epochs
        self.loss_ = losses[-1]
        self.best_loss_ = None if self.early_stopping else min(losses)
        self.validation_scores_ = scores if self.early_stopping else None
        self.best_validation_score_ = max(scores) if self.early_stopping else None
        if self.solver == "lbfgs":
            if not state.history.converged:
                self._warn_of_convergence(
                    f"lbfgs failed to converge after {self.n_iter_} iterations: increase "
                    f"max_iter={self.max_iter}, max_fun={self.max_fun} or tol, or standardize the features."
                )
        elif not state.history.converged:
            self._warn_of_convergence(
                f"stopped after max_iter={self.max_iter} epochs while still improving; increase max_iter or "
                f"learning_rate_init={self.learning_rate_init}, or standardize the features."
            )
        elif losses[0] > 0 and min(losses) > (1.0 - MIN_LOSS_DECREASE_RATIO) * losses[0]:
            self._warn_of_convergence(
                "no epoch had a lower loss than the first. Standardize the features (for regression also the "
                f"target), or change learning_rate_init={self.learning_rate_init}."
            )

    def _warn_of_convergence(self, message: str) -> None:
        warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=4)

    def _make_solver(self, p: int) -> Solver:
        if self.solver == "sgd":
            schedule = self.learning_rate
            return SGD(p, self.learning_rate_init, self.momentum, self.nesterovs_momentum, schedule, self.power_t)
        return Adam(p, self.learning_rate_init, self.beta_1, self.beta_2, self.epsilon)

    def _make_scorer(self, network: Network, validation: TrainingProblem) -> Callable[[], float]:
        """Return a function that scores the network in its current state on validation rows."""
        # The views reflect the parameters during training.
        self.coefs_ = network.coefs
        self.intercepts_ = network.intercepts
        target = validation.target
        weight = validation.weight

        def score() -> float:
            try:
                output = self._compute_outputs(validation.X)
            except ValueError as error:
                raise DivergedError from error
            return self._score_validation(output, target, weight)

        return score

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
            raise ValueError(
                "X contains values so large that the activations overflow; scale X as the training data were scaled."
            )
        return output


@final
class MLPClassifier(ProbabilisticClassifier, MultilayerPerceptron):
    """Multilayer perceptron for classes, trained on cross-entropy.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; if empty, the model is logistic regression.
    activation : {"identity", "logistic", "relu", "tanh"}, default="relu"
        f, the function of the hidden units.
    solver : {"adam", "lbfgs", "sgd"}, default="adam"
        Stochastic descent in batches, with Adam's steps or with momentum; or L-BFGS on all rows at once, for small
        tables, which uses neither batches nor learning rates: ``max_iter`` counts its iterations, and ``tol`` is the
        largest component of the gradient at the end.
    alpha : float, default=0.0001
        L2 penalty on the weights but not on the biases.
    batch_size : int or "auto", default="auto"
        Number of rows in a batch, at most n; "auto" is 200.
    learning_rate_init : float, default=0.001
    max_iter : int, default=200
        Maximum number of epochs, that is, passes over the training rows.
    shuffle : bool, default=True
        Whether to shuffle the rows before every epoch.
    random_state : int, RandomState or None, default=None
        Seed of the initial weights, the order of the rows, and the choice of validation rows.
    tol : float, default=0.0001
        Smallest improvement of the loss or the validation score that counts.
    momentum : float, default=0.9
        The momentum for solver "sgd".
    nesterovs_momentum : bool, default=True
        Whether solver "sgd" uses Nesterov's momentum.
    early_stopping : bool, default=False
        Whether to hold out validation rows, stop when their score no longer improves, and keep the best weights.
    validation_fraction : float, default=0.1
        Fraction of validation rows, as nearly as possible the same in every class.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        For solver "adam": decay rates of its two running means, and a constant that prevents division by 0.
    n_iter_no_change : int or inf, default=10
        Training stops after more than this number of consecutive epochs without improvement.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        The schedule for solver "sgd": the learning rate is constant; is divided by (t + 1)^``power_t`` after t rows; or
        is divided by 5 instead of stopping, until it is below 1e-6.
    power_t : float, default=0.5
        The exponent for ``learning_rate="invscaling"``.
    max_fun : int, default=15000
        Maximum number of evaluations of the loss for solver "lbfgs".

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coefs_ : list of ndarray of shape (units below, units above)
    intercepts_ : list of ndarray of shape (units above,)
    loss_curve_ : list of float
        Mean loss of each epoch in nats, with penalty; for "lbfgs", the loss after each iteration.
    loss_, best_loss_ : float
        The last and the smallest loss; ``best_loss_`` is None with early stopping.
    validation_scores_ : list of float or None
        Accuracy on the validation rows after each epoch.
    best_validation_score_ : float or None
    n_iter_ : int
        Number of epochs or iterations.
    n_layers_, n_outputs_ : int
        Number of layers, including input and output; number of output units, which is 1 for two classes, else c.
    out_activation_ : {"logistic", "softmax"}

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["even", "odd", "odd", "even"]
    >>> model = MLPClassifier((8,), learning_rate_init=0.05, max_iter=1000, random_state=0).fit(X, y)
    >>> model.predict(X)
    array(['even', 'odd', 'odd', 'even'], dtype='<U4')
    """

    def _check_problem(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingProblem:
        X, codes, weight = self._check_fit(X, y, sample_weight)
        factors = drop_unit_weights(weight)
        c = self.classes_.shape[0]
        if c == 2:
            return TrainingProblem(X, codes, codes, n_outputs=1, output="logistic", weight=factors)
        return TrainingProblem(X, codes, codes, n_outputs=c, output="softmax", weight=factors)

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        output = self._compute_outputs(X)
        if self.out_activation_ == "softmax":
            apply_softmax(output)
            return output
        apply_sigmoid(output)
        return np.hstack([1.0 - output, output])

    def _score_validation(self, output: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> float:
        predicted = output[:, 0] > 0.0 if output.shape[1] == 1 else output.argmax(axis=1)
        return float(np.average(predicted == target, weights=weight))


@final
class MLPRegressor(Regressor, MultilayerPerceptron):
    """Multilayer perceptron for values, trained on squared error.

    Parameters
    ----------
    hidden_layer_sizes, activation, solver, alpha, batch_size, learning_rate_init, max_iter, shuffle, random_state, tol,
    momentum, nesterovs_momentum, early_stopping, validation_fraction, beta_1, beta_2, epsilon, n_iter_no_change,
    learning_rate, power_t, max_fun
        As for `MLPClassifier`; without hidden layers this is linear regression.

    Attributes
    ----------
    coefs_, intercepts_, n_iter_, n_layers_, best_loss_, loss_, best_validation_score_
        As for `MLPClassifier`.
    loss_curve_ : list of float
        Half the mean squared error of each epoch, with penalty, in the squared unit of the target.
    validation_scores_ : list of float or None
        R² on the validation rows after each epoch.
    n_outputs_ : int
        1.
    out_activation_ : str
        ``"identity"``.

    Examples
    --------
    >>> X, y = [[-1.0], [-0.5], [0.0], [0.5], [1.0]], [-2.0, -1.0, 0.0, 1.0, 2.0]
    >>> model = MLPRegressor((20,), learning_rate_init=0.01, max_iter=2000, random_state=0).fit(X, y)
    >>> model.predict([[-1.0], [1.0]]).round()
    array([-2.,  2.])
    """

    def _check_problem(self, X: Any, y: Any, sample_weight: Any = None) -> TrainingProblem:
        X, y, weight = self._check_fit(X, y, sample_weight)
        strata = np.zeros(y.shape[0], dtype=np.intp)  # (n,), one stratum
        return TrainingProblem(X, y, strata, n_outputs=1, output="identity", weight=drop_unit_weights(weight))

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._compute_outputs(X)[:, 0]

    def _score_validation(self, output: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> float:
        error = np.average((target - output[:, 0]) ** 2, weights=weight)
        mean = np.average(target, weights=weight)
        spread = np.average((target - mean) ** 2, weights=weight)
        if spread == 0:  # as in scikit-learn; otherwise the score of equal targets would depend on their unit
            return float(error == 0)
        return float(1.0 - error / spread)
