"""The wording of all output: numbers, words, paths, and text on a terminal.

Scores have four decimals, other numbers four significant digits, p-values and estimates two, times three, and numbers
of a column five. Control characters in names and cells are escaped on a terminal.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


ABSENT = "–"
"""Written in place of a number that does not exist."""
MIN_PLAIN = 1e-4
"""Smaller numbers would lose their digits with four decimals."""
NOISE = 1e-12
"""Smaller numbers are rounding errors of zero."""
MAX_SHORT = 10_000
"""From this number on, thousands are separated."""
MAX_WHOLE = 1e7
MIN_PRINTED_P = 0.001
CELL_DIGITS = 5
"""The number of significant digits for the numbers of a column."""
MAX_DIGITS = 17
"""The number of significant digits that identify any float exactly."""
SECONDS = (("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 1.0), ("ms", 1e-3, 1e-3))
"""Units of time, each with its length in seconds and the smallest time written in it."""


def format_score(value: float) -> str:
    """Return a number with four decimals between -1 and 1, and four significant digits otherwise.

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
    """Return a standard deviation preceded by its sign ±; empty if there is none."""
    return "" if math.isnan(deviation) else f"± {format_score(deviation)}"


def format_statistic(value: float) -> str:
    """Return a mean rank or a test statistic with two decimals."""
    return f"{value:.2f}" if math.isfinite(value) else ABSENT


def format_p(p: float) -> str:
    """Return a p-value with two significant digits and no leading zero.

    Examples
    --------
    >>> [format_p(p) for p in (0.4149, 0.0312, 0.00324, 0.0004, 0.9999, float("nan"))]
    ['.41', '.031', '.0032', '< .001', '1.0', '–']
    """
    if math.isnan(p):
        return ABSENT
    return "< .001" if p < MIN_PRINTED_P else f"{p:#.2g}".removeprefix("0")


def equate_p(p: float, sign: str = "=") -> str:
    """Return a p-value as an equation, or with the sign ≤ or ≥ as a bound of several.

    Examples
    --------
    >>> equate_p(0.0312), equate_p(0.0004, "≤"), equate_p(0.2, "≥"), equate_p(float("nan"))
    ('p = .031', 'p < .001', 'p ≥ .20', 'p unknown')
    """
    if math.isnan(p):
        return "p unknown"
    text = format_p(p)
    return f"p {text}" if text.startswith("<") else f"p {sign} {text}"


def format_percent(share: float) -> str:
    """Return a fraction in percent; values strictly between 0 and 1 are never shown as 0 or 100.

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


def format_range(counts: Collection[int]) -> str:
    """Return the smallest and the largest of some counts, such as ``3 to 5``, or the only one."""
    return " to ".join(map(format_count, sorted({min(counts), max(counts)})))


def format_number(value: float) -> str:
    """Return a number of a column with at most five significant digits, or all digits of a small whole number.

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


def format_threshold(value: float, below: float, above: float) -> str:
    """Return a threshold with the fewest digits that keep it between the cells it separates.

    Parameters
    ----------
    value : float
    below, above : float
        The nearest cells on both sides; a cell equal to the threshold counts as above it.

    Examples
    --------
    >>> format_threshold(1.000014, 1.00001, 1.000019), format_threshold(3.0, 1.0, 5.0)
    ('1.000014', '3')
    >>> format_threshold(45.50000000000001, 45.5, 46.0)
    '45.75'
    """
    middle = (below + above) / 2
    if not below < value <= above:
        value = middle
    # A threshold next to a cell has many digits, whereas the midpoint has few.
    for digits, number in product(range(CELL_DIGITS, MAX_DIGITS), (value, middle)):
        text = f"{number:.{digits}g}"
        rounded = float(text)
        if below < rounded <= above and math.isfinite(rounded):
            is_whole = abs(rounded) < MAX_WHOLE and rounded == int(rounded)
            return str(int(rounded)) if is_whole else text
    return repr(value)


def format_bytes(n_bytes: int) -> str:
    """Return a number of bytes in the largest unit in which it is at least one.

    Examples
    --------
    >>> format_bytes(0), format_bytes(999), format_bytes(102_400_000)
    ('0 bytes', '999 bytes', '102.4 MB')
    """
    from rich import filesize

    return filesize.decimal(n_bytes)


def _round(value: float, digits: int) -> str:
    """Return a number with the given significant digits and without an exponent."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


MAX_NAMES = 5
RUN_ID_LETTERS = 8
"""The number of characters shown of the id of a run, which suffice to find it."""
OPENING = "${"
INTERPOLATION = re.compile(r"(?<!\\)(\\*+)\$\{")
"""The beginning of an interpolation, with any backslashes before it, which would escape it."""
MISSING_VALUE = "???"
"""OmegaConf's marker for a mandatory value."""
QUOTE = re.compile(r"(?<!\\)(\\*+)('|\Z)")
"""A quotation mark or the end, with any backslashes before it, which Hydra would interpret as escapes."""


def count_nouns(n: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun.

    Parameters
    ----------
    n : int
    noun : str
        The singular.
    nouns : str
        The plural; by default the singular with an ``s``.

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
    """Return names separated by commas; if there are many, return the first ones and the number of the others.

    Examples
    --------
    >>> name_first(["a", "b"]), name_first("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    shown = [*names]
    n_more = len(shown) - most
    return f"{', '.join(shown[:most])} and {n_more} more" if n_more > 0 else ", ".join(shown)


def shorten_id(run_id: str) -> str:
    """Return the beginning of the id of a run, as shown in pages and tables, which a command accepts for the run."""
    return run_id[:RUN_ID_LETTERS]


def cut_text(text: str, length: int) -> str:
    """Return a text of limited length, with an ellipsis if it is truncated.

    Examples
    --------
    >>> cut_text("breast_cancer", 13), cut_text("breast_cancer", 8)
    ('breast_cancer', 'breast_…')
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def cut_middle(text: str, length: int) -> str:
    """Return a text of limited length: its beginning and its end, with the number of letters that were between them.

    Examples
    --------
    >>> cut_middle(f"seed={1000 * 'a'}!", 10)
    'seed=… (996 letters left out) …aaaa!'
    """
    half = length // 2
    n_left = len(text) - 2 * half
    return text if n_left <= 0 else f"{text[:half]}… ({n_left:,} letters left out) …{text[-half:]}"


MAX_LETTERS = 600
"""The length of a message; a shortened one leaves room for what is put before it, such as a verb."""
LONG_WORD = re.compile(r"\S{100,}")
WORD_LETTERS = 60
"""The letters that are left of a longer word."""
ENDS_LETTERS = 520
"""The letters that are left of a longer message."""


def shorten_message(text: str) -> str:
    """Return a message of at most 600 letters: counts replace the middle of long words and of a long message.

    A message begins with its key and ends with its cure, which remain.

    Examples
    --------
    >>> shorten_message(f"seed={1000 * 'a'} must be an integer.")
    'seed=aaaaaaaaaaaaaaaaaaaaaaaaa… (945 letters left out) …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa must be an integer.'
    """
    if len(text) > MAX_LETTERS:
        text = LONG_WORD.sub(lambda found: cut_middle(found[0], WORD_LETTERS), text)
    return text if len(text) <= MAX_LETTERS else cut_middle(text, ENDS_LETTERS)


def is_missing_value(text: str) -> bool:
    r"""Return whether OmegaConf would not read a text as it is: ``???`` and, since OmegaConf 2.4, ``\???``."""
    return text.lstrip("\\") == MISSING_VALUE


def escape_text(text: str) -> str:
    r"""Return a text that OmegaConf resolves to the given text.

    Examples
    --------
    >>> print(escape_text("${x}/a.csv"))
    \${x}/a.csv
    >>> print(escape_text("???"))
    ${oc.decode:???}
    """
    if is_missing_value(text):
        # No escape makes it text, but a resolver may return it.
        return f"{2 * text.removesuffix(MISSING_VALUE)}${{oc.decode:{MISSING_VALUE}}}"
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
    """Return a path in which a leading ``~`` or ``~USER`` is replaced by the home folder, as in a shell.

    A name such as ``~data`` is unchanged if there is no user ``data``; ``Path.expanduser`` would raise RuntimeError.

    Examples
    --------
    >>> expand_home("~no_such_user/a.csv")
    PosixPath('~no_such_user/a.csv')
    """
    return Path(os.path.expanduser(given))


PIPE_WIDTH = 160
"""The width in characters for files and pipes, which have no width at which names would have to be broken."""
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tabs and line ends, and characters that reverse the writing direction."""


def show_controls(text: str) -> str:
    r"""Return a text with its control characters escaped as in Python.

    Examples
    --------
    >>> print(show_controls("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return UNSAFE.sub(lambda found: ascii(found.group())[1:-1], text)


def show_in_line(text: str) -> str:
    r"""Return a text on one line, with line ends escaped as in Python as well.

    Examples
    --------
    >>> print(show_in_line("a\nb\x1b[2J"))
    a\nb\x1b[2J
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


LONG_NAME = re.compile(r"(?<!\S)\S{4097,}")
"""A word that is longer than any path."""


def escape(text: str) -> str:
    r"""Return a text that Rich prints unchanged, with markup disabled and control characters escaped.

    Rich takes quadratic time for backslashes, so a count replaces the middle of a word that is longer than any path.

    Examples
    --------
    >>> print(escape("[red]"), escape(100_000 * "a"))
    \[red] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (99,940 letters left out) …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    """
    from rich import markup  # the command starts without loading Rich

    shown = LONG_NAME.sub(lambda found: cut_middle(found[0], WORD_LETTERS), text)
    return markup.escape(show_controls(shown))


def print_note(note: str) -> None:
    """Print a sentence to standard error."""
    print(show_controls(shorten_message(note)), file=sys.stderr)


def make_console(*, stderr: bool = False, quiet: bool = False, **options: Any) -> Console:
    """Return a Rich console for standard output or error that neither breaks nor colours lines by default.

    Parameters
    ----------
    stderr, quiet : bool
    **options
        Further arguments of ``Console``.
    """
    from rich.console import Console

    console = Console(stderr=stderr, quiet=quiet, highlight=False, emoji=False, soft_wrap=True, **options)
    if not console.is_terminal and "COLUMNS" not in os.environ and "width" not in options:
        console.width = PIPE_WIDTH
    return console


def write_ranges(numbers: Sequence[int]) -> str:
    """Return numbers with ranges in place of consecutive ones.

    Examples
    --------
    >>> write_ranges([1, 2, 3, 7, 9, 10])
    '1–3, 7, 9, 10'
    """
    ranges = []
    for _, group in groupby(enumerate(sorted(numbers)), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        ranges.append(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)))
    return ", ".join(ranges)
