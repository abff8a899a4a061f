"""One hyperplane between two classes: the result of the soft margin and of the hard margin.

Soft margin:  minimize ½‖w‖² + Σ C_i ξ_i,  with  y_i f(x_i) ≥ 1 - ξ_i,  ξ_i ≥ 0,  f(x) = w·Φ(x) + b.
Hard margin (C = ∞):  minimize ½‖w‖²,  with  y_i f(x_i) ≥ 1.

w = Σ α_i y_i Φ(x_i). The geometric margin, which is the distance from f(x) = 0 to the nearest row, is 1/‖w‖.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from bakeoff.learners.svm.gram import Gram
from bakeoff.learners.svm.hard_margin_primal import PrimalSolution
from bakeoff.learners.svm.quadratic_program import BoxConstraints, DualPoint, measure_violation


@final
@dataclass(frozen=True)
class Hyperplane:
    """A fitted hyperplane.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        y_i α_i; 0 for every row that is not a support vector.
    intercept : float
        b, averaged over the free support vectors.
    margin : float
        1 / ‖w‖.
    dual, primal : float
        The objectives, which are equal at the optimum.
    residual : float
        Violation of the Karush-Kuhn-Tucker conditions, measured by y f(x) in units of the margin.
    n_iter : int
        Steps of the dual solver.
    converged : bool
    normal : ndarray of shape (d,) or None
        w, if it is known more precisely than from β.
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

    @classmethod
    def from_dual(
        cls, gram: Gram, box: BoxConstraints, point: DualPoint, signs: np.ndarray, C: np.ndarray, intercept: float
    ) -> Hyperplane:
        """Return the hyperplane of a point of the dual.

        Parameters
        ----------
        gram : Gram
        box : BoxConstraints
            Its only group contains all rows.
        point : DualPoint
            Its gradient is Kβ - y.
        signs : ndarray of shape (n,)
        C : ndarray of shape (n,)
            All infinite for the hard margin.
        intercept : float
            b, without the offsets of the Gram matrix.
        """
        products = point.gradient + signs  # (n,), w·Φ(x)
        squared_norm = max(0.0, float(point.beta @ products))
        slack = np.maximum(0.0, 1.0 - signs * (products + intercept))  # (n,), ξ
        return cls(
            beta=point.beta,
            intercept=intercept - float(point.beta @ gram.offset),
            margin=1.0 / np.sqrt(squared_norm) if squared_norm > 0 else np.inf,
            dual=float(point.beta @ signs) - 0.5 * squared_norm,
            primal=0.5 * squared_norm + _sum_slack_costs(C, slack),
            residual=measure_violation(box, point),
            n_iter=point.n_iter,
            converged=point.converged,
        )

    @classmethod
    def from_primal(
        cls, solution: PrimalSolution, X: np.ndarray, signs: np.ndarray, C: np.ndarray, n_iter: int, tol: float
    ) -> Hyperplane:
        """Return the hyperplane of a solution of the linear primal.

        Parameters
        ----------
        solution : PrimalSolution
        X : ndarray of shape (n, d)
        signs : ndarray of shape (n,)
        C : ndarray of shape (n,)
            All infinite for the hard margin.
        n_iter : int
            Number of steps already taken by the dual solver.
        tol : float
        """
        excess = signs * (X @ solution.normal + solution.intercept) - 1.0  # (n,)
        # If α may increase, the row must not lie inside the margin; if α may decrease, it must not lie outside.
        lack = float((-excess[solution.alpha < C]).max(initial=0.0))
        surplus = float(excess[solution.alpha > 0].max(initial=0.0))
        residual = max(0.0, lack, surplus)
        squared_norm = float(solution.normal @ solution.normal)
        return cls(
            beta=signs * solution.alpha,
            intercept=solution.intercept,
            margin=1.0 / np.sqrt(squared_norm),
            dual=float(solution.alpha.sum()) - 0.5 * squared_norm,
            primal=0.5 * squared_norm + _sum_slack_costs(C, np.maximum(0.0, -excess)),
            residual=residual,
            n_iter=n_iter,
            converged=residual <= tol,
            normal=solution.normal,
        )

    def in_length_unit(self, unit: float) -> Hyperplane:
        """Return the same hyperplane for rows ``unit`` times as long; f(x) stays the same."""
        if unit == 1.0:
            return self
        squared_unit = unit**2
        return replace(
            self,
            beta=self.beta / squared_unit,
            margin=self.margin * unit,
            dual=self.dual / squared_unit,
            primal=self.primal / squared_unit,
            normal=None if self.normal is None else self.normal / unit,
        )


def _sum_slack_costs(C: np.ndarray, slack: np.ndarray) -> float:
    """Return Σ C_i ξ_i; 0 for the hard margin, where slack is only rounding error."""
    if np.isinf(C).all():
        return 0.0
    return float(C @ slack)
