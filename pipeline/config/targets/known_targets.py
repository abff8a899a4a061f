"""The names that ``_target_`` may have without trust, decided by the text alone: nothing is imported.

Of bakeoff these are the names that its own files in ``conf/`` have; a test compares the table with the files. Of
scikit-learn, imbalanced-learn and Optuna they are public classes: the pattern admits a name of such a form in a public
module, and when it has been imported, `import_target` checks that it is a class of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from bakeoff.pipeline.errors import did_you_mean

KNOWN_PACKAGES = ("bakeoff", "sklearn", "imblearn", "optuna")
"""Packages of which some names need no trust."""

STAGES = "bakeoff.pipeline.stages"
ESTIMATOR_KEYS = (
    "learner", "preprocessing", "tuning", "balance", "target", "space", "default_space", "search", "figures", "figure",
)  # fmt: skip
"""Keys below which an estimator may stand: as a part, as a parameter of one, or as a value to try."""
FIGURE_KEYS = ("figures", "figure")
METRIC_KEYS = ("evaluation.metrics", "metric")
SAMPLER_KEY = "hydra.sweeper.sampler"
PRUNER_KEY = "hydra.sweeper.pruner"
PLACED_KEYS = (
    "dataset", "preprocessing", "learner", "space", "default_space", "tuning", "pruning", "balance", "target",
    "calibration", "threshold", "evaluation", "audit", "tracking", "search", "figures", "figure", "metric", "hydra",
)  # fmt: skip
"""Keys whose parts are known; a key of the user's own, to which others refer, may hold any of the names."""


@dataclass(frozen=True)
class OwnNames:
    """Names of a module of bakeoff.

    Attributes
    ----------
    names : tuple of str
    keys : tuple of str
        Of the configuration, at or below which they may stand.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]


OWN_NAMES: Mapping[str, OwnNames] = {
    "bakeoff.learners": OwnNames(
        (
            "DecisionTreeClassifier", "DecisionTreeRegressor", "KNeighborsClassifier", "KNeighborsRegressor",
            "LinearRegression", "LogisticRegression", "MLPClassifier", "MLPRegressor", "MajorityClassifier",
            "MeanRegressor", "NaiveBayesClassifier", "Perceptron", "RandomForestClassifier", "RandomForestRegressor",
            "Ridge", "SVC",
        ),
        ESTIMATOR_KEYS,
    ),
    "bakeoff.learners.boosting": OwnNames(
        ("LightGBMClassifier", "LightGBMRegressor", "XGBoostClassifier", "XGBoostRegressor"), ESTIMATOR_KEYS
    ),
    "bakeoff.learners.decision_tree.tree_drawer": OwnNames(("TreeDrawer",), FIGURE_KEYS),
    "bakeoff.pipeline.audit": OwnNames(("Audit", "NoAudit"), ("audit",)),
    "bakeoff.pipeline.figures": OwnNames(
        (
            "Candidates", "Choices", "Coefficients", "ConfusionMatrix", "DecisionRegions", "Importances",
            "InformationGains", "LearningCurve", "Margins", "PrecisionRecallCurves", "ProbabilityTables",
            "PruningPaths", "RegressionCurves", "Reliability", "Residuals", "RocCurves", "Trees", "ValidationCurve",
        ),
        FIGURE_KEYS,
    ),
    "bakeoff.pipeline.tracking": OwnNames(("MLflowTracker", "NoTracker"), ("tracking",)),
    f"{STAGES}.balance": OwnNames(
        ("ClassWeights", "NoBalance", "Oversampling", "Resampling", "Undersampling"), ("balance",)
    ),
    f"{STAGES}.calibration": OwnNames(("Calibration", "NoCalibration"), ("calibration",)),
    f"{STAGES}.dataset": OwnNames(
        (
            "load_bundled", "load_lecture_table", "load_openml", "load_query", "load_sklearn", "make_points",
            "read_table",
        ),
        ("dataset",),
    ),
    f"{STAGES}.preprocessing": OwnNames(
        (
            "AsIntervals", "AsNominal", "AutoPreprocessing", "DateParts", "EncodeText", "EntropyDiscretizer",
            "GroupRareValues", "OrderCodes", "make_preprocessing", "make_selection",
        ),
        ("preprocessing",),
    ),
    f"{STAGES}.pruning": OwnNames(("NoPruning", "Pruning"), ("pruning",)),
    f"{STAGES}.splitting": OwnNames(
        (
            "Bootstrap", "FixedFolds", "FixedSplit", "GroupKFold", "Holdout", "KFold", "LeaveOneGroupOut",
            "LeaveOneOut", "TimeHoldout", "TimeSeries",
        ),
        ("evaluation",),
    ),
    f"{STAGES}.target": OwnNames(("NoTarget", "TransformedTarget", "make_function"), ("target",)),
    f"{STAGES}.threshold": OwnNames(("GivenThreshold", "NoThreshold", "TunedThreshold"), ("threshold",)),
    f"{STAGES}.tuning": OwnNames(("GridTuning", "NoTuning"), ("tuning",)),
}  # fmt: skip
"""Module -> what may be named of it, and where."""

SKLEARN_MODULES = (
    "calibration", "cluster", "compose", "covariance", "cross_decomposition", "decomposition", "discriminant_analysis",
    "dummy", "ensemble", "feature_extraction", "feature_extraction.image", "feature_extraction.text",
    "feature_selection", "frozen", "gaussian_process", "gaussian_process.kernels", "impute", "isotonic",
    "kernel_approximation", "kernel_ridge", "linear_model", "manifold", "mixture", "model_selection", "multiclass",
    "multioutput", "naive_bayes", "neighbors", "neural_network", "pipeline", "preprocessing", "random_projection",
    "semi_supervised", "svm", "tree",
)  # fmt: skip
"""The public modules of scikit-learn with estimators, transformers, splitters and kernels."""
COLUMN_SELECTOR = "sklearn.compose.make_column_selector"
"""A class in spite of its name; the columns of a ColumnTransformer."""
IMBLEARN_MODULES = ("combine", "over_sampling", "under_sampling")
CLASS_NAME = r"[A-Z][A-Za-z0-9]*"
FUNCTION_NAME = r"[a-z][a-z0-9_]*"


def _match_names(package: str, modules: tuple[str, ...], name: str) -> re.Pattern[str]:
    any_module = "|".join(re.escape(module) for module in modules)
    return re.compile(rf"{package}\.(?:{any_module})\.{name}", re.ASCII)


FAMILIES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_match_names("sklearn", SKLEARN_MODULES, CLASS_NAME), ESTIMATOR_KEYS),
    (re.compile(re.escape(COLUMN_SELECTOR)), ESTIMATOR_KEYS),
    (_match_names("sklearn", ("metrics",), FUNCTION_NAME), METRIC_KEYS),
    (_match_names("imblearn", IMBLEARN_MODULES, CLASS_NAME), ("balance",)),
    (_match_names("optuna", ("samplers",), CLASS_NAME), (SAMPLER_KEY,)),
    (_match_names("optuna", ("pruners",), CLASS_NAME), (PRUNER_KEY,)),
)
"""The form of names of other packages -> the keys of the configuration, at or below which they may stand."""


def list_places(target: str) -> tuple[str, ...]:
    """Return the keys at or below which a name may stand without trust; none if it needs trust everywhere.

    Examples
    --------
    >>> list_places("bakeoff.pipeline.stages.splitting.KFold"), list_places("os.system")
    (('evaluation',), ())
    """
    module, _, name = target.rpartition(".")
    own = OWN_NAMES.get(module)
    if own is not None:
        return own.keys if name in own.names else ()
    return next((keys for pattern, keys in FAMILIES if pattern.fullmatch(target)), ())


def stands_at(key: str, places: tuple[str, ...]) -> bool:
    """Return whether a key of the configuration is one of some keys, or below one."""
    return any(key == place or key.startswith((f"{place}.", f"{place}[")) for place in places)


def is_known(target: str, key: str) -> bool:
    """Return whether a name may stand at a key without trust.

    Parameters
    ----------
    target : str
        A dotted name.
    key : str
        Such as ``preprocessing.then[0]._target_``.
    """
    places = list_places(target)
    return bool(places) and (stands_at(key, places) or not stands_at(key, PLACED_KEYS))


def suggest_name(target: str, key: str) -> str:
    """Return a sentence on the names that are similar to one that is not known; empty if none is.

    Parameters
    ----------
    target, key : str
        As for `is_known`.
    """
    module, _, name = target.rpartition(".")
    own = OWN_NAMES.get(module)
    if own is not None and stands_at(key, own.keys):
        return did_you_mean(name, own.names)
    package, *inner = module.split(".")
    if package != "sklearn" or not re.fullmatch(CLASS_NAME, name):
        return ""
    # A class is public in the module around its private one.
    public = ".".join(part for part in inner if not part.startswith("_"))
    similar = get_close_matches(public, SKLEARN_MODULES, n=1)
    return f"Did you mean 'sklearn.{similar[0]}.{name}'?" if similar else ""
