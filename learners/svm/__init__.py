"""Support vector machines: `classifier` over `machine` (one hyperplane) over the solvers.

`space` and `kernels`, `quadratic` (the programme), `dual` = `smo` (pairs of rows) + `newton` (free rows),
`primal` (linear), `pairs` (one against one).
"""

from learners.svm.classifier import SVC

__all__ = ["SVC"]
