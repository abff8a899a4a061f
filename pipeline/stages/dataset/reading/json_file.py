"""JSON files: an object for each row, one a line, or in one list."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.stages.dataset.column_limit import require_few_columns
from bakeoff.pipeline.stages.dataset.reading.cells import unify_types
from bakeoff.pipeline.stages.dataset.reading.compressed import strip_compression
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.text_content import read_characters
from bakeoff.pipeline.stages.dataset.reading.text_numbers import SIGN_KEYS, spell_text_cells

KEYS = ("encoding", *SIGN_KEYS)


def read_json_lines(file: Path, layout: FileLayout) -> RawTable:
    """Read a file with an object in each line.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding and the signs of numbers in text.

    Returns
    -------
    RawTable
        A key of any object is a column; where an object does not have it, the cell is missing. Types of cells are
        those of JSON, and a column of several types is text.

    Raises
    ------
    ValueError
        A line is not an object, or gives a key twice.
    """
    layout.reject_keys(file, "JSON lines", allowed=KEYS)
    return _make_table(_parse_lines(read_characters(file, layout)), file, layout)


def read_json(file: Path, layout: FileLayout) -> RawTable:
    """Read a file that holds a list of objects, or an object in each line.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding and the signs of numbers in text.

    Raises
    ------
    ValueError
        The file holds something else.
    """
    layout.reject_keys(file, "JSON", allowed=KEYS)
    text = read_characters(file, layout)
    if not text.lstrip().startswith("["):
        return _make_table(_parse_lines(text), file, layout)
    rows = _parse(text, "the file")
    for number, row in enumerate(rows, start=1):
        _require_object(row, f"item {number} of the list")
    return _make_table(rows, file, layout)


def _parse_lines(text: str) -> list[dict[str, Any]]:
    # Not splitlines(), which takes signs within cells for ends of lines.
    lines = enumerate(StringIO(text, newline=None), start=1)
    return [_parse_row(line, f"line {number}") for number, line in lines if line.strip()]


def _parse_row(text: str, where: str) -> dict[str, Any]:
    row = _parse(text, where)
    _require_object(row, where)
    return row


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_make_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{where} is not JSON: {error.msg} at character {error.pos + 1}; a file holds an object a line, or a list "
            "of objects"
        ) from error
    except RecursionError:
        raise ValueError(f"{where} holds too many lists or objects inside one another; a cell is a value") from None
    except ValueError as error:
        raise ValueError(f"{where} {error}") from error


def _make_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; json would silently take the last value of a key that is given twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"gives the key {twice!r} twice")
    return made


def _require_object(row: Any, where: str) -> None:
    if not isinstance(row, dict):
        raise ValueError(f'{where} is not an object such as {{"age": 29}}')


def _make_table(rows: Iterable[dict[str, Any]], file: Path, layout: FileLayout) -> RawTable:
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    require_few_columns(len(names), layout.max_columns, file.name)
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in listed], dtype=object) for name in names})
    spelled, sign_notes, guessed = spell_text_cells(frame, layout, file.name)
    unified, notes = unify_types(spelled)
    if notes and not unified.shape[1]:
        raise ValueError(f"no column is left; {notes[0]}")
    all_notes = (*sign_notes, *notes, *_count_absent(listed, names))
    return RawTable(unified, strip_compression(file).stem, str(file.resolve()), all_notes, guessed=guessed)


def _count_absent(rows: Sequence[dict[str, Any]], names: Iterable[str]) -> list[str]:
    """Return a sentence about the keys that some objects do not have, if there are any."""
    n_columns = len(list(names))
    n_short = sum(len(row) < n_columns for row in rows)
    if not n_short:
        return []
    return [f"{n_short} of {len(rows)} objects do not have all {n_columns} keys; those cells are missing."]
