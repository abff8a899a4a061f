"""Numbers as the page writes them. The JSON report has them at full precision."""

from __future__ import annotations

import math

ABSENT = "–"
"""Written in place of a number that does not exist."""
P_DECIMALS = 3
MIN_TWO_DECIMAL_P = 0.0995
"""Smaller p-values are written with `P_DECIMALS`; this one is rounded to .10."""
MAX_WRITTEN_COUNT = 10**7


def format_score(value: float) -> str:
    """Return a score with four decimals, or five significant digits if it is large.

    Examples
    --------
    >>> [format_score(value) for value in (0.95333, -0.00001, -0.5, 2900.193, float("nan"))]
    ['0.9533', '0.0000', '−0.5000', '2900.2', '–']
    """
    if not math.isfinite(value):
        return ABSENT
    text = f"{value:.4f}" if abs(value) < 10 else f"{value:.5g}"
    # A small negative number is rounded to zero, and zero has no sign.
    return "0.0000" if text == "-0.0000" else text.replace("-", "−")


def format_difference(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> [format_difference(value) for value in (0.0213, -0.0213, 0.0)]
    ['+0.0213', '−0.0213', '0.0000']
    """
    text = format_score(abs(value))
    if text in (ABSENT, "0.0000"):
        return text
    return f"+{text}" if value > 0 else f"−{text}"


def format_p(value: float) -> str:
    """Return a p-value as papers write it: no leading zero, two significant digits, at most three decimals.

    Examples
    --------
    >>> [format_p(value) for value in (0.41234, 0.0312, 0.0031, 0.0004, 0.9999, float("nan"))]
    ['.41', '.031', '.003', '< .001', '1.0', '–']
    """
    if not math.isfinite(value):
        return ABSENT
    if value < 10**-P_DECIMALS:
        return "< .001"
    decimals = 2 if value >= MIN_TWO_DECIMAL_P else P_DECIMALS
    text = f"{value:.{decimals}f}"
    return "1.0" if text.startswith("1") else text.removeprefix("0")


def format_percent(share: float) -> str:
    """Return a probability in percent; one that is not certain never reads as 0 or 100.

    Examples
    --------
    >>> [format_percent(share) for share in (0.123, 0.998, 0.0001, 1.0, float("nan"))]
    ['12 %', '> 99 %', '< 1 %', '100 %', '–']
    """
    if not math.isfinite(share):
        return ABSENT
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"


def format_seconds(seconds: float) -> str:
    """Return a time with three significant digits and its unit.

    Examples
    --------
    >>> [format_seconds(seconds) for seconds in (0.00001234, 0.0123, 1.5, 123.4, 4567.0)]
    ['12.3 µs', '12.3 ms', '1.5 s', '123 s', '76.1 min']
    """
    if not math.isfinite(seconds):
        return ABSENT
    if seconds >= 600:
        return f"{seconds / 60:.3g} min"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{1e3 * seconds:.3g} ms"
    return f"{1e6 * seconds:.3g} µs"


def format_count(n: int) -> str:
    """Return a number of rows, repeats or fits; one that is too large to be of use is not written out.

    Examples
    --------
    >>> format_count(58), format_count(123456), format_count(10**17)
    ('58', '123,456', 'over 10 million')
    """
    if n > MAX_WRITTEN_COUNT:
        return f"over {MAX_WRITTEN_COUNT // 10**6} million"
    return f"{n:,}"


def format_rope(rope: float, is_relative: bool) -> str:
    """Return the half width of the region of practical equivalence.

    Examples
    --------
    >>> format_rope(0.01, False), format_rope(0.05, True)
    ('0.01', '5 % of the mean of the base')
    """
    return f"{100 * rope:g} % of the mean of the base" if is_relative else f"{rope:g}"
