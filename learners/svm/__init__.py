"""Support vector machines: `classifier` and its predictions, `decision`; `machine` (one hyperplane), `soft` or `hard`.

`space` and `kernels`, `quadratic` (the programme), `dual` = `smo` (pairs of rows) + `pivoting` and `newton` (free
rows), `primal` and `separation` (linear; any kernel by its `embedding`), `pairs` (one against one), `problems` with
their common start, `abreast`.
"""

from learners.svm.classifier import SVC

__all__ = ["SVC"]
