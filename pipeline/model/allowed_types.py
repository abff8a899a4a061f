"""The types that the file of a model may contain.

skops rejects every type that it does not know. The types listed here were reviewed: they hold arrays and numbers, and
building one runs no other code. Of bakeoff, classes of learners and of steps may be named, and no functions but those
listed: a file could let a step call them. Types of other packages are those that ``trust`` of the command names.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from inspect import isclass

REVIEWED_TYPES = frozenset({
    "functools.partial",
    "numpy.dtype",
    "numpy.mean",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.sparse._csr.csr_matrix",
    "pandas.core.indexes.base.Index",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.CompoundKernel",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.ExpSineSquared",
    "sklearn.gaussian_process.kernels.Exponentiation",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.ChebyshevDistance64",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._dist_metrics.HammingDistance64",
    "sklearn.metrics._dist_metrics.ManhattanDistance64",
    "sklearn.metrics._dist_metrics.MinkowskiDistance64",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils.validation.check_array",
})  # fmt: skip

OWN_PACKAGE = "bakeoff"
LIBRARY = "sklearn"
OWN_MODULES = ("bakeoff.learners.", "bakeoff.pipeline.stages.preprocessing.")
"""Modules of bakeoff whose classes a model may contain: they compute, and do not read or write files."""
OWN_FUNCTIONS = frozenset({
    "bakeoff.pipeline.stages.preprocessing.transformers.score_f_test",
    "bakeoff.pipeline.stages.preprocessing.transformers.score_mutual_information",
})  # fmt: skip

NEVER_TRUSTED = frozenset({
    OWN_PACKAGE, "_thread", "builtins", "code", "codeop", "commands", "ctypes", "importlib", "marshal", "nt",
    "operator", "os", "pickle", "platform", "posix", "pty", "runpy", "shelve", "shutil", "site", "socket",
    "subprocess", "sys", "tempfile", "types", "webbrowser",
})  # fmt: skip
"""Packages whose other types no model needs, and whose functions run programs, load code or change files."""


class UntrustedType(Exception):
    """A model contains types that were not reviewed; the message is a predicate, such as "holds os.system"."""


def trusted_types(dumped: bytes, trust: Sequence[str] = ()) -> list[str]:
    """Return the types in a model that skops does not trust by default, if all of them are trusted here.

    Parameters
    ----------
    dumped : bytes
        A fitted model in the skops format.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UntrustedType
        Some type is not trusted; the message names it and the remedy.
    """
    import skops.io

    types = list(skops.io.get_untrusted_types(data=dumped))  # no object is built
    untrusted = find_untrusted(types, trust)
    never = [name for name in untrusted if package_of(name) in NEVER_TRUSTED]
    if never:
        raise UntrustedType(f"holds {', '.join(never)}, which is refused whatever is trusted.")
    if untrusted:
        packages = sorted({package_of(name) for name in untrusted})
        raise UntrustedType(
            f"needs code that runs when it is loaded: {', '.join(untrusted)}. If you trust {', '.join(packages)}, add "
            f"trust=[{','.join([*trust, *packages])}]."
        )
    return types


def find_untrusted(types: Sequence[str], trust: Sequence[str]) -> list[str]:
    """Return those of some types that were not reviewed and belong to no trusted package.

    Parameters
    ----------
    types : sequence of str
        Dotted names.
    trust : sequence of str
        Packages that the user trusts.
    """
    trusted = set(trust) - NEVER_TRUSTED
    return [name for name in types if not is_reviewed(name) and not _is_trusted(name, trusted)]


def _is_trusted(name: str, trusted: Collection[str]) -> bool:
    """Return whether a type is from a trusted package; for scikit-learn, whose tests run programs, only classes are."""
    package = package_of(name)
    return package in trusted and (package != LIBRARY or _is_class_of(name, LIBRARY))


def is_reviewed(name: str) -> bool:
    """Return whether a model may contain a type regardless of trust.

    Parameters
    ----------
    name : str
        The dotted name of a class or function.

    Examples
    --------
    >>> is_reviewed("bakeoff.learners.svm.classifier.SVC"), is_reviewed("bakeoff.pipeline.tracking.removal.remove_runs")
    (True, False)
    """
    if name in REVIEWED_TYPES or name in OWN_FUNCTIONS:
        return True
    return name.startswith(OWN_MODULES) and _is_class_of(name, OWN_PACKAGE)


def _is_class_of(name: str, package: str) -> bool:
    """Return whether a name in a package is that of a class of it, and not of something that its module imports."""
    module, _, attribute = name.rpartition(".")
    try:
        # Modules of bakeoff and scikit-learn do nothing when they are imported.
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return isclass(found) and package_of(found.__module__) == package


def list_own_packages(types: Sequence[str]) -> list[str]:
    """Return the packages of the user that some types belong to, sorted."""
    return sorted({package_of(name) for name in find_untrusted(types, ())})


def package_of(name: str) -> str:
    """Return the first part of a dotted name."""
    return name.split(".")[0]
