"""What may be wrong with the cells of a column: a sentence each, with the key that cures it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bakeoff.pipeline.stages.dataset.cells import MAX_EXACT_INTEGER, Cells
from bakeoff.pipeline.stages.dataset.kinds import MIN_JUDGED_CELLS, is_mostly_numbers, shorten
from bakeoff.pipeline.stages.dataset.spelling import find_pair, find_stray_cells, format_list_key, spell_cell
from bakeoff.pipeline.stages.dataset.table import IDENTIFIER, NOMINAL, NUMERIC, TEXT
from bakeoff.pipeline.text.words import join_words

MIN_CELLS_PER_VALUE = 5.0
"""A nominal column with fewer cells for each value on average has values that are rare in training rows."""
MIN_VALUES = 20
MAX_SHOWN_CELLS = 3
MAX_IMBALANCE = 10.0
"""Rows of the largest class for each row of the smallest, above which a sentence is due."""
WHOLE_POWER = r"^\s*[0-9]+[eE][0-9]+\s*$"
UNIT = re.compile(r"([$€£¥]\s?)?[+-]?[0-9]+(?:[.,][0-9]+)?(\s?[^\W\d_%°]{0,4}[%°]?[^\W\d_]?)")
"""A number with a unit, a currency or a decimal comma, such as 12 mm, €3 or 0,5."""
DIGITS_AND_SIGNS = re.compile(r"[\s.,'’_()+−–-]*(?:[0-9][\s.,'’_()+−–-]*)+")
"""Digits with any signs between and around them, such as 1.234.567, 1 234 or (5)."""
DAY_NUMBER = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
"""A whole number that spells a day, such as 20120131."""


def find_suspicions(cells: Cells, kind: str, is_chosen: bool = False) -> tuple[str, ...]:
    """Return suspicions about a column that is a feature, or is left out.

    Parameters
    ----------
    cells : Cells
    kind : str
        Of `bakeoff.pipeline.stages.dataset.table.KINDS`.
    is_chosen : bool
        Whether the user has declared its kind or wants to keep it, so that this is not recommended against.
    """
    found: Iterator[str] = iter(())
    if kind == NUMERIC:
        found = _suspect_numbers(cells, is_chosen)
    elif kind == NOMINAL and cells.text is not None:
        found = _suspect_values(cells, is_chosen)
    elif kind in (IDENTIFIER, TEXT) and cells.text is not None and not cells.reading.is_complete:
        found = iter([_suspect_dates(cells) or _suspect_format(cells)])
    return tuple(f"{cells.name}: {sentence}" for sentence in found if sentence)


def suspect_imbalance(cells: Cells) -> tuple[str, ...]:
    """Return a sentence if the largest class has more than `MAX_IMBALANCE` times the rows of the smallest.

    Parameters
    ----------
    cells : Cells
        Of the target.
    """
    distinct = cells.distinct
    counts = np.bincount(distinct.codes[distinct.codes >= 0], minlength=len(distinct.values))  # (c,)
    largest = int(counts.max())
    rare = [position for position in np.argsort(counts, kind="stable") if counts[position] * MAX_IMBALANCE < largest]
    if not rare:
        return ()
    shown = [f"{distinct.values[position]!r} {counts[position]}" for position in rare[:MAX_SHOWN_CELLS]]
    further = f" ({len(rare) - len(shown)} more classes are as rare)" if len(rare) > len(shown) else ""
    common = distinct.values[int(counts.argmax())]
    return (
        f"{cells.name}: class {common!r} has {largest} of {counts.sum()} rows, {', '.join(shown)}{further}, so that "
        "accuracy says little about rare classes. evaluation.metrics=[balanced_accuracy] counts all classes alike, and "
        "balance=weights fits so.",
    )


def describe_similar_values(values: Sequence[str]) -> str:
    """Return a sentence about two values that differ only in capitals or spaces; empty if there are none."""
    pair = find_pair(values, lambda value: " ".join(value.casefold().split()))
    if pair is None:
        return ""
    return f"{pair[0]!r} and {pair[1]!r} are two values; correct the cells if they are meant to be one."


def list_cells(counts: Mapping[str, int]) -> str:
    """Return the most frequent cells in quotes, with the number of further ones.

    Examples
    --------
    >>> list_cells({"?": 2, "-": 1})
    "'?' (2 cells) and '-'"
    """
    ranked = sorted(counts, key=lambda cell: -counts[cell])
    shown = [f"{shorten(cell)!r}" + (f" ({counts[cell]} cells)" if counts[cell] > 1 else "") for cell in ranked]
    if len(shown) > MAX_SHOWN_CELLS:
        shown = [*shown[:MAX_SHOWN_CELLS], f"{len(shown) - MAX_SHOWN_CELLS} more"]
    return join_words(shown)


def _suspect_numbers(cells: Cells, is_chosen: bool) -> Iterator[str]:
    reading = cells.reading
    nominal = format_list_key("nominal", [cells.name])
    if reading.missing_spellings:
        n_cells = reading.n_numbers + sum(reading.missing_spellings.values())
        yield (
            f"{reading.n_numbers} of {n_cells} cells are numbers; the others, {list_cells(reading.missing_spellings)}, "
            f"are taken for missing. {nominal} would take all for values."
        )
    present = reading.values[np.isfinite(reading.values)]
    # Leading zeros are only searched for in whole numbers, because the search takes longer than reading the numbers.
    if present.size == 0 or not (present == np.round(present)).all():
        return
    keeps_codes = f"{nominal} keeps codes as they are spelled."
    if cells.leading_zero:
        yield f"cells such as {cells.leading_zero!r} lose their zeros as numbers. {keeps_codes}"
    if power := cells.find_text(WHOLE_POWER):
        yield f"cells such as {power!r} are read as powers of ten. {keeps_codes}"
    if (np.abs(present) >= MAX_EXACT_INTEGER).any():
        yield f"numbers beyond 2**53 lose their last digits. {keeps_codes}"
    if present.size >= MIN_JUDGED_CELLS and all(DAY_NUMBER.fullmatch(f"{number:.0f}") for number in present):
        yield (
            f"its numbers look like dates such as {present[0]:.0f}, and are taken for numbers. "
            f'dataset.dates={{{cells.name}: "%Y%m%d"}} takes them for dates.'
        )
    if not is_chosen and _is_shuffled_row_number(present, reading.values.size):
        yield (
            f"each number from {present.min():.0f} to {present.max():.0f} occurs once, like row numbers. "
            f"{format_list_key('drop', [cells.name])} leaves it out."
        )


def _is_shuffled_row_number(present: np.ndarray, n: int) -> bool:
    is_judged = present.size == n >= MIN_JUDGED_CELLS
    return is_judged and present.max() - present.min() == n - 1 and np.unique(present).size == n


def _suspect_values(cells: Cells, is_chosen: bool) -> Iterator[str]:
    distinct = cells.distinct
    # A column of numbers that is declared nominal needs no note that it looks like numbers.
    doubt = "" if is_chosen else _suspect_format(cells) or _suspect_dates(cells) or _suspect_stray_cells(cells)
    yield doubt or _suspect_placeholders(cells)
    merged = find_pair(distinct.spellings, spell_cell)
    if merged:
        yield f"{merged[0]!r} and {merged[1]!r} are taken for one value."
    yield describe_similar_values(distinct.values)
    spaced = [cell for cell in distinct.spellings if cell != cell.strip()]
    if spaced:
        yield (
            f"{len(spaced)} values have spaces around them, such as {shorten(spaced[0])!r}. "
            "dataset.strip=true leaves them out of a text file."
        )
    is_rich = len(distinct.values) > MIN_VALUES and distinct.n_present < MIN_CELLS_PER_VALUE * len(distinct.values)
    if is_rich and not is_chosen:
        yield (
            f"{len(distinct.values)} values in {distinct.n_present} cells are few cells for each. "
            f"{format_list_key('drop', [cells.name])} leaves it out."
        )


def _suspect_stray_cells(cells: Cells) -> str:
    """Return a sentence about a column of numbers that a few other cells make nominal."""
    if not is_mostly_numbers(cells):
        return ""
    others = cells.reading.others
    n_numbers = cells.reading.n_numbers
    key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
    return (
        f"{n_numbers} of {n_numbers + sum(others.values())} cells are numbers, the others {list_cells(others)}, so "
        f"that the column is taken for nominal. Correct them, or {key} takes them for missing."
    )


def _suspect_placeholders(cells: Cells) -> str:
    """Return a sentence about values such as ``?``, which would be missing cells among numbers."""
    found = [cell for cell in cells.distinct.spellings if cells.rule.covers_among_numbers(cell)]
    if not found:
        return ""
    shown = list_cells({cell: cells.distinct.count(cell) for cell in found})
    count = "counts as a value" if len(found) == 1 else "count as values"
    return f"{shown} {count} of a nominal column. {format_list_key('na_values', found)} takes such cells for missing."


def _suspect_format(cells: Cells) -> str:
    """Return a sentence about text that is all numbers with one unit or with other signs."""
    values = cells.distinct.spellings
    if cells.declared is not None or len(values) < MIN_VALUES:
        return ""
    shown = f"cells such as {shorten(values[0])!r}"
    units = {match.group(1, 2) if (match := UNIT.fullmatch(cell.strip())) else None for cell in values}
    if len(units) == 1 and units != {None}:
        return (
            f"{shown} look like numbers with a unit or with other signs, and are taken for text. Numbers alone, with a "
            "decimal point, are read as numbers."
        )
    if not all(DIGITS_AND_SIGNS.fullmatch(cell) for cell in values):
        return ""
    return (
        f"{shown} hold digits and signs alone, and are taken for text. If they are numbers, dataset.thousands and "
        "dataset.decimal say which sign is which."
    )


def _suspect_dates(cells: Cells) -> str:
    """Return a sentence about a column of dates with a few other cells among them."""
    strays = find_stray_cells(cells.distinct.spellings)
    if not strays:
        return ""
    counts = {cell: cells.distinct.count(spell_cell(cell)) for cell in strays}
    n_present = cells.distinct.n_present
    key = format_list_key("na_values", strays[:MAX_SHOWN_CELLS])
    return (
        f"{n_present - sum(counts.values())} of {n_present} cells are dates, the others {list_cells(counts)}, so that "
        f"the column is taken for text. Correct them, or {key} takes them for missing."
    )
