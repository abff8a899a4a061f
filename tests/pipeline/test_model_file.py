"""The model as a file: the files beside it are the ones that MLflow itself writes."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import mlflow.sklearn
import numpy as np
import pandas as pd
import pytest
import skops.io
from mlflow.models import Model
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer

from bakeoff.pipeline.stages.dataset import Dataset, load_bundled
from bakeoff.pipeline.tracking import model_file
from bakeoff.pipeline.tracking.provenance import pin_versions

TYPES = ["bakeoff.learners.knn.classifier.KNeighborsClassifier"]


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


def test_the_files_of_packages_are_the_ones_that_mlflow_writes(theirs: Path) -> None:
    written = {
        file.name: file.read_text()
        for file in theirs.iterdir()
        if file.name not in ("MLmodel", model_file.MODEL_FILE_NAME)
    }
    assert model_file.environment_files() == written


def test_the_flavors_are_the_ones_that_mlflow_writes(theirs: Path) -> None:
    record = Model()
    model_file.add_flavors(record, TYPES)
    assert record.flavors == Model.load(str(theirs)).flavors


def test_the_written_record_equals_the_one_in_memory(tmp_path: Path) -> None:
    record = Model(run_id="1234", metadata={"colour": "grün"})
    model_file.save_model(DummyClassifier().fit([[0.0]], [0]), tmp_path, record, load_bundled("wine"))
    assert Model.load(str(tmp_path)).to_yaml() == record.to_yaml()


def test_a_saved_model_is_loaded_as_an_estimator_and_as_a_function(tmp_path: Path) -> None:
    iris = load_bundled("iris")
    model = DummyClassifier(strategy="stratified", random_state=0).fit(iris.X, iris.y)
    model_file.save_model(model, tmp_path, Model(), iris)
    for loaded in (mlflow.sklearn.load_model(str(tmp_path)), mlflow.pyfunc.load_model(str(tmp_path))):
        np.testing.assert_array_equal(loaded.predict(iris.X), model.predict(iris.X))


def test_a_function_with_arguments_is_trusted_only_if_the_function_is() -> None:
    step = FunctionTransformer(partial(shutil.rmtree, ignore_errors=True))
    with pytest.raises(model_file.UntrustedType, match=r"the model holds shutil\.rmtree"):
        model_file.trusted_types(skops.io.dumps(step))


def test_the_signature_of_a_model_has_a_type_for_each_kind_of_column() -> None:
    X = pd.DataFrame({
        "mass": [1.0, 2.0],
        "colour": pd.Categorical(["red", "blue"]),
        "day": pd.to_datetime(["2026-01-31", "2026-02-01"]),
        "note": pd.Series(["a b", "c"], dtype="string"),
    })  # fmt: skip
    signature = model_file.model_signature(Dataset("kinds", X, np.array([0, 1]), "classification", "y"))
    assert [column.type.name for column in signature.inputs] == ["double", "string", "datetime", "string"]
