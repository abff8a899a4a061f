"""Multilayer perceptron: layers of units like those of logistic regression, trained by gradient descent in batches.

    h_1 = f(x W_1 + b_1),  …,  prediction = g(h_{l-1} W_l + b_l)
    minimize  mean loss(prediction, y) + α/2n Σ W²

g is the identity with squared error for regression, the logistic function or softmax with cross-entropy for classes.

`bakeoff.learners.definitions.mlp` states the algorithm. This one is faster because it computes a whole batch with one
matrix product for each layer, in arrays that are allocated once, and updates all parameters as one flat vector.

Cost: O(n·w) per epoch to fit, for a total of w weights; O(m·w) to predict; memory O(w + batch · units) in addition to
the data.

The data should be standardized first, because all features share one learning rate.

References
----------
C. M. Bishop, "Pattern Recognition and Machine Learning", Springer, 2006, chapter 5.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from bakeoff.learners.base.estimator import ProbabilisticClassifier
from bakeoff.learners.mlp.base import MultilayerPerceptron
from bakeoff.learners.mlp.network import apply_sigmoid, apply_softmax
from bakeoff.learners.mlp.training import TrainingProblem, drop_unit_weights


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
        Stochastic descent in batches with Adam's steps or with momentum; or L-BFGS with all rows at once, for small
        tables, which uses neither batches nor learning rates: ``max_iter`` counts its iterations, and ``tol`` is the
        largest component of the gradient at the end.
    alpha : float, default=0.0001
        L2 penalty on the weights but not on the biases.
    batch_size : int or "auto", default="auto"
        Rows of a batch, at most n; "auto" is 200.
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
        For solver "sgd".
    nesterovs_momentum : bool, default=True
        For solver "sgd".
    early_stopping : bool, default=False
        Hold back validation rows, stop when their score no longer improves, and keep the weights with the best score.
    validation_fraction : float, default=0.1
        Share of the validation rows, as nearly as possible the same in every class.
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        For solver "adam": decay rates of its two running means, and a constant that prevents division by 0.
    n_iter_no_change : int or inf, default=10
        Training stops after more than this number of consecutive epochs without improvement.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        For solver "sgd": the learning rate stays; or is divided by (t + 1)^``power_t`` after t rows; or is divided by 5
        instead of stopping, until it is below 1e-6.
    power_t : float, default=0.5
        For ``learning_rate="invscaling"``.
    max_fun : int, default=15000
        For solver "lbfgs": maximum number of evaluations of the loss.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    coefs_ : list of ndarray of shape (units below, units above)
    intercepts_ : list of ndarray of shape (units above,)
    loss_curve_ : list of float
        Mean loss of each epoch in nats, with penalty; of "lbfgs", after each iteration.
    loss_, best_loss_ : float
        The last and the smallest loss; ``best_loss_`` is None with early stopping.
    validation_scores_ : list of float or None
        Accuracy on the validation rows after each epoch.
    best_validation_score_ : float or None
    n_iter_ : int
        Number of epochs or iterations.
    n_layers_, n_outputs_ : int
        Number of layers, with input and output; number of output units, which is 1 for two classes, else c.
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
