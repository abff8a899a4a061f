"""The answer to a request: predictions, and content of the rows that was absent in training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.further_rows import convert_rows
from bakeoff.pipeline.model.row_report import compare_rows, describe_unknown_columns
from bakeoff.pipeline.model.served_model import Model, predict_table
from bakeoff.pipeline.serving.request_rows import CSV_TYPE, JSON_TYPE, UNPROCESSABLE, RequestError, RequestRows
from bakeoff.pipeline.tables.table_formats import describe_escapes, format_json, make_records, write_csv

NOTES_HEADER = "X-Bakeoff-Notes"
MAX_HEADER_BYTES = 4096
"""Of the notes beside an answer in CSV: clients accept headers of limited length."""


@dataclass(frozen=True)
class Answer:
    """Predictions for the rows of a request.

    Attributes
    ----------
    predictions : DataFrame of shape (m, 1 or 1 + c)
    notes : tuple of str
        A sentence each about what the rows hold that training did not.
    differences : mapping of str to mapping
        The same as data: column -> difference -> numbers.
    """

    predictions: pd.DataFrame
    notes: tuple[str, ...]
    differences: Mapping[str, Mapping[str, Any]]


def answer_rows(model: Model, rows: RequestRows) -> Answer:
    """Predict for the rows of a request.

    Parameters
    ----------
    model : Model
    rows : RequestRows

    Raises
    ------
    RequestError
        The rows lack a column, or hold cells of another kind than in training.
    """
    try:
        converted = convert_rows(model.record, rows.frame)
        predictions = predict_table(model.estimator, converted.frame)
    except UserError as error:
        raise RequestError(UNPROCESSABLE, describe_refusal(error)) from None
    report = compare_rows(model.record, converted)
    unknown = describe_unknown_columns(model.record, [str(name) for name in rows.frame.columns])
    notes = (*rows.notes, *([unknown] if unknown else []), *report.sentences)
    return Answer(predictions, notes, report.to_data())


def describe_refusal(error: UserError) -> str:
    """Return a sentence without the keys of a dataset, which a client does not have.

    Examples
    --------
    >>> describe_refusal(UserError("'age' was numeric, but 'x' is not a number; add dataset.na_values=[x]."))
    "'age' was numeric, but 'x' is not a number."
    """
    sentence = str(error)
    cause, separator, cure = sentence.partition("; ")
    return f"{cause}." if separator and "dataset." in cure else sentence


def format_answer(answer: Answer, content_type: str) -> str:
    """Return an answer as JSON, with the keys of MLflow's protocol first; or the predictions as CSV."""
    if content_type == CSV_TYPE:
        text = StringIO()
        write_csv(answer.predictions, text)
        return text.getvalue()
    body = {
        "predictions": list(make_records(answer.predictions)),
        "notes": [*answer.notes],
        "differences": answer.differences,
    }
    return format_json(body)


def list_csv_notes(answer: Answer) -> tuple[str, ...]:
    """Return the notes of an answer in CSV, whose labels may be escaped."""
    sentence = describe_escapes(answer.predictions)
    return (*answer.notes, sentence) if sentence else answer.notes


def format_notes(notes: tuple[str, ...]) -> str:
    """Return notes as the value of a header: a list of JSON in ASCII, as many of them as fit.

    Examples
    --------
    >>> format_notes(("age: 1 of 2 cells are missing; none was missing in training.",))
    '["age: 1 of 2 cells are missing; none was missing in training."]'
    """
    for n_kept in range(len(notes), 0, -1):
        kept = [*notes[:n_kept]]
        if n_kept < len(notes):
            kept.append(f"and {len(notes) - n_kept} more")
        if len(json.dumps(kept)) <= MAX_HEADER_BYTES:
            return json.dumps(kept)
    return json.dumps([f"{len(notes)} notes, which are too long for a header"])


def choose_type(accept: str) -> str:
    """Return the type of an answer: CSV if the client prefers it, else JSON.

    Examples
    --------
    >>> [choose_type(accept) for accept in ("", "*/*", "text/csv", "text/csv;q=0.5, application/json")]
    ['application/json', 'application/json', 'text/csv', 'application/json']
    """
    preference = {JSON_TYPE: 0.0, CSV_TYPE: 0.0}
    for item in accept.split(","):
        name, *parameters = [part.strip().lower() for part in item.split(";")]
        if name in preference:
            preference[name] = _read_quality(parameters)
    return CSV_TYPE if preference[CSV_TYPE] > preference[JSON_TYPE] else JSON_TYPE


def _read_quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
