"""Support vector machines.

`classifier` holds the estimator; `one_vs_one` reduces several classes to binary problems and combines their decisions.
`margins` fits one `hyperplane`, with a hard or a soft margin: by the `dual_solver` on the Gram matrix of the `kernels`,
with `smo` and `newton` steps, or for a linear kernel by the interior point methods of `hard_margin_primal` and
`soft_margin_primal`.
"""

from bakeoff.learners.svm.classifier import SVC

__all__ = ["SVC"]
