"""The columns of a file that are copied beside its predictions, so that it is known which row is which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.rows_of_file import read_list
from bakeoff.pipeline.errors import UserError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from bakeoff.pipeline.model import Model

IDS = "ids"
"""The key of the command line."""


def choose_identifiers(frame: pd.DataFrame, model: Model, given: str | None) -> pd.DataFrame:
    """Return the columns to copy: those that are named, else those that training left out as identifiers.

    Parameters
    ----------
    frame : DataFrame of shape (m, k)
        The file, as it is spelled.
    model : Model
    given : str or None
        The value of `IDS`, such as ``[name,ticket]``; ``[]`` for none.

    Raises
    ------
    UserError
        The file has no such column, or a column of the predictions has its name.
    """
    from bakeoff.pipeline.model.predictions import list_outputs

    columns = [str(name) for name in frame.columns]
    names = list(dict.fromkeys(read_list(given))) if given is not None else _find_identifiers(columns, model)
    outputs = list_outputs(model.estimator)
    for name in names:
        if name not in columns:
            raise UserError(f"{IDS} names {name!r}, which is not a column of the file. {did_you_mean(name, columns)}")
        if name in outputs:
            raise UserError(
                f"{name!r} is a column of the predictions, so that it cannot be copied from the file; rename it there, "
                f"or choose others with {IDS}=[…]."
            )
    return frame.set_axis(columns, axis=1)[names]


def _find_identifiers(columns: list[str], model: Model) -> list[str]:
    """Return the columns that training left out as identifiers, in the order of the file."""
    from bakeoff.pipeline.stages.dataset.column import DROPPED, IDENTIFIER, LEFT_OUT

    found = {
        column.name
        for column in model.record.columns
        if column.kind == IDENTIFIER and column.role in (LEFT_OUT, DROPPED)
    }
    return [name for name in columns if name in found]
