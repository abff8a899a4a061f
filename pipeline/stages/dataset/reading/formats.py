"""The formats of files: which extension is read by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.arff_file import read_arff
from bakeoff.pipeline.stages.dataset.reading.arrow_file import read_arrow, read_parquet
from bakeoff.pipeline.stages.dataset.reading.excel_file import read_excel
from bakeoff.pipeline.stages.dataset.reading.json_file import read_json, read_json_lines
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.text_file import read_text

READERS: Mapping[str, Callable[[Path, FileLayout], RawTable]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".dat": read_text,
    ".data": read_text,
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".ipc": read_arrow,
    ".arff": read_arff,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".xlsx": read_excel,
    ".xlsm": read_excel,
}
"""Extension -> function; an extension of compressed text, such as .gz, is left out before."""


def read_file(file: Path, layout: FileLayout) -> RawTable:
    """Read a file by the function of its extension.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The file does not exist, has another extension, or holds no table.
    """
    require_file(file)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise UserError(
            f"dataset.path={str(file)!r}: files with the extension {file.suffix!r} are not read. "
            f"Allowed: {', '.join(READERS)}."
        )
    if file.stat().st_size == 0:
        needed = "a row of column names and rows of data" if layout.has_names else "rows of data"
        raise UserError(f"dataset.path={str(file)!r} is empty; it needs {needed}.")
    try:
        raw = reader(file, layout)
    except (pa.ArrowInvalid, UnicodeDecodeError, ValueError, OSError) as error:
        raise UserError(f"dataset.path={str(file)!r} cannot be read as a table: {error}") from error
    if raw.frame.empty:
        raise UserError(f"dataset.path={str(file)!r} has column names but no rows.")
    return raw


def require_file(file: Path) -> None:
    """Raise UserError for a path at which there is no file."""
    if not file.is_file():
        raise UserError(
            f"dataset.path={str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a CSV file."
        )
