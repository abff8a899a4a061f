"""The target of a source that knows its own."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bakeoff.pipeline.errors import UserError


def choose_target(
    frame: pd.DataFrame, known: Sequence[str], wanted: str | None, owner: str
) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Choose the column to predict of a table whose source names one or several targets.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
        With the targets among its columns.
    known : sequence of str
        The targets that the source names.
    wanted : str or None
        The column that the user names.
    owner : str
        The source, in a sentence.

    Returns
    -------
    frame : DataFrame of shape (n, d')
        Without the other targets, of which each would give the chosen one away.
    target : str
    notes : tuple of str

    Raises
    ------
    UserError
        The source names no target or several, and the user none.
    """
    if wanted is None and len(known) != 1:
        named = f"{len(known)} targets: {', '.join(known)}" if known else "no target"
        raise UserError(f"{owner} names {named}; choose a column with dataset.target=NAME.")
    target = known[0] if wanted is None else wanted
    if target not in known:
        others = ", ".join(map(repr, known))
        note = (f"The target that {owner} names is a column like the others: {others}.",) if known else ()
        return frame, target, note
    left_out = [name for name in known if name != target]
    if not left_out:
        return frame, target, ()
    note = (f"The other targets that {owner} names are left out: {', '.join(map(repr, left_out))}.",)
    return frame.drop(columns=left_out), target, note
