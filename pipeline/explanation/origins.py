"""What a number that a learner receives says about the columns of the dataset."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

NUMBER = "number"
VALUE = "value"
CODE = "code"
INDICATOR = "indicator"
OTHER = "other"
MISSING = "missing"


@dataclass(frozen=True)
class Origin:
    """Where a feature of a learner comes from.

    Attributes
    ----------
    column : str
        The column of the dataset; empty if the feature mixes several.
    name : str
        The feature in words: that of the column, or of what was computed from it.
    meaning : {"number", "value", "code", "indicator", "other"}
        A number on a scale whose order is that of the column; a nominal value; the position of a value in ``values``;
        1 where the column has one of ``values`` and 0 elsewhere; or another number, which has no unit of the column.
    values : tuple of str
        Of a code, all values; of an indicator, those that it stands for.
    inverses : tuple of callable
        Each turns a number of the learner into one on the scale before; the last step comes first.
    is_linear : bool
        Whether all of these are linear, so that one unit of the column is always as many of the learner.
    filled_by : str
        What missing cells were replaced by; empty if they were not.
    """

    column: str
    name: str
    meaning: str = NUMBER
    values: tuple[str, ...] = ()
    inverses: tuple[Callable[[float], float], ...] = ()
    is_linear: bool = True
    filled_by: str = ""

    def restore(self, number: float) -> float:
        """Return a number of the learner in the unit of the column; infinity stays what it is."""
        if math.isinf(number):
            return number
        for invert in self.inverses:
            number = invert(number)
        return number

    def rescale(self, invert: Callable[[float], float], *, is_linear: bool) -> Self:
        """Return the origin of a feature that is computed from this one by an increasing function.

        Parameters
        ----------
        invert : callable
            The inverse of the function.
        is_linear : bool
        """
        return replace(self, inverses=(invert, *self.inverses), is_linear=self.is_linear and is_linear)

    def become_other(self, name: str) -> Self:
        """Return the origin of a feature whose numbers have no unit of the column."""
        return replace(self, name=name, meaning=OTHER, values=(), inverses=(), is_linear=False)

    @property
    def units_per_step(self) -> float | None:
        """How many units of the column one unit of the learner is; None if that is not the same everywhere."""
        if self.meaning != NUMBER or not self.is_linear:
            return None
        return self.restore(1.0) - self.restore(0.0)

    @property
    def words(self) -> str:
        """The feature in words, such as ``age`` or ``sex = male``."""
        return self.name if self.meaning != INDICATOR else f"{self.name} {self.describe_indicator(True)}"

    def describe_indicator(self, is_one: bool) -> str:
        """Return what an indicator of 1, or of 0, says of its column."""
        if self.values == (MISSING,):
            return "is missing" if is_one else "is not missing"
        return f"{'=' if is_one else '≠'} {join_values(self.values)}"


def join_values(values: Sequence[str]) -> str:
    """Return values in words, with ``or`` between them.

    Examples
    --------
    >>> join_values(["C"]), join_values(["C", "Q", "S"])
    ('C', 'C, Q or S')
    """
    if len(values) < 2:
        return "".join(values)
    return f"{', '.join(values[:-1])} or {values[-1]}"


def name_value(value: Any) -> str:
    """Return a value of a nominal column as text; encoders hold NaN or None for a missing cell."""
    is_missing = value is None or value != value
    return MISSING if is_missing else str(value)
