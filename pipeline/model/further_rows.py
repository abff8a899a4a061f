"""Further rows, read as the training file was, in the form that a model requires."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bakeoff.pipeline.config.requests import LAYOUT_KINDS
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset import (
    Column,
    ColumnRules,
    FileLayout,
    Source,
    convert_like,
    count_columns,
    read_file,
)
from bakeoff.pipeline.stages.dataset.convert import FurtherRows
from bakeoff.pipeline.stages.dataset.files import find_reader
from bakeoff.pipeline.stages.dataset.spelling import spell_cell

CODE = re.compile(r"0+(\d+)")
"""Digits with zeros in front."""


def restore_codes(frame: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows with the codes of training in the place of the numbers that they were read as.

    A number is a code if one value of training alone reads as it, and the number itself is no value of training.

    Parameters
    ----------
    frame : DataFrame of shape (m, at least d)
    columns : sequence of Column, of length d
        As in training.
    """
    restored = {}
    for column in columns:
        code_of = find_codes(column.values)
        if code_of and _holds_numbers(frame[column.name]):
            restored[column.name] = _restore(frame[column.name], code_of)
    return frame.assign(**restored) if restored else frame


def find_codes(values: Sequence[str]) -> dict[str, str]:
    """Return the codes among values by the numbers that they read as.

    Examples
    --------
    >>> find_codes(["007", "12", "0012", "09", "9", "red"])
    {'7': '007'}
    """
    matches = {value: match for value in values if (match := CODE.fullmatch(value))}
    numbers = {value: str(int(match[1])) for value, match in matches.items()}
    counts = Counter(numbers.values())
    return {number: value for value, number in numbers.items() if counts[number] == 1 and number not in values}


def _holds_numbers(column: pd.Series[Any]) -> bool:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return is_numeric_dtype(column.cat.categories.dtype)
    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def _restore(column: pd.Series[Any], code_of: dict[str, str]) -> pd.Series[Any]:
    cells = [None if pd.isna(cell) else spell_cell(cell) for cell in column]
    codes = [None if cell is None else code_of.get(cell, cell) for cell in cells]
    return pd.Series(codes, index=column.index, dtype=object)


NA_VALUES = "na_values"
LAYOUT_KEYS = tuple(key for key in LAYOUT_KINDS if key != NA_VALUES)


@contextmanager
def hiding_groups() -> Iterator[None]:
    """Write keys of a dataset without its group in the errors of the user in the block, as they are given here."""
    try:
        yield
    except UserError as error:
        raise UserError(str(error).replace("dataset.", "")) from None


def read_rows(file: Path, layout: Mapping[str, Any], record: TrainingRecord) -> Source:
    """Read the rows of a file.

    Parameters
    ----------
    file : Path
    layout : mapping of str to object
        Keys of the file, which count before those of the training file.
    record : TrainingRecord

    Raises
    ------
    UserError
        The file holds no table, or a key is wrong.
    """
    settled = _make_layout(file, layout, record.dataset_config)
    return read_file(file, settled if settled.has_names or "names" in layout else _name_columns(settled, file, record))


def _make_layout(file: Path, layout: Mapping[str, Any], dataset: Mapping[str, Any]) -> FileLayout:
    known = {field.name for field in fields(FileLayout)}
    stored = {key: dataset[key] for key in LAYOUT_KEYS if key in dataset and key in known}
    # Settings for a text file do not apply to rows that arrive as Parquet.
    layout_of_training = stored if _has_format_of_training(file, dataset) else {}
    given = {key: value for key, value in layout.items() if key != NA_VALUES}
    return FileLayout(**{**layout_of_training, **given})


def _has_format_of_training(file: Path, dataset: Mapping[str, Any]) -> bool:
    paths = dataset.get("path")
    path = paths[0] if isinstance(paths, list) and paths else paths
    if not isinstance(path, str):
        return False
    try:
        return find_reader(Path(path)) is find_reader(file)
    except UserError:  # the path of somebody's own dataset may be a folder
        return False


def _name_columns(layout: FileLayout, file: Path, record: TrainingRecord) -> FileLayout:
    """Return the layout of a file without names, with the names that its columns had in training.

    By their number they are all columns of the training file, all but the target, or the features alone, in order.
    """
    n_columns = count_columns(file, layout)
    features = list(record.features)
    everything = [column.name for column in record.columns]
    without_target = [column.name for column in record.columns if column.role != "target"]
    for names in (everything, without_target, features):
        if len(names) == n_columns:
            return replace(layout, names=names)
    raise UserError(
        f"{file.name} has no row of names and {n_columns} columns; it needs the {len(everything)} columns of the "
        f"training file, the {len(without_target)} without the target, or the features alone ({', '.join(features)}), "
        "or names=[…]."
    )


def convert_rows(record: TrainingRecord, rows: pd.DataFrame, rules: ColumnRules | None = None) -> FurtherRows:
    """Convert the columns that a model requires to the kinds that they had in training.

    Parameters
    ----------
    record : TrainingRecord
    rows : DataFrame of shape (m, at least d)
        Text as a file spells it, or numbers, Booleans, dates and categories. Further columns are ignored.
    rules : ColumnRules, optional
        Which spellings count as missing cells; those of training if omitted.

    Raises
    ------
    UserError
        There are no rows; a column is missing or occurs twice, or holds a cell of another kind or an infinite one.
    """
    _require_rows(rows)
    given = [str(column) for column in rows.columns]
    _require_features(record, given)
    columns = record.feature_columns
    named = restore_codes(rows.set_axis(given, axis=1), columns)
    converted = convert_like(named, columns, rules or make_rules(record, {}))
    _require_finite(converted.frame)
    return converted


def make_rules(record: TrainingRecord, layout: Mapping[str, Any]) -> ColumnRules:
    """Return which spellings count as missing cells: those that are given with a file, else those of training."""
    return ColumnRules(na_values=layout.get(NA_VALUES, record.dataset_config.get(NA_VALUES)))


def _require_rows(rows: Any) -> None:
    if not isinstance(rows, pd.DataFrame):
        raise UserError(
            f"the rows must be a DataFrame with the columns that the model needs, but a {type(rows).__name__} was "
            "given."
        )
    if not len(rows):
        raise UserError("there are no rows to predict.")


def _require_finite(frame: pd.DataFrame) -> None:
    """Reject an infinite cell, which training rows cannot have."""
    for name, column in frame.select_dtypes("number").items():
        is_infinite = np.isinf(column.to_numpy(dtype=np.float64, na_value=np.nan))  # (m,)
        if is_infinite.any():
            row = int(is_infinite.argmax()) + 1
            raise UserError(f"{name!r} in row {row} is infinite; correct the cell, or leave it empty.")


def _require_features(record: TrainingRecord, given: list[str]) -> None:
    counts = Counter(given)
    for name in record.features:
        if counts[name] > 1:
            raise UserError(f"the rows have {counts[name]} columns {name!r}; the model needs one.")
        if not counts[name]:
            raise UserError(f"the rows have no column {name!r}, which the model needs. {_suggest(name, given)}")


def _suggest(name: str, given: list[str]) -> str:
    """Return the column that may be meant, or the columns that there are."""
    if not given:
        return "There are no columns."
    in_other_letters = [column for column in given if column.casefold() == name.casefold()]
    if in_other_letters:
        return f"Did you mean {in_other_letters[0]!r}?"
    return did_you_mean(name, given).replace("Allowed:", "The columns are")
