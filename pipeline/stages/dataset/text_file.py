"""Tables of text: CSV, TSV and files with other separators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.content import read_content, strip_compression
from bakeoff.pipeline.stages.dataset.keys import LEAVE_OUT, SEPARATOR_WORDS, FileLayout
from bakeoff.pipeline.stages.dataset.number_signs import SpelledTable, doubt_points, spell_numbers
from bakeoff.pipeline.stages.dataset.parser import (
    CANDIDATES,
    DEFAULT_SEPARATOR,
    TEXT,
    WHITESPACE,
    Cells,
    Record,
    draw_sample,
    find_open_quote,
    guess_separator,
    name_separator,
    parse_cells,
    read_records,
)
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns
from bakeoff.pipeline.stages.dataset.source import RawTable
from bakeoff.pipeline.stages.dataset.spelling import AMONG_NUMBERS, EVERYWHERE
from bakeoff.pipeline.text.words import count_nouns

ROW_NAMES = "row_names"
"""The name of a first column that has none, because the rows have a cell more than the row of names."""
MISSING = pa.array(sorted({spelling.lower() for spelling in EVERYWHERE | AMONG_NUMBERS}), pa.large_string())
"""Spellings of a missing cell, in lower case."""


def split_names(table: pa.Table, layout: FileLayout, file: Path) -> tuple[list[str], pa.Table]:
    """Return the names of the columns and the rows below.

    Parameters
    ----------
    table : Table of shape (n, d)
        All rows as text.
    layout : FileLayout
    file : Path
        For messages.

    Raises
    ------
    UserError
        The first row looks like data although it should hold names, or ``names`` has the wrong length.
    """
    if not layout.has_names:
        return _choose_names(layout, table.num_columns, file), table
    first_row = [str(column[0]) for column in table.columns]
    below = table.slice(1)
    if layout.header is None and looks_like_data(first_row, below):
        raise UserError(
            f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
            "data, or dataset.header=true if it holds the names of the columns."
        )
    names = _choose_names(layout, table.num_columns, file) if layout.names else first_row
    return names, below


def name_unnamed(names: Sequence[str]) -> list[str]:
    """Return the names of columns, of which those without a name are called by their position: ``column_1``."""
    return [name if name.strip() else f"column_{number}" for number, name in enumerate(names, start=1)]


def require_different_names(names: Sequence[str], file: Path) -> None:
    """Reject columns of the same name."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        numbers = [str(number) for number, name in enumerate(names, start=1) if name == repeated[0]]
        raise UserError(
            f"{file.name} has {len(numbers)} columns of the name {repeated[0]!r} (columns {', '.join(numbers)}); "
            "rename them in the file, or name all columns with dataset.header=true dataset.names=[…]."
        )


def looks_like_data(first_row: Sequence[str], below: pa.Table) -> bool:
    """Return whether the first row of a file seems to hold data instead of the names of the columns.

    It does if each cell is like the cells below it: a number above numbers, or text that occurs below. Numbers that
    count the columns are names.

    Parameters
    ----------
    first_row : sequence of str, of length d
        As the file spells it; empty cells do not count.
    below : Table of shape (n, d)
        The rows below, as text.
    """
    cells = [cell.strip() for cell in first_row]
    named = [cell for cell in cells if cell]
    if not named or below.num_rows == 0 or _count_up(named):
        return False
    pairs = zip(cells, below.columns, strict=True)
    return all(_fits_column(cell, column) for cell, column in pairs if cell)


def _choose_names(layout: FileLayout, d: int, file: Path) -> list[str]:
    """Return the names that the layout gives to d columns, or numbers them."""
    if not layout.names:
        return [f"column_{number}" for number in range(1, d + 1)]
    if len(layout.names) != d:
        raise UserError(f"dataset.names has {len(layout.names)} names, but {file.name} has {d} columns.")
    return [str(name) for name in layout.names]


def _fits_column(cell: str, column: pa.ChunkedArray) -> bool:
    """Return whether a cell is like the cells of a column."""
    occurs = pc.any(pc.equal(pc.utf8_trim_whitespace(column), cell)).as_py()
    # A column without any cell below the first row says nothing, and counts as one of numbers.
    return bool(occurs) or (_is_number(cell) and _holds_numbers(column))


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether all cells of a column are numbers, missing ones aside."""
    cells = pc.utf8_trim_whitespace(column)
    try:
        pc.cast(pc.if_else(pc.is_in(pc.utf8_lower(cells), MISSING), None, cells), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _count_up(cells: Sequence[str]) -> bool:
    """Return whether cells are consecutive integers: 0, 1, 2, … or years."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


LINE_BREAK = "\n"
MAX_SHOWN_LETTERS = 60
MAX_EXAMINED_CELLS = 1000
"""Of a column, with line breaks."""


def find_swallowed_rows(table: pa.Table, separator: str) -> list[str]:
    """Return a sentence for each column with a cell that holds lines with as many separators as a row has.

    Parameters
    ----------
    table : Table of shape (n, d)
        Of text.
    separator : str
        The character between cells.
    """
    n_separators = table.num_columns - 1
    sentences = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        broken = column.filter(pc.match_substring(column, LINE_BREAK))
        cells = broken.slice(0, MAX_EXAMINED_CELLS).to_pylist()
        lines = [line for cell in cells for line in cell.split(LINE_BREAK)[1:]]
        rows = [line for line in lines if n_separators > 0 and line.count(separator) >= n_separators]
        if rows:
            count = "a line that looks like a row" if len(rows) == 1 else f"{len(rows)} lines that look like rows"
            sentences.append(
                f"Column {name!r} has cells with line breaks, and in them {count}, such as "
                f"{rows[0][:MAX_SHOWN_LETTERS]!r}; if it is one, a quotation mark above it is not closed "
                "(dataset.quote=null takes all marks for letters)."
            )
    return sentences


TEXT_EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
TABS = (".tsv", ".tab")
"""The extensions of files whose cells are separated by tabs, which is not worth a note."""
MAX_SHOWN_LINES = 5


@dataclass(frozen=True)
class Text:
    """A text and how its cells are separated.

    Attributes
    ----------
    file : Path
    content : bytes
    separator : str
    layout : FileLayout
    """

    file: Path
    content: bytes
    separator: str
    layout: FileLayout


def read_text(file: Path, layout: FileLayout) -> RawTable:
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
    cells = parse_cells(text.content, text.separator, layout)
    if _has_row_names(cells, layout):
        table, row_note = _name_first_column(text)
        notes.append(row_note)
    else:
        table = cells.table
        notes += _answer_ragged_rows(text, cells)
    names, table = split_names(table, layout, file)
    names, table, name_notes = _complete_names(names, table)
    require_different_names(names, file)
    table = table.rename_columns(names)
    if _has_quotes(text):
        notes += find_swallowed_rows(table, _get_character(text))
    spelled = SpelledTable(table)
    if _may_hold_signs(text):
        spelled = spell_numbers(table, layout, file.name)
    doubts = [] if spelled.guessed else doubt_points(table, layout)
    return RawTable(
        # The dtype of pandas that holds such columns as they are.
        frame=spelled.table.to_pandas(types_mapper={TEXT: pd.StringDtype("pyarrow")}.get),
        name=strip_compression(file).stem,
        source=str(file.resolve()),
        notes=(*notes, *name_notes, *spelled.notes, *doubts),
        guessed=spelled.guessed,
    )


def _require_few_columns(content: bytes, layout: FileLayout, file: Path) -> None:
    """Reject a text whose first row has more cells than are allowed; see `require_few_columns`.

    This is done before the separator is guessed, which takes long for very many columns.
    """
    first_line = content.lstrip(b"\r\n").split(b"\n", 1)[0]
    separators = list(CANDIDATES) if layout.separator is None else [layout.separator]
    characters = {separator: SEPARATOR_WORDS.get(separator, separator).encode() for separator in separators}
    most_frequent = max(characters, key=lambda separator: first_line.count(characters[separator]))
    if first_line.count(characters[most_frequent]) < layout.max_columns:
        return
    # Some of the separators may stand in quoted cells.
    first = next(read_records(first_line, most_frequent, layout))
    require_few_columns(len(first.cells), layout.max_columns, file.name)


def require_several_columns(raw: RawTable, layout: FileLayout) -> None:
    """Reject a text of a single column, which cannot hold a target and a feature."""
    file = strip_compression(Path(raw.source))
    if raw.frame.shape[1] != 1 or file.suffix.lower() not in TEXT_EXTENSIONS:
        return
    name = str(raw.frame.columns[0])
    how = "with every separator that is guessed (comma, semicolon, tab, pipe)"
    if layout.separator is not None:
        how = f"with dataset.separator={layout.separator!r}"
    raise UserError(
        f"{file.name} has one column {how}: {_shorten(name)}; give the character between its cells, such "
        "as dataset.separator=semicolon or dataset.separator=whitespace."
    )


def count_columns(file: Path, layout: FileLayout) -> int:
    """Return the number of cells in the first row of a file; 0 if it has none."""
    if file.stat().st_size == 0:
        return 0
    text, _ = _open_text(file, layout)
    return int(parse_cells(draw_sample(text.content), text.separator, layout).table.num_columns)


def _open_text(file: Path, layout: FileLayout) -> tuple[Text, list[str]]:
    """Return a text with its separator, and a sentence if it was guessed."""
    content = read_content(file, layout)
    _require_few_columns(content, layout, file)
    separator = layout.separator
    notes = []
    if separator is None:
        guess = guess_separator(content, layout, file)
        separator = guess or DEFAULT_SEPARATOR
        is_usual = separator == DEFAULT_SEPARATOR or (
            separator == "\t" and strip_compression(file).suffix.lower() in TABS
        )
        if not is_usual:
            word = name_separator(separator)
            notes.append(f"The separator is taken for a {word} (dataset.separator={word} confirms it).")
    line = find_open_quote(content, separator, layout)
    if line is not None:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: a quotation mark in line {line} is not closed; "
            "close it, or give dataset.quote=null if the mark is a part of the cells."
        )
    return Text(file, content, separator, layout), notes


def _has_row_names(cells: Cells, layout: FileLayout) -> bool:
    """Return whether all rows have one cell more than the row of names."""
    is_alone = cells.table.num_rows == 1 and len(cells.ragged_counts) > 0
    return is_alone and layout.has_names and set(cells.ragged_counts) == {cells.table.num_columns + 1}


def _name_first_column(text: Text) -> tuple[pa.Table, str]:
    """Return the cells of a text whose rows have one cell more than the row of names, and a sentence about it.

    The first column gets a name, or the last one is left out if it is empty: R writes the names of rows in this
    way; other programs write a separator at the end of each row.
    """
    first_name = f"{ROW_NAMES}{_get_character(text)}".encode()
    content = text.content.lstrip(b"\r\n")
    table = parse_cells(first_name + content, text.separator, text.layout).table
    last_column = table.column(table.num_columns - 1).slice(1)
    if not _is_empty(last_column):
        note = (
            "The rows have a cell more than the row of names; the first one is taken for the name of the row, and its "
            f"column is called {ROW_NAMES}."
        )
        return table, note
    names = [column.slice(0, 1) for column in table.columns[1:]]
    cells = [column.slice(1) for column in table.columns[:-1]]
    joined = [pa.chunked_array([*name.chunks, *cell.chunks], TEXT) for name, cell in zip(names, cells, strict=True)]
    note = "The rows end with a separator, and the empty column behind it is left out."
    return pa.table(joined, names=[str(number) for number in range(len(joined))]), note


def _answer_ragged_rows(text: Text, cells: Cells) -> list[str]:
    """Return a sentence about the rows that are left out; raises UserError if this was not asked for."""
    n_ragged = len(cells.ragged_counts)
    if n_ragged == 0:
        return []
    n_cells = cells.table.num_columns
    usual, n_usual = Counter(cells.ragged_counts).most_common(1)[0]
    if n_usual > cells.table.num_rows:
        raise _explain_first_row(text, n_cells, usual)
    ragged = list(islice(_find_ragged(text, n_cells), MAX_SHOWN_LINES))
    if text.layout.ragged == LEAVE_OUT:
        lines = ", ".join(str(record.line) for record in ragged)
        more = ", …" if n_ragged > len(ragged) else ""
        rows = count_nouns(n_ragged, "row is", "rows are")
        return [f"{rows} left out for not having {n_cells} cells (line {lines}{more})."]
    record = ragged[0]
    others = f" (the first of {n_ragged} such rows)" if n_ragged > 1 else ""
    raise UserError(
        f"line {record.line} of {text.file.name} has {count_nouns(len(record.cells), 'cell')}, but the first row has "
        f"{n_cells}: {_show_row(record, text)}{others}; correct the row, or leave such rows out with "
        "dataset.ragged=leave_out."
    )


def _explain_first_row(text: Text, n_cells: int, usual: int) -> UserError:
    """Return the error of a first row that has another number of cells than most rows."""
    records = read_records(text.content, text.separator, text.layout)
    first = next(records)
    n_lines = next((record.line for record in records if len(record.cells) == usual), 2) - 1
    return UserError(
        f"line {first.line} of {text.file.name} has {count_nouns(n_cells, 'cell')}, but most rows have {usual}: "
        f"{_show_row(first, text)}; if the table begins below it, give dataset.skip_rows={n_lines}."
    )


def _find_ragged(text: Text, n_cells: int) -> Iterator[Record]:
    """Yield the rows that do not have `n_cells` cells."""
    for record in read_records(text.content, text.separator, text.layout):
        if len(record.cells) != n_cells:
            yield record


def _show_row(record: Record, text: Text) -> str:
    """Return the beginning of a row, as a message shows it."""
    return _shorten(_get_character(text).join(record.cells))


def _shorten(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    return repr(text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…")


def _complete_names(names: list[str], table: pa.Table) -> tuple[list[str], pa.Table, list[str]]:
    """Return names for all columns, without columns that have neither a name nor cells, and a sentence for each."""
    completed = name_unnamed(names)
    notes = []
    kept = []
    for position, name in enumerate(names):
        has_name = name.strip() != ""
        if has_name:
            kept.append(position)
        elif _is_empty(table.column(position)):
            notes.append(f"Column {position + 1} has no name and no cells; it is left out.")
        else:
            kept.append(position)
            notes.append(f"Column {position + 1} has no name; it is called {completed[position]!r}.")
    return [completed[position] for position in kept], table.select(kept), notes


def _is_empty(column: pa.ChunkedArray) -> bool:
    """Return whether all cells of a column are empty."""
    return not pc.any(pc.not_equal(column, "")).as_py()


def _may_hold_signs(text: Text) -> bool:
    """Return whether numbers may have other signs than usual: commas do not occur in cells that commas separate."""
    layout = text.layout
    if layout.decimal is not None or layout.thousands is not None:
        return True
    return b"," in text.content and (_has_quotes(text) or _get_character(text) != ",")


def _has_quotes(text: Text) -> bool:
    """Return whether cells may be quoted."""
    quote = text.layout.quote
    return quote is not None and quote.encode() in text.content


def _get_character(text: Text) -> str:
    """Return what stands between cells: for ``whitespace``, one space."""
    return " " if text.separator in WHITESPACE else SEPARATOR_WORDS.get(text.separator, text.separator)
