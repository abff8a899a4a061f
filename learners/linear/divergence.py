"""Whether a likelihood has no maximum, because a hyperplane separates classes whose rows touch at most.

Reference: A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in logistic regression
models", Biometrika 71, 1984.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.linear.log_likelihood import Evaluation, LogLikelihood
from bakeoff.learners.linear.solvers import solve_newton_direction

MAX_HESSIAN_MULTIPLICATIONS = 3e6
"""``solver="auto"`` is Newton's method where one Hessian costs at most this many multiplications."""

N_PROBING_STEPS = 6
MIN_PROBED_SCORE_CHANGE = 0.3


def is_diverging(objective: LogLikelihood, point: Evaluation) -> bool:
    """Return whether Newton steps still change some score considerably although the gradient is nearly zero.

    Near an optimum the steps become small quickly. If classes touch but do not overlap, the gradient vanishes but the
    steps do not.
    """
    if objective.hessian_multiplications > MAX_HESSIAN_MULTIPLICATIONS:
        return False
    for _ in range(N_PROBING_STEPS):
        direction = solve_newton_direction(objective, point)
        score_changes = objective.table.compute_scores(direction, slice(None))  # (K, n)
        if np.abs(score_changes).max() < MIN_PROBED_SCORE_CHANGE:
            return False
        point = objective.evaluate(point.theta + direction)
    return True
