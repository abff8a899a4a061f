"""Units of numbers in text, such as ``m²``, ``%`` and ``€``, and negative numbers in parentheses."""

import re
from collections import Counter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.stages.dataset.spelling import MissingRule

PARENTHESES = "()"
"""The unit of a column without a unit in which parentheses denote negative numbers."""
SPACE = r"[\s\p{Zs}]*"
"""Any spaces, as a pattern of pyarrow."""
GROUPS = r"[1-9]\d{0,2}(?:[.,'’_\s]\d{3})+"
NUMBER = rf"(?:(?:{GROUPS}|0|[1-9]\d*)(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?"
"""A number with any signs; one with leading zeros is a code."""
CURRENCY = r"$¢£¤¥฿₠-₿"
LETTER = rf"[^\W\d_]|[{CURRENCY}%‰°]"
BEHIND = rf"""(?:{LETTER}|['"′″])(?:(?:{LETTER}|[./^·* -]){{0,18}}(?:{LETTER}|[²³.23]))?"""
QUANTITY = re.compile(
    rf"\s*+(?P<open>\(?)\s*+[+-]?\s*+(?P<front>[{CURRENCY}]?)\s*+[+-]?\s*+(?:{NUMBER})"
    rf"\s*+(?P<behind>(?:{BEHIND})?)\s*+\)?\s*+"
)
"""A number with a currency sign in front, with a sign or words behind it, or without a unit."""
MIN_SHARE = 0.9
"""The minimum share of the cells that have the unit of their column; the others are mistakes, which are reported."""
N_FIRST_CELLS = 100


class UnitCounts(NamedTuple):
    """The units of the numbers in a column.

    Attributes
    ----------
    n_filled : int
        The number of cells that are not missing.
    counts : mapping of str to int
        Unit -> number of cells; numbers without a unit have the unit ``""``, or ``"()"`` in parentheses.
    examples : mapping of str to str
        Unit -> the first cell with it.
    """

    n_filled: int
    counts: dict[str, int]
    examples: dict[str, str]

    @property
    def has_quantities(self) -> bool:
        """Whether the cells are numbers, some of which have a unit."""
        return any(self.counts) and sum(self.counts.values()) >= MIN_SHARE * self.n_filled

    @property
    def common(self) -> str:
        """The unit of all numbers of the column; empty if there is none."""
        if set(self.counts) == {"", PARENTHESES}:
            return PARENTHESES if self.has_quantities else ""
        unit = max(self.counts, key=self.counts.__getitem__, default="")
        is_mixed = "" in self.counts or unit == PARENTHESES
        return "" if is_mixed or self.counts.get(unit, 0) < MIN_SHARE * self.n_filled else unit


def count_units(text: pa.Array, rule: MissingRule) -> UnitCounts:
    """Count the units of the cells of a text column; they are ignored if none of the first cells has one.

    Parameters
    ----------
    text : Array of n strings
        The cells, null where missing.
    rule : MissingRule
    """
    found = _count_all(text.slice(0, N_FIRST_CELLS), rule)
    return found if found.n_filled and not any(found.counts) else _count_all(text, rule)


def _count_all(text: pa.Array, rule: MissingRule) -> UnitCounts:
    values, numbers = pc.value_counts(text.drop_null()).flatten()
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    n_filled = 0
    for cell, number in zip(values.to_pylist(), numbers.to_pylist(), strict=True):
        if rule.covers_among_numbers(cell):
            continue
        n_filled += number
        parts = QUANTITY.fullmatch(cell)
        if parts and not (parts["front"] and parts["behind"]):
            unit = parts["front"] or parts["behind"] or (PARENTHESES if parts["open"] else "")
            counts[unit] += number
            examples.setdefault(unit, cell)
    return UnitCounts(n_filled, dict(counts), examples)
