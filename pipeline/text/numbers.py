"""Numbers as every report writes them.

Scores have four decimals, other numbers four significant digits, p-values and estimates two, times three,
numbers of a column five.
"""

from __future__ import annotations

import math

ABSENT = "–"
"""Written in place of a number that does not exist."""
MIN_PLAIN = 1e-4
"""Smaller numbers would lose their digits with four decimals."""
NOISE = 1e-12
"""Smaller numbers are rounding errors of zero."""
MAX_SHORT = 10_000
"""From here on, thousands are separated."""
MAX_WHOLE = 1e7
MIN_PRINTED_P = 0.001
CELL_DIGITS = 5
"""Of the numbers of a column."""
MAX_DIGITS = 17
"""With as many, a number reads as what it is."""
SECONDS = (("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 1.0), ("ms", 1e-3, 1e-3))
"""Units of time: in seconds, and the least time that is written in them."""
BYTES_PER_UNIT = 1000
BYTE_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def format_score(value: float) -> str:
    """Return a number with four decimals between -1 and 1, and four significant digits outside.

    Examples
    --------
    >>> [format_score(value) for value in (0.95333, -0.5, 12.3456, 2900.193, 48210.3, 1.5e9)]
    ['0.9533', '-0.5000', '12.35', '2900', '48,210', '1.5e+09']
    >>> [format_score(value) for value in (0.00001234, 1e-17, -1e-17, float("nan"))]
    ['1.234e-05', '0.0000', '0.0000', '–']
    """
    size = abs(value)
    if not math.isfinite(value):
        return ABSENT
    if size < NOISE:
        return "0.0000"
    if MIN_PLAIN <= size <= 1:
        return f"{value:.4f}"
    if 1000 <= size < MAX_WHOLE:
        return format_count(round(value))
    return f"{value:#.4g}" if MIN_PLAIN <= size < 1000 else f"{value:.4g}"


def format_change(value: float) -> str:
    """Return a difference as `format_score` does, with its sign.

    Examples
    --------
    >>> [format_change(value) for value in (0.0213, -0.0213, 0.0)]
    ['+0.0213', '-0.0213', '0.0000']
    """
    return f"+{format_score(value)}" if value >= NOISE else format_score(value)


def format_coefficient(value: float) -> str:
    """Return a coefficient with its sign and four significant digits, however small it is.

    Examples
    --------
    >>> format_coefficient(0.0022371), format_coefficient(-0.9326)
    ('+0.002237', '-0.9326')
    """
    return f"{value:+.4g}"


def format_mean(mean: float, deviation: float = math.nan) -> str:
    """Return a mean over folds with its standard deviation, if there is one.

    Examples
    --------
    >>> format_mean(0.95333, 0.032), format_mean(0.95333), format_mean(float("nan"))
    ('0.9533 ± 0.0320', '0.9533', 'undefined')
    """
    if math.isnan(mean):
        return "undefined"
    return format_score(mean) if math.isnan(deviation) else f"{format_score(mean)} {format_deviation(deviation)}"


def format_deviation(deviation: float) -> str:
    """Return a standard deviation with its sign; empty if there is none."""
    return "" if math.isnan(deviation) else f"± {format_score(deviation)}"


def format_statistic(value: float) -> str:
    """Return a mean rank or the statistic of a test, with two decimals."""
    return f"{value:.2f}" if math.isfinite(value) else ABSENT


def format_p(p: float) -> str:
    """Return a p-value without the leading zero, with two significant digits.

    Examples
    --------
    >>> [format_p(p) for p in (0.4149, 0.0312, 0.00324, 0.0004, 0.9999, float("nan"))]
    ['.41', '.031', '.0032', '< .001', '1.0', '–']
    """
    if math.isnan(p):
        return ABSENT
    return "< .001" if p < MIN_PRINTED_P else f"{p:#.2g}".removeprefix("0")


def equate_p(p: float) -> str:
    """Return a p-value as an equation.

    Examples
    --------
    >>> equate_p(0.0312), equate_p(0.0004), equate_p(float("nan"))
    ('p = .031', 'p < .001', 'p unknown')
    """
    if math.isnan(p):
        return "p unknown"
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def format_percent(share: float) -> str:
    """Return a share in percent; one that is not certain never reads as 0 or 100.

    Examples
    --------
    >>> [format_percent(share) for share in (0.123, 0.998, 0.0001, 1.0, float("nan"))]
    ['12 %', '> 99 %', '< 1 %', '100 %', '–']
    """
    if not math.isfinite(share):
        return ABSENT
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def format_seconds(seconds: float, digits: int = 3) -> str:
    """Return a time with its unit.

    Examples
    --------
    >>> [format_seconds(seconds) for seconds in (0.0000123, 0.0123, 1.5, 8.0, 4567.0, float("nan"))]
    ['12.3 µs', '12.3 ms', '1.5 s', '8 s', '76.1 min', '–']
    >>> [format_seconds(seconds, digits=2) for seconds in (0.684, 123.4, 7300.0)]
    ['680 ms', '2.1 min', '2 h']
    """
    if not math.isfinite(seconds):
        return ABSENT
    for unit, size, least in SECONDS:
        if seconds >= least:
            return f"{_round(seconds / size, digits)} {unit}"
    return f"{_round(seconds / 1e-6, digits)} µs"


def format_count(n: int) -> str:
    """Return a whole number.

    Examples
    --------
    >>> format_count(1309), format_count(123456)
    ('1309', '123,456')
    """
    return f"{n:,}" if abs(n) >= MAX_SHORT else str(n)


def format_number(value: float) -> str:
    """Return a number of a column with at most five significant digits, and all digits of a small whole number.

    Examples
    --------
    >>> [format_number(value) for value in (9.5, 22.0, 1234567.0, 0.123456, 2900.193, 1e12, float("nan"))]
    ['9.5', '22', '1234567', '0.12346', '2900.2', '1e+12', 'missing']
    """
    if math.isnan(value):
        return "missing"
    if abs(value) < MAX_WHOLE and value == int(value):
        return str(int(value))
    return f"{value:.{CELL_DIGITS}g}"


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
    for digits in range(CELL_DIGITS, MAX_DIGITS):
        text = f"{value:.{digits}g}"
        if _divides(float(text), below, above, is_below):
            rounded = float(text)
            is_whole = abs(rounded) < MAX_WHOLE and rounded == int(rounded)
            return str(int(rounded)) if is_whole else text
    return repr(value)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes in the largest unit for which it is at least one.

    Examples
    --------
    >>> format_bytes(0), format_bytes(999), format_bytes(102_400_000)
    ('0 bytes', '999 bytes', '102.4 MB')
    """
    for unit in BYTE_UNITS:
        if n_bytes < BYTES_PER_UNIT or unit == BYTE_UNITS[-1]:
            break
        n_bytes /= BYTES_PER_UNIT
    return f"{n_bytes:.0f} {unit}" if unit == BYTE_UNITS[0] else f"{n_bytes:.1f} {unit}"


def _round(value: float, digits: int) -> str:
    """Return a number with some significant digits, and without an exponent."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


def _divides(value: float, below: float, above: float, is_below: bool) -> bool:
    return below <= value < above if is_below else below < value <= above
