"""Rows that are no cases: totals, subtotals and notes below the table, which are reported, and left out on request."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.source import TEXT_TYPE, Source
from bakeoff.pipeline.stages.dataset.spelling import format_list_key, spell_cell
from bakeoff.pipeline.stages.dataset.table import IDENTIFIER, NOMINAL, TEXT, Column
from bakeoff.pipeline.text.wording import count_nouns

TOTAL = r"(?i)^\s*(grand |sub-?)?(totals?|sum|summe|gesamt(summe)?|zwischensumme|insgesamt|somme|totale)\s*:?\s*$"
"""The cells that name a row of sums."""
MIN_SUMMED_ROWS = 3
MIN_SUMS_SHARE = 0.5
"""A row has the sums of the rows above if at least this share of its numbers does."""
N_LAST_ROWS = 10
MIN_COLUMNS = 3


def leave_out_rows(source: Source, rules: ColumnRules) -> Source:
    """Return a source without the rows that have one of the cells in ``drop_rows``, and with their number in a note.

    Raises
    ------
    UserError
        No rows remain.
    """
    if not rules.drop_rows:
        return source
    given = [*map(spell_cell, rules.drop_rows)]
    is_kept = ~source.frame.map(spell_cell, na_action="ignore").isin(given).any(axis=1)  # (n,)
    if not is_kept.any():
        raise UserError(f"{format_list_key('drop_rows', given)} leaves out all rows; remove some of these cells.")
    parts = None if source.parts is None else source.parts[is_kept]
    note = f"Left out by dataset.drop_rows: {count_nouns(int((~is_kept).sum()), 'row')}."
    frame = source.frame[is_kept].reset_index(drop=True)
    return replace(source, frame=frame, parts=parts, notes=(*source.notes, note))


def suspect_rows(columns: Mapping[str, Column], frame: pd.DataFrame, numbers: pd.DataFrame) -> dict[str, Column]:
    """Return columns, the first with suspicions about rows that may be no cases.

    Parameters
    ----------
    columns : mapping of str to Column
    frame : DataFrame of shape (n, d)
        The cells as in the source.
    numbers : DataFrame of shape (n, k)
        The numeric columns.
    """
    first = next(iter(columns.values()))
    labelled = [name for name, column in columns.items() if column.kind in (NOMINAL, IDENTIFIER, TEXT)]
    sums = _find_labels(frame[labelled]) or _find_sums(frame, numbers)
    found = [
        f"Rows that may be no cases: {what}, as with {', '.join(map(repr, cells))}; "
        f"{format_list_key('drop_rows', cells)} leaves them out."
        for what, cells in (("sums of other rows", sums), ("notes below the table", _find_notes(frame)))
        if cells
    ]
    return {**columns, first.name: replace(first, suspicions=(*first.suspicions, *found))}


def _find_labels(frame: pd.DataFrame) -> list[str]:
    """Return the cells that name a row of sums."""
    texts = frame.select_dtypes(["string", "category"]).astype(TEXT_TYPE)
    return sorted({cell for _, text in texts.items() for cell in text[text.str.match(TOTAL, na=False)]})


def _find_sums(frame: pd.DataFrame, numbers: pd.DataFrame) -> list[str]:
    """Return a cell of the last row, if it has the sums of the rows above."""
    above, last = numbers.iloc[:-1], numbers.iloc[-1]
    is_sum = ((above != 0).sum() >= MIN_SUMMED_ROWS) & np.isclose(last, above.sum(), atol=0)
    is_total = is_sum.sum() >= max(1, MIN_SUMS_SHARE * last.notna().sum())
    return [spell_cell(frame[is_sum.idxmax()].iloc[-1])] if is_total else []


def _find_notes(frame: pd.DataFrame) -> list[str]:
    """Return the cells of the last rows, if they have a single one."""
    tail = frame.tail(N_LAST_ROWS).astype(object)[::-1].to_numpy()
    filled = [[spell_cell(cell) for cell in row if not pd.isna(cell) and cell != ""] for row in tail]
    notes = [*takewhile(lambda cells: len(cells) == 1, filled)] if frame.shape[1] >= MIN_COLUMNS else []
    return [cell for (cell,) in notes] if len(notes) < len(filled) else []
