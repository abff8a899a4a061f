"""What the user says about columns: their kinds, and which of them are features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.pipeline.stages.dataset.keys import require_list


@dataclass(frozen=True)
class ColumnRules:
    """Declared kinds, and the columns that are features against the default.

    Parameters
    ----------
    numeric, nominal, dates, text : sequence of str
        Columns of which the kind is given; the cells must agree with it.
    ordered : mapping of str to sequence of str
        Column -> its values, the lowest first.
    keep : sequence of str
        Columns that are features although they look like identifiers, dates or text.
    drop : sequence of str
        Columns to leave out.
    na_values : sequence of str
        Spellings of a missing cell in any column, besides the default ones.
    """

    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dates: Sequence[str] = ()
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    na_values: Sequence[str] = ()

    def __post_init__(self) -> None:
        for key, names in self.lists.items():
            require_list(key, names)

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """The lists of columns, by key."""
        keys = ("numeric", "nominal", "ordered", "dates", "text", "keep", "drop")
        return {key: list(value) if isinstance(value := getattr(self, key), Mapping) else value for key in keys}
