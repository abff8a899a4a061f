"""What the user says about columns: their kinds, and which of them are features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.column import DATE, NOMINAL, NUMERIC, ORDERED, TEXT
from bakeoff.pipeline.stages.dataset.column_limit import DEFAULT_MAX_COLUMNS
from bakeoff.pipeline.stages.dataset.columns.canonical import spell_cells
from bakeoff.pipeline.stages.dataset.columns.missing import MissingRule, make_missing_rule
from bakeoff.pipeline.stages.dataset.keys import require_list

KIND_OF_KEY = {"numeric": NUMERIC, "nominal": NOMINAL, "ordered": ORDERED, "dates": DATE, "text": TEXT}
"""The keys that declare the kind of columns."""
LIST_KEYS = (*KIND_OF_KEY, "keep", "drop")
"""The keys that name columns."""


@dataclass(frozen=True)
class ColumnRules:
    """Declared kinds, and the columns that are features against the default.

    Parameters
    ----------
    numeric, nominal, text : sequence of str
        Columns of which the kind is given; the cells must agree with it.
    dates : sequence of str, or mapping of str to str
        Columns of dates, or column -> format of its dates, such as ``"%d/%m/%Y"``.
    ordered : mapping of str to sequence of str
        Column -> its values, the lowest first.
    keep : sequence of str
        Columns that are features although they look like identifiers, dates or text.
    drop : sequence of str
        Columns to leave out.
    na_values : sequence of str, or mapping of str to sequence of str
        Spellings of a missing cell in any column, besides the default ones; or column -> its only spellings.
    max_columns : int
        The largest number of columns that a table may have.
    """

    numeric: Sequence[str] = ()
    nominal: Sequence[str] = ()
    ordered: Mapping[str, Sequence[str]] | None = None
    dates: Sequence[str] | Mapping[str, str] | None = None
    text: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    na_values: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None
    max_columns: int = DEFAULT_MAX_COLUMNS

    def __post_init__(self) -> None:
        if isinstance(self.max_columns, bool) or not isinstance(self.max_columns, int) or self.max_columns < 1:
            raise UserError(f"dataset.max_columns={self.max_columns!r} must be a positive number of columns.")
        for key in LIST_KEYS:
            require_list(key, getattr(self, key))
        if not isinstance(self.ordered, Mapping | None):
            raise UserError(
                f"dataset.ordered={self.ordered!r} must give the values of each column, the lowest first: "
                "dataset.ordered={size: [S, M, L]}."
            )
        for name, values in (self.ordered or {}).items():
            if isinstance(values, str) or len(set(spell_cells(values))) < max(len(values), 2):
                raise UserError(
                    f"dataset.ordered gives {name!r} the values {values!r}; it needs a list of two or more different "
                    "values, the lowest first."
                )
        self._require_one_kind()
        make_missing_rule(self.na_values, "")

    @property
    def lists(self) -> dict[str, Sequence[str]]:
        """The lists of columns, by key."""
        return {key: [str(name) for name in getattr(self, key) or ()] for key in LIST_KEYS}

    @property
    def declared_kinds(self) -> dict[str, str]:
        """The kinds that are given: column -> kind."""
        return {name: kind for key, kind in KIND_OF_KEY.items() for name in self.lists[key]}

    def get_missing_rule(self, name: str) -> MissingRule:
        """Return which cells of a column are missing."""
        return make_missing_rule(self.na_values, name)

    def get_ordered_values(self, name: str) -> tuple[str, ...]:
        """Return the values that are given for an ordered column, in canonical spelling; empty if there are none."""
        return tuple(spell_cells((self.ordered or {}).get(name, ())))

    def get_date_format(self, name: str) -> str:
        """Return the format that is given for a column of dates; empty if there is none."""
        return str(self.dates.get(name, "")) if isinstance(self.dates, Mapping) else ""

    def _require_one_kind(self) -> None:
        given: dict[str, str] = {}
        for key in (*KIND_OF_KEY, "drop"):
            for name in self.lists[key]:
                if name in given:
                    raise UserError(
                        f"dataset.{given[name]} and dataset.{key} both name {name!r}; a column has one kind."
                    )
                given[name] = key
