"""The answer to a request: predictions for its rows, with notes on content that did not occur in training.

The body of a request contains JSON in MLflow's protocol, or a CSV or Parquet file, which is read as by ``predict``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.further_rows import convert_rows, hiding_groups, make_rules, read_rows
from bakeoff.pipeline.model.pyfunc import Model, predict_table
from bakeoff.pipeline.model.row_report import collect_data, compare_rows, describe_unknown_columns
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.tables.output_file import format_json, make_records, write_csv

BAD_REQUEST = 400
TOO_LARGE = 413
UNSUPPORTED_TYPE = 415
UNPROCESSABLE = 422
JSON_TYPE = "application/json"
CSV_TYPE = "text/csv"
SUFFIXES = {CSV_TYPE: ".csv", "application/vnd.apache.parquet": ".parquet"}
"""Content type -> file extension of this type."""


@final
class RequestError(Exception):
    """A request whose content prevents an answer.

    Parameters
    ----------
    status : int
        400 for an unreadable body, 422 for rows that the model rejects, 413 and 415 as HTTP defines them.
    message : str
        The reason, in a sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_request(body: bytes, content_type: str, record: TrainingRecord) -> pd.DataFrame:
    """Read the rows of a request, with cells as strings from CSV or as Python objects from JSON.

    Parameters
    ----------
    body : bytes
    content_type : str
        The header of this name; empty if it is missing.
    record : TrainingRecord
        Specifies how the file of the training rows was read.

    Raises
    ------
    RequestError
        The content type is not supported, or the body does not match it.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON_TYPE:
        return _read_json(body)
    if kind not in SUFFIXES:
        raise RequestError(
            UNSUPPORTED_TYPE, f"the header Content-Type is {kind!r}. Allowed: {', '.join([JSON_TYPE, *SUFFIXES])}."
        )
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        file = Path(folder, f"body{SUFFIXES[kind]}")
        file.write_bytes(body)
        try:
            with hiding_groups():
                return read_rows(file, {}, record).frame
        except UserError as error:
            raise RequestError(BAD_REQUEST, str(error).replace(str(file), file.name)) from None


def _read_json(body: bytes) -> pd.DataFrame:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(BAD_REQUEST, f"the body is not JSON: {error}.") from None
    if not isinstance(given, dict) or len(given) != 1:
        raise RequestError(BAD_REQUEST, f"the body must be an object with one of {', '.join(LAYOUTS)}.")
    ((layout, content),) = given.items()
    if layout not in LAYOUTS:
        raise RequestError(BAD_REQUEST, f"{layout} is not a key of the body. {did_you_mean(layout, LAYOUTS)}")
    try:
        return LAYOUTS[layout](content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(
            BAD_REQUEST, f"{layout} does not hold rows ({type(error).__name__}: {error}); docs/models.md has examples."
        ) from None


def _read_split(content: Any) -> pd.DataFrame:
    return pd.DataFrame(content["data"], columns=content["columns"], dtype=object)


def _read_records(content: Any) -> pd.DataFrame:
    """Return a row for each object; a cell that an object lacks is missing."""
    names = list(dict.fromkeys(name for row in content for name in row.keys()))  # noqa: SIM118
    return pd.DataFrame([[row.get(name) for name in names] for row in content], columns=names, dtype=object)


def _read_columns(content: Any) -> pd.DataFrame:
    if isinstance(content, list):
        return _read_records(content)
    return pd.DataFrame({name: list(cells) for name, cells in content.items()}, dtype=object)


LAYOUTS: Mapping[str, Callable[[Any], pd.DataFrame]] = {
    "dataframe_split": _read_split,
    "dataframe_records": _read_records,
    "instances": _read_records,
    "inputs": _read_columns,
}
"""The keys of MLflow's protocol."""


MAX_HEADER_BYTES = 4096
"""The maximum length of the notes sent with a CSV answer, because clients limit the length of headers."""


@dataclass(frozen=True)
class Answer:
    """Predictions for some rows.

    Attributes
    ----------
    predictions : DataFrame of shape (m, 1 or 1 + c)
    notes : list of str
        Sentences on content of the rows that did not occur in training.
    differences : mapping of str to mapping
        The same content as data: column -> difference -> numbers.
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
        The rows, as strings from a file or typed.
    layout : mapping of str to object
        File keys, which take precedence over those of the training file.

    Raises
    ------
    UserError
        The rows lack a column or have cells of another kind than in training.
    """
    converted = convert_rows(model.record, rows, make_rules(model.record, layout))
    predictions = predict_table(model.estimator, converted.frame)
    differences = compare_rows(model.record, converted)
    unknown = describe_unknown_columns(model.record, [str(name) for name in rows.columns])
    notes = [*converted.notes, unknown, *(difference.sentence for difference in differences)]
    return Answer(predictions, [note for note in notes if note], collect_data(differences))


def format_answer(answer: Answer, content_type: str) -> str:
    """Return an answer as JSON, with the keys of MLflow's protocol first, or its predictions as CSV."""
    if content_type == CSV_TYPE:
        text = StringIO()
        write_csv(answer.predictions, text)
        return text.getvalue()
    records = list(make_records(answer.predictions))
    return format_json({"predictions": records, "notes": answer.notes, "differences": answer.differences})


def format_notes(notes: list[str]) -> str:
    """Return notes as the value of a header: an ASCII JSON list, truncated to the allowed length.

    Examples
    --------
    >>> format_notes(["age: 1 of 2 cells are missing; none was missing in training."])
    '["age: 1 of 2 cells are missing; none was missing in training."]'
    """
    while len(json.dumps(notes)) > MAX_HEADER_BYTES:
        notes = notes[:-1]
    return json.dumps(notes)
