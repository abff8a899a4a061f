"""Multilayer perceptron for values: see `classifier`, with the identity as output and squared error as loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.mlp.base import MultilayerPerceptron, Problem


class MLPRegressor(Regressor, MultilayerPerceptron):
    """Multilayer perceptron for values, trained on squared error.

    Parameters
    ----------
    hidden_layer_sizes, activation, solver, alpha, batch_size, learning_rate_init, max_iter, shuffle, random_state, tol,
    momentum, nesterovs_momentum, early_stopping, validation_fraction, beta_1, beta_2, epsilon, n_iter_no_change
        As in `MLPClassifier`; no hidden layer is linear regression.

    Attributes
    ----------
    coefs_, intercepts_, n_iter_, n_layers_, best_loss_, loss_, best_validation_score_
        As in `MLPClassifier`.
    loss_curve_ : list of float
        Half the mean squared error, penalty included, of each pass, in the target's unit squared.
    validation_scores_ : list of float or None
        R² on the validation rows after each pass.
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

    def _problem(self, X: Any, y: Any) -> Problem:
        X, y, _ = self._check_fit(X, y)
        return Problem(X, y, np.zeros(y.shape[0], dtype=np.intp), outputs=1, kind="identity")

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._outputs(X)[:, 0]

    def _validation_score(self, output: np.ndarray, target: np.ndarray) -> float:
        error, spread = np.mean((target - output[:, 0]) ** 2), np.var(target)
        return float(1.0 - error / (spread or 1.0))
