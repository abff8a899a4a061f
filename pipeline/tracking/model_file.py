"""The model of a run as a file: MLflow's scikit-learn flavor in the skops format, which cannot contain code.

skops rejects every type that it does not know. The types listed here were reviewed: they hold arrays and numbers, and
building one runs no other code. The types of bakeoff are trusted through the registry of learners, those of other
packages through the key ``trust`` of the configuration.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sklearn
import yaml

from bakeoff import learners
from bakeoff.pipeline.stages.preprocessing import list_kinds
from bakeoff.pipeline.tracking.provenance import pin_versions
from bakeoff.pipeline.tracking.stored_names import has_old_names, translate_model, translate_types

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature

    from bakeoff.pipeline.stages.dataset import Dataset

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
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
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


MODEL_FILE_NAME = "model.skops"
"""The name that MLflow gives to the file of a model."""
COLUMN_TYPES = {"numeric": "double", "date": "datetime"}
"""The type of a column in the signature of a model, by its kind; nominal values and text are strings."""
TOOLS = ("pip", "setuptools", "wheel")
PACKAGES = ("mlflow", "bakeoff", "numpy", "pandas", "scikit-learn", "skops")
"""The packages that a model needs, in the order in which MLflow lists them."""


class UntrustedType(Exception):
    """The model holds a type that was not reviewed, and is not written."""


def trusted_types(dumped: bytes, trust: Sequence[str] = ()) -> list[str]:
    """Return the types in a model that skops does not trust by default, if all of them are trusted here.

    Parameters
    ----------
    dumped : bytes
        A fitted model in the skops format.
    trust : sequence of str
        Packages that the configuration trusts.

    Raises
    ------
    UntrustedType
        Some type is not trusted; the message names it and the remedy.
    """
    import skops.io

    # skops reports the types without building any object.
    types = list(skops.io.get_untrusted_types(data=dumped))
    own_packages = {_package_of(learner.__module__) for learner in learners.REGISTRY.values()}
    packages = own_packages | set(trust)
    untrusted = [name for name in types if name not in REVIEWED_TYPES and _package_of(name) not in packages]
    if untrusted:
        raise UntrustedType(
            f"the model holds {', '.join(untrusted)}, which was not reviewed for safe loading; "
            f"if you trust it, add trust=[{_package_of(untrusted[0])}], or keep no model with tracking.models=false."
        )
    return types


def save_model(model: Any, folder: Path, record: Model, dataset: Dataset, trust: Sequence[str] = ()) -> None:
    """Write a fitted pipeline as an MLflow model.

    Parameters
    ----------
    model : Pipeline
    folder : Path
        An empty folder.
    record : mlflow.models.Model
        Has the id of the model, and is completed here.
    dataset : Dataset
        Determines the signature.
    trust : sequence of str
        Packages that the configuration trusts.

    Raises
    ------
    UntrustedType
        The model holds a type that is not trusted.
    """
    import skops.io

    # The types are checked before the file exists, so that a model that nobody could load is never kept.
    dumped = skops.io.dumps(model)
    types = trusted_types(dumped, trust)
    (folder / MODEL_FILE_NAME).write_bytes(dumped)
    for name, text in environment_files().items():
        (folder / name).write_text(text)
    add_flavors(record, types)
    record.signature = model_signature(dataset)
    record.model_size_bytes = len(dumped)
    # MLflow would use PyYAML's Python dumper, which takes ten times as long as the one in C.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    (folder / "MLmodel").write_text(yaml.dump(record.to_dict(), Dumper=dumper))


def load_model(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted pipeline that `save_model` wrote, in this version or an earlier one.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    types : sequence of str
        The types that the model may hold besides those that skops trusts by default.

    Returns
    -------
    Pipeline
        Fitted.
    """
    import skops.io

    dumped = (folder / MODEL_FILE_NAME).read_bytes()
    if has_old_names(folder):
        dumped = translate_model(dumped)
        types = translate_types(types)
    return skops.io.loads(dumped, trusted=list(types))


def load_reviewed_model(folder: Path, trust: Sequence[str] = ()) -> Any:
    """Read a fitted pipeline, and trust only the types that `save_model` would write now.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UntrustedType
        The model holds a type that is not trusted.
    """
    import skops.io

    dumped = (folder / MODEL_FILE_NAME).read_bytes()
    if has_old_names(folder):
        dumped = translate_model(dumped)
    return skops.io.loads(dumped, trusted=trusted_types(dumped, trust))


def add_flavors(record: Model, types: Sequence[str]) -> None:
    """Record how the file is loaded: as a scikit-learn estimator, and as MLflow's generic Python function.

    This and `environment_files` are what `mlflow.sklearn.save_model` writes, which a test compares. That function would
    also read the versions of all installed packages, which takes a tenth of a short run.
    """
    record.add_flavor(
        "python_function",
        env={"conda": "conda.yaml", "virtualenv": "python_env.yaml"},
        loader_module="mlflow.sklearn",
        model_path=MODEL_FILE_NAME,
        predict_fn="predict",
        python_version=platform.python_version(),
    )
    record.add_flavor(
        "sklearn",
        code=None,
        pickled_model=MODEL_FILE_NAME,
        serialization_format="skops",
        sklearn_version=sklearn.__version__,
        skops_trusted_types=list(types),
    )


@cache
def environment_files() -> Mapping[str, str]:
    """Return the files that list the packages a model needs, for pip, conda and virtualenv: name -> text."""
    python = platform.python_version()
    tools = {name: requirement for name in TOOLS for requirement in pin_versions(name)}
    packages = list(pin_versions(*PACKAGES))
    pip = tools.get("pip", "pip").replace("==", "<=")  # conda may offer an older one only
    conda = {
        "name": "mlflow-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={python}", pip, {"pip": packages}],
    }
    virtualenv = {
        "python": python,
        "build_dependencies": [tools.get(name, name) for name in TOOLS],
        "dependencies": ["-r requirements.txt"],
    }
    return {
        "requirements.txt": "\n".join(packages),
        "conda.yaml": yaml.safe_dump(conda),
        "python_env.yaml": yaml.safe_dump(virtualenv, sort_keys=False),
    }


def model_signature(dataset: Dataset) -> ModelSignature:
    """Return the types of the columns that the model requires (double, string or datetime) and of its predictions."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec

    kinds = list_kinds(dataset.X)
    inputs: list[ColSpec | TensorSpec] = []
    for name in dataset.X.columns:
        column_type = COLUMN_TYPES.get(kinds[str(name)], "string")
        inputs.append(ColSpec(column_type, str(name)))
    output_type = {"f": "double", "i": "long"}.get(dataset.y.dtype.kind, "string")
    return ModelSignature(inputs=Schema(inputs), outputs=Schema([ColSpec(output_type)]))


def _package_of(name: str) -> str:
    return name.split(".")[0]
