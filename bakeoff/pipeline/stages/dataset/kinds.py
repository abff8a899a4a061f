"""The kind of a column, inferred from its cells or declared by the user, and possible problems with its cells.

The signs and units of the numbers of a source are settled first, as given or as recognised in its text columns. A
suspicion is a sentence about a column that names the key to fix it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.cells import Cells, read_cells
from bakeoff.pipeline.stages.dataset.clock import CLOCK
from bakeoff.pipeline.stages.dataset.guesses import (
    CONFIRMATION,
    SEARCHED,
    answer_points,
    guess_signs,
    list_columns,
    read_minus,
    read_signs,
    strip_unit,
)
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.odd_rows import leave_out_rows
from bakeoff.pipeline.stages.dataset.source import MAX_EXACT_INTEGER, Source
from bakeoff.pipeline.stages.dataset.spelling import (
    DASHES,
    ISO,
    MARKED_NUMBER,
    N_FIRST_CELLS,
    PARENTHESES,
    UnitCounts,
    count_units,
    find_common_format,
    find_date_formats,
    format_list_key,
    format_mapping_key,
    make_missing_rule,
    parse_dates,
    spell_cell,
)
from bakeoff.pipeline.stages.dataset.table import (
    BOOLEAN,
    CONSTANT,
    DATE,
    IDENTIFIER,
    NOMINAL,
    NUMERIC,
    ORDERED,
    TEXT,
    Column,
)
from bakeoff.pipeline.text.wording import count_nouns, cut_text, join_words


class Numerals(NamedTuple):
    """How numbers are spelled.

    Attributes
    ----------
    rules : ColumnRules
        The rules with all signs and units.
    guessed : mapping of str to str
        The keys of signs that were recognised.
    notes : list of str
        Sentences about what was recognised.
    """

    rules: ColumnRules
    guessed: Mapping[str, str]
    notes: list[str]


def settle_source(source: Source, rules: ColumnRules) -> tuple[Source, ColumnRules]:
    """Return a source and the rules with which its numbers are read; the notes name what was recognised.

    Parameters
    ----------
    source : Source
    rules : ColumnRules

    Raises
    ------
    UserError
        A comma or a point may have two meanings, or a cell does not have the given unit of its column.
    """
    if source.is_settled:
        return source, rules
    source = leave_out_rows(source, rules)
    others = [name for name, kind in rules.declared_kinds.items() if kind != NUMERIC]
    frame = source.frame.drop(columns=[*source.declared, *rules.lists["drop"]], errors="ignore")
    characters = SEARCHED if source.characters is None else source.characters
    settled = settle_numerals(frame, rules, source.name, characters, {*rules.lists["drop"], *others})
    for name in rules.units or ():
        if name in source.frame:
            claim = f"dataset.units gives {name!r} the unit {rules.get_unit(name)!r}"
            fit_kind(read_cells(source.frame[name], settled.rules), Column(name, NUMERIC, ""), claim)
    notes = (*source.notes, *settled.notes)
    return replace(source, notes=notes, guessed=settled.guessed, is_settled=True), settled.rules


def settle_numerals(
    frame: pd.DataFrame,
    rules: ColumnRules,
    name: str,
    characters: str = SEARCHED,
    without_unit: Collection[str] = (),
) -> Numerals:
    """Recognise the units and signs of numbers in text columns, where the rules do not give them.

    Parameters
    ----------
    frame : DataFrame of shape (n, d)
    rules : ColumnRules
    name : str
        The name of the source, for messages.
    characters : str
        The signs in numbers, besides points, that may occur.
    without_unit : collection of str
        The columns in which no unit is recognised.

    Raises
    ------
    UserError
        A comma or a point may have two meanings.
    """
    read = [read_cells(column, ColumnRules()) for _, column in frame.select_dtypes(["object", "string"]).items()]
    texts = {cells.name: cells.text for cells in read if cells.text is not None}
    given = rules.units or {}
    besides = {*without_unit, *given}
    counted = {
        column: count_units(text, make_missing_rule(rules.na_values, column))
        for column, text in texts.items()
        if column not in besides
    }
    found = {column: counts for column, counts in counted.items() if counts.common}
    units = {**given, **{column: counts.common for column, counts in found.items()}}
    if not {*DASHES}.isdisjoint(characters):
        texts = {column: read_minus(text) for column, text in texts.items()}
    stripped = {column: strip_unit(texts[column], unit) for column, unit in units.items() if column in texts}
    table = pa.table({**texts, **stripped})
    notes = _describe_units({column: units[column] for column, counts in found.items() if counts.is_complete})
    guessed: dict[str, str] = {}
    if rules.decimal is None and rules.thousands is None:
        guess = guess_signs(table, name, characters.translate(dict.fromkeys(map(ord, DASHES))))
        guessed = guess.keys if guess else {}
        notes += [guess.sentence] if guess else []
    signs = read_signs(guessed.get("decimal", rules.decimal), guessed.get("thousands", rules.thousands))
    notes += answer_points(table, signs, name)
    return Numerals(replace(rules, units=units, decimal=signs.decimal, thousands=signs.thousands), guessed, notes)


def _describe_units(found: Mapping[str, str]) -> list[str]:
    """Return sentences about recognised units and times of day."""
    negative = ", and numbers in parentheses are negative" if PARENTHESES in found.values() else ""
    sentences = {
        True: "The times of day in {} are read as hours, unless dataset.nominal names them",
        False: f"The units in {{}} are left out of the numbers{negative}",
    }
    notes = []
    for is_time, sentence in sentences.items():
        if units := {name: unit for name, unit in found.items() if (unit == CLOCK) is is_time}:
            key = format_mapping_key("units", units)
            notes.append(f"{sentence.format(list_columns([*units]))} ({key} {CONFIRMATION}")
    return notes


MIN_JUDGED_CELLS = 20
"""With fewer cells, distinct cells do not indicate an identifier or free text, and equal cells do not indicate a
constant."""
MIN_CELLS_PER_VALUE = 2.0
"""A text column with fewer cells per value on average contains identifiers, whose values are not informative."""
MIN_CELLS_PER_TEXT = 5.0
"""Cells with several words are free text if there are fewer cells per distinct text on average."""
MIN_WORDS = 2.5
"""The minimum average number of words in the distinct cells of free text."""
MIN_TEXTS = 20
"""With fewer distinct cells, sentences are values of a nominal column, such as answers in a form."""
MIN_NUMBERS_SHARE = 0.9
"""A column of text with at least this share of numbers was probably intended to contain numbers."""
MAX_STRAY_CELLS = 3
"""The same applies to a column with a majority of numbers and at most this many distinct other cells."""
TRUTH_VALUES = ({"false"}, {"true"}, {"false", "true"})
MAX_SHOWN_LETTERS = 40


class Kind(NamedTuple):
    """A kind and the reason for it."""

    name: str
    reason: str


def find_kind(cells: Cells) -> Kind:
    """Return the kind to which the cells of a column can be converted: numeric, Boolean, ordered, date or nominal.

    Parameters
    ----------
    cells : Cells
    """
    if cells.dates is not None:
        return Kind(DATE, "its cells are dates")
    if cells.is_ordered:
        return Kind(ORDERED, "the source declares an order of its values")
    if cells.is_boolean:
        return Kind(BOOLEAN, "its cells are true or false")
    reason = "the source declares its values"
    if cells.declared is None:
        if cells.reading.is_complete:
            return Kind(NUMERIC, "its cells are numbers")
        if {*cells.distinct.values} in TRUTH_VALUES:
            return Kind(BOOLEAN, "its cells are true or false")
        if find_date_formats(cells.distinct.spellings):
            return Kind(DATE, f"its cells are dates such as {cells.distinct.spellings[0]!r}")
        reason = "its cells are text"
    return Kind(NOMINAL, f"{reason}, {count_nouns(len(cells.distinct.values), 'value')}")


def find_useless_kind(cells: Cells, kind: str) -> Kind | None:
    """Return constant, identifier or text if a column is uninformative about new rows; otherwise None.

    Real numbers are never identifiers, and whole numbers are only if they are consecutive.

    Parameters
    ----------
    cells : Cells
    kind : str
        The kind found by `find_kind`.
    """
    if kind == NUMERIC:
        return _judge_numbers(cells)
    distinct = cells.distinct
    if not distinct.values:
        return Kind(CONSTANT, "every cell is missing")
    if distinct.n_present < MIN_JUDGED_CELLS:
        return None
    if len(distinct.values) == 1 and distinct.n_missing == 0:
        return Kind(CONSTANT, f"every cell is {shorten(distinct.values[0])!r}")
    # Numbers with different units, or mixed with a few other cells, are distinct as well, but more informative than the
    # name of a row.
    if kind != NOMINAL or is_mostly_numbers(cells) or _find_quantities(cells):
        return None
    cells_per_value = distinct.n_present / len(distinct.values)
    counts = f"{len(distinct.values)} different in {distinct.n_present} cells"
    n_words = float(np.mean([len(value.split()) for value in distinct.values]))
    is_long = n_words >= MIN_WORDS and len(distinct.values) > MIN_TEXTS
    if is_long and cells_per_value < MIN_CELLS_PER_TEXT:
        return Kind(TEXT, f"{n_words:.1f} words in a cell, {counts}")
    if cells_per_value < MIN_CELLS_PER_VALUE:
        return Kind(IDENTIFIER, counts)
    return None


def _judge_numbers(cells: Cells) -> Kind | None:
    values = cells.reading.values  # (n,)
    present = values[~np.isnan(values)]
    if present.size == 0:
        return Kind(CONSTANT, "every cell is missing")
    # Beyond the range of exact integers, different codes become equal numbers.
    if present.size < max(values.size, MIN_JUDGED_CELLS) or np.abs(present).max() >= MAX_EXACT_INTEGER:
        return None
    if (values == values[0]).all():
        return Kind(CONSTANT, f"every cell is {spell_cell(values[0])}")
    if is_ascending(values) and (np.abs(np.diff(values)) == 1).all():
        first, second = map(spell_cell, values[:2])
        return Kind(IDENTIFIER, f"whole numbers in the order of the rows: {first}, {second}, …")
    return None


def is_mostly_numbers(cells: Cells) -> bool:
    """Return whether text seems to contain numbers that cannot be read because of a few cells such as 12 mm.

    Numbers with marks such as 12.5* or <0.5 may be many.
    """
    if cells.text is None or cells.declared is not None:
        return False
    others = plain = cells.reading.others
    if any(MARKED_NUMBER.fullmatch(cell.strip()) for cell in islice(others, N_FIRST_CELLS)):
        plain = {cell: number for cell, number in others.items() if not MARKED_NUMBER.fullmatch(cell.strip())}
    n_marked = sum(others.values()) - sum(plain.values())
    return bool(others) and _are_strays(cells.reading.n_numbers + n_marked, plain)


def _are_strays(n_fitting: int, others: Mapping[str, int]) -> bool:
    """Return whether cells that are not like the others, with how often each occurs, seem to be mistakes."""
    n_others = sum(others.values())
    is_majority = n_fitting > n_others and len(others) <= MAX_STRAY_CELLS
    return n_fitting > 0 and (is_majority or n_fitting >= MIN_NUMBERS_SHARE * (n_fitting + n_others))


def _find_quantities(cells: Cells) -> UnitCounts | None:
    """Return the units of text that consists of numbers, some of which have a unit; None for other cells."""
    if cells.text is None or cells.declared is not None:
        return None
    found = count_units(cells.text, cells.rule)
    return found if found.has_quantities else None


def is_ascending(values: np.ndarray) -> bool:
    """Return whether numbers (n,) are distinct integers, ascending or descending, and sufficiently many."""
    steps = np.diff(values)
    is_sorted = bool((steps > 0).all() or (steps < 0).all())
    return values.size >= MIN_JUDGED_CELLS and is_sorted and bool((values // 1 == values).all())


def shorten(cell: str) -> str:
    """Return a cell with at most `MAX_SHOWN_LETTERS` letters."""
    return cut_text(cell, MAX_SHOWN_LETTERS)


MAX_SHOWN_CELLS = 3


def fit_kind(cells: Cells, column: Column, claim: str, date_format: str = "") -> Column:
    """Return a column of a given kind, with the format of its dates.

    Parameters
    ----------
    cells : Cells
    column : Column
        The column with its kind and, if it is ordered, its values in canonical spelling.
    claim : str
        The origin of the declared kind, as the beginning of a sentence: ``dataset.numeric names 'age'``.
    date_format : str
        The declared format of a date column; empty if there is none.

    Raises
    ------
    UserError
        The cells are of another kind; the message names a cell, its row and the cure.
    """
    if column.kind == NUMERIC:
        _refuse_cells(cells, list(cells.reading.others), claim, "a number")
    elif column.kind == DATE:
        return replace(column, date_format=find_date_format(cells, date_format, claim))
    elif column.kind == ORDERED:
        unknown = [value for value in cells.distinct.values if value not in column.values]
        _refuse_cells(cells, unknown, claim, f"one of the values {', '.join(column.values)}")
    return column


def find_date_format(cells: Cells, given: str = "", claim: str = "") -> str:
    """Return the format of a date column.

    Parameters
    ----------
    cells : Cells
    given : str
        The format given by the user; empty if it must be found.
    claim : str
        The origin of the declared kind; empty if it was inferred from the cells.

    Raises
    ------
    UserError
        A cell is not a date, or day and month cannot be told apart.
    """
    if cells.dates is not None:
        return ""
    spellings = cells.distinct.spellings
    if given:
        is_wrong = parse_dates(spellings, given).isna()
        example = spellings[int(is_wrong.argmin())] if given == ISO and not is_wrong.all() else given
        wrong = [spellings[each] for each in np.flatnonzero(is_wrong)]
        _refuse_cells(cells, wrong, claim, f"a date such as {example!r}")
        return given
    formats = find_date_formats(spellings)
    if common := "" if formats else find_common_format(spellings):
        return find_date_format(cells, common, claim)
    if not formats:
        sample = spellings[0] if spellings else ""
        raise UserError(
            f"{claim}, but no format fits all its cells, such as {_locate(cells, sample)}. Give the "
            f"format, as in {format_mapping_key('dates', {cells.name: '%d.%m.%Y'})}, or list missing cells in "
            "dataset.na_values."
        )
    if len(formats) > 1:
        choices = " or ".join(format_mapping_key("dates", {cells.name: each}) for each in formats)
        raise UserError(
            f"the dates of {cells.name!r}, such as {spellings[0]!r}, may have the day or the month first; give their "
            f"format: {choices}."
        )
    return formats[0]


def _refuse_cells(cells: Cells, wrong: Sequence[str], claim: str, needed: str) -> None:
    """Raise UserError if a column contains invalid cells."""
    if wrong:
        further = f" (nor are {len(wrong) - 1} other cells)" if len(wrong) > 1 else ""
        key = format_list_key("na_values", wrong[:MAX_SHOWN_CELLS])
        raise UserError(
            f"{claim}, but {_locate(cells, wrong[0])} is not {needed}{further}; correct the cell, or treat such "
            f"cells as missing with {key}."
        )


def _locate(cells: Cells, cell: str) -> str:
    """Return a cell in quotes with the number of its first row, from 1."""
    if cells.text is None:
        return repr(cell)
    position = cells.text.index(cell).as_py()
    where = "" if position < 0 else f" in row {position + 1}"
    return f"{shorten(cell)!r}{where}"


MAX_INTEGER_CLASSES = 20
"""A target of integers with at most this many distinct values is interpreted as classes."""


def find_suspicions(cells: Cells, kind: str, is_chosen: bool) -> tuple[str, ...]:
    """Return suspicions about a column that is a feature or has been left out.

    Parameters
    ----------
    cells : Cells
    kind : str
        The kind of the column, as in `Column`.
    is_chosen : bool
        Whether the user has declared the kind of the column or chosen to keep it, which suppresses contrary advice.
    """
    found: list[Iterator[str]] = []
    if kind == NUMERIC:
        found = [_suspect_numbers(cells, is_chosen)]
    elif kind in (NOMINAL, IDENTIFIER, TEXT) and cells.text is not None:
        # A numeric column that is declared nominal needs no note that it looks numeric.
        found = [] if is_chosen else [_suspect_stray_cells(cells, kind), _suspect_quantities(cells)]
        found += [_suspect_similar_values(cells)] * (kind == NOMINAL)
    return tuple(f"{cells.name}: {sentence}" for sentence in chain(*found))


def suspect_classes(cells: Cells) -> tuple[str, ...]:
    """Return sentences about a target of classes: numbers with different units, and two spellings of one class."""
    found = chain(_suspect_quantities(cells), _suspect_similar_values(cells))
    return tuple(f"{cells.name}: {sentence}" for sentence in found)


def list_cells(counts: Mapping[str, int]) -> str:
    """Return the most frequent cells in quotes, and the number of the others.

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
            f"are treated as missing. {nominal} keeps all cells as values."
        )
    present = reading.values[np.isfinite(reading.values)]
    if not is_chosen and is_ascending(reading.values):
        drop = format_list_key("drop", [cells.name])
        yield f"whole numbers that ascend from row to row, as identifiers may; {drop} leaves the column out."
    # Leading zeros are only searched for in whole numbers, because the search takes longer than reading the numbers.
    if present.size == 0 or not (present == np.round(present)).all():
        return
    keeps = f"{nominal} keeps codes as they are spelled."
    if cells.leading_zero:
        yield f"cells such as {cells.leading_zero!r} lose their zeros as numbers. {keeps}"
    if cells.text is not None and (np.abs(present) >= MAX_EXACT_INTEGER).any():
        yield f"numbers beyond 2**53 lose their last digits. {keeps}"


def _suspect_stray_cells(cells: Cells, kind: str) -> Iterator[str]:
    """Yield a sentence about a column of numbers or dates that is of another kind because of a few other cells."""
    is_numbers = is_mostly_numbers(cells)
    n_fitting, others = (cells.reading.n_numbers, cells.reading.others) if is_numbers else _count_dates(cells)
    if is_numbers or (cells.declared is None and _are_strays(n_fitting, others)):
        noun = "numbers" if is_numbers else "dates"
        key = format_list_key("na_values", list(others)[:MAX_SHOWN_CELLS])
        treated = "left out as an identifier" if kind == IDENTIFIER else f"treated as {kind}"
        yield (
            f"{n_fitting} of {n_fitting + sum(others.values())} cells are {noun}, the others {list_cells(others)}, so "
            f"that the column is {treated}. Correct these cells, or treat them as missing with {key}."
        )


def _count_dates(cells: Cells) -> tuple[int, dict[str, int]]:
    """Return how many cells are dates of the most frequent format, and how often each of the others occurs."""
    date_format = find_common_format(cells.distinct.spellings)
    if not date_format:
        return 0, {}
    values = [value for value in cells.distinct.cells if value is not None]
    is_date = parse_dates(values, date_format).notna()
    others = Counter(value for value, fits in zip(values, is_date, strict=True) if not fits)
    return len(values) - others.total(), others


def _suspect_quantities(cells: Cells) -> Iterator[str]:
    """Yield a sentence about numbers with different units, or with and without one."""
    found = None if is_mostly_numbers(cells) else _find_quantities(cells)
    if found:
        shown = join_words([repr(found.examples[unit]) for unit in [*found.counts][:MAX_SHOWN_CELLS]])
        cure = "write all cells in one unit if these are units"
        units = {*found.counts} - {"", PARENTHESES}
        if len(units) == 1 and found.is_complete:
            cure = f"{format_mapping_key('units', {cells.name: units.pop()})} reads all cells as numbers"
        yield f"cells such as {shown} are numbers that end differently, so that the column is nominal; {cure}."


def _suspect_similar_values(cells: Cells) -> Iterator[str]:
    """Yield a sentence about two values that differ only in capitals, spaces or the form of their Unicode letters."""
    first: dict[str, str] = {}
    for value in cells.distinct.values:
        found = first.setdefault(" ".join(normalize("NFKC", value).casefold().split()), value)
        if found != value:
            show = ascii if normalize("NFC", found) == normalize("NFC", value) else repr
            yield f"{show(found)} and {show(value)} are two values; correct the cells if they are meant to be one."
            return
