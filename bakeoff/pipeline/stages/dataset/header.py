"""Headers of several rows: the types and roles that Orange declares, and the levels of columns of pandas."""

import re

import pyarrow as pa

from bakeoff.pipeline.stages.dataset.cells import NUMBER
from bakeoff.pipeline.stages.dataset.guesses import fits_column
from bakeoff.pipeline.stages.dataset.spelling import format_list_key

ORANGE_TYPE = re.compile(r"|[cdstn]|continuous|numeric|discrete|categorical|string|text|time|\S+( \S+)+")
"""A type of Orange, or the values of a nominal column."""
ORANGE_ROLE = re.compile(r"|[cmiw]|class|meta|ignore|weight|\S+=.*")


def take_orange_rows(table: pa.Table, notes: list[str]) -> tuple[pa.Table, dict[str, tuple[str, ...]], str | None]:
    """Return a table without the rows in which Orange declares types and roles, its nominal columns, and its weights.

    Parameters
    ----------
    table : Table of shape (n, d)
        The rows, of which the first has the names of the columns.
    notes : list of str
        To which a sentence is added if there are such rows.
    """
    names, types, roles = _read_rows(table.slice(0, 3)) if table.num_rows > 3 else 3 * [[""]]
    is_declared = all(map(ORANGE_TYPE.fullmatch, types)) and all(map(ORANGE_ROLE.fullmatch, roles))
    if not (is_declared and any(types)):
        return table, {}, None
    name_of = {role[:1]: name for name, role in zip(names, roles, strict=True)}
    unused = [name for name, role in zip(names, roles, strict=True) if role[:1] in ("m", "i")]
    cure = f" {format_list_key('drop', unused)} leaves out the columns that Orange does not learn from." * bool(unused)
    notes.append(f"Lines 2 and 3 declare types and roles, as Orange writes them.{cure}")
    nominal = {name: () for name, kind in zip(names, types, strict=True) if kind[:1] == "d" or " " in kind}
    return pa.concat_tables([table.slice(0, 1), table.slice(3)]), nominal, name_of.get("w")


def _read_rows(table: pa.Table) -> list[list[str]]:
    return [list(map(str, row.values())) for row in table.to_pylist()]


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
    if len({*names}) == len(names) or table.num_rows < 3:
        return names, table
    second, third = _read_rows(table.slice(0, 2))
    joined = ["_".join(filter(None, levels)) for levels in zip(names, second, strict=True)]
    below = table.slice(1)
    if not any(third[1:]):  # only the index has a name in this row
        joined[0] = third[0]
        below = table.slice(2)
    numeric = [cell for cell, column in zip(second, below.columns, strict=True) if cell and fits_column("0", column)]
    if len({*joined}) < len(joined) or not numeric or any(map(NUMBER.fullmatch, numeric)):
        return names, table
    example = next(name for name, first in zip(joined, names, strict=True) if name != first != "")
    notes.append(f"The names in two rows are joined, as in {example!r} (dataset.skip_rows=1 takes the second row).")
    return joined, below
