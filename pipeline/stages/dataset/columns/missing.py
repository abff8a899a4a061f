"""Missing cells: which spellings stand for them, and in which columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bakeoff.pipeline.errors import UserError

EMPTY = ""
EVERYWHERE = frozenset({EMPTY, "NA", "NaN", "nan"})
"""Spellings of a missing cell in each column, the target included."""
AMONG_NUMBERS = frozenset(
    {
        *("?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "_", "na", "n/a", "n.a.", "n.a", "n. a."),
        *("nan", "-nan", "<na>", "#n/a", "#na", "#value!", "#null!", "#div/0!", "none", "null", "(null)", "\\n", "nil"),
        *("missing", "(missing)", "unknown", "not available", "not applicable", "undefined", "void"),
    }
)
"""Spellings, in lower case, that stand for a missing cell only in a column whose other cells are numbers."""


@dataclass(frozen=True)
class MissingRule:
    """Which cells of one column are missing.

    Attributes
    ----------
    spellings : frozenset of str
        In any column; a cell of spaces alone is empty.
    among_numbers : frozenset of str
        In lower case; only in a column whose other cells are numbers.
    given : frozenset of str
        Those of the spellings that the user names.
    """

    spellings: frozenset[str] = EVERYWHERE
    among_numbers: frozenset[str] = AMONG_NUMBERS
    given: frozenset[str] = frozenset()

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The numbers among the spellings, such as -999: a missing cell of numbers is one that is equal to them."""
        numbers = []
        for spelling in sorted(self.spellings - EVERYWHERE):
            try:
                numbers.append(float(spelling))
            except ValueError:
                continue
        return tuple(numbers)

    def covers(self, cell: str) -> bool:
        """Return whether a cell is missing in any column."""
        return cell in self.spellings or cell.strip() in self.spellings

    def without_values(self, values: Collection[str]) -> MissingRule:
        """Return the rule for a column whose source declares its values: they count, unless the user names them.

        Examples
        --------
        >>> MissingRule().without_values(["NA", "yes"]).covers("NA")
        False
        """
        declared = frozenset(values) - {EMPTY} - self.given
        return replace(self, spellings=self.spellings - declared)

    def covers_among_numbers(self, cell: str) -> bool:
        """Return whether a cell is missing in a column whose other cells are numbers."""
        return self.covers(cell) or cell.strip().lower() in self.among_numbers


def make_missing_rule(na_values: Any, column: str) -> MissingRule:
    """Return which cells of a column are missing.

    Parameters
    ----------
    na_values : None, sequence or mapping
        Further spellings for all columns; or, by the names of columns, the only spellings of a column beside the empty
        cell, so that ``NA`` may be a value.
    column : str

    Raises
    ------
    UserError
        ``na_values`` is neither.

    Examples
    --------
    >>> make_missing_rule(["x", -999], "age").covers("-999")
    True
    >>> make_missing_rule({"country": []}, "country").covers("NA")
    False
    """
    if na_values is None:
        return MissingRule()
    if isinstance(na_values, Mapping):
        if column not in na_values:
            return MissingRule()
        given = frozenset(_spell_all(na_values[column]))
        return MissingRule(frozenset({EMPTY}) | given, frozenset(), given)
    given = frozenset(_spell_all(na_values))
    return MissingRule(EVERYWHERE | given, given=given)


def _spell_all(spellings: Any) -> list[str]:
    if isinstance(spellings, str | int | float) or not isinstance(spellings, Sequence):
        raise UserError(
            f"dataset.na_values={spellings!r} must be a list of spellings, dataset.na_values=[{spellings}], or lists "
            "by column, dataset.na_values={age: [-1]}."
        )
    return [str(spelling) for spelling in spellings]
