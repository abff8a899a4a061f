"""ARFF files, the format of WEKA and OpenML: declared columns, then rows of cells between commas.

liac-arff reads them. It knows no dates, cuts 1.5 to 1 in a column that is declared as integer, and keeps backslashes in
names. So columns are declared to it as text under names of our own, except for nominal ones, whose cells it checks; the
declared types are applied here, where a cell that disagrees is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.content import name_source, read_characters
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.stages.dataset.size_limits import require_few_columns
from bakeoff.pipeline.stages.dataset.source import (
    TEXT_TYPE,
    Source,
    arrow_to_column,
    make_source,
    require_different_names,
)

DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"
DATE_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S", "SSS": "%f",
}  # fmt: skip
"""Java's letters for the parts of a date -> those of Python, the longer ones first."""
QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*\""""
VALUE = rf"""(?: {QUOTED} | [^\s,{{}}'"]+ | )"""
DECLARATION = re.compile(
    rf"""@attribute \s+
    ({QUOTED} | [^\s{{'"]+) \s*                       # the name
    (\{{ \s* {VALUE} (?: \s*,\s* {VALUE} )* \s* \}}   # the values,
    | [a-z]+)                                        # or the name of the type
    \s* (.*)                                         # the format of a date, or a comment""",
    re.IGNORECASE | re.VERBOSE,
)
"""liac-arff takes exponential time for values without a closing brace, so they are never passed to it."""
NUMBERS = ("numeric", "real", "integer")
NOMINAL = "nominal"
DATE = "date"
TYPES = (*NUMBERS, "string", DATE, NOMINAL)
"""A nominal column is declared by its values in braces."""


@dataclass(frozen=True)
class Attribute:
    """A declared column.

    Attributes
    ----------
    name : str
    type : str
        One of `TYPES`.
    format : str
        Of a date, with the letters of Java; empty for the default.
    """

    name: str
    type: str
    format: str = ""


@dataclass(frozen=True)
class ArffLines:
    """The lines of a file passed to liac-arff, with findings about them.

    Attributes
    ----------
    stream : iterable of str
    layout : FileLayout
    attributes : list of Attribute
        Filled while the header is read.
    row_lines : list of int
        The number of the line of each row, from 1, filled while the rows are read.
    """

    stream: IO[str]
    layout: FileLayout
    attributes: list[Attribute] = field(default_factory=list)
    row_lines: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[str]:
        is_data = False
        for number, line in enumerate(self.stream, start=1):
            stripped = line.strip()
            if is_data:
                self._note_row(stripped, number)
                yield line
            elif stripped.lower().startswith("@attribute"):
                yield self._rewrite_declaration(stripped, number)
            else:
                is_data = stripped.lower().startswith("@data")
                yield line

    def _note_row(self, line: str, number: int) -> None:
        if not line or line.startswith("%"):
            return
        self.row_lines.append(number)
        if line.startswith("{"):
            raise ValueError(f"line {number} is a sparse row, which is not read; write the rows in full")

    def _rewrite_declaration(self, line: str, number: int) -> str:
        """Return a declaration that liac-arff understands."""
        found = DECLARATION.fullmatch(line)
        if found is None:
            raise ValueError(f"line {number} declares no column: {line!r}")
        name, declared, rest = found.groups()
        is_nominal = declared.startswith("{")
        kind = NOMINAL if is_nominal else declared.lower()
        is_bare = not rest or rest.startswith("%")
        if kind not in TYPES or not (is_bare or kind == DATE):
            known = ", ".join(TYPES)
            raise ValueError(f"line {number} declares {name} as {f'{declared} {rest}'.strip()!r}; allowed are {known}")
        self.attributes.append(Attribute(_unquote(name), kind, "" if is_bare else _unquote(rest)))
        require_few_columns(len(self.attributes), self.layout.max_columns, "the ARFF file (so far)")
        return f"@attribute c{len(self.attributes)} {declared if is_nominal else 'string'}"


def read_arff(file: Path, layout: FileLayout) -> Source:
    """Read an ARFF file, compressed or not.

    Parameters
    ----------
    file : Path
    layout : FileLayout
        With default values except for the encoding.

    Returns
    -------
    Source
        Numbers are float64 or integers, all other cells text; a cell ``?`` without quotation marks is missing.

    Raises
    ------
    UserError
        The package liac-arff is missing, or a key of the layout was set that ARFF does not have.
    ValueError
        The file is no ARFF, or a cell disagrees with its declaration.
    """
    layout.reject_keys(file, "ARFF", allowed=("encoding",))
    arff = _import_arff(file)
    lines = ArffLines(StringIO(read_characters(file, layout), newline=None), layout)
    try:
        table = arff.load(lines)
    except arff.ArffException as error:
        raise ValueError(_translate_error(error, lines)) from error
    attributes = lines.attributes
    require_different_names([attribute.name for attribute in attributes], f"{file.name} declares")
    cells = pd.DataFrame(table["data"], columns=range(len(attributes)), dtype=TEXT_TYPE)
    columns = {
        each.name: _convert_cells(cells[number], each, lines.row_lines) for number, each in enumerate(attributes)
    }
    declared = {
        attribute.name: tuple(value for value in values if value is not None)
        for attribute, (_, values) in zip(attributes, table["attributes"], strict=True)
        if attribute.type == NOMINAL
    }
    return replace(make_source(pd.DataFrame(columns), *name_source(file)), declared=declared)


def _import_arff(file: Path) -> Any:
    try:
        import arff
    except ModuleNotFoundError:
        raise UserError(
            f'dataset.path={str(file)!r} is ARFF, which needs the package liac-arff: pip install "bakeoff[arff]".'
        ) from None
    return arff


def _convert_cells(cells: pd.Series, attribute: Attribute, row_lines: Sequence[int]) -> pd.Series:
    """Return the cells of a column, as numbers or dates if it is declared so."""
    if attribute.type in NUMBERS:
        for type_ in (pa.int64(), pa.float64()):
            with suppress(pa.ArrowInvalid):
                return arrow_to_column(pa.chunked_array([pc.cast(pa.array(cells, pa.string()), type_)]))
        parsed, declaration, noun = pd.to_numeric(cells, errors="coerce"), attribute.type, "a number"
    elif attribute.type == DATE:
        java_format = attribute.format or DEFAULT_DATE
        parsed = pd.to_datetime(cells, format=_translate_format(java_format), errors="coerce")
        declaration, noun = f"date {java_format!r}", "such a date"
    else:
        return cells
    is_wrong = parsed.isna() & cells.notna()
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise ValueError(
            f"line {row_lines[row]}: column {attribute.name!r} is declared as {declaration}, but {cells[row]!r} is not "
            f"{noun}"
        )
    return parsed


def _translate_format(java_format: str) -> str:
    """Return the format of a date in the letters of Python."""
    for letters, directive in DATE_LETTERS.items():
        java_format = java_format.replace(letters, directive)
    return java_format.replace("'", "")


def _unquote(name: str) -> str:
    """Return the name of a column without quotation marks."""
    if name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name


def _translate_error(error: Any, lines: ArffLines) -> str:
    """Return the message of an error of liac-arff, as a part of a sentence."""
    at = f"line {error.line}" if error.line > 0 else "the first line"
    cell = re.sub(r" not found in nominal declaration.*|^Data value ", "", str(error))
    d = len(lines.attributes)
    is_row = bool(lines.row_lines)
    part = "row: cells between commas, text with spaces in quotation marks" if is_row else "header"
    messages = {
        "BadNominalValue": f"{at} holds {cell!r}, which is not among the values that its column declares",
        "BadDataFormat": f"{at} does not hold {d} cells, as many as columns are declared",
        "BadLayout": f"{at} is not an ARFF {part}",
    }
    return messages.get(type(error).__name__, str(error))
