"""The learners: classical machine learning in NumPy, behind scikit-learn's estimator contract.

`REGISTRY` is the single list of all learners. Its names are those of ``conf/learner/``, and all code that lists,
tests or trusts learners reads them from here. `PRESETS` are further names for classes of the registry, whose YAML sets
other values than the defaults.
"""

from sklearn.base import BaseEstimator

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

REGISTRY: dict[str, type[BaseEstimator]] = {
    "decision_tree": DecisionTreeClassifier,
    "decision_tree_regressor": DecisionTreeRegressor,
    "random_forest": RandomForestClassifier,
    "random_forest_regressor": RandomForestRegressor,
    "knn": KNeighborsClassifier,
    "knn_regressor": KNeighborsRegressor,
    "linear_regression": LinearRegression,
    "logistic_regression": LogisticRegression,
    "majority": MajorityClassifier,
    "mean": MeanRegressor,
    "mlp": MLPClassifier,
    "mlp_regressor": MLPRegressor,
    "naive_bayes": NaiveBayesClassifier,
    "perceptron": Perceptron,
    "ridge": Ridge,
    "svm": SVC,
}

PRESETS: dict[str, type[BaseEstimator]] = {
    "c45": DecisionTreeClassifier,
}

BUILT_ON: dict[str, tuple[str, ...]] = {
    "decision_tree": ("trees",),
    "random_forest": ("trees", "decision_tree"),
}
"""The folders whose code a family of learners runs, besides its own and ``base/``."""

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
