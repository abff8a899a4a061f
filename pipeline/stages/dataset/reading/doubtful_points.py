"""Points that may separate groups of digits, as in 1.234, in a file that shows no other sign of numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.stages.dataset.reading.layout import POINT, FileLayout
from bakeoff.pipeline.stages.dataset.reading.number_signs import MIN_NUMBER_FRACTION, SIGN, measure_fraction

LEADING_GROUP = rf"^{SIGN}[1-9]\d{{0,2}}(\.\d{{3}})+$"
WHOLE_OR_GROUPED = rf"^{SIGN}(0|[1-9]\d{{0,2}})(\.\d{{3}})*$"
"""A whole number below 1000, or one with points between groups of digits."""
N_FIRST_CELLS = 100
MIN_GROUPED_CELLS = 5
"""Of fewer cells with a point, three digits behind each are no sign of anything."""


def doubt_points(table: pa.Table, layout: FileLayout) -> list[str]:
    """Return a sentence about columns in which every point may separate groups of digits; nothing if there are none.

    Parameters
    ----------
    table : Table of shape (n, d)
        Of text, in which no signs of numbers were recognised.
    layout : FileLayout
        If it gives a sign, there is no doubt.
    """
    if layout.decimal is not None or layout.thousands is not None:
        return []
    found = {name: example for name in table.column_names if (example := _find_group(table.column(name)))}
    if not found:
        return []
    names = ", ".join(map(repr, found))
    first = next(iter(found.values()))
    where = "columns" if len(found) > 1 else "column"
    return [
        f"The point in {where} {names} is taken for a decimal sign, as in {first} "
        "(dataset.decimal=point confirms it); if it stands between groups of digits, add dataset.thousands=point."
    ]


def _find_group(column: pa.ChunkedArray) -> str:
    """Return a cell such as 1.234 of a column whose points all have three digits behind; empty for another column."""
    # Nearly all columns of decimals are told by their first cells, and a search in all takes as long as to read them.
    first_cells = column.slice(0, N_FIRST_CELLS)
    if not all(_may_be_grouped(cells) for cells in (first_cells, column)):
        return ""
    pointed = column.filter(pc.match_substring(column, POINT))
    return "" if len(pointed) < MIN_GROUPED_CELLS else str(pointed[0])


def _may_be_grouped(column: pa.ChunkedArray) -> bool:
    """Return whether all cells with a point are like 1.234, and nearly all other cells are whole numbers."""
    filled = pc.drop_null(column.filter(pc.not_equal(column, "")))
    pointed = filled.filter(pc.match_substring(filled, POINT))
    has_groups_alone = measure_fraction(pointed, LEADING_GROUP) == 1.0 if len(pointed) else True
    return has_groups_alone and measure_fraction(filled, WHOLE_OR_GROUPED) >= MIN_NUMBER_FRACTION
