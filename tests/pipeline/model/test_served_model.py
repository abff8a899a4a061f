"""A model in use: its record of the training, and what further rows predict and hold that those rows did not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import experiment
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bakeoff.learners import DecisionTreeClassifier
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import fit_model
from bakeoff.pipeline.model.pyfunc import Model, PythonFunction, convert_rows, predict_table
from bakeoff.pipeline.model.row_report import Difference, collect_data, compare_rows
from bakeoff.pipeline.model.training_record import (
    TrainingRecord,
    UnreadableRecord,
    format_record,
    make_training_record,
    parse_record,
    profile_column,
)
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_frame
from bakeoff.pipeline.stages.dataset.convert import convert_columns
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.preprocessing import list_kinds
from bakeoff.pipeline.stages.splitting import Holdout, Split

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


def test_predictions_have_the_index_of_the_rows(model: Model) -> None:
    rows = TABLE.iloc[5:9].set_axis(["a", "b", "a", "c"])
    expected = model.predict(TABLE).iloc[5:9].set_axis(rows.index)
    pd.testing.assert_frame_equal(model.predict(rows), expected)
    assert list(expected.columns) == ["prediction", "probability_no", "probability_yes"]


def test_a_number_that_two_codes_read_as_is_unseen(model: Model) -> None:
    lines = model.check_rows(TABLE.assign(code=[8] * N))
    assert any(line.startswith(f"code: {N} of {N} rows have values not seen in training: 8") for line in lines)


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("3 mm", "'size' was numeric in training, but '3 mm' in row 2 is not a number"),
        (np.inf, "infinit"),
        (-np.inf, "infinit"),
        ("1e999", "infinit"),
    ],
)
def test_a_cell_that_is_no_finite_number_is_refused(model: Model, cell: Any, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        model.predict(TABLE.assign(size=["1", cell, *["2"] * (N - 2)]))


def test_a_regression_predicts_numbers_without_probabilities() -> None:
    diabetes = load_bundled("diabetes")
    model = model_of(diabetes, LinearRegression(), preprocessing=StandardScaler(), splitter=Holdout(stratify=False))
    table = model.predict(diabetes.X)
    assert list(table.columns) == ["prediction"]
    np.testing.assert_array_equal(table["prediction"], model.estimator.predict(diabetes.X))


@pytest.mark.parametrize("data", [TABLE, TABLE.to_dict("list"), TABLE.to_dict("records"), TABLE.to_numpy()])
def test_the_function_of_mlflow_takes_what_its_server_passes(model: Model, data: Any) -> None:
    pd.testing.assert_frame_equal(PythonFunction(model).predict(data), model.predict(TABLE))


def test_rows_are_transformed_once() -> None:
    class Counting(FunctionTransformer):
        n_calls = 0

        def transform(self, X: Any) -> Any:
            Counting.n_calls += 1
            return super().transform(X)

    X = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0]})
    pipeline = Pipeline([("none", "passthrough"), ("counting", Counting()), ("learner", GaussianNB())])
    pipeline.fit(X, ["a", "a", "b", "b"])
    Counting.n_calls = 0
    table = predict_table(pipeline, X)
    assert Counting.n_calls == 1
    assert table["prediction"].tolist() == pipeline.predict(X).tolist()
    np.testing.assert_array_equal(table.iloc[:, 1:], pipeline.predict_proba(X))


def make_record(columns: Mapping[str, Any], fitted: slice = slice(None), **rules: Any) -> TrainingRecord:
    """Return the record of a model that was fitted on some rows of a table."""
    frame = pd.DataFrame(columns)
    converted = convert_columns(frame, ColumnRules(**rules))
    kinds = list_kinds(converted.frame)
    train = converted.frame.iloc[fitted]
    profiles = {str(name): profile_column(cells, kinds[str(name)]) for name, cells in train.items()}
    features = tuple(map(str, converted.frame.columns))
    return TrainingRecord(
        "", "", "table", "", {}, "classification", "y", None, converted.columns, features, profiles, len(frame)
    )


def find(record: TrainingRecord, **cells: Any) -> list[Difference]:
    return compare_rows(record, convert_rows(record, pd.DataFrame(cells)))


def report(record: TrainingRecord, **cells: Any) -> list[str]:
    return [difference.sentence for difference in find(record, **cells)]


NUMBERS = np.arange(200) / 10.0


def test_rows_of_training_are_not_reported() -> None:
    columns = {"size": NUMBERS, "colour": ["red", "blue", "red", "blue"] * 50, "gap": [1.5, np.nan, 2.5, 3.5] * 50}
    record = make_record(columns)
    assert find(record, **columns) == []


CELLS = [1.5, 2.5, 3.5, 4.5]
A_FIFTH = [*CELLS, np.nan] * 40
NONE_MISSING = CELLS * 40


@pytest.mark.parametrize(
    ("training", "n_missing", "m", "said"),
    [
        (A_FIFTH, 3, 5, "20 % were in training"),
        (A_FIFTH, 1, 5, ""),
        (A_FIFTH, 1, 1, ""),
        (A_FIFTH, 1100, 4000, "20 % were in training"),
        (A_FIFTH, 840, 4000, ""),
        (A_FIFTH, 0, 5, ""),
        ([np.nan, *CELLS * 25], 90, 4000, "< 1 % were in training"),  # few, but twice as many
        (NONE_MISSING, 1, 2, "none was missing in training"),
        ([*NONE_MISSING, np.nan], 1, 2, "none was missing in training"),  # of the dataset, but no training row
    ],
)
def test_more_missing_cells_than_chance_explains_are_said(
    training: list[float], n_missing: int, m: int, said: str
) -> None:
    record = make_record({"age": training}, fitted=slice(0, len(NONE_MISSING) if n_missing == 1 and m == 2 else None))
    sentences = report(record, age=[np.nan] * n_missing + [2.5] * (m - n_missing))
    expected = [f"age: {n_missing} of {m} cells are missing; {said}."] if said else []
    assert [sentence for sentence in sentences if "missing" in sentence] == expected


def test_numbers_and_dates_outside_the_range_of_training_are_said() -> None:
    days = pd.date_range("2020-01-01", periods=200).strftime("%Y-%m-%d")
    record = make_record({"size": NUMBERS, "day": days}, dates=["day"])
    assert report(record, size=[-1, 0, 19.9, 20.5, 31], day=["2020-01-01"] * 4 + ["2021-03-04"]) == [
        "size: 3 of 5 cells lie outside the range of training, 0 to 19.9.",
        "day: 1 of 5 cells lie outside the range of training, 2020-01-01 to 2020-07-18.",
    ]
    differences = collect_data(find(record, size=[-1, 20.5], day=["2020-01-01"] * 2))
    assert differences == {"size": {"below_minimum": 1, "above_maximum": 1}}


def test_a_shifted_distribution_is_said() -> None:
    generator = np.random.default_rng(0)
    training = {name: generator.normal(size=400) for name in ("size", "same")}
    colours = {"colour": generator.choice(["red", "blue"], 400, p=[0.5, 0.5])}
    record = make_record({**training, **colours})
    further = {"size": generator.normal(1.0, size=300), "same": generator.normal(size=300)}
    findings = find(record, **further, colour=generator.choice(["red", "blue"], 300, p=[0.9, 0.1]))
    shifts = {each.column: each.data["shift"]["size"] for each in findings if "shift" in each.data}
    assert shifts == {"size": "large", "colour": "large"}


def test_a_column_that_was_missing_in_all_training_rows_is_compared() -> None:
    record = make_record({"size": NUMBERS, "gap": [np.nan] * 199 + [1.5]}, fitted=slice(0, 199), keep=["gap"])
    assert report(record, size=[1.0], gap=[7.0]) == []


SCORES = {"test_accuracy": 0.75, "test_accuracy_std": 0.1, "test_roc_auc": math.nan, "time/fit": 2.0, "fits": 1.0}


@pytest.fixture(scope="module")
def mixed() -> Dataset:
    """Return a dataset of every kind of column, one of which is left out."""
    n = 40
    random = np.random.default_rng(0)
    return load_frame(
        pd.DataFrame({
            "id": [f"row {number}" for number in range(n)],
            "size": np.where(np.arange(n) % 10 == 0, np.nan, random.normal(size=n)),
            "colour": random.choice(["grün", "red"], n),
            "y": np.arange(n) % 2,
        }),
        "y",
    )  # fmt: skip


def record_of(dataset: Dataset, split: Split | None = None) -> TrainingRecord:
    built = experiment(dataset, DummyClassifier())
    model = fit_model(built, split or built.make_splits().folds[0])
    return make_training_record(
        built, model, run_id="12", run_name="majority", dataset_config={"path": "my.csv"}, scores=SCORES,
        versions={"bakeoff": "9"},
    )  # fmt: skip


def test_a_record_is_read_as_it_was_written(mixed: Dataset) -> None:
    for dataset in (mixed, load_bundled("iris")):
        record = replace(record_of(dataset), scores={"test_accuracy": 0.75})
        assert parse_record(format_record(record)) == record


def test_all_columns_of_the_source_are_recorded_and_the_features_in_order(mixed: Dataset) -> None:
    record = record_of(mixed)
    assert record.scores == {"test_accuracy": 0.75, "test_accuracy_std": 0.1}  # those that are defined
    assert [column.name for column in record.columns] == ["id", "size", "colour", "y"]
    assert record.features == ("size", "colour")
    assert [column.kind for column in record.feature_columns] == ["numeric", "nominal"]
    assert record.positive == "1"


def test_profiles_count_the_training_rows_alone(mixed: Dataset) -> None:
    rows = np.array([0, 3, 10, 11, 3])  # two of them are missing, and one is drawn twice
    record = record_of(mixed, Split(rows, np.array([4]), np.array([5, 6])))
    assert record.profiles["size"].n == 4
    assert record.profiles["size"].n_missing == 2
    assert sum(record.profiles["colour"].values.values()) == 4
    assert (record.n_train, record.n_validation, record.n_test) == (4, 1, 2)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[" * 100_000, '{"columns": [], "profiles": {}, "features": [], "weather": "fine"}']
)
def test_a_damaged_record_is_refused(text: str) -> None:
    with pytest.raises(UnreadableRecord, match="damaged"):
        parse_record(text)
