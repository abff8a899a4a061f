"""The record of a training: what it says of rows, and that it is read as it was written."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from doubles import experiment
from sklearn.dummy import DummyClassifier

from bakeoff.pipeline.experiment import fit_model
from bakeoff.pipeline.model.training_record import (
    TrainingRecord,
    UnreadableRecord,
    format_record,
    make_training_record,
    parse_record,
)
from bakeoff.pipeline.stages.dataset import Dataset, load_bundled, load_frame
from bakeoff.pipeline.stages.splitting import Split

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
    ("train", "validation", "test", "sentence"),
    [
        (40, 0, 0, "fitted on all 40 rows"),
        (24, 8, 8, "fitted on 24 of 40 rows (8 for validation, 8 for the test)"),
        (32, 0, 8, "fitted on 32 of 40 rows (8 for the test)"),
        (30, 0, 0, "fitted on 30 of 40 rows"),
    ],
)
def test_rows_are_said(mixed: Dataset, train: int, validation: int, test: int, sentence: str) -> None:
    rows = np.arange(40)
    parts = np.split(rows, [train, train + validation, train + validation + test])
    assert record_of(mixed, Split(*parts[:3])).describe_rows() == sentence


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"columns": [], "profiles": {}, "features": [], "weather": "fine"}'])
def test_a_damaged_record_is_refused(text: str) -> None:
    with pytest.raises(UnreadableRecord, match="damaged"):
        parse_record(text)
