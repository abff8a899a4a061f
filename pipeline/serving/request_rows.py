"""The rows in the body of a request: JSON of MLflow's protocol, or a file in CSV or Parquet, read as `predict` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import pandas as pd

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.further_rows import hiding_groups, read_rows
from bakeoff.pipeline.model.training_record import TrainingRecord

BAD_REQUEST = 400
TOO_LARGE = 413
UNSUPPORTED_TYPE = 415
UNPROCESSABLE = 422
JSON_TYPE = "application/json"
CSV_TYPE = "text/csv"
SUFFIXES = {CSV_TYPE: ".csv", "application/vnd.apache.parquet": ".parquet"}
"""Content type -> extension of the files of this type."""


@final
class RequestError(Exception):
    """A request that cannot be answered because of its content.

    Parameters
    ----------
    status : int
        400 for a body that cannot be read, 422 for rows that the model does not take, 413 and 415 as HTTP defines them.
    message : str
        A sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def read_request(body: bytes, content_type: str, record: TrainingRecord) -> pd.DataFrame:
    """Read the rows of a request: text as CSV spells it, or the cells of JSON as objects of Python.

    Parameters
    ----------
    body : bytes
    content_type : str
        The header of this name; empty if there is none.
    record : TrainingRecord
        Names how the file of the training rows was read.

    Raises
    ------
    RequestError
        The type is another one, or the body is not of this type.
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
