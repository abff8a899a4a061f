"""One hyperplane between two classes: what the soft margin (`soft`) and the hard one (`hard`) come to.

Soft margin:  minimise ½‖w‖² + Σ C_i ξ_i,  with  y_i f(x_i) ≥ 1 - ξ_i,  ξ_i ≥ 0,  f(x) = w·Φ(x) + b.
Hard margin (C = ∞):  minimise ½‖w‖²,  with  y_i f(x_i) ≥ 1.

w = Σ α_i y_i Φ(x_i), and the geometric margin, the distance of the nearest row from f(x) = 0, is 1/‖w‖.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from bakeoff.learners.svm.dual.box_constraints import BoxConstraints, measure_violation
from bakeoff.learners.svm.dual.solver import DualPoint
from bakeoff.learners.svm.kernel.gram import Gram
from bakeoff.learners.svm.primal.hard_margin import HardMarginSolution
from bakeoff.learners.svm.primal.soft_margin import SoftMarginSolution


@final
@dataclass(frozen=True)
class Hyperplane:
    """A fitted hyperplane.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        y_i α_i; zero where a row is no support vector.
    intercept : float
        b, averaged over the free support vectors.
    margin : float
        1 / ‖w‖.
    dual, primal : float
        The objectives; equal at the optimum.
    residual : float
        By how much y f(x) fails the Karush-Kuhn-Tucker conditions, in units of the margin.
    n_iter : int
    converged : bool
    normal : ndarray of shape (d,) or None
        w, where it was found with more digits than β gives it.
    """

    beta: np.ndarray
    intercept: float
    margin: float
    dual: float
    primal: float
    residual: float
    n_iter: int
    converged: bool
    normal: np.ndarray | None = None

    def in_unit(self, length: float) -> Hyperplane:
        """Return the same hyperplane for rows ``length`` times as long; f(x) does not change."""
        if length == 1.0:
            return self
        area = length**2
        return replace(
            self,
            beta=self.beta / area,
            margin=self.margin * length,
            dual=self.dual / area,
            primal=self.primal / area,
            normal=None if self.normal is None else self.normal / length,
        )


def hyperplane_from_dual(
    gram: Gram, box: BoxConstraints, point: DualPoint, signs: np.ndarray, C: np.ndarray, intercept: float
) -> Hyperplane:
    """Return the hyperplane of a point of the dual.

    Parameters
    ----------
    gram : Gram
    box : BoxConstraints
        Of one group, all rows.
    point : DualPoint
        Its gradient is Kβ - y.
    signs : ndarray of shape (n,)
    C : ndarray of shape (n,)
        All infinite for the hard margin.
    intercept : float
        b, but for the kernel's level.
    """
    values = point.gradient + signs  # w·Φ(x), (n,)
    squared_norm = max(0.0, float(point.beta @ values))
    slack = np.maximum(0.0, 1.0 - signs * (values + intercept))
    price = 0.0 if np.isinf(C).all() else float(C @ slack)
    return Hyperplane(
        beta=point.beta,
        intercept=intercept - float(point.beta @ gram.offset),
        margin=1.0 / np.sqrt(squared_norm) if squared_norm > 0 else np.inf,
        dual=float(point.beta @ signs) - 0.5 * squared_norm,
        primal=0.5 * squared_norm + price,
        residual=measure_violation(box, point.beta, point.gradient),
        n_iter=point.n_iter,
        converged=point.converged,
    )


def hyperplane_from_primal(
    found: SoftMarginSolution | HardMarginSolution,
    X: np.ndarray,
    signs: np.ndarray,
    C: np.ndarray,
    n_iter: int,
    tol: float,
) -> Hyperplane:
    """Return the hyperplane of an interior point method between rows X (n, d), after so many steps of the dual.

    ``C``, of shape (n,), is the price of slack: all infinite for the hard margin.
    """
    excess = signs * (X @ found.normal + found.intercept) - 1.0
    # Rows that may rise must not lack anything, rows that may fall must not have more than enough.
    lacking, beyond = -excess[found.alpha < C], excess[found.alpha > 0]
    residual = max(0.0, float(lacking.max(initial=0.0)), float(beyond.max(initial=0.0)))
    squared_norm = float(found.normal @ found.normal)
    price = 0.0 if np.isinf(C).all() else float(C @ np.maximum(0.0, -excess))
    return Hyperplane(
        beta=signs * found.alpha,
        intercept=found.intercept,
        margin=1.0 / np.sqrt(squared_norm),
        dual=float(found.alpha.sum()) - 0.5 * squared_norm,
        primal=0.5 * squared_norm + price,
        residual=residual,
        n_iter=n_iter,
        converged=residual <= tol,
        normal=found.normal,
    )
