"""Solvers, which update the parameters from a gradient. Each stores its state in flat vectors, allocated once.

References
----------
D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
I. Sutskever, J. Martens, G. Dahl, G. Hinton, "On the importance of initialization and momentum in deep learning", ICML
2013 (Nesterov's momentum in the form used here).
"""

from __future__ import annotations

from typing import Protocol, final

import numpy as np

MIN_ADAPTIVE_LEARNING_RATE = 1e-6
"""An adaptive learning rate is not reduced below this; training ends instead."""

LEARNING_RATE_DIVISOR = 5.0


class Solver(Protocol):
    """Abstract: changes parameters along a gradient."""

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Change ``parameters`` (p,) in place; ``gradient`` (p,) may be overwritten."""

    def end_epoch(self, n_rows_seen: int) -> None:
        """Adapt the learning rate after an epoch; ``n_rows_seen`` counts the rows of all epochs so far."""

    def reduce_learning_rate(self) -> bool:
        """Continue with a smaller learning rate after epochs without improvement, or return False to end training."""


@final
class SGD:
    """Stochastic gradient descent with momentum: v ← μv - ηg, ω ← ω + v (Nesterov: ω ← ω + μv - ηg).

    The learning rate η is constant; or η_0 / (t + 1)^power after t rows ("invscaling"); or divided by 5 whenever epochs
    bring no improvement, until it is below 1e-6 ("adaptive").
    """

    def __init__(
        self, p: int, learning_rate: float, momentum: float, nesterov: bool, schedule: str, power: float
    ) -> None:
        self.initial_learning_rate = learning_rate
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.power = power
        self.momentum = momentum
        self.nesterov = nesterov
        self._velocity = np.zeros(p)
        self._change = np.empty(p)

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """See `Solver`."""
        gradient *= self.learning_rate
        self._velocity *= self.momentum
        self._velocity -= gradient
        if not self.nesterov:
            parameters += self._velocity
            return
        np.multiply(self._velocity, self.momentum, out=self._change)
        self._change -= gradient
        parameters += self._change

    def end_epoch(self, n_rows_seen: int) -> None:
        """See `Solver`."""
        if self.schedule == "invscaling":
            self.learning_rate = self.initial_learning_rate / float(n_rows_seen + 1) ** self.power

    def reduce_learning_rate(self) -> bool:
        """See `Solver`."""
        if self.schedule != "adaptive" or self.learning_rate <= MIN_ADAPTIVE_LEARNING_RATE:
            return False
        self.learning_rate /= LEARNING_RATE_DIVISOR
        return True


@final
class Adam:
    """Adam: steps of about equal length in every coordinate, ω ← ω - η_t m / (√v + ε).

    m and v are running means of g and g². Here they are stored as decaying sums, Σ β₁^… g and Σ β₂^… g²: the factors
    (1 - β) of the means are included in η and ε, which saves two passes over the vectors.
    """

    def __init__(self, p: int, learning_rate: float, beta_1: float, beta_2: float, epsilon: float) -> None:
        self.learning_rate = learning_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self._n_steps = 0
        self._first_moment = np.zeros(p)
        self._second_moment = np.zeros(p)
        self._change = np.empty(p)

    def update_parameters(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """See `Solver`."""
        self._n_steps += 1
        bias_correction = np.sqrt(1.0 - self.beta_2**self._n_steps) / (1.0 - self.beta_1**self._n_steps)
        second_moment_unit = np.sqrt(1.0 - self.beta_2)
        self._first_moment *= self.beta_1
        self._first_moment += gradient
        gradient *= gradient
        self._second_moment *= self.beta_2
        self._second_moment += gradient

        # η m / (√v + ε) with both numerator and denominator in the units of the plain sums.
        change = self._change
        np.sqrt(self._second_moment, out=change)
        change += self.epsilon / second_moment_unit
        np.divide(self._first_moment, change, out=change)
        change *= self.learning_rate * bias_correction * (1.0 - self.beta_1) / second_moment_unit
        parameters -= change

    def end_epoch(self, n_rows_seen: int) -> None:
        """See `Solver`; the steps of Adam adapt to the gradients only."""

    def reduce_learning_rate(self) -> bool:
        """See `Solver`."""
        return False
