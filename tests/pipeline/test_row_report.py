"""What further rows hold that the training rows did not, as data and as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.model.further_rows import convert_rows
from bakeoff.pipeline.model.row_report import Difference, collect_data, compare_rows, describe_unknown_columns
from bakeoff.pipeline.model.training_record import TrainingRecord, profile_column
from bakeoff.pipeline.stages.dataset import ColumnRules
from bakeoff.pipeline.stages.dataset.convert import convert_columns
from bakeoff.pipeline.stages.preprocessing import list_kinds


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


def test_a_value_of_the_dataset_that_no_training_row_has_is_unseen() -> None:
    record = make_record({"colour": ["red", "blue"] * 20 + ["green"] * 3}, fitted=slice(0, 40))
    sentences = report(record, colour=["red", "green", "GREEN", "green"])
    assert sentences == ["colour: 3 of 4 rows have values not seen in training: green, GREEN"]


def test_the_most_frequent_unseen_values_are_shown_and_the_others_counted() -> None:
    record = make_record({"colour": ["red", "blue"] * 20})
    (sentence,) = report(record, colour=[*"abcdefg", "c", "c", " x"])
    assert sentence == "colour: 10 of 10 rows have values not seen in training: c, ' x', a, b, d and 3 more"


@pytest.mark.parametrize(
    ("n_missing", "m", "said"),
    [(3, 5, True), (1, 5, False), (1, 1, False), (1100, 4000, True), (840, 4000, False), (0, 5, False)],
)
def test_more_missing_cells_than_chance_explains_are_said(n_missing: int, m: int, said: bool) -> None:
    record = make_record({"age": [1.5, 2.5, 3.5, 4.5, np.nan] * 40})
    sentences = [sentence for sentence in report(record, age=[np.nan] * n_missing + [2.5] * (m - n_missing))]
    expected = [f"age: {n_missing} of {m} cells are missing; 20 % were in training."]
    assert [sentence for sentence in sentences if "missing" in sentence] == (expected if said else [])


def test_twice_as_many_missing_cells_are_said_even_if_they_are_few() -> None:
    record = make_record({"age": [np.nan, *[1.5, 2.5] * 50]})
    assert report(record, age=[np.nan] * 90 + [1.5, 2.5] * 1955) == [
        "age: 90 of 4000 cells are missing; < 1 % were in training."
    ]


def test_a_missing_cell_is_said_where_training_had_none() -> None:
    record = make_record({"age": [1.5, 2.5] * 20})
    assert report(record, age=[np.nan, 1.5]) == ["age: 1 of 2 cells are missing; none was missing in training."]
    # A cell that is missing in the dataset, but in no training row.
    record = make_record({"age": [1.5, 2.5] * 20 + [np.nan]}, fitted=slice(0, 40))
    assert report(record, age=[np.nan, 1.5]) == ["age: 1 of 2 cells are missing; none was missing in training."]


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
    colours = generator.choice(["red", "blue"], 400, p=[0.5, 0.5])
    record = make_record({"size": generator.normal(size=400), "colour": colours, "same": generator.normal(size=400)})
    rows = {
        "size": generator.normal(0.0, size=300) + 1.0,
        "colour": generator.choice(["red", "blue"], 300, p=[0.9, 0.1]),
        "same": generator.normal(size=300),
    }
    findings = find(record, **rows)
    shifts = {name: found["shift"] for name, found in collect_data(findings).items() if "shift" in found}
    assert set(shifts) == {"size", "colour"}
    assert shifts["colour"]["size"] == "large"
    assert sum("shift" in each.data for each in findings) == 2


def test_a_large_file_is_not_said_to_differ_where_the_difference_is_small() -> None:
    generator = np.random.default_rng(0)
    record = make_record({"size": generator.normal(size=20_000)})
    differences = find(record, size=generator.normal(0.1, size=20_000))
    assert [each for each in differences if "shift" in each.data] == []


def test_few_rows_have_no_verdict() -> None:
    record = make_record({"size": NUMBERS})
    assert find(record, size=[19.9] * 49) == []


def test_columns_of_the_source_are_known_and_others_are_named() -> None:
    record = make_record({"size": NUMBERS, "id": [f"A{number}" for number in range(200)]})
    assert describe_unknown_columns(record, ["id", "size", "y"]) == ""
    others = [*"abcdefg", "size"]
    assert describe_unknown_columns(record, others) == (
        "Columns that training did not have are not used: a, b, c, d, e and 2 more."
    )


def test_a_column_that_was_missing_in_all_training_rows_is_compared() -> None:
    record = make_record({"size": NUMBERS, "gap": [np.nan] * 199 + [1.5]}, fitted=slice(0, 199), keep=["gap"])
    assert report(record, size=[1.0], gap=[7.0]) == []
