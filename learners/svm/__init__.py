"""Support vector machines.

`classifier` holds the estimator and `decision` its predictions; `binary_problems` splits several classes into problems
of two, and `one_vs_one` joins their decisions. `soft_margin` and `hard_margin` each find one `hyperplane`, with the
Gram matrix from `kernel`, the solvers of the quadratic program in `dual`, and interior point methods in `primal`.
"""

from bakeoff.learners.svm.classifier import SVC

__all__ = ["SVC"]
