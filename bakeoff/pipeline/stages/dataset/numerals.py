"""How the numbers of a source are spelled: their signs and units, as given, or as recognised in its text columns."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from bakeoff.pipeline.stages.dataset import guesses, kinds, spelling
from bakeoff.pipeline.stages.dataset.cells import read_cells
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.source import Source
from bakeoff.pipeline.stages.dataset.table import NUMERIC, Column
from bakeoff.pipeline.stages.dataset.units import PARENTHESES, count_units


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
    others = [name for name, kind in rules.declared_kinds.items() if kind != NUMERIC]
    frame = source.frame.drop(columns=[*source.declared])
    characters = guesses.CHARACTERS if source.characters is None else source.characters
    settled = settle_numerals(frame, rules, source.name, characters, {*rules.lists["drop"], *others})
    for name in rules.units or ():
        if name in source.frame:
            claim = f"dataset.units gives {name!r} the unit {rules.get_unit(name)!r}"
            kinds.fit_kind(read_cells(source.frame[name], settled.rules), Column(name, NUMERIC, ""), claim)
    notes = (*source.notes, *settled.notes)
    return replace(source, notes=notes, guessed=settled.guessed, is_settled=True), settled.rules


def settle_numerals(
    frame: pd.DataFrame,
    rules: ColumnRules,
    name: str,
    characters: str = guesses.CHARACTERS,
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
    found = {}
    for column, text in texts.items():
        unit = count_units(text, spelling.make_missing_rule(rules.na_values, column)).common
        if unit and column not in {*without_unit, *rules.lists["units"]}:
            found[column] = unit
    units = {**(rules.units or {}), **found}
    stripped = {column: guesses.strip_unit(texts[column], unit) for column, unit in units.items() if column in texts}
    table = pa.table({**texts, **stripped})
    notes = [_describe_units(found)] if found else []
    guessed: dict[str, str] = {}
    if rules.decimal is None and rules.thousands is None:
        guess = guesses.guess_signs(table, name, characters)
        guessed = guess.keys if guess else {}
        notes += [guess.sentence] if guess else []
    signs = guesses.read_signs(guessed.get("decimal", rules.decimal), guessed.get("thousands", rules.thousands))
    notes += guesses.answer_points(table, signs, name)
    return Numerals(replace(rules, units=units, decimal=signs.decimal, thousands=signs.thousands), guessed, notes)


def _describe_units(units: Mapping[str, str]) -> str:
    """Return a sentence about recognised units."""
    negative = ", and numbers in parentheses are negative" if PARENTHESES in units.values() else ""
    key = spelling.format_mapping_key("units", units)
    return f"The units in {guesses.list_columns([*units])} are left out of the numbers{negative} ({key} confirms it)."
