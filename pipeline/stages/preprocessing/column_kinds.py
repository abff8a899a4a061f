"""The kinds of columns that preprocessing distinguishes, by their types in a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_object_dtype, is_string_dtype

NUMERIC = "numeric"
NOMINAL = "nominal"
ORDERED = "ordered"
DATE = "date"
TEXT = "text"
KINDS = (NUMERIC, NOMINAL, ORDERED, DATE, TEXT)


@dataclass(frozen=True)
class KindSelector:
    """Selects the columns of some kinds from a table, for a ColumnTransformer.

    Parameters
    ----------
    kinds : tuple of str
        Of `KINDS`.
    besides : tuple of str
        Names of columns that are never selected.
    """

    kinds: tuple[str, ...]
    besides: tuple[str, ...] = ()

    def __call__(self, X: pd.DataFrame) -> list[Any]:
        """Return the names of the selected columns of X, of shape (n, d), in their order."""
        kinds = list_kinds(X)
        return [name for name, kind in kinds.items() if kind in self.kinds and name not in self.besides]


def list_kinds(X: pd.DataFrame) -> dict[str, str]:
    """Return the kind of each column of a table (n, d): name -> kind."""
    return {str(name): find_kind(dtype) for name, dtype in X.dtypes.items()}


def find_kind(dtype: Any) -> str:
    """Return the kind of the columns of a dtype; Booleans are numbers unless they are categorical.

    Examples
    --------
    >>> [find_kind(pd.Series(cells).dtype) for cells in ([1.5], pd.Categorical(["a"]), pd.to_datetime(["2026-01-31"]))]
    ['numeric', 'nominal', 'date']
    """
    if isinstance(dtype, pd.CategoricalDtype):
        return ORDERED if dtype.ordered else NOMINAL
    if is_datetime64_any_dtype(dtype):
        return DATE
    if is_object_dtype(dtype) or is_string_dtype(dtype):
        return TEXT
    return NUMERIC
