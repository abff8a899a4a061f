"""The model as a file: the files beside it are the ones that MLflow itself writes."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

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
from bakeoff.pipeline.model.training_record import TRAINING_FILE, TrainingRecord, make_training_record
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
def fitted() -> tuple[Experiment, FittedModel, TrainingRecord]:
    """Return a model of wine with its record."""
    built = experiment(load_bundled("wine"), DummyClassifier(strategy="stratified", random_state=0))
    model = fit_model(built, built.make_splits().folds[0])
    return built, model, make_training_record(built, model, run_id="1234")


def test_the_files_of_packages_are_the_ones_that_mlflow_writes(theirs: Path) -> None:
    other = ("MLmodel", MODEL_FILE_NAME, "conda.yaml")
    written = {file.name: file.read_text() for file in theirs.iterdir() if file.name not in other}
    assert models.environment_files() == written


def test_the_flavors_are_the_ones_that_mlflow_writes_with_a_loader_of_ours(theirs: Path) -> None:
    expected = Model.load(str(theirs)).flavors
    expected["python_function"]["loader_module"] = LOADER_MODULE
    del expected["python_function"]["env"]["conda"]
    assert models.describe_flavors(TYPES) == expected


def test_the_record_has_the_keys_and_the_values_that_mlflow_writes(tmp_path: Path, fitted: Any) -> None:
    _, model, training = fitted
    models.save_model(model.predictor, tmp_path, PLACE, training)
    expected = Model(artifact_path="address", run_id="1234", model_id="m-1", model_uuid="m-1", prompts=None)
    written = Model.load(str(tmp_path))
    assert written.metadata == {
        "rows": "fitted on 106 of 178 rows (36 for validation, 36 for the test)",
        "dataset": "wine",
        "dataset_digest": load_bundled("wine").digest(),
        "columns": ", ".join(load_bundled("wine").X.columns),
    }
    expected.flavors, expected.metadata = written.flavors, written.metadata
    expected.signature, expected.model_size_bytes = written.signature, (tmp_path / MODEL_FILE_NAME).stat().st_size
    expected.utc_time_created = written.utc_time_created
    assert written.to_dict() == expected.to_dict()
    assert yaml.safe_load((tmp_path / "MLmodel").read_text()) == expected.to_dict()
    assert datetime.fromisoformat(written.utc_time_created) <= datetime.now(UTC).replace(tzinfo=None)


def test_a_saved_model_is_loaded_as_an_estimator_and_as_a_function(tmp_path: Path, fitted: Any) -> None:
    built, model, training = fitted
    models.save_model(model.predictor, tmp_path, PLACE, training)
    assert (tmp_path / TRAINING_FILE).is_file()
    X = built.dataset.X
    estimator = mlflow.sklearn.load_model(str(tmp_path))
    table = mlflow.pyfunc.load_model(str(tmp_path)).predict(X)
    np.testing.assert_array_equal(estimator.predict(X), model.predictor.predict(X))
    np.testing.assert_array_equal(table["prediction"], model.predictor.predict(X))
    np.testing.assert_array_equal(table.iloc[:, 1:], model.predictor.predict_proba(X))


def test_a_function_with_arguments_is_trusted_only_if_the_function_is() -> None:
    step = FunctionTransformer(partial(shutil.rmtree, ignore_errors=True))
    with pytest.raises(UntrustedType, match=r"contains shutil\.rmtree"):
        trusted_types(skops.io.dumps(step))


def test_the_signature_names_the_predictions_and_no_types_of_columns(tmp_path: Path, fitted: Any) -> None:
    built, model, training = fitted
    models.save_model(model.predictor, tmp_path, PLACE, training)
    signature = Model.load(str(tmp_path)).signature
    assert signature.inputs is None
    names = ["prediction", *(f"probability_{label}" for label in built.dataset.classes)]
    assert [column.name for column in signature.outputs] == names
    assert {column.type.name for column in signature.outputs.inputs[1:]} == {"double"}
