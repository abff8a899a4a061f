"""The file of a fitted estimator, in the skops format: the types that it may contain, and the code that it needs.

skops rejects every type that it does not know. The types listed here were reviewed: they contain arrays and numbers,
and building one runs no other code. Learner and step classes of bakeoff are allowed, but only the listed functions,
because a file could make a step call them. Types of other packages are allowed if ``trust`` names the package.

The fitted contents of bakeoff's parts and of the reviewed scikit-learn estimators are known, so no trial fit is needed
to determine whether they can be stored. A string parameter of a scikit-learn estimator, such as the metric of
neighbours, may select another type of part; only the default was reviewed.

The format names the classes of an estimator but does not contain their code. The sources of packages that are not
installed, and of the modules that they import, are therefore stored next to it, like MLflow's ``code_paths``.
MLflow's loaders run this stored code; bakeoff runs the local code, and only compares the two.
"""

import importlib
import importlib.util
import io
import json
import shutil
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from inspect import isclass, isroutine
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

from bakeoff.pipeline.errors import name_error
from bakeoff.pipeline.identity.source_code import MAIN, follow_imports, get_finder, list_modules

REVIEWED_TYPES = frozenset({
    "functools.partial",
    "numpy.dtype",
    "numpy.mean",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.sparse._csr.csr_matrix",
    "pandas.core.indexes.base.Index",
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.cluster._bisect_k_means._BisectingTree",
    "sklearn.cluster._kmeans._kmeans_single_lloyd",
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
    "sklearn.gaussian_process.kernels.PairwiseKernel",
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
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.utils.validation.check_array",
})  # fmt: skip

REVIEWED_MODULES = (
    "sklearn.metrics._classification.", "sklearn.metrics._ranking.", "sklearn.metrics._regression.",
    "sklearn.metrics._scorer.", "sklearn.metrics.cluster._supervised.", "sklearn.model_selection._split.",
)  # fmt: skip
"""Modules of scikit-learn whose metrics, scorers and splitters a fitted search contains; all of them only compute."""

OWN_PACKAGE = "bakeoff"
LIBRARY = "sklearn"
OWN_MODULES = ("bakeoff.learners.", "bakeoff.pipeline.stages.preprocessing.")
"""Modules of bakeoff whose classes a model may contain; they compute, and do not read or write files."""
OWN_FUNCTIONS = frozenset({"bakeoff.pipeline.stages.preprocessing.transformers.score_f_test"})

NEVER_TRUSTED = frozenset({
    OWN_PACKAGE, "_thread", "builtins", "code", "codeop", "commands", "ctypes", "importlib", "marshal", "nt",
    "operator", "os", "pickle", "platform", "posix", "pty", "runpy", "shelve", "shutil", "site", "socket",
    "subprocess", "sys", "tempfile", "types", "webbrowser",
})  # fmt: skip
"""Packages with functions that run programs, load code or change files, and whose other types no model needs."""


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

    get_finder().trust(trust)
    types = list(skops.io.get_untrusted_types(data=dumped))  # no object is built
    untrusted = find_untrusted(types, trust)
    never = [name for name in untrusted if package_of(name) in NEVER_TRUSTED]
    if never:
        raise UntrustedType(f"contains {', '.join(never)}, which is never allowed.")
    if untrusted:
        packages = sorted({package_of(name) for name in untrusted})
        raise UntrustedType(
            f"needs code that runs when it is loaded: {', '.join(untrusted)}. If you trust {', '.join(packages)}, add "
            f"trust=[{','.join([*trust, *packages])}]."
        )
    return types


def find_untrusted(types: Sequence[str], trust: Sequence[str]) -> list[str]:
    """Return the given types that have not been reviewed and belong to no trusted package.

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
    >>> is_reviewed("bakeoff.learners.svm.classifier.SVC"), is_reviewed("bakeoff.pipeline.tracking.names.find_run_id")
    (True, False)
    """
    if name in REVIEWED_TYPES or name in OWN_FUNCTIONS:
        return True
    if name.startswith(REVIEWED_MODULES):
        return _is_defined_in(name, name.rpartition(".")[0])
    return name.startswith(OWN_MODULES) and _is_class_of(name, OWN_PACKAGE)


def _is_class_of(name: str, package: str) -> bool:
    """Return whether a name refers to a class defined in a package."""
    return _is_defined_in(name, package, isclass)


def _is_defined_in(name: str, home: str, is_kind: Callable[[Any], bool] = callable) -> bool:
    """Return whether a name refers to an object of a kind, defined in a package or module and not only imported."""
    module, _, attribute = name.rpartition(".")
    try:
        # Modules of bakeoff and scikit-learn do nothing when they are imported.
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return is_kind(found) and f"{getattr(found, '__module__', '')}.".startswith(f"{home}.")


def list_own_packages(types: Sequence[str]) -> list[str]:
    """Return the user-defined packages to which the given types belong, sorted."""
    return sorted({package_of(name) for name in find_untrusted(types, ())})


def package_of(name: str) -> str:
    """Return the first part of a dotted name."""
    return name.split(".")[0]


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
"""Steps whose string parameters select an algorithm rather than a type of part."""


def is_known(part: Any) -> bool:
    """Return whether a model fitted with a part is known to be storable without a trial fit.

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
    """Return whether a part or one of its parameters belongs to one of the given packages."""
    if _is_plain(part):
        return False
    return package_of(name_class(part)) in packages or any(
        is_from(child, packages) for _, child in _iter_children(part)
    )


def describe_types(part: Any) -> str:
    """Return the types of a part and its parameters; parts with equal descriptions are stored in the same way.

    Strings are included, because they may select a type; numbers are not.

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
    """Return whether a part is a string, a number, an array of these, a NumPy ufunc, or None."""
    if isinstance(part, np.ndarray):
        return part.dtype.kind != "O"
    return part is None or isinstance(part, str | bool | int | float | np.generic | np.ufunc)


def _iter_children(part: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of an estimator, the items of a container, or the attributes of another bakeoff object."""
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
    """Return whether a part is a known learner whose string parameters have their default values."""
    if name not in KNOWN_LEARNERS:
        return False
    defaults = type(part)().get_params(deep=False)
    words = {key: value for key, value in part.get_params(deep=False).items() if isinstance(value, str)}
    return all(defaults[key] == value for key, value in words.items())


CODE_FOLDER = "code"
"""The folder of the sources in the folder of a model; MLflow uses the same name."""


class MissingCode(Exception):
    """A required user-defined package cannot be imported here."""


def write_own_code(packages: Sequence[str], folder: Path) -> bool:
    """Write the sources of packages that are not installed; return whether there are any.

    Parameters
    ----------
    packages : sequence of str
        Packages whose code the model needs.
    folder : Path
        The folder of the model.
    """
    files = list_own_code(packages)
    for name, file in files.items():
        target = folder / CODE_FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return bool(files)


def list_own_code(packages: Sequence[str]) -> dict[str, Path]:
    """Return the sources of packages and their imports that are not installed: relative path -> file."""
    # The file of a program cannot be imported elsewhere by the name __main__.
    modules = [module for package in packages if package != MAIN for module in list_modules(package)]
    files = {each.name: each.file for each in follow_imports(frozenset(modules)).values()}
    return {_locate(name, file): file for name, file in files.items() if file.suffix == ".py"}


def _locate(module: str, file: Path) -> str:
    """Return the path of a module below the folder of imports."""
    path = module.replace(".", "/")
    return f"{path}/{file.name}" if file.stem == "__init__" else f"{path}.py"


def compare_code(packages: Sequence[str], folder: Path) -> list[str]:
    """Return a sentence for each package whose local code differs from the stored code.

    Parameters
    ----------
    packages : sequence of str
        Packages that the user trusts and the model needs.
    folder : Path
        The folder of the model.

    Raises
    ------
    MissingCode
    """
    notes = []
    for package in packages:
        if not _is_importable(package):
            raise MissingCode(
                f"the model needs the package {package!r}, which cannot be imported here; start in the folder that "
                "holds it, or install it"
            )
        here = {name: file.read_bytes() for name, file in list_own_code([package]).items()}
        stored = folder / CODE_FOLDER
        files = [*stored.glob(f"{package}.py"), *stored.glob(f"{package}/**/*.py")]
        if any(here.get(file.relative_to(stored).as_posix()) != file.read_bytes() for file in files):
            notes.append(f"the installed code of {package} differs from the code stored with the model.")
    return notes


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return package in sys.modules


FREE_BYTES = 1 << 28
"""The unpacked size that is always allowed, however small the archive is."""
MAX_RATIO = 50
"""The maximum growth of larger archives when unpacked; numeric tables compress less than this."""
INNER_ARCHIVE = ".npz"
SCHEMA = "schema.json"
"""The member that names the types of a model."""
MAX_VISITS = 10_000_000
"""The maximum number of visits by skops to a node; it visits a shared node once for each path that leads to it."""
ID_KEY = "__id__"
MODEL_FILE_NAME = "model.skops"
"""The name of the file of a model in MLflow."""


class UnreadableEstimator(Exception):
    """The file is unsafe to unpack, or cannot be read with the packages that are installed here."""


def require_bounded_archive(dumped: bytes) -> None:
    """Reject an archive that would unpack to far more than its size, itself or in its archives of sparse arrays.

    An archive whose parts refer to one another along too many paths, which skops would follow forever, is also
    rejected. Nothing is unpacked to disk, so the names of its members have no effect.

    Parameters
    ----------
    dumped : bytes
        The content of a file in the skops format.

    Raises
    ------
    UnreadableEstimator
    """
    limit = FREE_BYTES + MAX_RATIO * len(dumped)
    total = 0
    with ZipFile(io.BytesIO(dumped)) as archive:
        for member in archive.infolist():
            total += member.file_size
            _require_within(total, limit)
            if member.filename.endswith(INNER_ARCHIVE):
                with ZipFile(io.BytesIO(archive.read(member))) as inner:
                    total += sum(each.file_size for each in inner.infolist())
                _require_within(total, limit)
        schema = json.loads(archive.read(SCHEMA)) if SCHEMA in archive.namelist() else {}
    if _count_visits(schema, {}) > MAX_VISITS:
        raise UnreadableEstimator(f"its parts would be visited more than {MAX_VISITS:,} times")


def _count_visits(node: Any, known: dict[Any, int]) -> int:
    """Return the number of nodes on all paths below a node; `known` contains the counted ones."""
    if isinstance(node, list):
        return sum(_count_visits(child, known) for child in node)
    if not isinstance(node, dict):
        return 0
    name = node.get(ID_KEY)
    if name is not None and name in known:
        return known[name]
    # A node that is reached from itself is not followed again.
    known[name] = 0
    known[name] = 1 + sum(_count_visits(child, known) for child in node.values())
    return known[name]


def _require_within(total: int, limit: int) -> None:
    if total > limit:
        raise UnreadableEstimator(f"it would unpack to more than {limit:,} bytes, which no model of its size does")


def read_estimator(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted estimator.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    types : sequence of str
        The allowed types in addition to those that skops trusts by default.

    Raises
    ------
    UnreadableEstimator
    """
    return _build(_read_dump(folder), types)


def read_reviewed_estimator(folder: Path, trust: Sequence[str]) -> tuple[Any, list[str]]:
    """Read a fitted estimator, trusting only reviewed types regardless of the model's files.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    trust : sequence of str
        Packages that the user trusts.

    Returns
    -------
    estimator
        Fitted.
    notes : list of str
        A sentence for each package whose local code differs from the stored code.

    Raises
    ------
    UntrustedType
        The estimator contains a type that is not trusted.
    MissingCode
        A trusted package cannot be imported.
    UnreadableEstimator
        The file is not an archive, would unpack to far more than its size, or was written by an incompatible version of
        skops, scikit-learn or a user-defined package.
    """
    dumped = _read_dump(folder)
    try:
        types = trusted_types(dumped, trust)
    except UntrustedType:
        raise
    except Exception as error:
        raise UnreadableEstimator(name_error(error)) from error
    notes = compare_code(list_own_packages(types), folder)
    return _build(dumped, types), notes


def _read_dump(folder: Path) -> bytes:
    """Return the content of the file of a model, if it is an archive that is safe to unpack."""
    dumped = (folder / MODEL_FILE_NAME).read_bytes()
    try:
        require_bounded_archive(dumped)
    except (BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise UnreadableEstimator(name_error(error)) from error
    return dumped


def _build(dumped: bytes, types: Sequence[str]) -> Any:
    import skops.io

    with warnings.catch_warnings():
        # Other versions are reported in a separate line.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops.io.loads(dumped, trusted=list(types))
        except Exception as error:
            raise UnreadableEstimator(name_error(error)) from error
