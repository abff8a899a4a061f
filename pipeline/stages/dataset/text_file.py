"""Tables of text: CSV, TSV and files with other separators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.content import name_source, read_content, strip_compression
from bakeoff.pipeline.stages.dataset.keys import LEAVE_OUT, SEPARATOR_WORDS, FileLayout
from bakeoff.pipeline.stages.dataset.number_signs import spell_numbers
from bakeoff.pipeline.stages.dataset.parser import CANDIDATES, TEXT, ParsedText, Record, Text, guess_separator
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns
from bakeoff.pipeline.stages.dataset.source import Source, require_different_names
from bakeoff.pipeline.stages.dataset.spelling import AMONG_NUMBERS, EVERYWHERE
from bakeoff.pipeline.text.words import count_nouns

TEXT_EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
USUAL_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
"""Extension -> the separator that is not worth a note; of other files, a comma is not."""
ROW_NAMES = "row_names"
"""The name of a first column without one, in files whose rows have one more cell than the row of names."""
MISSING = pa.array(sorted({spelling.lower() for spelling in EVERYWHERE | AMONG_NUMBERS}), TEXT)
"""Spellings of a missing cell, in lower case."""
MAX_EXAMINED_CELLS = 1000
"""Of a column, with line breaks."""
MAX_SHOWN_LINES = 5
MAX_SHOWN_LETTERS = 60


def read_text(file: Path, layout: FileLayout) -> Source:
    """Read the cells of a text file as the file spells them; only numbers with other signs are spelled as usual.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The file is not text, has another encoding, its separator cannot be guessed, rows have more or fewer cells than
        the first one, a quotation is not closed, or the first row does not hold names.
    """
    text, notes = _open_text(file, layout)
    parsed = text.parse()
    if _has_row_names(parsed, layout):
        table, row_note = _name_first_column(text)
        notes.append(row_note)
    else:
        table = parsed.table
        notes += _answer_ragged_rows(text, parsed, file.name)
    table, name_notes = _name_columns(table, layout, file)
    notes += name_notes
    if text.has_quotes:
        notes += _find_swallowed_rows(table, text.character)
    may_hold_commas = b"," in text.content and (text.has_quotes or text.character != ",")
    spelled = spell_numbers(table, layout, file.name, may_hold_commas)
    # The pandas dtype that stores such columns unchanged.
    frame = spelled.table.to_pandas(types_mapper={TEXT: pd.StringDtype("pyarrow")}.get)
    return Source(frame, *name_source(file), (*notes, *spelled.notes), guessed=spelled.guessed)


def require_several_columns(source: Source, file: Path, layout: FileLayout) -> None:
    """Reject a text with a single column, which cannot contain both a target and a feature."""
    if source.frame.shape[1] != 1 or strip_compression(file).suffix.lower() not in TEXT_EXTENSIONS:
        return
    how = "with every separator that is guessed (comma, semicolon, tab, pipe)"
    if layout.separator is not None:
        how = f"with dataset.separator={layout.separator!r}"
    raise UserError(
        f"{strip_compression(file).name} has one column {how}: {_shorten(str(source.frame.columns[0]))}; give the "
        "character between its cells, such as dataset.separator=semicolon or dataset.separator=whitespace."
    )


def _open_text(file: Path, layout: FileLayout) -> tuple[Text, list[str]]:
    """Return a text with its separator, and a sentence if it was guessed."""
    content = read_content(file, layout)
    _require_few_columns(content, layout, file.name)
    notes = []
    separator = layout.separator
    if separator is None:
        separator = guess_separator(content, layout, file.name) or ","
        if separator not in (",", USUAL_SEPARATORS.get(strip_compression(file).suffix.lower())):
            word = CANDIDATES[separator]
            notes.append(f"The separator is taken for a {word} (dataset.separator={word} confirms it).")
    text = Text(content, separator, layout)
    line = text.find_open_quote()
    if line is not None:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: a quotation mark in line {line} is not closed; "
            "close it, or give dataset.quote=null if the mark is a part of the cells."
        )
    return text, notes


def _require_few_columns(content: bytes, layout: FileLayout, name: str) -> None:
    """Reject a text whose first row has too many cells, before guessing its separator, which is slow for them."""
    first_line = content.lstrip(b"\r\n").split(b"\n", 1)[0]
    separators = list(CANDIDATES) if layout.separator is None else [layout.separator]
    counts = {each: first_line.count(SEPARATOR_WORDS.get(each, each).encode()) for each in separators}
    most_frequent = max(counts, key=counts.__getitem__)
    if counts[most_frequent] >= layout.max_columns:
        # Some of the separators may be in quoted cells.
        first = next(Text(first_line, most_frequent, layout).read_records())
        require_few_columns(len(first.cells), layout.max_columns, name)


def _has_row_names(parsed: ParsedText, layout: FileLayout) -> bool:
    """Return whether all rows have one cell more than the row of names."""
    is_alone = parsed.table.num_rows == 1 and layout.has_names
    return is_alone and set(parsed.ragged_counts) == {parsed.table.num_columns + 1}


def _name_first_column(text: Text) -> tuple[pa.Table, str]:
    """Return the cells of a text whose rows have one cell more than the row of names, and a sentence about it.

    The first column gets a name, or the last one is left out if it is empty: R writes the names of rows in this
    way; other programs write a separator at the end of each row.
    """
    first_name = f"{ROW_NAMES}{text.character}".encode()
    table = replace(text, content=first_name + text.content.lstrip(b"\r\n")).parse().table
    if not _is_empty(table.column(table.num_columns - 1).slice(1)):
        note = (
            "The rows have a cell more than the row of names; the first one is taken for the name of the row, and its "
            f"column is called {ROW_NAMES}."
        )
        return table, note
    pairs = zip(table.columns[1:], table.columns[:-1], strict=True)
    joined = [pa.chunked_array([*name.slice(0, 1).chunks, *cells.slice(1).chunks], TEXT) for name, cells in pairs]
    note = "The rows end with a separator, and the empty column behind it is left out."
    return pa.table(joined, names=table.column_names[:-1]), note


def _answer_ragged_rows(text: Text, parsed: ParsedText, name: str) -> list[str]:
    """Return a sentence about the rows that are left out; raise UserError if this was not requested."""
    n_ragged = len(parsed.ragged_counts)
    if n_ragged == 0:
        return []
    n_cells = parsed.table.num_columns
    usual, n_usual = Counter(parsed.ragged_counts).most_common(1)[0]
    if n_usual > parsed.table.num_rows:
        records = text.read_records()
        first = next(records)
        n_lines = next((record.line for record in records if len(record.cells) == usual), 2) - 1
        raise UserError(
            f"line {first.line} of {name} has {count_nouns(n_cells, 'cell')}, but most rows have {usual}: "
            f"{_show_row(first, text)}; if the table begins below it, give dataset.skip_rows={n_lines}."
        )
    ragged = list(islice((each for each in text.read_records() if len(each.cells) != n_cells), MAX_SHOWN_LINES))
    if text.layout.ragged == LEAVE_OUT:
        lines = ", ".join(str(record.line) for record in ragged)
        more = ", …" if n_ragged > len(ragged) else ""
        rows = count_nouns(n_ragged, "row is", "rows are")
        return [f"{rows} left out for not having {n_cells} cells (line {lines}{more})."]
    others = f" (the first of {n_ragged} such rows)" if n_ragged > 1 else ""
    raise UserError(
        f"line {ragged[0].line} of {name} has {count_nouns(len(ragged[0].cells), 'cell')}, but the first row has "
        f"{n_cells}: {_show_row(ragged[0], text)}{others}; correct the row, or leave such rows out with "
        "dataset.ragged=leave_out."
    )


def _show_row(record: Record, text: Text) -> str:
    return _shorten(text.character.join(record.cells))


def _shorten(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    return repr(text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…")


def _name_columns(table: pa.Table, layout: FileLayout, file: Path) -> tuple[pa.Table, list[str]]:
    """Return the rows with names, without columns that have neither a name nor cells, and a sentence for each."""
    names = layout.choose_names(table.num_columns, file.name)
    if layout.has_names:
        first_row = [str(column[0]) for column in table.columns]
        table = table.slice(1)
        if layout.header is None and _looks_like_data(first_row, table):
            raise UserError(
                f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
                "data, or dataset.header=true if it holds the names of the columns."
            )
        names = names or first_row
    kept, notes = [], []
    for number, name in enumerate(names, start=1):
        if name.strip():
            kept.append(number - 1)
        elif _is_empty(table.column(number - 1)):
            notes.append(f"Column {number} has no name and no cells; it is left out.")
        else:
            names[number - 1] = f"column_{number}"
            kept.append(number - 1)
            notes.append(f"Column {number} has no name; it is called 'column_{number}'.")
    kept_names = [names[position] for position in kept]
    cure = "rename them in the file, or name all columns with dataset.header=true dataset.names=[…]"
    require_different_names(kept_names, f"{file.name} has", cure)
    return table.select(kept).rename_columns(kept_names), notes


def _looks_like_data(first_row: Sequence[str], below: pa.Table) -> bool:
    """Return whether the first row of a file seems to contain data instead of the names of the columns.

    It does if each cell is like the cells below it: a number above numbers, or text that occurs below. Numbers that
    count the columns are names, and empty cells do not count.
    """
    cells = [cell.strip() for cell in first_row]
    named = [cell for cell in cells if cell]
    if not named or below.num_rows == 0 or _count_up(named):
        return False
    pairs = zip(cells, below.columns, strict=True)
    return all(_fits_column(cell, column) for cell, column in pairs if cell)


def _fits_column(cell: str, column: pa.ChunkedArray) -> bool:
    """Return whether a cell is like the cells of a column."""
    cells = pc.utf8_trim_whitespace(column)
    if pc.any(pc.equal(cells, cell)).as_py():
        return True
    try:
        float(cell)
        # A column without any cell below the first row is uninformative, and counts as numeric.
        pc.cast(pc.if_else(pc.is_in(pc.utf8_lower(cells), MISSING), None, cells), pa.float64())
    except ValueError:
        return False
    return True


def _count_up(cells: Sequence[str]) -> bool:
    """Return whether cells are consecutive integers: 0, 1, 2, … or years."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_empty(column: pa.ChunkedArray) -> bool:
    """Return whether all cells of a column are empty."""
    return not pc.any(pc.not_equal(column, "")).as_py()


def _find_swallowed_rows(table: pa.Table, separator: str) -> list[str]:
    """Return a sentence for each column with cells that contain whole rows because of unclosed quotation marks."""
    n_separators = table.num_columns - 1
    sentences = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        cells = column.filter(pc.match_substring(column, "\n")).slice(0, MAX_EXAMINED_CELLS).to_pylist()
        lines = [line for cell in cells for line in cell.split("\n")[1:]]
        rows = [line for line in lines if n_separators > 0 and line.count(separator) >= n_separators]
        if rows:
            count = "a line that looks like a row" if len(rows) == 1 else f"{len(rows)} lines that look like rows"
            sentences.append(
                f"Column {name!r} has cells with line breaks, and in them {count}, such as "
                f"{rows[0][:MAX_SHOWN_LETTERS]!r}; if it is one, a quotation mark above it is not closed "
                "(dataset.quote=null takes all marks for letters)."
            )
    return sentences
