"""The answer to a request: predictions for its rows, with notes on content that did not occur in training.

The body of a request contains JSON in MLflow's protocol, or a CSV or Parquet file, which is read as by ``predict``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.pyfunc import Model, convert_rows, hiding_groups, make_rules, predict_table, read_rows
from bakeoff.pipeline.model.row_report import collect_data, compare_rows, describe_unknown_columns
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.dataset.keys import SEPARATOR_WORDS, FileLayout
from bakeoff.pipeline.stages.dataset.source import NOT_OF_ONE_TYPE
from bakeoff.pipeline.tables.document import format_json, make_records
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.text.wording import cut_text, name_first

BAD_REQUEST = 400
TIMED_OUT = 408
TOO_LARGE = 413
UNSUPPORTED_TYPE = 415
UNPROCESSABLE = 422
BUSY = 503
JSON_TYPE = "application/json"
CSV_TYPE = "text/csv"
MAX_NAME_LETTERS = 60
MAX_FURTHER_SEPARATORS = 1000
"""The maximum number of separators in a line of text beyond those between columns, because cells may contain them."""
MAX_HEADER_BYTES = 4096
"""The maximum length of the notes sent with a CSV answer, because clients limit the length of headers."""
SUFFIXES = {CSV_TYPE: ".csv", "application/vnd.apache.parquet": ".parquet"}
"""Content type -> file extension of this type."""


@final
class RequestError(Exception):
    """A request whose content prevents an answer.

    Parameters
    ----------
    status : int
        400 for an unreadable body, 422 for rows that the model rejects, 408, 413, 415 and 503 as HTTP defines them.
    message : str
        The reason, in a sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_request(body: bytes | bytearray, content_type: str, record: TrainingRecord) -> pd.DataFrame:
    """Read the rows of a request, with cells as strings from CSV or as Python objects from JSON.

    Parameters
    ----------
    body : bytes or bytearray
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
        return _read_json(body, record)
    if kind not in SUFFIXES:
        raise RequestError(
            UNSUPPORTED_TYPE, f"the header Content-Type is {kind!r}. Allowed: {', '.join([JSON_TYPE, *SUFFIXES])}."
        )
    _require_narrow(body, kind, record)
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        file = Path(folder, f"body{SUFFIXES[kind]}")
        file.write_bytes(body)
        try:
            with hiding_groups():
                frame = read_rows(file, {}, record).frame
        except UserError as error:
            raise RequestError(BAD_REQUEST, str(error).replace(str(file), file.name)) from None
    _require_known(frame.columns, record)
    return frame


def _require_narrow(body: bytes | bytearray, kind: str, record: TrainingRecord) -> None:
    """Reject a file with many unknown columns by its first lines or its schema, before its cells are read."""
    if kind == CSV_TYPE:
        layout = FileLayout(separator=record.dataset_config.get("separator"))
        separators = {*SEPARATOR_WORDS.values(), layout.character}
        n_lines = 2 + record.dataset_config.get("skip_rows", 0)
        lines = re.split(rb"[\r\n]+", body, maxsplit=n_lines)[:n_lines]
        n_columns = max(line.count(separator.encode()) for line in lines for separator in separators)
        if n_columns > len(record.columns) + MAX_FURTHER_SEPARATORS:
            raise RequestError(
                UNPROCESSABLE, f"the rows have {n_columns:,} columns; the training rows had {len(record.columns)}."
            )
    else:
        from pyarrow import parquet

        with suppress(OSError, pa.ArrowException):  # `read_rows` describes the damage
            _require_known(parquet.read_schema(pa.BufferReader(body)).names, record)


def _require_known(names: Iterable[Any], record: TrainingRecord) -> None:
    """Reject columns that the source of the training rows did not have."""
    known = {record.target, *record.features, *(column.name for column in record.columns)}
    unknown = [cut_text(name, MAX_NAME_LETTERS) for name in dict.fromkeys(map(str, names)) if name not in known]
    if unknown:
        raise RequestError(
            UNPROCESSABLE,
            f"the rows have columns that are absent from training: {name_first(unknown)}; leave them out or correct "
            f"their names. {did_you_mean(unknown[0], record.features)}",
        )


def _read_json(body: bytes | bytearray, record: TrainingRecord) -> pd.DataFrame:
    try:
        given = json.loads(body.decode("utf-8-sig"))
        if re.search(rb"\\u[dD]", body):
            # JSON can escape half of a surrogate pair, which is not text.
            json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RequestError(BAD_REQUEST, f"the body is not JSON: {error}.") from None
    if not isinstance(given, dict) or len(given) != 1:
        raise RequestError(BAD_REQUEST, f"the body must be an object with one of {', '.join(LAYOUTS)}.")
    ((layout, content),) = given.items()
    if layout not in LAYOUTS:
        raise RequestError(BAD_REQUEST, f"{layout} is not a key of the body. {did_you_mean(layout, LAYOUTS)}")
    try:
        names, columns = LAYOUTS[layout](content)
        _require_known(names, record)
        frame = pd.DataFrame({place: _make_column(cells) for place, cells in enumerate(columns)})
        return frame.set_axis([*names], axis=1)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RequestError(
            BAD_REQUEST, f"{layout} does not hold rows ({type(error).__name__}: {error}); docs/models.md has examples."
        ) from None


def _make_column(cells: Sequence[Any]) -> np.ndarray:
    """Return numbers as a column of numbers, and all other cells as they are."""
    with suppress(*NOT_OF_ONE_TYPE):
        array = pa.array(cells, from_pandas=True)
        is_whole = pa.types.is_integer(array.type) and not array.null_count
        if pa.types.is_floating(array.type) or is_whole:
            return np.array(array)
    return np.fromiter(cells, dtype=object, count=len(cells))


Columns = tuple[Collection[Any], Iterable[Sequence[Any]]]
"""The names of columns, and the cells of each, which are only collected if the names are known."""


def _split_rows(content: Any) -> Columns:
    names, rows = content["columns"], content["data"]
    if not all(isinstance(row, list) for row in rows):
        raise TypeError("a row is not a list")
    return names, zip(*rows, strict=True) if rows else ([] for _ in names)


def _split_records(content: Any) -> Columns:
    """Return a row for each object; a cell that an object lacks is missing."""
    names = dict.fromkeys(chain.from_iterable(content))
    return names, ([row.get(name) for row in content] for name in names)


def _split_columns(content: Any) -> Columns:
    return _split_records(content) if isinstance(content, list) else (content, content.values())


LAYOUTS: Mapping[str, Callable[[Any], Columns]] = {
    "dataframe_split": _split_rows,
    "dataframe_records": _split_records,
    "instances": _split_records,
    "inputs": _split_columns,
}
"""The keys of MLflow's protocol."""


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
