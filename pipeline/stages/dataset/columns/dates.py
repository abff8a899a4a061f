"""Dates: the formats in which files spell them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

ISO = "ISO8601"
"""What pandas calls the formats 2012-01-31, 2012-01-31T12:30:00Z and the like."""
ISO_CELL = re.compile(r"\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?)?")
DAYS = (
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %d %Y",
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%b-%y",
)
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
FIELDS = {
    "%Y": r"\d{4}",
    "%y": r"\d{2}",
    "%m": r"\d{1,2}",
    "%d": r"\d{1,2}",
    "%b": r"[^\W\d_]{3}\.?",
    "%B": r"[^\W\d_]{3,}",
    "%H": r"\d{1,2}",
    "%I": r"\d{1,2}",
    "%M": r"\d{2}",
    "%S": r"\d{2}",
    "%p": r"[AaPp][Mm]",
}
"""The cells that a field of a format may hold, approximately: pandas decides, but takes a millisecond for a format."""
MIN_DATES = 10
MIN_DATES_SHARE = 0.9
"""Text with at least so many and this share of dates was probably meant to hold dates."""
N_PROBED_CELLS = 3
"""Cells that exclude most formats, before all cells are read."""


def _make_pattern(date_format: str) -> re.Pattern[str]:
    pattern = re.escape(date_format)
    # A version such as 1.2.12 is no date: with two digits of the year, day and month have two as well.
    fields = FIELDS | {"%m": r"\d{2}", "%d": r"\d{2}"} if "%y" in date_format else FIELDS
    for name, cell in fields.items():
        pattern = pattern.replace(name, cell)
    return re.compile(pattern)


PATTERNS = {day + time: _make_pattern(day + time) for day in DAYS for time in TIMES}
"""Format -> the cells that may be dates of it."""


def find_date_formats(cells: Sequence[str]) -> list[str]:
    """Return the formats in which all cells are dates; more than one if day and month cannot be told apart.

    Parameters
    ----------
    cells : sequence of str
        Distinct, and none missing.

    Examples
    --------
    >>> find_date_formats(["31.12.2012", "01.02.2013"])
    ['%d.%m.%Y']
    >>> find_date_formats(["01/02/2012", "03/04/2013"])
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    probed = [cell.strip() for cell in cells[:N_PROBED_CELLS]]
    if not probed:
        return []
    if all(ISO_CELL.fullmatch(cell) for cell in probed):
        return [ISO] if count_dates(cells, ISO) == len(cells) else []
    likely = [name for name, pattern in PATTERNS.items() if all(pattern.fullmatch(cell) for cell in probed)]
    return [each for each in likely if count_dates(cells, each) == len(cells)]


def find_stray_cells(cells: Sequence[str]) -> list[str]:
    """Return the cells that are no dates among cells of which nearly all are; none if they are not.

    Parameters
    ----------
    cells : sequence of str
        Distinct, and none missing.

    Examples
    --------
    >>> find_stray_cells([*(f"{day}.1.2020" for day in range(1, 25)), "?"])
    ['?']
    """
    middle = [cells[len(cells) // 2]] if len(cells) >= MIN_DATES else []
    for date_format in find_date_formats(middle):
        is_date = parse_dates(cells, date_format).notna().to_numpy()  # (n,)
        if MIN_DATES_SHARE <= is_date.mean() < 1:
            return [cell for cell, is_parsed in zip(cells, is_date, strict=True) if not is_parsed]
    return []


def count_dates(cells: Sequence[str], date_format: str) -> int:
    """Return how many cells are dates of a format."""
    return int(parse_dates(cells, date_format).notna().sum())


def parse_dates(cells: Sequence[str], date_format: str) -> pd.Series:
    """Return the dates of cells, shape (n,) of datetime64[ns], in UTC if they name a time zone; NaT for other cells.

    Parameters
    ----------
    cells : sequence of str
    date_format : str
        As for `datetime.strptime`, or ``ISO8601``.
    """
    text = pd.Series(list(cells), dtype=object).map(str.strip)
    if date_format == ISO:
        text = text.where(text.map(lambda cell: bool(ISO_CELL.fullmatch(cell))))
    try:
        times = pd.to_datetime(text, format=date_format, errors="coerce", utc=True)
    except ValueError:  # the format itself is wrong
        return pd.Series(pd.NaT, index=text.index, dtype="datetime64[ns]")
    # Dates beyond the years 1678 to 2261, which datetime64[ns] does not hold, are not dates here.
    first = pd.Timestamp.min.tz_localize("UTC")
    last = pd.Timestamp.max.tz_localize("UTC")
    times = times.where(times.between(first, last))
    return times.dt.tz_localize(None).astype("datetime64[ns]")
