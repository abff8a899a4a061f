"""Multilayer perceptron: layers of logistic-regression-like units, trained by gradient descent in small batches.

    h_1 = f(x W_1 + b_1),  …,  prediction = g(h_{l-1} W_l + b_l)
    minimise  mean loss(prediction, y) + α/2n Σ W²

g is the identity with squared error for regression, the logistic function or softmax with cross-entropy for classes.

Cost: O(n·w) a pass to fit, with w weights in all; O(m·w) to predict; memory O(w + batch · units) beside the data.

The data should be standardised first: the same learning rate must suit every feature.

Reference: C. M. Bishop, "Pattern Recognition and Machine Learning", Springer, 2006, chapter 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.mlp.base import MultilayerPerceptron, Problem
from bakeoff.learners.mlp.losses import sigmoid, softmax


class MLPClassifier(ProbabilisticClassifier, MultilayerPerceptron):
    """Multilayer perceptron for classes, trained on cross-entropy.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(100,)
        Units of each hidden layer; empty for none, which is logistic regression.
    activation : {"identity", "logistic", "relu", "tanh"}, default="relu"
        The curve f of the hidden units.
    solver : {"adam", "sgd"}, default="adam"
    alpha : float, default=0.0001
        L2 penalty on the weights, not on the biases.
    batch_size : int or "auto", default="auto"
        Rows of a batch, n at most; "auto" is 200.
    learning_rate_init : float, default=0.001
    max_iter : int, default=200
        The most passes over the training rows.
    shuffle : bool, default=True
        Whether every pass takes the rows in a new order.
    random_state : int, RandomState or None, default=None
        Seed of the starting weights, the order of rows, and the choice of validation rows.
    tol : float, default=0.0001
        An improvement of loss or validation score smaller than this is none.
    momentum : float, default=0.9
        For "sgd".
    nesterovs_momentum : bool, default=True
        For "sgd".
    early_stopping : bool, default=False
        Hold back validation rows, stop when their score improves no more, and keep the best weights met.
    validation_fraction : float, default=0.1
        Of the rows, the same in every class as nearly as can be.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        For "adam": decay of its two running means, and what keeps a division from 0.
    n_iter_no_change : int, default=10
        More passes than this in a row without improvement end the training.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coefs_ : list of ndarray of shape (units below, units above)
    intercepts_ : list of ndarray of shape (units above,)
    loss_curve_ : list of float
        Mean loss in nats, penalty included, of each pass.
    loss_, best_loss_ : float
        The last and the smallest of them; ``best_loss_`` is None with early stopping.
    validation_scores_ : list of float or None
        Accuracy on the validation rows after each pass.
    best_validation_score_ : float or None
    n_iter_ : int
        Passes done.
    n_layers_, n_outputs_ : int
        Layers, input and output included; output units: 1 for two classes, else c.
    out_activation_ : {"logistic", "softmax"}

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["even", "odd", "odd", "even"]
    >>> model = MLPClassifier((8,), learning_rate_init=0.05, max_iter=1000, random_state=0).fit(X, y)
    >>> model.predict(X)
    array(['even', 'odd', 'odd', 'even'], dtype='<U4')
    """

    def _problem(self, X: Any, y: Any) -> Problem:
        X, codes, _ = self._check_fit(X, y)
        c = self.classes_.shape[0]
        if c == 2:
            return Problem(X, codes, codes, outputs=1, kind="logistic")
        return Problem(X, codes, codes, outputs=c, kind="softmax")

    def _class_scores(self, X: np.ndarray) -> np.ndarray:
        output = self._outputs(X)
        if self.out_activation_ == "softmax":
            softmax(output)
            return output
        sigmoid(output)
        return np.hstack([1.0 - output, output])

    def _validation_score(self, output: np.ndarray, target: np.ndarray) -> float:
        predicted = output.argmax(axis=1) if output.shape[1] > 1 else output[:, 0] > 0.0
        return float(np.mean(predicted == target))
