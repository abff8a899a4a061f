"""Formats of tables that commands write, by the extension of the file.

Names of classes, of columns and of rows come from files of others. A spreadsheet runs a cell such as ``=HYPERLINK(…)``
when it opens a CSV file, and takes an apostrophe before it for the sign that the cell is text. So text that it would
run has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.tables.table import Table
from bakeoff.pipeline.text.wording import count_nouns, join_words

if TYPE_CHECKING:
    import pandas as pd


MARK = "'"
FORMULA = re.compile("'*[=+\\-@\t\r\n\0＝＋－＠]")
"""The beginning of text that needs a mark: a sign that begins a formula, or this sign behind marks."""
NUMBER = re.compile(r"[+-](?:[0-9.,]*[0-9][0-9.,]*(?:e[+-]?[0-9]+)?%?|inf|nan)", re.IGNORECASE)
"""Numbers with a sign, also with a decimal comma or thousands; they are no formulas."""
MARK_NOTE = "text that begins with =, +, - or @ has an apostrophe before it, so that a spreadsheet does not run it"


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
    escaped = _escape_table(table)
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


def describe_escapes(table: pd.DataFrame) -> str:
    """Return a sentence about the text that `write_csv` escapes; empty if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> describe_escapes(pd.DataFrame({"id": ["=1", "b", "@c"], "x": [-1, 2, 3]})).partition(";")[0]
    'formulas in 2 cells of id'
    """
    names = [name for name in map(str, table.columns) if escape_text(name) != name]
    counts = [_count_escapes(table.iloc[:, position]) for position in range(table.shape[1])]
    columns = [str(name) for name, count in zip(table.columns, counts, strict=True) if count]
    what = [f"the names of columns {', '.join(names)}"] if names else []
    if columns:
        what.append(f"{count_nouns(sum(counts), 'cell')} of {', '.join(columns)}")
    return f"formulas in {join_words(what)}; {MARK_NOTE}" if what else ""


def describe_escaped_names(names: Iterable[str]) -> str:
    """Return a sentence about names that `write_csv` escapes; empty if there are none.

    Examples
    --------
    >>> describe_escaped_names(["a", "=b"]).partition(";")[0]
    'formulas in names: =b'
    """
    escaped = [name for name in dict.fromkeys(names) if escape_text(name) != name]
    if not escaped:
        return ""
    return f"formulas in names: {', '.join(escaped)}; {MARK_NOTE}"


def _escape_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its cells and the names of its columns escaped; the one given stays as it is."""
    import pandas as pd

    escaped = table.copy(deep=False)
    for position in range(table.shape[1]):
        column = table.iloc[:, position]
        if _may_hold_text(column):
            escaped.isetitem(position, pd.Series(map(_escape_cell, column), dtype=object).to_numpy())
    escaped.columns = pd.Index([_escape_cell(name) for name in table.columns])
    return escaped


def _count_escapes(column: pd.Series[Any]) -> int:
    if not _may_hold_text(column):
        return 0
    return sum(isinstance(cell, str) and escape_text(cell) != cell for cell in column)


def _escape_cell(cell: Any) -> Any:
    return escape_text(cell) if isinstance(cell, str) else cell


def _may_hold_text(column: pd.Series[Any]) -> bool:
    # Numbers, dates and truth values are written by pandas itself.
    return column.dtype.kind == "O"


def make_records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield each row of a table as a mapping of cells that JSON can hold; a missing or infinite cell is None.

    Parameters
    ----------
    table : DataFrame of shape (m, k)
        With different names.

    Examples
    --------
    >>> import pandas as pd
    >>> list(make_records(pd.DataFrame({"a": [1, 2], "b": [0.1, float("nan")]})))
    [{'a': 1, 'b': 0.1}, {'a': 2, 'b': None}]
    """
    names = [str(name) for name in table.columns]
    columns = [[_make_json_cell(cell) for cell in table[name]] for name in table.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(names, cells, strict=True))


def format_json(value: Any) -> str:
    """Return a value as JSON; floats have all their digits.

    Examples
    --------
    >>> format_json({"é": 0.1 + 0.2})
    '{"é": 0.30000000000000004}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _make_json_cell(cell: Any) -> Any:
    import numpy as np
    import pandas as pd

    if isinstance(cell, float) and not np.isfinite(cell):
        return None  # JSON has no such numbers
    if pd.isna(cell):
        return None
    if isinstance(cell, np.generic):
        return _make_json_cell(cell.item())
    if isinstance(cell, date):
        return cell.isoformat()
    return cell


def _write_tsv(table: pd.DataFrame, path: Path) -> None:
    write_csv(table, path, separator="\t")


def _write_parquet(table: pd.DataFrame, path: Path) -> None:
    table.to_parquet(path, index=False)


def _write_arrow(table: pd.DataFrame, path: Path) -> None:
    import pyarrow as pa

    converted = pa.Table.from_pandas(table, preserve_index=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, converted.schema) as writer:
        writer.write_table(converted)


def _write_json_lines(table: pd.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in make_records(table):
            file.write(f"{format_json(record)}\n")


WRITERS: Mapping[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": write_csv,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
    ".feather": _write_arrow,
    ".arrow": _write_arrow,
    ".jsonl": _write_json_lines,
}
"""Extension -> function that writes a table."""
ESCAPED_FORMATS = (".csv", ".tsv")
"""Formats in which a spreadsheet would run text as a formula."""
