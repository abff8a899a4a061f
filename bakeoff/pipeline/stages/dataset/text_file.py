"""Files of text: CSV, TSV and files with other separators, and ARFF, the format of WEKA and OpenML.

An ARFF file declares its columns above the rows. It is parsed by liac-arff, which does not support dates, truncates 1.5
to 1 in columns declared as integer, and keeps backslashes in names. Columns are therefore declared to it as text under
other names, except for nominal ones, whose cells it checks; numbers and dates are recognised as in any text.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError, require_package
from bakeoff.pipeline.stages.dataset.content import read_characters, read_content, strip_compression
from bakeoff.pipeline.stages.dataset.guesses import (
    SEARCHED,
    TEXT,
    ParsedText,
    Text,
    guess_separator,
    looks_like_data,
)
from bakeoff.pipeline.stages.dataset.header import join_names, take_orange_rows
from bakeoff.pipeline.stages.dataset.keys import COMMA, FileLayout
from bakeoff.pipeline.stages.dataset.kinds import shorten
from bakeoff.pipeline.stages.dataset.source import TEXT_TYPE, Source, find_row_names, require_different_names
from bakeoff.pipeline.text.wording import count_nouns

TEXT_EXTENSIONS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
TEXT_KEYS = ("separator", "header", "strip", "encoding", "quote", "skip_rows")
USUAL_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
"""Extension -> the separator that needs no note; for other files, this is a comma."""
MAX_EXAMINED_CELLS = 1000
"""The number of cells with line breaks that are examined in a column."""


def read_text(file: Path, layout: FileLayout) -> Source:
    """Read the cells of a text file unchanged.

    Besides the common errors, the separator may be ambiguous, rows may have more or fewer cells than the first one, a
    quotation may be unclosed, or the first row may not contain names.
    """
    text, notes = _open_text(file, layout)
    parsed = text.parse()
    if parsed.ragged_counts:
        raise _make_ragged_error(text, parsed, file.name)
    rows, declared = take_orange_rows(parsed.table, notes) if text.layout.has_names else (parsed.table, {})
    table = _name_columns(rows, text.layout, file, notes)
    if text.has_quotes:
        notes += _find_swallowed_rows(table, text.layout.character)
    possible = [each for each in SEARCHED if text.has_quotes or each != text.layout.character]
    is_ascii = text.content.isascii()
    held = [each for each in possible if each.isascii() >= is_ascii and each.encode() in text.content]
    # The pandas dtype that stores such columns unchanged.
    frame = table.to_pandas(types_mapper={TEXT: pd.StringDtype("pyarrow")}.get)
    is_unnamed = text.layout.has_names and not str(parsed.table[0][0]).strip()
    row_names = find_row_names(frame) if is_unnamed else ""
    return Source(frame, notes=tuple(notes), characters="".join(held), declared=declared, row_names=row_names)


def require_several_columns(source: Source, file: Path, layout: FileLayout) -> None:
    """Reject text with a single column, which cannot contain both a target and a feature."""
    if source.frame.shape[1] != 1 or strip_compression(file).suffix.lower() not in TEXT_EXTENSIONS:
        return
    how = "with every separator tried (comma, semicolon, tab, pipe)"
    if layout.separator is not None:
        how = f"with dataset.separator={layout.separator!r}"
    raise UserError(
        f"{strip_compression(file).name} has one column {how}: {shorten(str(source.frame.columns[0]))!r}; give the "
        "character between its cells, such as dataset.separator=semicolon or dataset.separator=whitespace."
    )


def _open_text(file: Path, layout: FileLayout) -> tuple[Text, list[str]]:
    """Return the text and its separator, and a note if the separator was guessed."""
    notes: list[str] = []
    text = Text(_double_quotes(read_content(file, layout), layout, notes), layout)
    if layout.separator is None:
        guess = guess_separator(text, file.name)
        text = replace(text, layout=replace(layout, separator=guess.keys["separator"]))
        usual = USUAL_SEPARATORS.get(strip_compression(file).suffix.lower())
        if text.layout.character not in (COMMA, usual):
            notes.append(guess.sentence)
    line = text.find_open_quote()
    if line is not None:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: a quotation mark on line {line} is not closed; "
            "close it, or set dataset.quote=null if quotation marks are part of the data."
        )
    return text, notes


def _double_quotes(content: bytes, layout: FileLayout, notes: list[str]) -> bytes:
    """Return a text with two quotation marks in place of each behind a backslash, if these do not end their cells."""
    if layout.quote != '"' or layout.character == " " or re.search(rb'"[^"\n]*\\"[\w ]', content) is None:
        return content
    notes.append(
        'Quotation marks behind a backslash (\\") are part of their cells, as MySQL and Spark write them '
        "(dataset.quote=null reads all of them as text)."
    )
    return re.sub(rb'\\(["\\])', lambda found: b'""' if found[1] == b'"' else found[1], content)


def _make_ragged_error(text: Text, parsed: ParsedText, name: str) -> UserError:
    """Return the error for rows with more or fewer cells than the first one."""
    n_cells = parsed.table.num_columns
    first = next(each for each in text.read_records() if len(each.cells) != n_cells)
    cure = "correct the row"
    if len(parsed.ragged_counts) > parsed.table.num_rows:
        cure = f"if the table begins there, give dataset.skip_rows={first.line - 1}"
        cure += "; if the first row lacks a name, add it" if len(first.cells) == n_cells + 1 else ""
    elif len(first.cells) == 1:
        cure += ", or remove it if it is a note"
    return UserError(
        f"line {first.line} of {name} has {count_nouns(len(first.cells), 'cell')}, but the first row has {n_cells}: "
        f"{shorten(text.layout.character.join(first.cells))!r}; {cure}."
    )


def _name_columns(table: pa.Table, layout: FileLayout, file: Path, notes: list[str]) -> pa.Table:
    """Return the rows with column names; an unnamed column is named by its number."""
    names = [""] * table.num_columns
    if layout.has_names:
        names = [str(column[0]) for column in table.columns]
        names, table = join_names(names, table.slice(1), notes)
        if layout.header is None and looks_like_data(names, table):
            raise UserError(
                f"the first row of dataset.path={str(file)!r} looks like data; add dataset.header=false to read it as "
                "data, or dataset.header=true if it holds the names of the columns."
            )
    names = [name if name.strip() else f"column_{number}" for number, name in enumerate(names, start=1)]
    require_different_names(names, f"{file.name} has", "rename them in the file")
    return table.rename_columns(names)


def _find_swallowed_rows(table: pa.Table, separator: str) -> list[str]:
    """Return a note for each column with cells that contain whole rows because of unclosed quotation marks."""
    n_separators = max(1, table.num_columns - 1)
    sentences = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        cells = column.filter(pc.match_substring(column, "\n")).slice(0, MAX_EXAMINED_CELLS).to_pylist()
        lines = [line for cell in cells for line in cell.split("\n")[1:]]
        row = next((line for line in lines if line.count(separator) >= n_separators), None)
        if row is not None:
            sentences.append(
                f"Column {name!r} has cells with line breaks, which contain a line that looks like a row, such as "
                f"{shorten(row)!r}; if it is one, a quotation mark above it is not closed "
                "(dataset.quote=null reads all quotation marks as text)."
            )
    return sentences


QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*\""""
VALUE = rf"""(?: {QUOTED} | [^\s,{{}}'"]++ | )"""
DECLARATION = re.compile(
    rf"""@attribute \s+
    ({QUOTED} | [^\s{{'"]++) \s*                          # the name
    (\{{ \s*+ {VALUE} (?: \s*+,\s*+ {VALUE} )*+ \s*+ \}}  # the values,
    | date \b [^%]* | [a-z]+)                           # or the name of the type, and the format of a date
    \s* (?: %.* )?                                      # a comment""",
    re.IGNORECASE | re.VERBOSE,
)
"""liac-arff takes exponential time on values without a closing brace, so they are never passed to it."""
CELL = re.compile(rf"{QUOTED} | [^\s,'\"]+", re.VERBOSE)
WEIGHT_IN_BRACES = re.compile(r"\{\s*+([\d.eE+-]++)\s*+\}$")
WEIGHT = "weight"
"""The column of the weights that stand behind rows."""
TYPES = ("numeric", "real", "integer", "string", "date", "nominal")
"""A nominal column is declared by its values in braces."""


def read_arff(file: Path, layout: FileLayout) -> Source:
    """Read an ARFF file; ``?`` without quotation marks is missing, and undeclared nominal values are refused."""
    require_package("arff", f"dataset.path={str(file)!r}, an ARFF file,")
    import arff

    names: list[str] = []
    weights: list[str] = []
    try:
        table = arff.load(_rewrite_lines(read_characters(file, layout), names, weights))
    except arff.ArffException as error:
        raise ValueError(str(error)) from error
    require_different_names(names, f"{file.name} declares")
    declared = {
        name: tuple(value for value in values if value is not None)
        for name, (_, values) in zip(names, table["attributes"], strict=True)
        if isinstance(values, list)
    }
    frame = pd.DataFrame(table["data"], columns=names, dtype=TEXT_TYPE)
    if {*weights} <= {"1"}:
        return Source(frame, declared=declared)
    frame[WEIGHT] = pd.array(weights, TEXT_TYPE)
    note = f"The weights of the rows, in braces, are column {WEIGHT!r} (dataset.drop=[{WEIGHT}] leaves them out)."
    return Source(frame, declared=declared, notes=(note,), weights=WEIGHT)


def _rewrite_lines(text: str, names: list[str], weights: list[str]) -> Iterator[str]:
    """Yield the lines of a file as liac-arff supports them; collect the original names, and the weights."""
    is_data = False
    for number, line in enumerate(StringIO(text, newline=None), start=1):
        words = line.strip().lower()
        if is_data and words and not words.startswith("%"):
            yield _rewrite_row(line.strip(), len(names), weights)
            continue
        is_data = is_data or words.startswith("@data")
        if is_data or not words.startswith("@attribute"):
            yield line
            continue
        found = DECLARATION.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"line {number} declares no column: {line.strip()!r}")
        name, declared = found.groups()
        is_nominal = declared.startswith("{")
        if not is_nominal and declared.split()[0].lower() not in TYPES:
            raise ValueError(f"line {number} declares {name} as {declared!r}; allowed are {', '.join(TYPES)}")
        names.append(re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name)
        yield f"@attribute c{len(names)} {declared if is_nominal else 'string'}"


def _rewrite_row(row: str, n_cells: int, weights: list[str]) -> str:
    """Return a row with commas between its cells and none behind them, and collect its weight.

    In WEKA, several commas and spaces are one separator, and a number in braces behind the cells is a weight.
    """
    weight = WEIGHT_IN_BRACES.search(row)
    weights.append(weight[1] if weight else "1")
    plain = row[: weight.start() if weight else None].rstrip(", \t")
    is_rewritten = plain[:1] != "{" and plain.count(",") < n_cells - 1
    return ",".join(CELL.findall(plain)) if is_rewritten else plain
