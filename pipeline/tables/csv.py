"""CSV files that bakeoff writes: text that a spreadsheet would run as a formula has an apostrophe before it.

Names of classes, of columns and of rows come from files of others. A spreadsheet runs a cell such as ``=HYPERLINK(…)``
when it opens a CSV file, and takes an apostrophe before it for the sign that the cell is text. `unescape_text` gives
the text back, whatever it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.text.words import count_nouns, join_words

if TYPE_CHECKING:
    import pandas as pd

MARK = "'"
FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
"""The beginning of text that needs a mark: a sign that begins a formula, or this sign behind marks."""
MARKED = re.compile(f"{MARK}{FORMULA.pattern}")
NUMBER = re.compile(r"[+-](?:[0-9.,]*[0-9][0-9.,]*(?:e[+-]?[0-9]+)?%?|inf|nan)", re.IGNORECASE)
"""Numbers with a sign, also with a decimal comma or thousands; they are no formulas."""
SIGNS = "=, +, - or @"


def escape_text(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay.

    References
    ----------
    OWASP, "CSV Injection"; CWE-1236.

    Examples
    --------
    >>> [escape_text(text) for text in ("=1+1", "-5", "+1,5e3", "-x", "a=b", "'=1")]
    ["'=1+1", '-5', '+1,5e3', "'-x", 'a=b', "''=1"]
    """
    is_formula = FORMULA.match(text) is not None and NUMBER.fullmatch(text) is None
    return f"{MARK}{text}" if is_formula else text


def unescape_text(text: str) -> str:
    """Return the text that `escape_text` was given.

    Examples
    --------
    >>> [unescape_text(text) for text in ("'=1+1", "-5", "''=1", "'quoted'")]
    ['=1+1', '-5', "'=1", "'quoted'"]
    """
    return text[len(MARK) :] if MARKED.match(text) else text


def write_csv(table: pd.DataFrame, target: Any, *, separator: str = ",", has_index: bool = False) -> None:
    """Write a table whose text is escaped.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
    target : Path or text stream
    separator : str
    has_index : bool
        Whether to write the index as the first column.
    """
    escaped = escape_table(table)
    if has_index:
        name = table.index.name
        escaped.index = table.index.map(_escape_cell).rename(None if name is None else escape_text(str(name)))
    escaped.to_csv(target, sep=separator, index=has_index)


def render_csv(table: Table) -> str:
    """Return a table of texts as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (table.columns, *table.rows):
        writer.writerow(escape_text(cell.text) for cell in row)
    return text.getvalue()


def escape_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its cells and the names of its columns escaped; the one given stays as it is.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
    """
    return _replace_texts(table, escape_text)


def read_csv(file: Path, text_columns: Iterable[str]) -> pd.DataFrame:
    """Read a file of `write_csv`; each cell is what was written, a label such as ``NA`` included.

    Parameters
    ----------
    file : Path
    text_columns : iterable of str
        Those whose cells are text, whatever they look like; in the others, cells are numbers where all of them are.
    """
    import pandas as pd

    table = pd.read_csv(file, dtype=dict.fromkeys(text_columns, str), keep_default_na=False)
    return _replace_texts(table, unescape_text)


def describe_escapes(table: pd.DataFrame) -> str:
    """Return a sentence about the text that `write_csv` escapes; empty if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> describe_escapes(pd.DataFrame({"id": ["=1", "b", "@c"], "x": [-1, 2, 3]})).partition(";")[0]
    '2 cells of id begin with =, +, - or @ and are no numbers'
    """
    names = [name for name in map(str, table.columns) if escape_text(name) != name]
    counts = [_count_escapes(table.iloc[:, position]) for position in range(table.shape[1])]
    columns = [str(name) for name, count in zip(table.columns, counts, strict=True) if count]
    what = [f"the names of columns {', '.join(names)}"] if names else []
    n_cells = sum(counts)
    if n_cells:
        what.append(f"{count_nouns(n_cells, 'cell')} of {', '.join(columns)}")
    if not what:
        return ""
    is_one = n_cells == 1 and not names
    verbs = "begins with {} and is no number" if is_one else "begin with {} and are no numbers"
    return f"{join_words(what)} {verbs.format(SIGNS)}; {_describe_mark('it' if is_one else 'them')}"


def describe_escaped_names(names: Iterable[str]) -> str:
    """Return a sentence about names that `write_csv` escapes; empty if there are none.

    Examples
    --------
    >>> describe_escaped_names(["a", "=b"]).partition(";")[0]
    'names that begin with =, +, - or @: =b'
    """
    escaped = [name for name in dict.fromkeys(names) if escape_text(name) != name]
    if not escaped:
        return ""
    return f"names that begin with {SIGNS}: {', '.join(escaped)}; {_describe_mark('them')}"


def _describe_mark(pronoun: str) -> str:
    return f"in CSV files an apostrophe before {pronoun} keeps spreadsheets from running {pronoun} as formulas"


def _replace_texts(table: pd.DataFrame, replace: Callable[[str], str]) -> pd.DataFrame:
    import pandas as pd

    replaced = table.copy(deep=False)
    for position in range(table.shape[1]):
        column = table.iloc[:, position]
        if _may_hold_text(column):
            cells = [replace(cell) if isinstance(cell, str) else cell for cell in column]
            replaced.isetitem(position, pd.Series(cells, dtype=object).to_numpy())
    replaced.columns = pd.Index([replace(name) if isinstance(name, str) else name for name in table.columns])
    return replaced


def _count_escapes(column: pd.Series[Any]) -> int:
    if not _may_hold_text(column):
        return 0
    return sum(isinstance(cell, str) and escape_text(cell) != cell for cell in column)


def _escape_cell(cell: Any) -> Any:
    return escape_text(cell) if isinstance(cell, str) else cell


def _may_hold_text(column: pd.Series[Any]) -> bool:
    # Numbers, dates and truth values are written by pandas itself.
    return column.dtype.kind == "O"
