"""The learners: classical machine learning in NumPy, behind scikit-learn's estimator contract.

`REGISTRY` is the single list of all learners. Its names are those of ``conf/learner/``, and all code that lists, tests
or trusts learners takes them from here. `PRESETS` are further names for classes of the registry whose YAML sets values
other than the defaults. A class is imported on first access, because a run needs only one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, final

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    from bakeoff.learners.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
    from bakeoff.learners.knn import KNeighborsClassifier, KNeighborsRegressor
    from bakeoff.learners.linear.linear_regression import LinearRegression, Ridge
    from bakeoff.learners.linear.logistic_regression import LogisticRegression
    from bakeoff.learners.linear.perceptron import Perceptron
    from bakeoff.learners.majority import MajorityClassifier, MeanRegressor
    from bakeoff.learners.mlp import MLPClassifier, MLPRegressor
    from bakeoff.learners.naive_bayes import NaiveBayesClassifier
    from bakeoff.learners.random_forest import RandomForestClassifier, RandomForestRegressor
    from bakeoff.learners.svm import SVC

MODULES: Mapping[str, str] = {
    "DecisionTreeClassifier": "decision_tree",
    "DecisionTreeRegressor": "decision_tree",
    "KNeighborsClassifier": "knn",
    "KNeighborsRegressor": "knn",
    "LinearRegression": "linear.linear_regression",
    "LogisticRegression": "linear.logistic_regression",
    "MLPClassifier": "mlp",
    "MLPRegressor": "mlp",
    "MajorityClassifier": "majority",
    "MeanRegressor": "majority",
    "NaiveBayesClassifier": "naive_bayes",
    "Perceptron": "linear.perceptron",
    "RandomForestClassifier": "random_forest",
    "RandomForestRegressor": "random_forest",
    "Ridge": "linear.linear_regression",
    "SVC": "svm",
}
"""Class -> the module that defines it."""


@final
class LearnerTable(Mapping[str, type[BaseEstimator]]):
    """A mapping of learner names to classes.

    Parameters
    ----------
    **classes : str
        Name -> the name of the class.
    """

    def __init__(self, **classes: str) -> None:
        self._classes = classes

    def __getitem__(self, name: str) -> type[BaseEstimator]:
        learner: type[BaseEstimator] = __getattr__(self._classes[name])
        return learner

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def find_name(self, kind: type) -> str:
        """Return the name of a class, or an empty string, without importing the other learners."""
        is_own = kind.__module__.startswith(f"{__name__}.")
        return next((name for name, own in self._classes.items() if is_own and own == kind.__name__), "")

    def __len__(self) -> int:
        return len(self._classes)


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)


REGISTRY = LearnerTable(
    decision_tree="DecisionTreeClassifier",
    decision_tree_regressor="DecisionTreeRegressor",
    random_forest="RandomForestClassifier",
    random_forest_regressor="RandomForestRegressor",
    knn="KNeighborsClassifier",
    knn_regressor="KNeighborsRegressor",
    linear_regression="LinearRegression",
    logistic_regression="LogisticRegression",
    majority="MajorityClassifier",
    mean="MeanRegressor",
    mlp="MLPClassifier",
    mlp_regressor="MLPRegressor",
    naive_bayes="NaiveBayesClassifier",
    perceptron="Perceptron",
    ridge="Ridge",
    svm="SVC",
)

PRESETS = LearnerTable(c45="DecisionTreeClassifier")

BUILT_ON: dict[str, tuple[str, ...]] = {
    "decision_tree": ("trees",),
    "random_forest": ("trees", "decision_tree"),
}
"""The folders whose code a family of learners runs, in addition to its own and ``base/``."""

__all__ = [
    "BUILT_ON",
    "PRESETS",
    "REGISTRY",
    "SVC",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "MajorityClassifier",
    "MeanRegressor",
    "NaiveBayesClassifier",
    "Perceptron",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Ridge",
]
