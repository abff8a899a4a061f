"""The names allowed as ``_target_`` and the keys where each is allowed, checked as text before anything is imported.

A configuration may come from somebody else, and importing a module runs it. All names in the configuration are
therefore checked first, by the traversal that all checks of a configuration share. The names allowed without trust are
those of bakeoff in the shipped files of ``conf/``, and those with the form of a class in a public module of
scikit-learn, imbalanced-learn or Optuna; after the import, `bakeoff.pipeline.config.build` checks the kind of the
class.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from bakeoff.pipeline.config.options import CONF, DRAW_TREE, FIGURE_PACKAGE, FIGURES, GROUPS
from bakeoff.pipeline.errors import UserError, did_you_mean

Path = tuple[Any, ...]
"""The keys and positions that lead to a value."""


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield a part of a configuration and every value below it, each with its path.

    Parameters
    ----------
    node : object
        Nested mappings and lists.
    path : tuple
        The path of the node.

    Examples
    --------
    >>> [(name_key(path), value) for path, value in walk({"a": [{"b": 1}]}) if value == 1]
    [('a[0].b', 1)]
    """
    waiting = [(path, node)]
    while waiting:
        path, node = waiting.pop()
        yield path, node
        if isinstance(node, Mapping | list | tuple):
            children = node.items() if isinstance(node, Mapping) else enumerate(node)
            waiting += reversed([((*path, name), child) for name, child in children])


def name_key(path: Path) -> str:
    """Return the key that corresponds to a path.

    Examples
    --------
    >>> name_key(("figures", 0, "scores"))
    'figures[0].scores'
    """
    parts = [f"[{name}]" if isinstance(name, int) else f".{name}" for name in path]
    return "".join(parts).removeprefix(".")


TARGET_KEY = "_target_"
CACHE_PARAMETER = "memory"
"""A scikit-learn parameter with a folder of pickles, which may run arbitrary code when loaded."""
PARAMETER_KEY = "parameter"
"""The key of a figure that names the parameter whose values the figure tries."""
TRIED_KEYS = frozenset({"space", "default_space", "variants"})
"""Keys that contain parameters with values to try."""
SCIKIT_LEARN = "sklearn"
OWN_PACKAGE = "bakeoff"
KNOWN_PACKAGES = (OWN_PACKAGE, SCIKIT_LEARN, "imblearn", "optuna")
"""Packages with names that are allowed without trust."""

# Places

ESTIMATOR_KEYS = (
    "learner", "preprocessing", "tuning", "balance", "target", "space", "default_space", "search", "figures", "figure",
)  # fmt: skip
"""Keys that may contain estimators: as parts, as parameters of parts, or as values to try."""
FIGURE_KEYS = ("figures", "figure")
METRIC_KEYS = ("evaluation.metrics", "metric")
PLACED_KEYS = (*GROUPS, "default_space", *FIGURE_KEYS, "metric", "hydra")
"""Keys whose parts are known; a user-defined key, to which others refer, may contain any of the names."""
STAGES = "bakeoff.pipeline.stages"
SAME_NAME = ("balance", "calibration", "dataset", "preprocessing", "pruning", "target", "threshold", "tuning")
"""Stages whose folder of ``conf/`` has the same name."""
OWN_MODULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "bakeoff.learners": ("learner", ESTIMATOR_KEYS),
    "bakeoff.pipeline.audit": ("audit", ("audit",)),
    "bakeoff.pipeline.tracking": ("tracking", ("tracking",)),
    "bakeoff.pipeline.tracking.run": ("tracking", ("tracking",)),
    f"{STAGES}.splitting": ("evaluation", ("evaluation",)),
    **{f"{STAGES}.{name}": (name, (name,)) for name in SAME_NAME},
}
"""Module -> the folder of ``conf/`` whose files list its allowed names, and the keys that may contain them."""
OWN_NAME = re.compile(r"_target_:\s*[\"']?(bakeoff\.[\w.]+)")
FIGURE_NAMES = frozenset({f"{FIGURE_PACKAGE}.{class_name}" for class_name, _ in FIGURES.values()})
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
"""A class despite its lowercase name, for the columns of a ColumnTransformer."""
CLASS_NAME = r"[A-Z][A-Za-z0-9]*"
FUNCTION_NAME = r"[a-z][a-z0-9_]*"
IMBLEARN_MODULES = ("combine", "over_sampling", "under_sampling")


def _match_names(package: str, modules: tuple[str, ...], name: str) -> re.Pattern[str]:
    any_module = "|".join(re.escape(module) for module in modules)
    return re.compile(rf"{package}\.(?:{any_module})\.{name}", re.ASCII)


FAMILIES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_match_names(SCIKIT_LEARN, SKLEARN_MODULES, CLASS_NAME), ESTIMATOR_KEYS),
    (re.compile(re.escape(COLUMN_SELECTOR)), ESTIMATOR_KEYS),
    (_match_names(SCIKIT_LEARN, ("metrics",), FUNCTION_NAME), METRIC_KEYS),
    (_match_names("imblearn", IMBLEARN_MODULES, CLASS_NAME), ("balance",)),
    (_match_names("optuna", ("samplers",), CLASS_NAME), ("hydra.sweeper.sampler",)),
    (_match_names("optuna", ("pruners",), CLASS_NAME), ("hydra.sweeper.pruner",)),
)
"""The form of names of other packages -> the keys at or below which they are allowed."""

# Methods

METHODS: Mapping[str, tuple[str, ...]] = {
    "dataset": ("digest",),
    "learner": ("fit", "predict"),
    "tuning": ("tune", "count_fits"),
    "pruning": ("prune",),
    "balance": ("balance",),
    "target": ("fit", "is_on"),
    "calibration": ("calibrate", "add_methods"),
    "threshold": ("is_on", "is_chosen"),
    "evaluation": ("make_splits",),
    "audit": ("check", "check_fold"),
    "tracking": ("open_store", "start_run"),
    "figures": ("check", "save"),
}
"""Key -> the methods that its part must have. Constructors check their own parameters, such as a learner's kernel."""


def require_names(node: Any, key: str, trust: Sequence[str]) -> None:
    """Check each ``_target_`` of a configuration, at any depth; nothing is imported.

    Parameters
    ----------
    node : object
        A configuration with its interpolations resolved, or a part of one.
    key : str
        The key of the node, for messages; empty for the whole configuration.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UserError
        A name needs trust, or a folder of pickles would be read.
    """
    parts_of_sklearn: list[Path] = []
    for path, value in walk(node, (key,) if key else ()):
        # Few keys can hold a folder, and each of a thousand jobs has more than a hundred keys.
        can_be_cache = path and (path[-1] == PARAMETER_KEY or CACHE_PARAMETER in str(path[-1]))
        if can_be_cache and SCIKIT_LEARN not in trust:
            inner = name_key(path)
            is_tried = bool(TRIED_KEYS.intersection(re.findall(r"\w+", inner)))
            is_below_sklearn = any(path[: len(part)] == part for part in parts_of_sklearn)
            _require_no_cache(inner, path[-1], value, is_tried or is_below_sklearn)
        if not isinstance(value, Mapping):
            continue
        target = value.get(TARGET_KEY)
        if target is not None:
            require_name(target, name_key((*path, TARGET_KEY)), trust)
        if str(target).startswith(f"{SCIKIT_LEARN}."):
            parts_of_sklearn.append(path)


def require_name(target: Any, key: str, trust: Sequence[str]) -> None:
    """Check one name; nothing is imported.

    Parameters
    ----------
    target : object
        The name; anything but a dotted name is rejected.
    key : str
        The key of the name in the configuration.
    trust : sequence of str

    Raises
    ------
    UserError
    """
    is_dotted = isinstance(target, str) and "." in target and all(map(str.isidentifier, target.split(".")))
    if not is_dotted:
        raise UserError(f"{key}={target!r} must be a dotted name, such as mine.MyClass.")
    package = target.split(".")[0]
    if package in trust or is_known(target, key):
        return
    if package not in KNOWN_PACKAGES:
        raise UserError(
            f"{key}={target!r} is outside the trusted packages; if you trust all code in {package}, add "
            f"trust=[{package}]."
        )
    places = list_places(target)
    if places:
        raise UserError(f"{key}={target!r} is allowed only in {', '.join(places)}.")
    if package == OWN_PACKAGE:
        raise UserError(f"{key}={target!r} is no part of bakeoff. {did_you_mean(target, _list_own_names(key))}")
    raise UserError(
        f"{key}={target!r} is not one of the allowed public classes and functions. If you trust all code in "
        f"{package}, add trust=[{package}]."
    )


def is_known(target: str, key: str) -> bool:
    """Return whether a name is allowed at a key without trust.

    Parameters
    ----------
    target : str
        A dotted name.
    key : str
        A key such as ``preprocessing.then[0]._target_``.
    """
    places = list_places(target)
    return bool(places) and (_stands_at(key, places) or not _stands_at(key, PLACED_KEYS))


def list_places(target: str) -> tuple[str, ...]:
    """Return the keys at or below which a name is allowed without trust; they are empty if it always needs trust.

    Examples
    --------
    >>> list_places("bakeoff.pipeline.stages.splitting.KFold"), list_places("os.system")
    (('evaluation',), ())
    """
    if target in FIGURE_NAMES or target == DRAW_TREE[TARGET_KEY]:
        return FIGURE_KEYS
    group, keys = OWN_MODULES.get(target.rpartition(".")[0], ("", ()))
    if group:
        return keys if target in read_own_names(group) else ()
    return next((keys for pattern, keys in FAMILIES if pattern.fullmatch(target)), ())


def _list_own_names(key: str) -> list[str]:
    """Return the names of bakeoff that are allowed at a key."""
    found = [name for group, _ in OWN_MODULES.values() for name in read_own_names(group)]
    return [name for name in (*found, *FIGURE_NAMES) if is_known(name, key)]


@cache
def read_own_names(group: str) -> frozenset[str]:
    """Return the dotted names of parts of bakeoff that the shipped files of a group use."""
    texts = [file.read_text(encoding="utf-8") for file in (CONF / group).rglob("*.yaml")]
    return frozenset(name for text in texts for name in OWN_NAME.findall(text))


def _stands_at(key: str, places: tuple[str, ...]) -> bool:
    """Return whether a configuration key is equal to or below one of the given keys."""
    return any(key == place or key.startswith((f"{place}.", f"{place}[")) for place in places)


def _require_no_cache(key: str, name: Any, value: Any, is_parameter: bool) -> None:
    """Reject a folder of pickles in the parameters of a scikit-learn estimator or in values to try.

    The grids of scikit-learn's searches have the parameters of the estimator as keys.
    """
    is_name = name == PARAMETER_KEY
    parameter = str(value if is_name else name)  # parameters of nested parts are written as part__parameter
    is_cache = parameter.replace("__", ".").split(".")[-1] == CACHE_PARAMETER
    if is_cache and (is_name or (is_parameter and any(isinstance(each, str) for _, each in walk(value)))):
        raise UserError(
            f"{key}={value!r} would load Python objects from a folder, which may run arbitrary code; remove it, "
            f"or add trust=[{SCIKIT_LEARN}] if the folder is yours."
        )
