"""Decimal commas and signs between groups of digits: recognised where they are plain, refused where they are not."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.pipeline.stages.dataset.cells import read_cells
from bakeoff.pipeline.stages.dataset.keys import ColumnRules
from bakeoff.pipeline.stages.dataset.kinds import settle_numerals

GERMAN = ColumnRules(decimal="comma", thousands="point")
SWISS = ColumnRules(thousands="apostrophe")
FRENCH = ColumnRules(decimal="comma", thousands="\u202f")


def make_frame(**columns: list[str]) -> pd.DataFrame:
    """Return a table of text."""
    return pd.DataFrame(columns, dtype="string[pyarrow]")


def spell(cells: list[str], layout: ColumnRules | None = None) -> tuple[list[str], dict[str, str], list[str]]:
    """Return cells with numbers spelled as usual, the keys of guessed signs, and sentences about them."""
    frame = make_frame(x=cells)
    rules, keys, notes = settle_numerals(frame, layout or ColumnRules(), "table.csv")
    return pa.array(read_cells(frame["x"], rules).text).to_pylist(), dict(keys), notes


def spelled(cells: list[str], layout: ColumnRules | None = None) -> list[str]:
    """Return the cells of `spell`."""
    return spell(cells, layout)[0]


def write_number(number: float, decimal: str, thousands: str) -> str:
    """Write a number as a country does, by Python's own formatting."""
    return f"{number:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)


@given(numbers=st.lists(st.floats(-1e9, 1e9).map(lambda number: round(number, 2)), min_size=1))
@pytest.mark.parametrize(("layout", "signs"), [(GERMAN, ",."), (SWISS, ".'"), (FRENCH, ",\u202f")])
def test_numbers_of_every_country_are_the_numbers(numbers: list[float], layout: ColumnRules, signs: str) -> None:
    cells = [write_number(number, *signs) for number in numbers]
    assert [float(cell) for cell in spelled(cells, layout)] == numbers


@pytest.mark.parametrize(
    ("cells", "result", "keys"),
    [
        (["1,5", "2", "3,25"], ["1.5", "2", "3.25"], {"decimal": "comma"}),
        (["-1,5e3", "+2,5"], ["-1.5e3", "+2.5"], {"decimal": "comma"}),
        (["1.234,5", "2,25"], ["1234.5", "2.25"], {"decimal": "comma", "thousands": "point"}),
        (["1,234.5", "2"], ["1234.5", "2"], {"decimal": "point", "thousands": "comma"}),
        (["1,234", "2.5"], ["1234", "2.5"], {"decimal": "point", "thousands": "comma"}),
        (["1,234,567", "5"], ["1234567", "5"], {"decimal": "point", "thousands": "comma"}),
        (["1.234.567", "1.234", "5"], ["1234567", "1234", "5"], {"decimal": "comma", "thousands": "point"}),
        (["1.234.567,5", "1,5"], ["1234567.5", "1.5"], {"decimal": "comma", "thousands": "point"}),
        (["1'234", "5.25"], ["1234", "5.25"], {"decimal": "point", "thousands": "apostrophe"}),
        (["12’345,5", "5"], ["12345.5", "5"], {"decimal": "comma", "thousands": "apostrophe"}),
        (["1\u202f234,5", "12\u00a0345"], ["1234.5", "12345"], {"decimal": "comma", "thousands": "space"}),
        (["1\u2009234", "-12 345 678", "7"], ["1234", "-12345678", "7"], {"decimal": "point", "thousands": "space"}),
        (["110 001", "110 020"], ["110 001", "110 020"], {}),
        (["089 123 456", "030 12 34"], ["089 123 456", "030 12 34"], {}),
        (["5'10", "6'2"], ["5'10", "6'2"], {}),
        (["1.5", "2"], ["1.5", "2"], {}),
        (["a, b", "c"], ["a, b", "c"], {}),
        (["1,2,3", "1,2", "3", "2,3,1"], ["1,2,3", "1,2", "3", "2,3,1"], {}),
        (["12.03.2020, 5", "1"], ["12.03.2020, 5", "1"], {}),
    ],
)
def test_commas_are_recognised_where_they_have_one_meaning(
    cells: list[str], result: list[str], keys: dict[str, str]
) -> None:
    found, guessed, notes = spell(cells)
    assert (found, guessed, len(notes)) == (result, keys, bool(keys))


def test_missing_cells_and_mistakes_do_not_hide_decimal_commas() -> None:
    cells = [*(f"{number},5" for number in range(19)), "12,5 mm", "", ""]
    found, keys, _ = spell(cells)
    assert (found[-4:], keys) == (["18.5", "12,5 mm", "", ""], {"decimal": "comma"})


def test_a_cell_that_no_sign_makes_a_number_is_no_example() -> None:
    table = make_frame(x=["0 1", *map(str, range(40))])
    assert settle_numerals(table, ColumnRules(), "table.csv").notes == []


def test_the_sentence_names_each_sign_and_its_columns() -> None:
    table = make_frame(x=["1\u202f234", "5"], z=["1,5", "2,5"], w=["a", "b"])
    _, keys, notes = settle_numerals(table, ColumnRules(), "table.csv")
    assert keys == {"decimal": "comma", "thousands": "space"}
    assert notes == [
        "The comma in column 'z' is assumed to be a decimal sign. The space in column 'x' is assumed to be a "
        "thousands separator (dataset.decimal=comma dataset.thousands=space confirms it)."
    ]


def test_points_between_groups_leave_columns_of_decimals_as_they_are() -> None:
    table = make_frame(x=["1.234.567", "1.234"], z=["1.500", "2.25"])
    rules = settle_numerals(table, ColumnRules(), "table.csv").rules
    assert read_cells(table["z"], rules).reading.values.tolist() == [1.5, 2.25]


def test_one_plain_column_decides_for_the_others() -> None:
    frame = make_frame(x=["1,234"], z=["1,5"])
    rules = settle_numerals(frame, ColumnRules(), "table.csv").rules
    assert [read_cells(frame[name], rules).distinct.values for name in "xz"] == [["1.234"], ["1.5"]]
