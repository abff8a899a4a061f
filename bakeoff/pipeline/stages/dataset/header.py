"""Headers of several rows: the types and roles that Orange declares, and the levels of columns of pandas."""

import re

import pyarrow as pa

from bakeoff.pipeline.stages.dataset.cells import NUMBER
from bakeoff.pipeline.stages.dataset.guesses import fits_column
from bakeoff.pipeline.stages.dataset.spelling import format_list_key

ORANGE_TYPE = r"[cdstn]|continuous|numeric|discrete|categorical|string|text|time|\S+( \S+)+"
"""A type of Orange, or the values of a nominal column."""
ORANGE_HEAD = re.compile(rf"({ORANGE_TYPE}|)\t([cmiw]|class|meta|ignore|weight|\S+=.*|)")
"""The type of a column, which Orange infers if it is empty, and its role below."""


def take_orange_rows(table: pa.Table, notes: list[str]) -> tuple[pa.Table, dict[str, tuple[str, ...]]]:
    """Return a table without the rows in which Orange declares types and roles, and its nominal columns.

    Parameters
    ----------
    table : Table of shape (n, d)
        The rows, of which the first has the names of the columns.
    notes : list of str
        To which a sentence is added if there are such rows.
    """
    heads = [[name, *map(str.strip, below)] for name, *below in _read_heads(table, 3)]
    n_types = sum(any(head[1:2]) for head in heads)
    if 2 * n_types < len(heads) or not all(ORANGE_HEAD.fullmatch("\t".join(head[1:])) for head in heads):
        return table, {}
    unused = [name for name, _, role in heads if role[:1] in ("m", "i", "w")]
    cure = f" {format_list_key('drop', unused)} leaves out the columns that Orange does not learn from." * bool(unused)
    notes.append(f"Lines 2 and 3 declare types and roles, as Orange writes them.{cure}")
    nominal: dict[str, tuple[str, ...]] = {name: () for name, kind, _ in heads if kind[:1] == "d" or " " in kind}
    return pa.concat_tables([table.slice(0, 1), table.slice(3)]), nominal


def _read_heads(table: pa.Table, n_rows: int) -> list[list[str]]:
    """Return the first cells of each column."""
    return [list(map(str, column.slice(0, n_rows))) for column in table.columns]


def join_names(names: list[str], table: pa.Table, notes: list[str]) -> tuple[list[str], pa.Table]:
    """Return the names of columns that have levels in pandas, in one or more rows, and the rows below them.

    Parameters
    ----------
    names : list of str
        The first row, which repeats a name if there are levels.
    table : Table of shape (n, d)
        The rows below.
    notes : list of str
        To which a sentence is added if names are joined.
    """
    heads = _read_heads(table, 2)
    if len({*names}) == len(names) or len(heads[0]) < 2:
        return names, table
    joined = ["_".join(filter(None, (name, head[0]))) for name, head in zip(names, heads, strict=True)]
    has_index = not any(head[1] for head in heads[1:])  # the second row below has its name alone
    joined[0] = heads[0][1] if has_index else joined[0]
    below = table.slice(1 + has_index)
    levels = [head[0] for head, column in zip(heads, below.columns, strict=True) if fits_column("0", column)]
    texts = [level for level in levels if level and not NUMBER.fullmatch(level)]
    if len({*joined}) < len(joined) or not texts or any(map(NUMBER.fullmatch, levels)):
        return names, table
    notes.append(f"The names in two rows are joined, as in {joined[1]!r} (dataset.skip_rows=1 takes the second row).")
    return joined, below
