"""Support vector machines.

`classifier` holds the estimator and `decision` its predictions; `binary_problems` reduces several classes to binary
problems, and `one_vs_one` combines their decisions. `soft_margin` and `hard_margin` each find one `hyperplane`, with
the Gram matrix from `kernel`, the solvers of the quadratic program in `dual`, and interior point methods in `primal`.
"""

from bakeoff.learners.svm.classifier import SVC

__all__ = ["SVC"]
