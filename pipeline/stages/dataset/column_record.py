"""The columns of a dataset as JSON: what a run stores of them, and what predictions for other rows need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from bakeoff.pipeline.stages.dataset.column import DATE, FEATURE, NOMINAL, NUMERIC, ORDERED, Column
from bakeoff.pipeline.stages.dataset.table import Dataset

COLUMNS_FILE = "columns.json"
"""The artifact of a run that holds them."""
LIST_FIELDS = {"values", "suspicions"}
GUESSED_TAG = "dataset_guessed"
"""The tag of a run that holds the keys of its file that were guessed, as JSON."""
KIND_OF_TYPE = {"double": NUMERIC, "string": NOMINAL, "datetime": DATE}
"""Type in the signature of a model -> kind, for runs that stored no columns."""


def format_columns(dataset: Dataset) -> str:
    """Return the columns of a dataset as JSON, a list of objects with the fields of `Column`.

    Parameters
    ----------
    dataset : Dataset
        If the kinds of its columns were not inferred, its features are described by their types.
    """
    columns = dataset.columns or describe_features(dataset)
    lines = [json.dumps(record_column(column), ensure_ascii=False) for column in columns]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def parse_columns(text: str) -> tuple[Column, ...]:
    """Return the columns of which the JSON is given; fields that another version wrote are ignored."""
    return tuple(make_column(record) for record in json.loads(text))


def record_column(column: Column) -> dict[str, Any]:
    """Return the fields of a column."""
    return asdict(column)


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


def describe_features(dataset: Dataset) -> list[Column]:
    """Return the features of a dataset as columns, by their types; for datasets whose kinds were not inferred."""
    kind_of = {name: kind for kind, names in dataset.names_by_kind.items() for name in names}
    return [_describe_feature(column, kind_of[str(name)]) for name, column in dataset.X.items()]


def _describe_feature(column: pd.Series[Any], kind: str) -> Column:
    has_values = kind in (NOMINAL, ORDERED)
    values = tuple(map(str, column.cat.categories)) if has_values else ()
    n_missing = int(column.isna().sum())
    n_distinct = len(values) if has_values else column.nunique()
    return Column(str(column.name), kind, "", n_missing=n_missing, n_distinct=n_distinct, values=values)
