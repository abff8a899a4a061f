"""Words as sentences join them, and texts as users write them: paths, and values of the grammar of Hydra."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from bakeoff.pipeline.text.numbers import format_count

MAX_NAMES = 5
OPENING = "${"
INTERPOLATION = re.compile(r"(\\*)\$\{")
"""The beginning of an interpolation, and the backslashes before it, which would escape it."""
MISSING_VALUE = "???"
"""OmegaConf's sign of a value that must be given."""
QUOTE = re.compile(r"(\\*)('|\Z)")
"""A quotation mark or the end, and the backslashes before it, which Hydra would take for escapes."""


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


def escape_text(text: str) -> str:
    r"""Return a text that OmegaConf resolves to the text that is given.

    Examples
    --------
    >>> print(escape_text("${x}/a.csv"))
    \${x}/a.csv
    >>> print(escape_text("???"))
    ${oc.decode:???}
    """
    if text == MISSING_VALUE:
        return f"${{oc.decode:{text}}}"  # no escape makes it text, but a resolver may return it
    return INTERPOLATION.sub(lambda found: f"{2 * found.group(1)}\\{OPENING}", text)


def quote_text(text: str) -> str:
    r"""Return a text as a quoted value, whatever characters it contains.

    Examples
    --------
    >>> print(quote_text("it's"), quote_text(r"a\b"), quote_text("${x}"))
    'it\'s' 'a\b' '\${x}'
    """
    escaped = QUOTE.sub(lambda found: 2 * found.group(1) + ("\\'" if found.group(2) else ""), escape_text(text))
    return f"'{escaped}'"


def expand_home(given: str | os.PathLike[str]) -> Path:
    """Return a path in which ``~`` and ``~USER`` at the front are home folders, as in a shell.

    A name such as ``~data`` stays if there is no user ``data``, for which ``Path.expanduser`` would raise RuntimeError.

    Examples
    --------
    >>> expand_home("~no_such_user/a.csv")
    PosixPath('~no_such_user/a.csv')
    """
    return Path(os.path.expanduser(given))
