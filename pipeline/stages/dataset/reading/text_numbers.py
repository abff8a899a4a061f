"""Numbers that a sheet or JSON holds as text, such as "12,5"."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.number_signs import spell_numbers

SIGN_KEYS = ("decimal", "thousands")
"""The keys of a layout about numbers in text."""


def spell_text_cells(
    frame: pd.DataFrame, layout: FileLayout, source: str
) -> tuple[pd.DataFrame, tuple[str, ...], Mapping[str, str]]:
    """Spell numbers in text with a decimal point, as those of a text file are.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        Of objects; those that are not text stay as they are.
    layout : FileLayout
        If it gives neither sign, commas are recognised where they can have one meaning only.
    source : str
        For messages.

    Returns
    -------
    frame : DataFrame of shape (n, d)
    notes : tuple of str
        The signs that were recognised.
    guessed : mapping of str to str
        The keys of a layout that give these signs.

    Raises
    ------
    UserError
        A comma, or a point, may have two meanings.
    """
    is_text = frame.map(lambda cell: isinstance(cell, str))
    names = [str(name) for name in frame if is_text[name].any()]
    if not names:
        return frame, (), {}
    table = pa.table({name: pa.array(frame[name].where(is_text[name], None), pa.string()) for name in names})
    spelled = spell_numbers(table, layout, source)
    columns = {name: pd.Series(spelled.table[name].to_pylist(), dtype=object) for name in names}
    changed = {name: frame[name].mask(is_text[name], columns[name]) for name in names}
    return frame.assign(**changed), tuple(spelled.notes), spelled.guessed
