"""Support vector machines.

``classifier`` has the estimator, which reduces several classes to binary problems. ``margins`` fits one hyperplane with
a hard or a soft margin: with the ``dual_solver`` on the ``gram`` matrix, which takes SMO steps and ``newton`` steps, or
for a linear kernel with the interior point methods of ``hard_margin_primal`` and ``soft_margin_primal``.
"""

from bakeoff.learners.svm.classifier import SVC

__all__ = ["SVC"]
