"""Words and numbers as the sentences of a comparison write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

MIN_PRINTED_P = 0.001
MIN_TWO_DIGIT_P = 0.0095
"""From here on, p-values are written with two decimals."""


def count_nouns(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_nouns(1, "fold"), count_nouns(2, "fold")
    ('1 fold', '2 folds')
    """
    return f"1 {noun}" if n == 1 else f"{n} {noun}s"


def join_words(words: Sequence[str]) -> str:
    """Return words as an enumeration.

    Examples
    --------
    >>> join_words(["knn"]), join_words(["knn", "svm"]), join_words(["knn", "svm", "mlp"])
    ('knn', 'knn and svm', 'knn, svm and mlp')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def format_p(p: float) -> str:
    """Return a p-value as an equation, without the leading zero.

    Examples
    --------
    >>> format_p(0.4149), format_p(0.0032), format_p(0.00002), format_p(1.0)
    ('p = .41', 'p = .003', 'p < .001', 'p = 1')
    """
    if math.isnan(p):
        return "p unknown"
    if p < MIN_PRINTED_P:
        return "p < .001"
    digits = 2 if p >= MIN_TWO_DIGIT_P else 3
    text = f"{p:.{digits}f}"
    return "p = 1" if float(text) >= 1 else f"p = {text.lstrip('0')}"


def format_number(value: float) -> str:
    """Return a score or a difference with four decimals, or four significant digits outside of ±10.

    Examples
    --------
    >>> format_number(0.95333), format_number(123.456), format_number(0.00001), format_number(float("nan"))
    ('0.9533', '123.5', '1e-05', '–')
    """
    if math.isnan(value):
        return "–"
    is_plain = value == 0 or 0.0001 <= abs(value) < 10
    return f"{value:.4f}" if is_plain else f"{value:.4g}"
