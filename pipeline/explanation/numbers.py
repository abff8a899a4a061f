"""Numbers as an explanation writes them."""

from __future__ import annotations

import math

MAX_PLAIN = 1e7
"""Greater numbers are written with an exponent."""
DIGITS = 5


def format_number(value: float) -> str:
    """Return a number of a column with at most five significant digits, and all digits of a small whole number.

    Examples
    --------
    >>> [format_number(value) for value in (9.5, 22.0, 1234567.0, 0.123456, 2900.193, 1e12, float("nan"))]
    ['9.5', '22', '1234567', '0.12346', '2900.2', '1e+12', 'missing']
    """
    if math.isnan(value):
        return "missing"
    if value == int(value) and abs(value) < MAX_PLAIN if math.isfinite(value) else False:
        return str(int(value))
    return f"{value:.{DIGITS}g}"


def format_output(value: float) -> str:
    """Return an output of a model with three decimals, or four significant digits if it is large.

    Examples
    --------
    >>> [format_output(value) for value in (0.38197, -0.0001, 152.1334, 48210.0, 1e-5)]
    ['0.382', '0.000', '152.1', '48,210', '0.000']
    """
    size = abs(value)
    if not math.isfinite(value):
        return "–"
    if size >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:.3f}" if size < 10 else f"{value:.4g}"
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", "−")


def format_change(value: float) -> str:
    """Return a difference of outputs with its sign.

    Examples
    --------
    >>> [format_change(value) for value in (0.2134, -0.0213, 0.0)]
    ['+0.213', '−0.021', '0.000']
    """
    text = format_output(value)
    return f"+{text}" if value > 0 and text.strip("0.") else text
