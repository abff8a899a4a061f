"""Kinds that the user declares, checked against the cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.column import DATE, NUMERIC, ORDERED
from bakeoff.pipeline.stages.dataset.columns.cells import Cells
from bakeoff.pipeline.stages.dataset.columns.dates import count_dates, find_date_formats, parse_dates
from bakeoff.pipeline.stages.dataset.columns.infer import shorten
from bakeoff.pipeline.stages.dataset.columns.key_text import format_list_key

MAX_SHOWN_CELLS = 3


def check_declared_kind(
    cells: Cells, kind: str, claim: str, date_format: str = "", ordered: tuple[str, ...] = ()
) -> None:
    """Reject a declared kind that the cells do not have.

    Parameters
    ----------
    cells : Cells
    kind : str
    claim : str
        Who says that they have it, as the beginning of a sentence: ``dataset.numeric names 'age'``.
    date_format : str
        That is given for a column of dates; empty if there is none.
    ordered : tuple of str
        The values of an ordered column, in canonical spelling.

    Raises
    ------
    UserError
        It names a cell, its row and the cure.
    """
    if kind == NUMERIC:
        _require_numbers(cells, claim)
    elif kind == DATE:
        find_date_format(cells, date_format, claim)
    elif kind == ORDERED:
        _require_values(cells, ordered, claim)


def find_date_format(cells: Cells, given: str = "", claim: str = "") -> str:
    """Return the format of a column of dates.

    Parameters
    ----------
    cells : Cells
    given : str
        By the user; empty if it is to be found.
    claim : str
        Who says that they are dates; empty if the cells do.

    Raises
    ------
    UserError
        A cell is not a date, or day and month cannot be told apart.
    """
    if cells.dates is not None:
        return ""
    spellings = cells.distinct.spellings
    if given:
        if count_dates(spellings, given) < len(spellings):
            wrong = parse_dates(spellings, given).isna().to_numpy()  # (k,)
            cell = spellings[int(np.flatnonzero(wrong)[0])]
            raise UserError(
                f"{claim}, but {_locate(cells, cell)} is not a date of the format {given!r}; correct the cell, or take "
                f"such cells for missing with {format_list_key('na_values', [cell])}."
            )
        return given
    formats = find_date_formats(spellings)
    if not formats:
        sample = spellings[0] if spellings else ""
        sign = next((character for character in sample if not character.isalnum()), ".")
        raise UserError(
            f"{claim}, but no format fits all its cells, such as {_locate(cells, sample)}. "
            f'Give it: dataset.dates={{{cells.name}: "%d{sign}%m{sign}%Y"}}; dataset.na_values=[…] names missing cells.'
        )
    if len(formats) > 1:
        choices = " or ".join(f'dataset.dates={{{cells.name}: "{each}"}}' for each in formats)
        raise UserError(
            f"the dates of {cells.name!r}, such as {spellings[0]!r}, have the day or the month first; say which: "
            f"{choices}."
        )
    return formats[0]


def _require_numbers(cells: Cells, claim: str) -> None:
    others: Mapping[str, int] = cells.reading.others
    if not others:
        return
    first = next(iter(others))
    n_cells = sum(others.values())
    further = f" and {n_cells - 1} further cells are not numbers" if n_cells > 1 else " is not a number"
    key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
    raise UserError(
        f"{claim}, but {_locate(cells, first)}{further}; correct the cell, or take such cells for missing with {key}."
    )


def _require_values(cells: Cells, ordered: tuple[str, ...], claim: str) -> None:
    unknown = [value for value in cells.distinct.values if value not in ordered]
    if unknown:
        raise UserError(
            f"{claim} with the values {', '.join(ordered)}, but {_locate(cells, unknown[0])} is "
            "none of them; add it to the list, or take it for missing with "
            f"{format_list_key('na_values', unknown[:1])}."
        )


def _locate(cells: Cells, cell: str) -> str:
    """Return a cell in quotes with the number of its first row, from 1."""
    if cells.text is None:
        return repr(cell)
    position = cells.text.index(cell).as_py()
    where = "" if position < 0 else f" in row {position + 1}"
    return f"{shorten(cell)!r}{where}"
