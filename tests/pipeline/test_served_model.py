"""A model in use: rows of any type predict what the rows of training predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import experiment
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import fit_model
from bakeoff.pipeline.model.pyfunc import Model, PythonFunction
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_frame
from bakeoff.pipeline.stages.splitting import Holdout

N = 80
RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "grade": RANDOM.integers(1, 4, N),
    "code": RANDOM.choice(["007", "012", "30"], N),
    "flag": RANDOM.random(N) < 0.5,
    "size": RANDOM.normal(size=N).round(2),
    "colour": RANDOM.choice(["red", "blue"], N),
})  # fmt: skip
LABELS = np.where((TABLE["grade"] == 3) ^ (TABLE["code"] == "007") ^ TABLE["flag"], "yes", "no")


def model_of(dataset: Dataset, learner: Any, **parts: Any) -> Model:
    built = experiment(dataset, learner, **parts)
    fitted = fit_model(built, built.make_splits().folds[0])
    record = make_training_record(built, fitted, run_name="tree table", scores={"test_accuracy": 0.875})
    return Model(fitted.predictor, record)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a tree that needs the nominal columns."""
    frame = TABLE.assign(y=LABELS)
    dataset = load_frame(frame, "y", nominal=["grade", "code"])
    assert dataset.nominal == ["grade", "code", "flag", "colour"]
    return model_of(dataset, DecisionTreeClassifier(categorical_features="from_dtype"))


TYPES = {
    "as given": TABLE,
    "text": TABLE.astype(str),
    "text of floats": TABLE.assign(
        grade=TABLE["grade"].map("{}.0".format), flag=TABLE["flag"].map({True: "TRUE", False: "false"})
    ),
    "floats": TABLE.assign(grade=TABLE["grade"].astype(float), size=TABLE["size"].astype("float64")),
    "nullable types": TABLE.convert_dtypes(),
    "categories": TABLE.astype({"grade": "category", "code": "category", "flag": "category", "colour": "category"}),
    "codes as numbers": TABLE.assign(code=TABLE["code"].astype(int)),
    "codes as floats": TABLE.assign(code=TABLE["code"].astype(float)),
    "objects": TABLE.astype(object),
    "other order, more columns": TABLE[[*reversed(TABLE.columns)]].assign(weight=1, y="?"),
}


@pytest.mark.parametrize("name", TYPES)
def test_rows_of_any_type_have_the_predictions_of_the_training_table(model: Model, name: str) -> None:
    expected = model.predict(TABLE)
    assert set(expected["prediction"]) == {"no", "yes"}
    pd.testing.assert_frame_equal(model.predict(TYPES[name]), expected, check_exact=True)
    assert not [line for line in model.check_rows(TYPES[name]) if "not seen" in line]


def test_predictions_are_those_of_the_estimator_with_the_index_of_the_rows(model: Model) -> None:
    rows = TABLE.iloc[5:9].set_axis(["a", "b", "a", "c"])
    table = model.predict(rows)
    assert list(table.columns) == ["prediction", "probability_no", "probability_yes"]
    assert list(table.index) == ["a", "b", "a", "c"]
    pd.testing.assert_frame_equal(table.reset_index(drop=True), model.predict(TABLE).iloc[5:9].reset_index(drop=True))
    np.testing.assert_allclose(table[["probability_no", "probability_yes"]].sum(axis=1), 1)


def test_a_number_that_two_codes_read_as_is_unseen(model: Model) -> None:
    lines = model.check_rows(TABLE.assign(code=[8] * N))
    assert any(line.startswith(f"code: {N} of {N} rows have values not seen in training: 8") for line in lines)


def test_columns_that_are_missing_or_occur_twice_are_refused(model: Model) -> None:
    with pytest.raises(UserError, match=r"the rows have no column 'colour', which the model needs\."):
        model.predict(TABLE.rename(columns={"colour": "color"}))
    with pytest.raises(UserError, match="the rows have 2 columns 'size'; the model needs one"):
        model.predict(pd.concat([TABLE, TABLE[["size"]]], axis=1))
    with pytest.raises(UserError, match="'size' was numeric in training, but '3 mm' in row 2 is not a number"):
        model.predict(TABLE.assign(size=["1", "3 mm", *["2"] * (N - 2)]))


@pytest.mark.parametrize("cell", [np.inf, -np.inf, "1e999"])
def test_an_infinite_cell_is_refused(model: Model, cell: Any) -> None:
    with pytest.raises(UserError, match="infinit"):
        model.predict(TABLE.assign(size=[1.5, cell, *[2.5] * (N - 2)]))


def test_a_model_describes_itself_in_a_line(model: Model) -> None:
    rows = "fitted on 48 of 80 rows (16 for validation, 16 for the test)"
    line = f"a run that was not stored, tree table: {rows}; test accuracy 0.8750"
    assert model.describe() == line
    assert repr(model) == f"<Model of {line}>"


def test_a_regression_predicts_numbers_without_probabilities() -> None:
    diabetes = load_bundled("diabetes")
    model = model_of(diabetes, LinearRegression(), preprocessing=StandardScaler(), splitter=Holdout(stratify=False))
    table = model.predict(diabetes.X)
    assert list(table.columns) == ["prediction"]
    np.testing.assert_array_equal(table["prediction"], model.estimator.predict(diabetes.X))


@pytest.mark.parametrize("data", [TABLE, TABLE.to_dict("list"), TABLE.to_dict("records"), TABLE.to_numpy()])
def test_the_function_of_mlflow_takes_what_its_server_passes(model: Model, data: Any) -> None:
    pd.testing.assert_frame_equal(PythonFunction(model).predict(data), model.predict(TABLE))
