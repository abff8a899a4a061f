"""Numbers as an explanation writes them."""

from __future__ import annotations

import math

MAX_PLAIN = 1e7
"""Greater numbers are written with an exponent."""
DIGITS = 5
MAX_DIGITS = 17
"""With as many, a number reads as what it is."""


def format_number(value: float) -> str:
    """Return a number of a column with at most five significant digits, and all digits of a small whole number.

    Examples
    --------
    >>> [format_number(value) for value in (9.5, 22.0, 1234567.0, 0.123456, 2900.193, 1e12, float("nan"))]
    ['9.5', '22', '1234567', '0.12346', '2900.2', '1e+12', 'missing']
    """
    if math.isnan(value):
        return "missing"
    if abs(value) < MAX_PLAIN and value == int(value):
        return str(int(value))
    return f"{value:.{DIGITS}g}"


def format_threshold(value: float, below: float, above: float, *, is_below: bool) -> str:
    """Return a threshold with as few digits as leave it between the cells that it divides.

    Parameters
    ----------
    value : float
    below, above : float
        The nearest cells on both sides.
    is_below : bool
        Whether a cell that is equal to the threshold counts to those below.

    Examples
    --------
    >>> format_threshold(1.000015, 1.00001, 1.00002, is_below=True), format_threshold(3.0, 1.0, 5.0, is_below=False)
    ('1.000015', '3')
    """
    if not _divides(value, below, above, is_below):
        value = (below + above) / 2
    for digits in range(DIGITS, MAX_DIGITS):
        text = f"{value:.{digits}g}"
        if _divides(float(text), below, above, is_below):
            rounded = float(text)
            is_whole = abs(rounded) < MAX_PLAIN and rounded == int(rounded)
            return str(int(rounded)) if is_whole else text
    return repr(value)


def _divides(value: float, below: float, above: float, is_below: bool) -> bool:
    return below <= value < above if is_below else below < value <= above
