"""The estimators, splitters, searches and kernels of scikit-learn that a configuration may name can be stored."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as kernels
import sklearn.model_selection as selection
import skops.io
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge, TweedieRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.discovery import all_estimators

from bakeoff.pipeline.config.targets import is_known
from bakeoff.pipeline.model import estimator_file
from bakeoff.pipeline.model.estimator_file import UntrustedType, is_reviewed, trusted_types

CLASSES = make_classification(60, 5, n_informative=3, random_state=0)
NUMBERS = make_regression(60, 5, random_state=0)
MEMBERS = [("first", GaussianNB()), ("second", DecisionTreeClassifier(random_state=0))]
REGRESSORS = [("first", Ridge())]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "ColumnTransformer": {"transformers": [("kept", "passthrough", [0, 1])]},
    "FeatureUnion": {"transformer_list": [("kept", "passthrough")]},
    "GridSearchCV": {"estimator": GaussianNB(), "param_grid": {"var_smoothing": [1e-9, 1e-8]}},
    "Pipeline": {"steps": MEMBERS[:1]},
    "RandomizedSearchCV": {"estimator": GaussianNB(), "param_distributions": {"var_smoothing": [1e-9]}, "n_iter": 1},
    "StackingClassifier": {"estimators": MEMBERS},
    "StackingRegressor": {"estimators": REGRESSORS},
    "VotingClassifier": {"estimators": MEMBERS},
    "VotingRegressor": {"estimators": REGRESSORS},
    "FixedThresholdClassifier": {"estimator": GaussianNB()},
    "CCA": {"n_components": 1},
    "GaussianRandomProjection": {"n_components": 2, "random_state": 0},
    "PLSCanonical": {"n_components": 1},
    "PLSSVD": {"n_components": 1},
    "SparseRandomProjection": {"n_components": 2, "random_state": 0},
    "OneVsOneClassifier": {"estimator": GaussianNB()},
    "OneVsRestClassifier": {"estimator": GaussianNB()},
    "OutputCodeClassifier": {"estimator": GaussianNB(), "random_state": 0},
    "RFE": {"estimator": Ridge()},
    "RFECV": {"estimator": Ridge()},
    "SelectFromModel": {"estimator": Ridge()},
    "SelfTrainingClassifier": {"estimator": GaussianNB()},
    "SequentialFeatureSelector": {"estimator": Ridge()},
    "TunedThresholdClassifierCV": {"estimator": GaussianNB()},
}
"""Estimators that need others -> their arguments."""
OTHER_DATA = frozenset({
    "ClassifierChain", "MultiOutputClassifier", "MultiOutputRegressor", "MultiTaskElasticNet", "MultiTaskElasticNetCV",
    "MultiTaskLasso", "MultiTaskLassoCV", "RegressorChain",  # several targets
    "CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer", "TfidfVectorizer",  # text, mappings
    "LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer",  # the target alone
    "IsotonicRegression", "KernelCenterer", "PatchExtractor",  # one column, a square matrix, images
    "FrozenEstimator", "SparseCoder",  # fitted elsewhere
})  # fmt: skip
NOT_STORED = {"Birch": "skops does not store its tree"}
EXPERIMENTAL = ("Halving",)


def list_nameable() -> list[tuple[str, type]]:
    nameable = []
    for name, estimator in all_estimators():
        home = estimator.__module__.split("._")[0]
        if is_known(f"{home}.{name}", "learner._target_") and not name.startswith(EXPERIMENTAL):
            nameable.append((name, estimator))
    return nameable


def fit(estimator: Any) -> Any:
    X, y = NUMBERS if is_regressor(estimator) else CLASSES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(np.abs(X), np.exp(y / np.abs(y).max()) if is_regressor(estimator) else y)


def to_dense(values: Any) -> Any:
    return values.toarray() if issparse(values) else values


def store_and_load(estimator: Any) -> Any:
    dumped = skops.io.dumps(estimator)
    return skops.io.loads(dumped, trusted=trusted_types(dumped))


def require_stored(estimator: Any) -> None:
    fitted = fit(estimator)
    loaded = store_and_load(fitted)
    X = np.abs(NUMBERS[0] if is_regressor(estimator) else CLASSES[0])
    for method in ("predict", "transform"):
        if hasattr(fitted, method):
            given, expected = (np.asarray(to_dense(getattr(each, method)(X))) for each in (loaded, fitted))
            np.testing.assert_array_equal(given, expected)


@pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(partial(estimator, **ARGUMENTS.get(name, {})), id=name)
        for name, estimator in list_nameable()
        if name not in OTHER_DATA and name not in NOT_STORED
    ],
)
def test_each_estimator_that_a_configuration_may_name_is_stored_and_loaded(estimator: Any) -> None:
    require_stored(estimator())


@pytest.mark.parametrize("name", NOT_STORED)
def test_what_cannot_be_stored_fails_when_it_is_stored(name: str) -> None:
    with pytest.raises(Exception, match="not supported"):
        store_and_load(fit(dict(all_estimators())[name]()))


SPLITTERS = [
    selection.KFold(2), selection.LeaveOneOut(), selection.LeavePOut(1), selection.RepeatedKFold(n_repeats=2),
    selection.RepeatedStratifiedKFold(n_repeats=2), selection.ShuffleSplit(2), selection.StratifiedKFold(2),
    selection.StratifiedShuffleSplit(2), selection.TimeSeriesSplit(2),
    selection.PredefinedSplit([0, 1] * 30), selection.GroupKFold(2), selection.GroupShuffleSplit(2),
    selection.LeaveOneGroupOut(), selection.LeavePGroupsOut(2), selection.StratifiedGroupKFold(2),
]  # fmt: skip


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_each_splitter_can_be_part_of_a_stored_search(splitter: Any) -> None:
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=splitter)
    assert type(store_and_load(search).cv) is type(splitter)


@pytest.mark.parametrize("scoring", get_scorer_names())
def test_each_scorer_can_be_part_of_a_stored_search(scoring: str) -> None:
    scorer = get_scorer(scoring)
    search = RandomizedSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, scoring=scorer)
    assert repr(store_and_load(search).scoring) == repr(scorer)


@pytest.mark.parametrize(
    "kernel",
    [kernels.DotProduct(), kernels.Matern(), kernels.PairwiseKernel(), kernels.RBF() + kernels.WhiteKernel()],
    ids=repr,
)
def test_kernels_are_stored(kernel: Any) -> None:
    require_stored(GaussianProcessRegressor(kernel, random_state=0))


@pytest.mark.parametrize("power", [0, 1, 1.5, 2, 3])
def test_each_power_of_a_tweedie_regression_is_stored(power: float) -> None:
    require_stored(TweedieRegressor(power=power))


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.model_selection._split.os.system", "sklearn.metrics._scorer.Bunch", "sklearn.metrics._scorer.gone",
        "sklearn.metrics._classification.np.load", "sklearn.model_selection._split.numbers",
    ],
)  # fmt: skip
def test_a_name_that_a_reviewed_module_only_imports_is_not_reviewed(name: str) -> None:
    assert not is_reviewed(name)


def test_a_function_of_another_module_is_refused_in_a_search() -> None:
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, scoring=np.load)
    with pytest.raises(UntrustedType, match=r"numpy.*load"):
        store_and_load(search)


@pytest.mark.parametrize(
    ("part", "is_known_to_be_storable"),
    [
        (KNeighborsClassifier(3), True),
        (KNeighborsClassifier(metric="hamming"), False),  # a word of a learner may select another type
        (KBinsDiscretizer(encode="ordinal"), True),  # a word of a step may not
        (Pipeline([("step", StandardScaler()), ("learner", GaussianNB())]), True),
        (Pipeline([("step", StandardScaler()), ("learner", Ridge(solver="svd"))]), False),
        (np.load, False),
        (np.float64, True),
        ({"metric": ["euclidean", 3, None]}, True),
        ({"metric": [np.load]}, False),
    ],
)
def test_a_part_is_known_to_be_storable_if_all_that_it_holds_is(part: Any, is_known_to_be_storable: bool) -> None:
    assert estimator_file.is_known(part) is is_known_to_be_storable
