"""Further rows, in the form that a model requires."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.model.typed_codes import restore_codes
from bakeoff.pipeline.stages.dataset import ColumnRules, convert_like
from bakeoff.pipeline.stages.dataset.convert import FurtherRows


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
    converted = convert_like(named, columns, rules or make_rules(record))
    _require_finite(converted.frame)
    return converted


def make_rules(record: TrainingRecord) -> ColumnRules:
    """Return which spellings counted as missing cells in training."""
    return ColumnRules(na_values=record.dataset_config.get("na_values"))


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
