"""What may be wrong with the cells of a column: a sentence each, with the key that cures it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bakeoff.pipeline.stages.dataset.cells import MAX_EXACT_INTEGER, Cells
from bakeoff.pipeline.stages.dataset.kinds import MIN_JUDGED_CELLS, is_mostly_numbers, shorten
from bakeoff.pipeline.stages.dataset.spelling import format_list_key
from bakeoff.pipeline.stages.dataset.table import NOMINAL, NUMERIC
from bakeoff.pipeline.text.wording import join_words

MAX_SHOWN_CELLS = 3
MAX_INTEGER_CLASSES = 20
"""A target of integers with at most this many distinct values is interpreted as classes."""
MIN_ROWS_PER_CLASS = 2
"""With fewer rows of a class on average, the target is probably a name."""


def find_suspicions(cells: Cells, kind: str, is_chosen: bool = False) -> tuple[str, ...]:
    """Return suspicions about a column that is a feature, or is left out.

    Parameters
    ----------
    cells : Cells
    kind : str
        Of `Column`.
    is_chosen : bool
        Whether the user has declared its kind or wants to keep it, so that this is not recommended against.
    """
    found: list[str] = []
    if kind == NUMERIC:
        found = [*_suspect_numbers(cells, is_chosen)]
    elif kind == NOMINAL and cells.text is not None:
        # A column of numbers that is declared nominal needs no note that it looks like numbers.
        strays = [] if is_chosen else [*_suspect_stray_cells(cells)]
        found = [*(strays or _suspect_placeholders(cells)), *_suspect_similar_values(cells)]
    return tuple(f"{cells.name}: {sentence}" for sentence in found)


def suspect_classes(cells: Cells) -> tuple[str, ...]:
    """Return sentences about a target of classes: missing cells among them, two spellings, and rare classes."""
    found = [*_suspect_placeholders(cells), *_suspect_similar_values(cells)]
    distinct = cells.distinct
    n_classes = len(distinct.values)
    if n_classes > MAX_INTEGER_CLASSES and n_classes * MIN_ROWS_PER_CLASS > distinct.n_present:
        found.append(f"the target has {n_classes} classes in {distinct.n_present} rows.")
    return tuple(f"{cells.name}: {sentence}" for sentence in found)


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
    keeps = f"{nominal} keeps codes as they are spelled."
    if cells.leading_zero:
        yield f"cells such as {cells.leading_zero!r} lose their zeros as numbers. {keeps}"
    if (np.abs(present) >= MAX_EXACT_INTEGER).any():
        yield f"numbers beyond 2**53 lose their last digits. {keeps}"
    if not is_chosen and _is_shuffled_row_number(present, reading.values.size):
        yield (
            f"each number from {present.min():.0f} to {present.max():.0f} occurs once, like row numbers. "
            f"{format_list_key('drop', [cells.name])} leaves it out."
        )


def _is_shuffled_row_number(present: np.ndarray, n: int) -> bool:
    is_judged = present.size == n >= MIN_JUDGED_CELLS
    return is_judged and present.max() - present.min() == n - 1 and np.unique(present).size == n


def _suspect_stray_cells(cells: Cells) -> Iterator[str]:
    """Yield a sentence about a column of numbers that a few other cells make nominal."""
    if is_mostly_numbers(cells):
        others = cells.reading.others
        n_numbers = cells.reading.n_numbers
        key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
        yield (
            f"{n_numbers} of {n_numbers + sum(others.values())} cells are numbers, the others {list_cells(others)}, so "
            f"that the column is taken for nominal. Correct them, or {key} takes them for missing."
        )


def _suspect_placeholders(cells: Cells) -> Iterator[str]:
    """Yield a sentence about values such as ``?``, which would be missing cells among numbers."""
    distinct = cells.distinct
    found = [cell for cell in distinct.spellings if cells.rule.covers_among_numbers(cell)]
    if found:
        shown = list_cells({cell: distinct.count(cell) for cell in found})
        verb = "counts as a value" if len(found) == 1 else "count as values"
        yield f"{shown} {verb}. {format_list_key('na_values', found)} takes such cells for missing."


def _suspect_similar_values(cells: Cells) -> Iterator[str]:
    """Yield a sentence about two values that differ only in capitals or spaces."""
    first: dict[str, str] = {}
    for value in cells.distinct.values:
        found = first.setdefault(" ".join(value.casefold().split()), value)
        if found != value:
            yield f"{found!r} and {value!r} are two values; correct the cells if they are meant to be one."
            return
