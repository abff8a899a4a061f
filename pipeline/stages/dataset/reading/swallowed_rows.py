"""Rows inside of a cell: what two quotation marks that are not closed make of the rows between them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

LINE_BREAK = "\n"
MAX_EXAMINED_CELLS = 1000
"""Of a column, with line breaks."""

MAX_SHOWN_LETTERS = 60


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
