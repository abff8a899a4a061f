"""The columns of a dataset as JSON: what a run stores of them, and what predictions for other rows need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from bakeoff.pipeline.stages.dataset.column import FEATURE, Column
from bakeoff.pipeline.stages.dataset.table import Dataset

COLUMNS_FILE = "columns.json"
"""The artifact of a run that holds them."""
LIST_FIELDS = {"values", "suspicions"}
GUESSED_TAG = "dataset_guessed"
"""The tag of a run that holds the keys of its file that were guessed, as JSON."""


def format_columns(dataset: Dataset) -> str:
    """Return the columns of a dataset as JSON, a list of objects with the fields of `Column`.

    Parameters
    ----------
    dataset : Dataset
        If the kinds of its columns were not inferred, its features are described by their types.
    """
    columns = dataset.described_columns
    lines = [json.dumps(record_column(column), ensure_ascii=False) for column in columns]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def record_column(column: Column) -> dict[str, Any]:
    """Return the fields of a column."""
    # The function of the standard library copies each value, which takes ten times as long.
    return dict(vars(column))


def make_column(record: Mapping[str, Any]) -> Column:
    """Return the column of which the fields are given; fields that another version wrote are ignored."""
    known = {field.name for field in fields(Column)}
    values = {key: record[key] for key in known & set(record)}
    for key in LIST_FIELDS & set(values):
        values[key] = tuple(values[key])
    return Column(**values)


def select_features(columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    """Return the features of given names, in their order; those that were not recorded are left out."""
    features = {column.name: column for column in columns if column.role == FEATURE}
    return [features[name] for name in names if name in features]
