"""Tables of text: CSV, TSV and files with other separators."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.content import read_content, strip_compression
from bakeoff.pipeline.stages.dataset.guesses import (
    NumberSigns,
    choose_signs,
    doubt_points,
    guess_separator,
    guess_signs,
    looks_like_data,
    spell_numbers,
)
from bakeoff.pipeline.stages.dataset.keys import COMMA, LEAVE_OUT, FileLayout
from bakeoff.pipeline.stages.dataset.parser import TEXT, ParsedText, Text
from bakeoff.pipeline.stages.dataset.source import Source, require_different_names
from bakeoff.pipeline.text.wording import count_nouns

TEXT_EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
TEXT_KEYS = ("separator", "header", "strip", "encoding", "decimal", "thousands", "quote", "skip_rows", "ragged")
USUAL_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
"""Extension -> the separator that is not worth a note; of other files, a comma is not."""
MAX_EXAMINED_CELLS = 1000
"""Of a column, with line breaks."""
MAX_SHOWN_LINES = 5
MAX_SHOWN_LETTERS = 60


def read_text(file: Path, layout: FileLayout) -> Source:
    """Read the cells of a text file as the file spells them; only numbers with other signs are spelled as usual.

    Besides the common errors, the separator or the signs of numbers may be ambiguous, rows may have more or fewer cells
    than the first one, a quotation may not be closed, or the first row may not hold names.
    """
    text, notes = _open_text(file, layout)
    parsed = text.parse()
    notes += _answer_ragged_rows(text, parsed, file.name)
    table = _name_columns(parsed.table, text.layout, file)
    if text.has_quotes:
        notes += _find_swallowed_rows(table, text.layout.character)
    may_hold_commas = b"," in text.content and (text.has_quotes or text.layout.character != COMMA)
    table, guessed, sign_notes = spell_table(table, layout, file.name, may_hold_commas)
    # The pandas dtype that stores such columns unchanged.
    frame = table.to_pandas(types_mapper={TEXT: pd.StringDtype("pyarrow")}.get)
    return Source(frame, notes=(*notes, *sign_notes), guessed=guessed)


def spell_table(
    table: pa.Table, layout: FileLayout, source: str, may_hold_commas: bool = True
) -> tuple[pa.Table, dict[str, str], list[str]]:
    """Return a table of text with its numbers spelled as usual, the keys of guessed signs, and sentences about them.

    Parameters
    ----------
    table : Table of shape (n, d)
    layout : FileLayout
        If it gives neither sign, they are guessed.
    source : str
        The name of the file, for messages.
    may_hold_commas : bool
        Whether commas are looked for.

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    signs = choose_signs(layout)
    guess = None
    if signs is None:
        guess = guess_signs(table, source) if may_hold_commas else None
        guess = guess or doubt_points(table)
    if guess is None:
        spelled, notes = spell_numbers(table, signs or NumberSigns(), source)
        return spelled, {}, notes
    signs = choose_signs(FileLayout(decimal=guess.keys.get("decimal"), thousands=guess.keys.get("thousands")))
    spelled, notes = spell_numbers(table, signs or NumberSigns(), source)
    return spelled, guess.keys, [guess.sentence, *notes]


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
    text = Text(read_content(file, layout), layout)
    notes = []
    if layout.separator is None:
        guess = guess_separator(text, file.name)
        text = replace(text, layout=replace(layout, separator=guess.keys["separator"]))
        usual = USUAL_SEPARATORS.get(strip_compression(file).suffix.lower())
        if text.layout.character not in (COMMA, usual):
            notes.append(guess.sentence)
    line = text.find_open_quote()
    if line is not None:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: a quotation mark in line {line} is not closed; "
            "close it, or give dataset.quote=null if the mark is a part of the cells."
        )
    return text, notes


def _answer_ragged_rows(text: Text, parsed: ParsedText, name: str) -> list[str]:
    """Return a sentence about the rows that are left out; raise UserError if this was not requested."""
    n_ragged = len(parsed.ragged_counts)
    if n_ragged == 0:
        return []
    n_cells = parsed.table.num_columns
    ragged = list(islice((each for each in text.read_records() if len(each.cells) != n_cells), MAX_SHOWN_LINES))
    first = ragged[0]
    if text.layout.ragged == LEAVE_OUT:
        lines = ", ".join(str(record.line) for record in ragged)
        more = ", …" if n_ragged > len(ragged) else ""
        rows = count_nouns(n_ragged, "row is", "rows are")
        return [f"{rows} left out for not having {n_cells} cells (line {lines}{more})."]
    cure = "correct the row, or leave such rows out with dataset.ragged=leave_out"
    if n_ragged > parsed.table.num_rows:
        cure = f"if the table begins there, give dataset.skip_rows={first.line - 1}"
    raise UserError(
        f"line {first.line} of {name} has {count_nouns(len(first.cells), 'cell')}, but the first row has {n_cells}: "
        f"{_shorten(text.layout.character.join(first.cells))}; {cure}."
    )


def _shorten(text: str) -> str:
    """Return the beginning of a text in quotation marks."""
    return repr(text if len(text) <= MAX_SHOWN_LETTERS else f"{text[:MAX_SHOWN_LETTERS]}…")


def _name_columns(table: pa.Table, layout: FileLayout, file: Path) -> pa.Table:
    """Return the rows with the names of the columns; one without a name is named by its number."""
    names = [""] * table.num_columns
    if layout.has_names:
        names = [str(column[0]) for column in table.columns]
        table = table.slice(1)
        if layout.header is None and looks_like_data(names, table):
            raise UserError(
                f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
                "data, or dataset.header=true if it holds the names of the columns."
            )
    names = [name if name.strip() else f"column_{number}" for number, name in enumerate(names, start=1)]
    require_different_names(names, f"{file.name} has", "rename them in the file")
    return table.rename_columns(names)


def _find_swallowed_rows(table: pa.Table, separator: str) -> list[str]:
    """Return a sentence for each column with cells that contain whole rows because of unclosed quotation marks."""
    n_separators = max(1, table.num_columns - 1)
    sentences = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        cells = column.filter(pc.match_substring(column, "\n")).slice(0, MAX_EXAMINED_CELLS).to_pylist()
        lines = [line for cell in cells for line in cell.split("\n")[1:]]
        row = next((line for line in lines if line.count(separator) >= n_separators), None)
        if row is not None:
            sentences.append(
                f"Column {name!r} has cells with line breaks, and in them a line that looks like a row, such as "
                f"{row[:MAX_SHOWN_LETTERS]!r}; if it is one, a quotation mark above it is not closed "
                "(dataset.quote=null takes all marks for letters)."
            )
    return sentences
