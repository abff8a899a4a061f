"""The model as a file: the files beside it are the ones that MLflow itself writes."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import mlflow.sklearn
import numpy as np
import pytest
import skops.io
import yaml
from doubles import experiment
from mlflow.models import Model
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer

from bakeoff.pipeline.experiment import Experiment, FittedModel, fit_model
from bakeoff.pipeline.model.estimator_file import MODEL_FILE_NAME, UntrustedType, trusted_types
from bakeoff.pipeline.model.pyfunc import LOADER_MODULE
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.tracking import models
from bakeoff.pipeline.tracking.provenance import pin_versions

PLACE = models.ModelPlace("address", "m-1", "1234")
TYPES = ["bakeoff.learners.knn.neighbors.KNeighborsClassifier"]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let MLflow save a model, and return the folder."""
    folder = tmp_path_factory.mktemp("theirs") / "model"
    mlflow.sklearn.save_model(
        DummyClassifier().fit([[0.0]], [0]),
        str(folder),
        pip_requirements=list(pin_versions("bakeoff", "numpy", "pandas", "scikit-learn", "skops")),
        serialization_format="skops",
        skops_trusted_types=TYPES,
    )
    return folder


@pytest.fixture(scope="module")
def wine() -> Experiment:
    return experiment(load_bundled("wine"), DummyClassifier(strategy="stratified", random_state=0))


@pytest.fixture(scope="module")
def fitted(wine: Experiment) -> FittedModel:
    return fit_model(wine, wine.make_splits().folds[0])


@pytest.fixture(scope="module")
def saved(wine: Experiment, fitted: FittedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save the model of wine, and return its folder."""
    folder = tmp_path_factory.mktemp("saved")
    models.save_model(fitted.predictor, folder, PLACE, make_training_record(wine, fitted, run_id="1234"))
    return folder


def test_the_files_of_packages_are_the_ones_that_mlflow_writes(theirs: Path) -> None:
    other = ("MLmodel", MODEL_FILE_NAME, "conda.yaml")
    written = {file.name: file.read_text() for file in theirs.iterdir() if file.name not in other}
    assert models.environment_files() == written


def test_a_saved_model_has_them(saved: Path) -> None:
    written = {name: (saved / name).read_text() for name in models.environment_files()}
    assert written == models.environment_files()


def test_the_flavors_are_the_ones_that_mlflow_writes_with_a_loader_of_ours(theirs: Path) -> None:
    expected = Model.load(str(theirs)).flavors
    expected["python_function"]["loader_module"] = LOADER_MODULE
    del expected["python_function"]["env"]["conda"]
    assert models.describe_flavors(TYPES) == expected


def test_the_record_has_the_keys_and_the_values_that_mlflow_writes(saved: Path, wine: Experiment) -> None:
    expected = Model(artifact_path="address", run_id="1234", model_id="m-1", model_uuid="m-1", prompts=None)
    written = Model.load(str(saved))
    assert written.metadata == {
        "rows": "fitted on 106 of 178 rows (36 for validation, 36 for the test)",
        "dataset": "wine",
        "dataset_digest": wine.dataset.digest(),
        "columns": ", ".join(wine.dataset.X.columns),
    }
    expected.flavors, expected.metadata = written.flavors, written.metadata
    expected.signature, expected.model_size_bytes = written.signature, (saved / MODEL_FILE_NAME).stat().st_size
    expected.utc_time_created = written.utc_time_created
    assert written.to_dict() == expected.to_dict()
    assert yaml.safe_load((saved / "MLmodel").read_text()) == expected.to_dict()
    assert datetime.fromisoformat(written.utc_time_created) <= datetime.now(UTC).replace(tzinfo=None)


def test_a_saved_model_is_loaded_as_an_estimator_and_as_a_function(
    saved: Path, wine: Experiment, fitted: FittedModel
) -> None:
    X = wine.dataset.X
    expected = fitted.predictor.predict(X)
    table = mlflow.pyfunc.load_model(str(saved)).predict(X)
    np.testing.assert_array_equal(mlflow.sklearn.load_model(str(saved)).predict(X), expected)
    np.testing.assert_array_equal(table["prediction"], expected)
    np.testing.assert_array_equal(table.iloc[:, 1:], fitted.predictor.predict_proba(X))


def test_a_function_with_arguments_is_trusted_only_if_the_function_is() -> None:
    step = FunctionTransformer(partial(shutil.rmtree, ignore_errors=True))
    with pytest.raises(UntrustedType, match=r"contains shutil\.rmtree"):
        trusted_types(skops.io.dumps(step))


def test_the_signature_names_the_predictions_and_no_types_of_columns(saved: Path, wine: Experiment) -> None:
    signature = Model.load(str(saved)).signature
    assert signature.inputs is None
    names = ["prediction", *(f"probability_{label}" for label in wine.dataset.classes)]
    assert [column.name for column in signature.outputs] == names
    assert {column.type.name for column in signature.outputs.inputs[1:]} == {"double"}
