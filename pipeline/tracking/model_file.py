"""A run's model as a file: scikit-learn's MLflow flavour in the skops format, which can hold no code.

skops refuses every type that it does not know; the types below were reviewed: they hold arrays and numbers, and
building one runs nothing.  Types of ours are trusted through the registry, types of others through the configuration's
``trust``.
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
from bakeoff.pipeline.tracking.provenance import pinned
from bakeoff.pipeline.tracking.stored_names import has_old_names, translate_model, translate_types

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature

    from bakeoff.pipeline.stages.dataset import Dataset

REVIEWED_TYPES = frozenset({
    "numpy.dtype",
    "numpy.mean",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
    "scipy.sparse._csr.csr_matrix",
    "pandas.core.indexes.base.Index",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
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
})  # fmt: skip


MODEL_FILE_NAME = "model.skops"
"""The name that MLflow gives to the file of a model."""


class UntrustedType(Exception):
    """A model holds a type that was not reviewed; it is not written."""


def trusted_types(dumped: bytes, trust: Sequence[str] = ()) -> list[str]:
    """Return the types in a model that skops does not know by itself, all of them trusted here.

    Parameters
    ----------
    dumped : bytes
        A fitted model, as skops writes it.
    trust : sequence of str
        Packages trusted by the configuration.

    Raises
    ------
    UntrustedType
        Names the types, and the cure.
    """
    import skops.io

    found = list(skops.io.get_untrusted_types(data=dumped))
    packages = {learner.__module__.split(".")[0] for learner in learners.REGISTRY.values()} | {*trust}
    strange = [name for name in found if name not in REVIEWED_TYPES and name.split(".")[0] not in packages]
    if strange:
        raise UntrustedType(
            f"the model holds {', '.join(strange)}, which no one has reviewed for safe loading; "
            f"if you trust it, add trust=[{strange[0].split('.')[0]}], or keep no model with tracking.models=false."
        )
    return found


def save_model(model: Any, folder: Path, record: Model, dataset: Dataset, trust: Sequence[str] = ()) -> None:
    """Write a fitted pipeline as an MLflow model.

    Parameters
    ----------
    model : Pipeline
    folder : Path
        Is there, and empty.
    record : mlflow.models.Model
        Carries the model's id.
    dataset : Dataset
        Gives the signature.
    trust : sequence of str
    """
    import skops.io

    dumped = skops.io.dumps(model)
    types = trusted_types(dumped, trust)
    (folder / MODEL_FILE_NAME).write_bytes(dumped)
    for name, text in environment_files().items():
        (folder / name).write_text(text)
    add_flavors(record, types)
    record.signature = model_signature(dataset)
    record.model_size_bytes = len(dumped)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # MLflow would take the one in Python, in ten times as long
    (folder / "MLmodel").write_text(yaml.dump(record.to_dict(), Dumper=dumper))


def load_model(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted pipeline that `save_model` wrote, in this version or an earlier one.

    Parameters
    ----------
    folder : Path
        Of an MLflow model whose format is skops.
    types : sequence of str
        The types that the model may hold besides those that skops trusts by itself.

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


def add_flavors(record: Model, types: Sequence[str]) -> None:
    """Say how the file is loaded: as a scikit-learn estimator, and as what MLflow serves, whatever it is.

    This and `environment_files` are what `mlflow.sklearn.save_model` writes, which a test compares; it would also look
    through all installed packages, to warn of versions that differ from the ones just read: a tenth of a short run.
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
    """Return the files that say which packages a model wants, for pip, conda and virtualenv: name -> text."""
    python, tools = platform.python_version(), ("pip", "setuptools", "wheel")
    installed = {name: each for name in tools for each in pinned(name)}
    packages = list(pinned("mlflow", "bakeoff", "numpy", "pandas", "scikit-learn", "skops"))
    pip = installed.get("pip", "pip").replace("==", "<=")  # conda's may lag behind
    conda = {
        "name": "mlflow-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={python}", pip, {"pip": packages}],
    }
    virtualenv = {
        "python": python,
        "build_dependencies": [installed.get(name, name) for name in tools],
        "dependencies": ["-r requirements.txt"],
    }
    return {
        "requirements.txt": "\n".join(packages),
        "conda.yaml": yaml.safe_dump(conda),
        "python_env.yaml": yaml.safe_dump(virtualenv, sort_keys=False),
    }


def model_signature(dataset: Dataset) -> ModelSignature:
    """Return the columns that the model takes and what it gives: numbers as double, nominal values as string."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec

    nominal = set(dataset.nominal)
    inputs: list[ColSpec | TensorSpec] = [
        ColSpec("string" if name in nominal else "double", str(name)) for name in dataset.X.columns
    ]
    output = {"f": "double", "i": "long"}.get(dataset.y.dtype.kind, "string")
    return ModelSignature(inputs=Schema(inputs), outputs=Schema([ColSpec(output)]))
