"""The rows in the body of a request: JSON, CSV or Parquet, as clients of MLflow's scoring server send them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from typing import Any, final

import pandas as pd

from bakeoff.pipeline.errors import did_you_mean
from bakeoff.pipeline.stages.dataset.size_limits import read_machine_bytes

BAD_REQUEST = 400
TOO_LARGE = 413
UNSUPPORTED_TYPE = 415
UNPROCESSABLE = 422
INTERNAL_ERROR = 500
UNAVAILABLE = 503
CODE_OF_STATUS = {
    BAD_REQUEST: "BAD_REQUEST",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    TOO_LARGE: "REQUEST_TOO_LARGE",
    UNSUPPORTED_TYPE: "UNSUPPORTED_MEDIA_TYPE",
    UNPROCESSABLE: "INVALID_PARAMETER_VALUE",
    INTERNAL_ERROR: "INTERNAL_ERROR",
    UNAVAILABLE: "TEMPORARILY_UNAVAILABLE",
}
"""As in the errors of MLflow, whose clients read them."""


@final
class RequestError(Exception):
    """A request that cannot be answered, by an error of the client or because the server ends.

    Parameters
    ----------
    status : int
        400 for a body that cannot be read, 422 for rows that the model does not take, 413, 415 and 503 as HTTP defines
        them.
    message : str
        A sentence.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


JSON_TYPE = "application/json"
CSV_TYPE = "text/csv"
PARQUET_TYPE = "application/vnd.apache.parquet"
CHARSETS = ("utf-8", "utf8", "us-ascii")
SPLIT_KEYS = {"columns", "data"}
MAX_SHOWN_LETTERS = 40
BYTES_OF_CELL = 8
MEMORY_SHARES = 8
"""The fraction of the memory that the rows of a request may use is 1 over this number."""


@dataclass(frozen=True)
class RequestRows:
    """The rows of a request.

    Attributes
    ----------
    frame : DataFrame of shape (m, k)
        Text as CSV spells it, or the cells of JSON as objects of Python.
    notes : tuple of str
        A sentence each about how the rows were read.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def read_request(body: bytes, content_type: str) -> RequestRows:
    """Read the rows of a request.

    Parameters
    ----------
    body : bytes
    content_type : str
        The header of this name; empty if there is none.

    Raises
    ------
    RequestError
        The type is another one, or the body is not of this type, or has no rows.

    Examples
    --------
    >>> read_request(b'{"inputs": {"age": [29, null]}}', "application/json").frame["age"].tolist()
    [29, None]
    """
    kind, _, parameters = content_type.partition(";")
    read = READERS.get(kind.strip().lower())
    if read is None:
        found = f"is {kind.strip()!r}" if kind.strip() else "is missing"
        raise RequestError(UNSUPPORTED_TYPE, f"the header Content-Type {found}. Allowed: {', '.join(READERS)}.")
    _require_utf_8(parameters)
    rows = read(body)
    if not len(rows.frame):
        raise RequestError(UNPROCESSABLE, "the request has no rows.")
    return rows


def _require_utf_8(parameters: str) -> None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset" and value.strip("\"'").lower() not in CHARSETS:
            raise RequestError(UNSUPPORTED_TYPE, f"the charset is {value}; send UTF-8.")


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = body[error.start : error.start + 1].hex().upper()
        message = f"the body is not UTF-8: byte {error.start + 1} is 0x{byte}."
        raise RequestError(BAD_REQUEST, message) from None


def _read_json(body: bytes) -> RequestRows:
    try:
        given = json.loads(_decode(body), object_pairs_hook=_make_object)
    except json.JSONDecodeError as error:
        message = f"the body is not JSON: {error.msg} at character {error.pos + 1}."
        raise RequestError(BAD_REQUEST, message) from None
    except (ValueError, RecursionError) as error:
        raise RequestError(BAD_REQUEST, f"the body is not read as JSON: {error}.") from None
    if not isinstance(given, dict) or len(given) != 1:
        found = "an object with the keys " + ", ".join(given) if isinstance(given, dict) and given else _show(given)
        raise RequestError(BAD_REQUEST, f"the body must be an object with one of {_list_layouts()}, and is {found}.")
    ((layout, content),) = given.items()
    if layout not in LAYOUTS:
        raise RequestError(BAD_REQUEST, f"{layout} is not a key of the body. {did_you_mean(layout, LAYOUTS)}")
    rows = LAYOUTS[layout](content, layout)
    _reject_nested_cells(rows.frame)
    return rows


def _make_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; json would silently use the last value of a duplicate key."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"an object gives the key {twice!r} twice")
    return made


def _read_split(content: Any, layout: str) -> RequestRows:
    has_keys = isinstance(content, dict) and set(content) - {"index"} == SPLIT_KEYS
    if not has_keys or not all(isinstance(content[key], list) for key in SPLIT_KEYS):
        raise RequestError(
            BAD_REQUEST, f'{layout} must be an object such as {{"columns": ["age"], "data": [[29], [40]]}}.'
        )
    names = [str(name) for name in content["columns"]]
    for number, row in enumerate(content["data"], start=1):
        if not isinstance(row, list) or len(row) != len(names):
            raise RequestError(
                BAD_REQUEST, f"row {number} of {layout}.data is {_show(row)}; it must be a list of {len(names)} cells."
            )
    columns = [[row[place] for row in content["data"]] for place in range(len(names))]
    return RequestRows(_make_frame(names, columns, len(content["data"])))


def _read_records(content: Any, layout: str) -> RequestRows:
    if not isinstance(content, list):
        raise RequestError(BAD_REQUEST, f'{layout} must be a list of objects such as [{{"age": 29}}].')
    for number, row in enumerate(content, start=1):
        if not isinstance(row, dict):
            message = f'item {number} of {layout} is {_show(row)}; it must be an object such as {{"age": 29}}.'
            raise RequestError(BAD_REQUEST, message)
    names = list(dict.fromkeys(name for row in content for name in row))
    columns = [[row.get(name) for row in content] for name in names]
    n_short = sum(len(row) < len(names) for row in content)
    note = f"{n_short} of {len(content)} objects do not have all {len(names)} keys; those cells are missing."
    return RequestRows(_make_frame(names, columns, len(content)), (note,) if n_short else ())


def _read_columns(content: Any, layout: str) -> RequestRows:
    if isinstance(content, list):
        return _read_records(content, layout)
    if not isinstance(content, dict) or not all(isinstance(cells, list) for cells in content.values()):
        raise RequestError(BAD_REQUEST, f'{layout} must be an object of columns such as {{"age": [29, 40]}}.')
    lengths = {len(cells) for cells in content.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{name}: {len(cells)}" for name, cells in content.items())
        raise RequestError(BAD_REQUEST, f"the columns of {layout} have different numbers of cells ({counts}).")
    return RequestRows(_make_frame(list(content), list(content.values()), max(lengths, default=0)))


def _make_frame(names: Sequence[str], columns: Sequence[Sequence[Any]], m: int) -> pd.DataFrame:
    """Return a table of objects; two columns may have one name, which the conversion rejects with a sentence."""
    series = [pd.Series(list(cells), dtype=object) for cells in columns]
    frame = pd.concat(series, axis=1) if series else pd.DataFrame(index=pd.RangeIndex(m))
    return frame.set_axis(list(names), axis=1)


def _reject_nested_cells(frame: pd.DataFrame) -> None:
    for place, name in enumerate(frame.columns):
        for number, cell in enumerate(frame.iloc[:, place], start=1):
            if isinstance(cell, list | dict):
                message = f"{name!r} in row {number} is {_show(cell)}; a cell is text, a number, true, false or null."
                raise RequestError(UNPROCESSABLE, message)


def _read_csv(body: bytes) -> RequestRows:
    try:
        rows = [row for row in csv.reader(StringIO(_decode(body), newline=""), strict=True) if row]
    except csv.Error as error:
        raise RequestError(BAD_REQUEST, f"the body is not CSV: {error}.") from None
    if not rows:
        raise RequestError(UNPROCESSABLE, "the request has no rows.")
    names = rows[0]
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(names):
            message = f"row {number} of the CSV has {len(row)} cells, but {len(names)} columns have names."
            raise RequestError(BAD_REQUEST, message)
    columns = list(zip(*rows[1:], strict=True)) or [() for _ in names]
    return RequestRows(_make_frame(names, columns, len(rows) - 1))


def _read_parquet(body: bytes) -> RequestRows:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        metadata = parquet.read_metadata(BytesIO(body))
        _require_memory(metadata.num_rows, metadata.num_columns)
        return RequestRows(pd.read_parquet(BytesIO(body)))
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"the body is not Parquet: {str(error).splitlines()[0]}"
        raise RequestError(BAD_REQUEST, message) from None


def _require_memory(m: int, k: int) -> None:
    """Reject rows that need most of the memory, although their compressed form is small."""
    n_bytes = BYTES_OF_CELL * m * k
    if n_bytes > read_machine_bytes() // MEMORY_SHARES:
        raise RequestError(TOO_LARGE, f"the body says that it holds {m:,} rows of {k:,} columns; send fewer at a time.")


def _list_layouts() -> str:
    return ", ".join(LAYOUTS)


def _show(value: Any) -> str:
    """Return the beginning of a value of JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…"


LAYOUTS: Mapping[str, Callable[[Any, str], RequestRows]] = {
    "dataframe_split": _read_split,
    "dataframe_records": _read_records,
    "instances": _read_records,
    "inputs": _read_columns,
}
"""The keys of MLflow's protocol."""
READERS: Mapping[str, Callable[[bytes], RequestRows]] = {
    JSON_TYPE: _read_json,
    CSV_TYPE: _read_csv,
    PARQUET_TYPE: _read_parquet,
}
"""Content type -> function."""
