"""Multilayer perceptron for regression: the output is a weighted sum, and the loss is the squared error.

    h_1 = f(x W_1 + b_1),  …,  prediction = h_{l-1} W_l + b_l
    minimize  mean ½ (prediction - y)² + α/2n Σ W²

`bakeoff.learners.definitions.mlp` states the algorithm; `bakeoff.learners.mlp.classifier` describes why this
implementation is faster.

Cost: O(n·w) per epoch to fit, for a total of w weights; O(m·w) to predict.

References
----------
C. M. Bishop, "Pattern Recognition and Machine Learning", Springer, 2006, chapter 5.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from bakeoff.learners.base.estimator import Regressor
from bakeoff.learners.mlp.base import MultilayerPerceptron
from bakeoff.learners.mlp.training import TrainingProblem, drop_unit_weights


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
        if spread == 0:  # as in scikit-learn: otherwise the score of equal targets would depend on their unit
            return float(error == 0)
        return float(1.0 - error / spread)
