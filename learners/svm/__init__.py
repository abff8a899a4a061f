"""Support vector machines: `classifier` and its predictions, `decision`; `machine` (one hyperplane), `soft` or `hard`.

`space`, `kernels` and `grams`, `quadratic` (the programme), `dual` = `smo` (pairs of rows) + `pivoting` and `newton`
(the `free` rows), `primal` and `separation` (linear; any kernel by its `embedding`), `pairs` (one against one),
`problems`.
"""

from bakeoff.learners.svm.classifier import SVC

__all__ = ["SVC"]
