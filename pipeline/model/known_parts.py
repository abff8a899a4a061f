"""Parts of a model that are known to be stored: those of bakeoff, and reviewed estimators of scikit-learn.

What such a part holds after a fit was seen, so that no fit is needed to find out. A parameter of scikit-learn's that is
a word may choose another type of part, such as the metric of neighbours; only the default was seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from inspect import isclass, isroutine
from typing import Any

import numpy as np

from bakeoff.pipeline.model.allowed_types import OWN_PACKAGE, is_reviewed, package_of

KNOWN_LEARNERS = frozenset({
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis",
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis",
    "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._forest.ExtraTreesRegressor",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.RandomForestRegressor",
    "sklearn.ensemble._gb.GradientBoostingClassifier",
    "sklearn.ensemble._gb.GradientBoostingRegressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor",
    "sklearn.ensemble._weight_boosting.AdaBoostClassifier",
    "sklearn.ensemble._weight_boosting.AdaBoostRegressor",
    "sklearn.gaussian_process._gpc.GaussianProcessClassifier",
    "sklearn.gaussian_process._gpr.GaussianProcessRegressor",
    "sklearn.linear_model._base.LinearRegression",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._perceptron.Perceptron",
    "sklearn.linear_model._ridge.Ridge",
    "sklearn.naive_bayes.GaussianNB",
    "sklearn.neighbors._classification.KNeighborsClassifier",
    "sklearn.neighbors._regression.KNeighborsRegressor",
    "sklearn.neural_network._multilayer_perceptron.MLPClassifier",
    "sklearn.neural_network._multilayer_perceptron.MLPRegressor",
    "sklearn.svm._classes.SVC",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
})  # fmt: skip
KNOWN_STEPS = frozenset({
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.decomposition._pca.PCA",
    "sklearn.feature_extraction.text.TfidfVectorizer",
    "sklearn.feature_extraction.text.HashingVectorizer",
    "sklearn.feature_selection._univariate_selection.SelectKBest",
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.impute._knn.KNNImputer",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.MinMaxScaler",
    "sklearn.preprocessing._data.RobustScaler",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._data.PowerTransformer",
    "sklearn.preprocessing._data.QuantileTransformer",
    "sklearn.preprocessing._discretization.KBinsDiscretizer",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._polynomial.PolynomialFeatures",
    "sklearn.preprocessing._target_encoder.TargetEncoder",
})  # fmt: skip
"""Steps whose words choose a way to compute, and no type of part."""


def is_known(part: Any) -> bool:
    """Return whether a model that is fitted with a part can be stored, as far as is known without fitting it.

    Parameters
    ----------
    part : object
        An estimator, or a parameter of one.
    """
    if _is_plain(part):
        return True
    name = name_class(part)
    if isclass(part) or isroutine(part):
        return is_reviewed(name) or (isclass(part) and issubclass(part, np.generic))
    # For options of bakeoff, a model contains their parameters, which are examined below.
    is_own = package_of(name) == OWN_PACKAGE
    is_storable = is_own or is_reviewed(name) or name in KNOWN_STEPS or _has_default_words(part, name)
    is_container = isinstance(part, Mapping | list | tuple)
    return (is_storable or is_container) and all(is_known(child) for _, child in _iter_children(part))


def is_from(part: Any, packages: Collection[str]) -> bool:
    """Return whether a part or one of its parameters is of one of some packages."""
    if _is_plain(part):
        return False
    return package_of(name_class(part)) in packages or any(
        is_from(child, packages) for _, child in _iter_children(part)
    )


def describe_types(part: Any) -> str:
    """Return the types of a part and of its parameters; parts that are described alike are stored alike.

    Words are included, because they may choose a type; numbers are not.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> first, second, third = KNeighborsClassifier(3), KNeighborsClassifier(5), KNeighborsClassifier(metric="hamming")
    >>> describe_types(first) == describe_types(second), describe_types(first) == describe_types(third)
    (True, False)
    """
    if isinstance(part, str | bool | np.ufunc) or part is None:
        return repr(part)
    if _is_plain(part):
        return "array" if isinstance(part, np.ndarray) else "number"
    children = [f"{name}={describe_types(child)}" for name, child in _iter_children(part)]
    return f"{name_class(part)}({','.join(children)})"


def name_class(part: Any) -> str:
    """Return the dotted name of a class or function, or of the class of any other object."""
    named = part if isclass(part) or isroutine(part) else type(part)
    return f"{named.__module__}.{named.__qualname__}"


def _is_plain(part: Any) -> bool:
    """Return whether a part is a word, a number, an array of such, a function of NumPy for each cell, or None."""
    if isinstance(part, np.ndarray):
        return part.dtype.kind != "O"
    return part is None or isinstance(part, str | bool | int | float | np.generic | np.ufunc)


def _iter_children(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of an estimator, the items of a container, or the attributes of any other object of ours."""
    if isclass(part) or isroutine(part):
        return
    if isinstance(part, Mapping):
        yield from ((str(name), child) for name, child in part.items())
    elif isinstance(part, list | tuple):
        yield from (("", child) for child in part)
    elif hasattr(part, "get_params"):
        yield from part.get_params(deep=False).items()
    elif package_of(name_class(part)) == OWN_PACKAGE:
        yield from vars(part).items()


def _has_default_words(part: Any, name: str) -> bool:
    """Return whether a part is a known learner whose parameters that are words have their defaults."""
    if name not in KNOWN_LEARNERS:
        return False
    defaults = type(part)().get_params(deep=False)
    words = {key: value for key, value in part.get_params(deep=False).items() if isinstance(value, str)}
    return all(defaults[key] == value for key, value in words.items())
