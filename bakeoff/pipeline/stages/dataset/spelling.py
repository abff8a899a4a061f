"""The spelling of cells: the canonical spelling of each value, missing cells, dates, and units of numbers.

Units are signs or words beside the numbers of a column, such as ``m²``, ``%`` and ``€``, or the parentheses around
negative numbers. Keys of the command line are spelled here too, as messages give them.
"""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.tseries.api import guess_datetime_format

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.clock import CLOCK, TIME
from bakeoff.pipeline.text.wording import quote_text

BOOLEANS = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0+")
"""An integer with zeros after the point; numbers with leading zeros are codes."""


def spell_cell(cell: object) -> str:
    """Return the canonical spelling of a cell that is not missing.

    Parameters
    ----------
    cell : object
        Text, a Boolean, a number or a date.

    Examples
    --------
    >>> [spell_cell(cell) for cell in ("True", True, "1.0", 1.0, "007", Decimal("2.50"), date(2024, 2, 29))]
    ['true', 'true', '1', '1', '007', '2.5', '2024-02-29']
    """
    if isinstance(cell, str):
        if cell in BOOLEANS:
            return cell.lower()
        match = WHOLE_NUMBER.fullmatch(cell)
        spelling = match[1] if match else cell
        return "0" if spelling == "-0" else spelling
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    if isinstance(cell, date | np.datetime64):
        time = pd.Timestamp(cell)
        return time.isoformat()[:10] if time == time.normalize() else str(time)
    if (
        isinstance(cell, int | float | Decimal | np.integer | np.floating)
        and cell == cell
        and abs(cell) != float("inf")
    ):
        if cell == int(cell):
            return str(int(cell))
        # str() of NumPy's floats is their shortest spelling, for 32 bits as well.
        return f"{cell:f}".rstrip("0") if isinstance(cell, Decimal) else str(cell)
    return str(cell)


def choose_spelling(declared: Sequence[Any]) -> Callable[[Any], str]:
    """Return the function that spells the cells of a column with declared values.

    It is `spell_cell`, unless two of the values differ only in their spelling, as do ``TRUE`` and ``true``.
    """
    texts = [value for value in declared if isinstance(value, str)]
    return str if len({*map(spell_cell, texts)}) < len(texts) else spell_cell


PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")
"""A word that needs no quotation marks in a command-line list."""
PLAIN_KEY = re.compile(r"[\w.=,/\[\]-]*")
"""A key with a list that a shell leaves unchanged."""
OTHER_MEANING = frozenset({"true", "false", "null", "nan", "inf"})
"""Words that are not treated as text without quotation marks."""


def format_list_key(key: str, names: Iterable[str]) -> str:
    """Return a dataset key with a list, quoted where Hydra and a shell require it.

    Examples
    --------
    >>> print(format_list_key("keep", ["age"]), format_list_key("keep", ["age", "body mass (g)"]))
    dataset.keep=[age] 'dataset.keep=[age,"body mass (g)"]'
    """
    is_plain = {name: PLAIN_WORD.fullmatch(name) and name.lower() not in OTHER_MEANING for name in names}
    shown = ",".join(name if plain else quote_value(name) for name, plain in is_plain.items())
    word = f"dataset.{key}=[{shown}]"
    return word if PLAIN_KEY.fullmatch(word) else shlex.quote(word)


def quote_value(text: str) -> str:
    """Return a quoted value of a key, in double quotation marks if possible, because a shell takes single ones."""
    quoted = quote_text(text)
    return quoted if {*text} & {*"\"'"} else f'"{quoted[1:-1]}"'


PLAIN_UNIT = re.compile(r"(?:[\w$%/.+*-]|[^\x00-\x7f])++|\[\]")
"""A value that needs no quotation marks in a mapping: a unit, a format of dates, or an empty list."""


def format_mapping_key(key: str, values: Mapping[str, str]) -> str:
    r"""Return a dataset key with a value for each column, escaped and quoted for Hydra and a shell.

    Examples
    --------
    >>> print(format_mapping_key("units", {"size (net)": "m²", "loss": "()"}))
    'dataset.units={size\ \(net\): m²,loss: "()"}'
    """
    pairs = []
    for name, value in values.items():
        escaped = re.sub(r"([\\()\[\]{}:=,\s])", r"\\\1", name)
        pairs.append(f"{escaped}: {value if PLAIN_UNIT.fullmatch(value) else quote_value(value)}")
    return shlex.quote(f"dataset.{key}={{{','.join(pairs)}}}")


EMPTY = ""
EVERYWHERE = frozenset({EMPTY, "NA", "NaN", "nan"})
"""Spellings of a missing cell in each column, the target included."""
AMONG_NUMBERS = frozenset(
    {
        *("?", "??", "-", "--", "---", "–", "—", ".", "..", "...", "*", "_", "na", "n/a", "n.a.", "n.a", "n. a."),
        *("nan", "-nan", "<na>", "#n/a", "#na", "#value!", "#null!", "#div/0!", "none", "null", "(null)", "\\n", "nil"),
        *("k.a.", "k. a.", "n/d", "n.d.", "n. d.", "s/d", "missing", "(missing)", "unknown", "not available"),
        *("not applicable", "undefined", "void"),
    }
)
"""Spellings, in lower case, that denote a missing cell only in a column whose other cells are numbers."""


@dataclass(frozen=True)
class MissingRule:
    """The missing cells of one column.

    Attributes
    ----------
    spellings : frozenset of str
        Spellings of a missing cell in any column; a cell with only spaces is empty.
    among_numbers : frozenset of str
        Spellings, in lower case, of a missing cell only in a column whose other cells are numbers.
    given : frozenset of str
        The spellings given by the user.
    """

    spellings: frozenset[str] = EVERYWHERE
    among_numbers: frozenset[str] = AMONG_NUMBERS
    given: frozenset[str] = frozenset()

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """The numbers among the spellings, such as -999; numeric cells equal to them are missing."""
        numbers = []
        for spelling in sorted(self.spellings - EVERYWHERE):
            try:
                numbers.append(float(spelling))
            except ValueError:
                continue
        return tuple(numbers)

    def covers(self, cell: str) -> bool:
        """Return whether a cell is missing in any column."""
        return cell in self.spellings or cell.strip() in self.spellings

    def covers_among_numbers(self, cell: str) -> bool:
        """Return whether a cell is missing in a column whose other cells are numbers."""
        return self.covers(cell) or cell.strip().lower() in self.among_numbers


def make_missing_rule(na_values: Any, column: str) -> MissingRule:
    """Return the rule for the missing cells of a column.

    Parameters
    ----------
    na_values : None, sequence or mapping
        Additional spellings for all columns; or, by column name, the only spellings in addition to the empty cell, so
        that ``NA`` may be a value.
    column : str

    Raises
    ------
    UserError
        ``na_values`` is neither.

    Examples
    --------
    >>> make_missing_rule(["x", -999], "age").covers("-999")
    True
    >>> make_missing_rule({"country": []}, "country").covers("NA")
    False
    """
    is_by_column = isinstance(na_values, Mapping)
    if na_values is None or (is_by_column and column not in na_values):
        return MissingRule()
    spellings = na_values[column] if is_by_column else na_values
    if isinstance(spellings, str) or not isinstance(spellings, Sequence):
        raise UserError(
            f"dataset.na_values={spellings!r} must be a list of spellings, dataset.na_values=[{spellings}], or lists "
            "by column, 'dataset.na_values={age: [-1]}'."
        )
    given = frozenset(map(str, spellings))
    return (
        MissingRule(given | {EMPTY}, frozenset(), given)
        if is_by_column
        else MissingRule(EVERYWHERE | given, given=given)
    )


ISO = "ISO8601"
"""The pandas name for formats such as 2012-01-31 and 2012-01-31T12:30:00Z."""
ISO_CELL = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?)?")

YEAR = re.compile(r"\d{4}")
QUARTER = re.compile(r"Q([1-4])(?!\d)")
PERIODS = (
    *("%Y Q%q", "%YQ%q", "%Y-Q%q", "Q%q %Y", "Q%q/%Y", "Q%q-%Y", "%G-W%V", "%GW%V", "%G W%V", "%G-W%V-%u"),
    *("%Y %b", "%b %Y", "%Y-%b", "%b-%Y", "%Y %B", "%B %Y", "%m/%Y", "%Y/%m", "%YM%m"),
)
"""The formats of quarters, ISO weeks and months, each of which is the date of its first day."""
MAX_PERIOD_LETTERS = 20
N_TRIED_CELLS = 5


def find_date_formats(cells: Sequence[str]) -> list[str]:
    """Return the formats in which all cells are dates; more than one if day and month cannot be distinguished.

    Quarters, months and ISO weeks are dates as well.

    Parameters
    ----------
    cells : sequence of str
        Distinct cells, none of them missing.

    Examples
    --------
    >>> find_date_formats(["31.12.2012", "01.02.2013"])
    ['%d.%m.%Y']
    >>> find_date_formats(["01/02/2012", "03/04/2013"])
    ['%d/%m/%Y', '%m/%d/%Y']
    >>> find_date_formats(["1970 Q1", "1970 Q2"])
    ['%Y Q%q']
    """
    first = cells[0].strip() if cells else ""
    formats = [ISO] if ISO_CELL.fullmatch(first) else _guess_formats(first)
    if not formats and len(first) <= MAX_PERIOD_LETTERS and YEAR.search(first):
        formats = [each for each in PERIODS if parse_dates([first], each).notna().all()]
    fitting = [each for each in formats if parse_dates(cells, each).notna().all()]
    # May is both the long and the short name of a month.
    return fitting[:1] if {*fitting} <= {*PERIODS} else fitting


def find_common_format(cells: Sequence[str]) -> str:
    """Return the format in which most cells are dates; empty if none of the first cells is a date."""
    formats = [each for cell in cells[:N_TRIED_CELLS] for each in find_date_formats([cell])]
    return max(dict.fromkeys(formats), key=lambda each: parse_dates(cells, each).count(), default="")


def _guess_formats(cell: str) -> list[str]:
    """Return the formats in which a cell is a date with a day; with points, the day comes first."""
    with warnings.catch_warnings():
        # pandas warns about a cell such as 12/31/2012, which has only one meaning.
        warnings.simplefilter("ignore", UserWarning)
        guessed = [guess_datetime_format(cell, dayfirst=True)]
        if "." not in cell:
            guessed.append(guess_datetime_format(cell, dayfirst=False))
    return [each for each in dict.fromkeys(guessed) if each is not None and "%d" in each]


def parse_dates(cells: Sequence[str], date_format: str) -> pd.Series:
    """Return the dates of cells, shape (n,) of datetime64, in UTC if they name a time zone; NaT for other cells.

    Parameters
    ----------
    cells : sequence of str
    date_format : str
        A format for `datetime.strptime`, with ``Q%q`` for a quarter, or ``ISO8601``.
    """
    text = pd.Series(list(cells), dtype=object).map(str.strip)
    if date_format == ISO:
        text = text.where(text.map(lambda cell: bool(ISO_CELL.fullmatch(cell))))
    elif "Q%q" in date_format:
        date_format = date_format.replace("%q", "%m")
        text = text.str.replace(QUARTER, lambda found: f"Q{3 * int(found[1]) - 2}", regex=True)
    elif date_format.endswith("%V"):
        date_format, text = f"{date_format} %u", text + " 1"
    try:
        times = pd.to_datetime(text, format=date_format, errors="coerce", utc=True)
    except ValueError:  # the format itself is wrong
        return pd.Series(pd.NaT, index=text.index, dtype="datetime64[ns]")
    return choose_unit(times.dt.tz_localize(None))


def choose_unit(dates: pd.Series) -> pd.Series:
    """Return dates as datetime64[ns], or [us] if some are outside the years 1678 to 2261."""
    try:
        return dates.astype("datetime64[ns]")
    except (pd.errors.OutOfBoundsDatetime, OverflowError):
        return dates.astype("datetime64[us]")


DASHES = "−–"
"""The minus sign, and the dash that some programs write for it."""
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
CODES = (
    r"AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|SEK|SGD|THB|TRY|USD|ZAR|kr|Rs\.?|zł"
)
"""The most traded currencies, as ISO 4217 names them, and words for some."""
QUANTITY = re.compile(
    rf"\s*+(?P<open>\(?)\s*+[+−–-]?\s*+(?P<front>(?:[A-Z]{{0,3}}[{CURRENCY}]|{CODES})?)\s*+[+−–-]?\s*+(?:{NUMBER})"
    rf"\s*+(?P<behind>(?:{BEHIND})?)\s*+\)?\s*+"
)
"""A number with a currency in front, with a sign or words behind it, or without a unit."""
ANY_UNIT = re.compile(
    rf"\s*+[+−–-]?(?:{NUMBER})(?![.,:\d]|['’_–-]\d|/\d+/|/\d{{4}})"
    r"\s*+(?P<text>(?=[\d\s.,]*+[^\d\s.,])\S(?:.{0,30}\S)?)\s*+"
)
"""A number and any text behind it, which is a unit only if nearly all cells have it; not a time, date or code."""
MARKED_NUMBER = re.compile(rf"[<>≤≥~≈]?\s*[+-]?(?:{NUMBER})\s*(?:\*+|[†‡]|\[\w{{1,3}}\])?")
"""A number with a sign of comparison in front of it, or a footnote behind it."""
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
        Unit -> number of cells; numbers without a unit have the unit ``""``, or ``"()"`` in parentheses; `CLOCK` if
        nearly all cells are times of day.
    examples : mapping of str to str
        Unit, or text that is none -> the first cell with it.
    """

    n_filled: int
    counts: dict[str, int]
    examples: dict[str, str]

    @property
    def has_quantities(self) -> bool:
        """Whether the cells are numbers, some of which have a unit."""
        return any(self.counts) and sum(self.counts.values()) >= MIN_SHARE * self.n_filled

    @property
    def is_complete(self) -> bool:
        """Whether all cells are numbers."""
        return sum(self.counts.values()) == self.n_filled

    @property
    def common(self) -> str:
        """The unit of all numbers of the column; empty if there is none."""
        unit = PARENTHESES if set(self.counts) == {"", PARENTHESES} else "".join(self.counts)
        is_mixed = len(self.counts) != 1 + (unit == PARENTHESES)
        return unit if self.has_quantities and not is_mixed else ""


def count_units(text: pa.Array, rule: MissingRule) -> UnitCounts:
    """Count the units of the cells of a text column; they are ignored if none of the first cells has one.

    Parameters
    ----------
    text : Array of n strings
        The cells, null where missing.
    rule : MissingRule
    """
    if len(text) > N_FIRST_CELLS:
        found = count_units(text.slice(0, N_FIRST_CELLS), rule)
        if found.n_filled and not any(found.counts):
            return found
    values, numbers = pc.value_counts(text.drop_null()).flatten()
    counts: Counter[str] = Counter()
    others: Counter[str] = Counter()
    examples: dict[str, str] = {}
    n_filled = n_times = 0
    for cell, number in zip(values.to_pylist(), numbers.to_pylist(), strict=True):
        if rule.covers_among_numbers(cell):
            continue
        n_filled += number
        parts = QUANTITY.fullmatch(cell)
        if parts and not (parts["front"] and parts["behind"]):
            unit = parts["front"] or parts["behind"] or (PARENTHESES if parts["open"] else "")
            counts[unit] += number
            examples.setdefault(unit, cell)
        elif re.match(TIME, cell.strip()):
            n_times += number
            examples.setdefault(CLOCK, cell)
        elif parts := ANY_UNIT.fullmatch(cell):
            others[parts["text"]] += number
            examples.setdefault(parts["text"], cell)
    if n_times and n_times >= MIN_SHARE * n_filled:
        return UnitCounts(n_times, {CLOCK: n_times}, examples)
    for unit, number in others.most_common(1):
        if number >= MIN_SHARE * (n_filled - counts[""]) and not find_date_formats([examples[unit]]):
            counts[unit] += number
    return UnitCounts(n_filled, dict(counts), examples)
