"""The largest number of columns of a table."""

from __future__ import annotations

from bakeoff.pipeline.errors import UserError

DEFAULT_MAX_COLUMNS = 20_000


def require_few_columns(n_columns: int, max_columns: int, name: str) -> None:
    """Reject a table with more columns than are allowed: each is examined by itself, so that very many take minutes.

    Parameters
    ----------
    n_columns : int
    max_columns : int
        The value of the key.
    name : str
        Of the table.

    Raises
    ------
    UserError
    """
    if n_columns > max_columns:
        raise UserError(
            f"{name} has {n_columns:,} columns, but dataset.max_columns={max_columns}; set a larger number, at which "
            "reading takes some seconds for each 1,000 columns, or leave columns out of the file."
        )
