"""Words as every sentence joins them."""

from __future__ import annotations

from collections.abc import Iterable

from bakeoff.pipeline.text.numbers import format_count

MAX_NAMES = 5


def count_nouns(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun.

    Parameters
    ----------
    n : int
    noun : str
        For one.
    nouns : str
        For several; with an ``s`` at the end if it is not given.

    Examples
    --------
    >>> count_nouns(1, "fold"), count_nouns(20, "fold"), count_nouns(2, "leaf", "leaves")
    ('1 fold', '20 folds', '2 leaves')
    """
    return f"{format_count(n)} {noun if n == 1 else nouns or f'{noun}s'}"


def join_words(words: Iterable[str], conjunction: str = "and") -> str:
    """Return words as an enumeration.

    Examples
    --------
    >>> join_words([]), join_words(["knn"]), join_words(["knn", "svm"]), join_words(["knn", "svm", "mlp"], "or")
    ('', 'knn', 'knn and svm', 'knn, svm or mlp')
    """
    *first, last = [*words] or [""]
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def name_first(names: Iterable[str], most: int = MAX_NAMES) -> str:
    """Return names with commas between them; of many, the first ones and the number of the others.

    Examples
    --------
    >>> name_first(["a", "b"]), name_first("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    shown = [*names]
    n_more = len(shown) - most
    return f"{', '.join(shown[:most])} and {n_more} more" if n_more > 0 else ", ".join(shown)


def cut_text(text: str, length: int) -> str:
    """Return a text of at most a length, with a sign where it is cut.

    Examples
    --------
    >>> cut_text("breast_cancer", 13), cut_text("breast_cancer", 8)
    ('breast_cancer', 'breast_…')
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"
