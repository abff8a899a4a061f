"""Predictions for further rows, with content of the rows that was absent in training, for a file or a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd

from bakeoff.pipeline.model.further_rows import convert_rows, make_rules
from bakeoff.pipeline.model.row_report import collect_data, compare_rows, describe_unknown_columns
from bakeoff.pipeline.model.served_model import Model, predict_table
from bakeoff.pipeline.serving.request_rows import CSV_TYPE
from bakeoff.pipeline.tables.table_formats import format_json, make_records, write_csv

MAX_HEADER_BYTES = 4096
"""Of the notes beside an answer in CSV: clients accept headers of limited length."""


@dataclass(frozen=True)
class Answer:
    """Predictions for some rows.

    Attributes
    ----------
    predictions : DataFrame of shape (m, 1 or 1 + c)
    notes : list of str
        A sentence each about what the rows hold that training did not.
    differences : mapping of str to mapping
        The same as data: column -> difference -> numbers.
    """

    predictions: pd.DataFrame
    notes: list[str]
    differences: Mapping[str, Mapping[str, Any]]


def answer_rows(model: Model, rows: pd.DataFrame, layout: Mapping[str, Any]) -> Answer:
    """Predict for some rows, and compare them with the training rows.

    Parameters
    ----------
    model : Model
    rows : DataFrame of shape (m, at least d)
        As spelled in a file, or typed.
    layout : mapping of str to object
        Keys of a file, which count before those of the training file.

    Raises
    ------
    UserError
        The rows lack a column, or hold cells of another kind than in training.
    """
    converted = convert_rows(model.record, rows, make_rules(model.record, layout))
    predictions = predict_table(model.estimator, converted.frame)
    differences = compare_rows(model.record, converted)
    unknown = describe_unknown_columns(model.record, [str(name) for name in rows.columns])
    notes = [unknown, *(difference.sentence for difference in differences)]
    return Answer(predictions, [note for note in notes if note], collect_data(differences))


def format_answer(answer: Answer, content_type: str) -> str:
    """Return an answer as JSON, with the keys of MLflow's protocol first; or the predictions as CSV."""
    if content_type == CSV_TYPE:
        text = StringIO()
        write_csv(answer.predictions, text)
        return text.getvalue()
    records = list(make_records(answer.predictions))
    return format_json({"predictions": records, "notes": answer.notes, "differences": answer.differences})


def format_notes(notes: list[str]) -> str:
    """Return notes as the value of a header: a list of JSON in ASCII, as many of them as fit.

    Examples
    --------
    >>> format_notes(["age: 1 of 2 cells are missing; none was missing in training."])
    '["age: 1 of 2 cells are missing; none was missing in training."]'
    """
    while len(json.dumps(notes)) > MAX_HEADER_BYTES:
        notes = notes[:-1]
    return json.dumps(notes)
