"""Solvers: how a gradient becomes a step of the parameters.  Each keeps its memory in flat vectors, made once.

Reference: for Adam, D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015; for the momentum that
looks ahead, Y. Nesterov, 1983, in the form of I. Sutskever et al., ICML 2013.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np


class Solver(Protocol):
    """Abstract: anything that moves parameters along a gradient."""

    def step(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Change ``parameters`` (p,) in place; ``gradient`` (p,) may be overwritten."""


class SGD:
    """Final: stochastic gradient descent with momentum, v ← μv - ηg, ω ← ω + v (Nesterov: ω ← ω + μv - ηg)."""

    def __init__(self, p: int, learning_rate: float, momentum: float, nesterov: bool) -> None:
        self.learning_rate, self.momentum, self.nesterov = learning_rate, momentum, nesterov
        self.velocity = np.zeros(p)
        self._ahead = np.empty(p)

    def step(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Take one step."""
        gradient *= self.learning_rate
        self.velocity *= self.momentum
        self.velocity -= gradient
        if not self.nesterov:
            parameters += self.velocity
            return
        np.multiply(self.velocity, self.momentum, out=self._ahead)
        self._ahead -= gradient
        parameters += self._ahead


class Adam:
    """Final: steps of about equal length in every coordinate, ω ← ω - η_t m / (√v + ε).

    m and v are running means of g and g².  Here they are kept as plain decaying sums, Σ β₁^… g and Σ β₂^… g²: the
    factors (1 - β) of the means are taken up by η and ε, which spares two passes over the vectors.
    """

    def __init__(self, p: int, learning_rate: float, beta_1: float, beta_2: float, epsilon: float) -> None:
        self.learning_rate, self.beta_1, self.beta_2, self.epsilon = learning_rate, beta_1, beta_2, epsilon
        self.steps = 0
        self.first, self.second = np.zeros(p), np.zeros(p)
        self._change = np.empty(p)

    def step(self, parameters: np.ndarray, gradient: np.ndarray) -> None:
        """Take one step."""
        self.steps += 1
        unbias = np.sqrt(1.0 - self.beta_2**self.steps) / (1.0 - self.beta_1**self.steps)
        root = np.sqrt(1.0 - self.beta_2)
        self.first *= self.beta_1
        self.first += gradient
        gradient *= gradient
        self.second *= self.beta_2
        self.second += gradient
        np.sqrt(self.second, out=self._change)
        self._change += self.epsilon / root
        np.divide(self.first, self._change, out=self._change)
        self._change *= self.learning_rate * unbias * (1.0 - self.beta_1) / root
        parameters -= self._change
