"""The formats of files: which extension is read by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.arff_file import read_arff
from bakeoff.pipeline.stages.dataset.reading.arrow_file import read_arrow, read_parquet
from bakeoff.pipeline.stages.dataset.reading.compressed import DECOMPRESSORS, strip_compression
from bakeoff.pipeline.stages.dataset.reading.excel_file import read_excel
from bakeoff.pipeline.stages.dataset.reading.json_file import read_json, read_json_lines
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.text_file import TEXT_EXTENSIONS, read_text

READERS: Mapping[str, Callable[[Path, FileLayout], RawTable]] = {
    **dict.fromkeys(TEXT_EXTENSIONS, read_text),
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
    reader = find_reader(file)
    if file.stat().st_size == 0:
        raise layout.make_empty_error(file)
    try:
        raw = reader(file, layout)
    except (pa.ArrowInvalid, UnicodeDecodeError, ValueError, OSError) as error:
        raise UserError(f"dataset.path={str(file)!r} cannot be read as a table: {error}") from error
    if raw.frame.empty:
        raise UserError(f"dataset.path={str(file)!r} has column names but no rows.")
    return raw


def find_reader(file: Path) -> Callable[[Path, FileLayout], RawTable]:
    """Return the function that reads files of an extension; raises UserError if there is none."""
    reader = READERS.get(strip_compression(file).suffix.lower())
    if reader is None:
        extension = f"the extension {file.suffix!r}" if file.suffix else "no extension"
        raise UserError(
            f"dataset.path={str(file)!r}: files with {extension} are not read. Allowed: {', '.join(READERS)}, and text "
            f"that is compressed: {', '.join(f'.csv{ending}' for ending in DECOMPRESSORS)}."
        )
    return reader


def require_file(file: Path, key: str = "path") -> None:
    """Raise UserError for a path, given by a key of the dataset, at which there is no file."""
    if not file.is_file():
        raise UserError(
            f"dataset.{key}={str(file)!r} is not a file (looked in {Path.cwd()}); give the path of a file with a table."
        )
