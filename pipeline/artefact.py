"""A run's model as a file: scikit-learn's MLflow flavour in the skops format, which can hold no code.

skops refuses every type that it does not know; the types below were reviewed: they hold arrays and numbers, and
building one runs nothing.  Types of ours are trusted through the registry, types of others through the configuration's
``trust``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import learners
from pipeline.provenance import pinned

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature

    from pipeline.dataset import Dataset

REVIEWED = frozenset({
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


MODEL = "model.skops"
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
    packages = {learner.__module__.split(".")[0] for learner in learners.REGISTRY.values()} | {"pipeline"} | {*trust}
    strange = [name for name in found if name not in REVIEWED and name.split(".")[0] not in packages]
    if strange:
        raise UntrustedType(
            f"the model holds {', '.join(strange)}, which no one has reviewed for safe loading; "
            f"if you trust it, add trust=[{strange[0].split('.')[0]}], or keep no model with tracking.models=false."
        )
    return found


def save(model: Any, folder: Path, record: Model, dataset: Dataset, trust: Sequence[str] = ()) -> None:
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
    pattern = _pattern(tuple(trusted_types(dumped, trust)))
    (folder / MODEL).write_bytes(dumped)
    for name, text in pattern.files.items():
        (folder / name).write_text(text)
    record.signature = signature(dataset)
    record.flavors = pattern.flavors
    record.model_size_bytes = len(dumped)
    record.save(str(folder / "MLmodel"))


@dataclass(frozen=True)
class Pattern:
    """What MLflow writes beside a model, and says of it, the same for all models that hold the same types."""

    files: Mapping[str, str]
    flavors: dict[str, Any]


@cache
def _pattern(types: tuple[str, ...]) -> Pattern:
    """Let MLflow write a small model, and keep what it wrote; it takes ten times as long as the model's own file."""
    import mlflow.sklearn
    from mlflow.models import Model
    from sklearn.dummy import DummyClassifier

    record = Model()
    with TemporaryDirectory(prefix="bakeoff-") as parent:
        folder = Path(parent) / "model"
        mlflow.sklearn.save_model(
            DummyClassifier().fit([[0.0]], [0]),
            str(folder),
            mlflow_model=record,
            pip_requirements=list(pinned("bakeoff", "numpy", "pandas", "scikit-learn", "skops")),
            serialization_format="skops",
            skops_trusted_types=list(types),
        )
        files = {file.name: file.read_text() for file in folder.iterdir() if file.name not in (MODEL, "MLmodel")}
    return Pattern(files, record.flavors)


def signature(dataset: Dataset) -> ModelSignature:
    """Return the columns that the model takes and what it gives: numbers as double, nominal values as string."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema, TensorSpec

    nominal = set(dataset.nominal)
    inputs: list[ColSpec | TensorSpec] = [
        ColSpec("string" if name in nominal else "double", str(name)) for name in dataset.X.columns
    ]
    output = {"f": "double", "i": "long"}.get(dataset.y.dtype.kind, "string")
    return ModelSignature(inputs=Schema(inputs), outputs=Schema([ColSpec(output)]))
