"""Numbers with units: recognised where all cells share one, from every source, and reported where they do not."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from bakeoff.pipeline.config.engine import accept_all_letters
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.loaders import load_frame, load_query, read_table

PRICES = [f"{number}.900,5{number % 10} €" for number in range(1, 41)]
NUMBERS = [1000.0 * number + 900.5 + number % 10 / 100 for number in range(1, 41)]

ANY_TEXTS = [
    *("kWh/(m²·a)", "l/100km", "W/(m·K)", "1/min", "g/100 ml", "kg CO2/MWh", "kg·m⁻²", "kJ/100g", "€*", "kWh/(m²a)"),
    *("/10", "of 10", "-year", "[2]", "± 0.1", "1/(min·m²)"),
]
"""Units with brackets, signs or digits, and other texts that may stand behind every number."""


def load(cells: list[Any], **keys: Any) -> Dataset:
    """Return a dataset with cells as its first column, repeated to 40 rows."""
    repeated = (cells * 40)[:40]
    return load_frame(pd.DataFrame({"x": repeated, "z": [0.5, 1.5] * 20, "y": ["a", "b"] * 20}), "y", **keys)


def paste(key: str) -> dict[str, Any]:
    """Return the keys of a dataset in a word of the command line."""
    name, _, value = key.removeprefix("dataset.").partition("=")
    with accept_all_letters():
        return {name: OverridesParser.create().parse_override(f"{name}={value}").value()}


def numbers(cells: list[Any], **keys: Any) -> list[float]:
    """Return the numbers that are read from the first cells."""
    dataset = load(cells, **keys)
    assert dataset.columns[0].kind == "numeric", dataset.columns[0]
    return dataset.X["x"].tolist()[: len(cells)]


@pytest.mark.parametrize(
    ("cells", "expected", "unit"),
    [
        (["12 %", "5%", "?"], [12, 5, np.nan], "%"),
        (["€ 12", "-€5", "€ -7", "1€"], [12, -5, -7, 1], "€"),
        (["327,0 m²", "1.234,5 m²"], [327, 1234.5], "m²"),
        (["80 km/h", "7.5\u00a0km/h"], [80, 7.5], "km/h"),
        (["1\u202f200,5 EUR", "3 EUR"], [1200.5, 3], "EUR"),
        (["($12.50)", "$3"], [-12.5, 3], "$"),
        (["(12.5)", "3"], [-12.5, 3], "()"),
        (["3 rooms", "12 rooms"], [3, 12], "rooms"),
        (["1e3 kg", "2.5 kg"], [1000, 2.5], "kg"),
        *(([f"12.5 {unit}", f"7{' ' * unit[0].isdigit()}{unit}"], [12.5, 7], unit) for unit in ANY_TEXTS),
        (["CHF 12.50", "CHF -3"], [12.5, -3], "CHF"),
        (["US$ 12.50", "US$3"], [12.5, 3], "US$"),
        (["Rs. 12", "Rs.3"], [12, 3], "Rs."),
        (["−12,5 °C", "3,5 °C"], [-12.5, 3.5], "°C"),
        (["–€12.50", "€3"], [-12.5, 3], "€"),
    ],
)
def test_a_unit_of_all_cells_is_left_out_of_their_numbers(cells: list[str], expected: list[float], unit: str) -> None:
    np.testing.assert_array_equal(numbers(cells), expected)
    dataset = load(cells)
    assert dataset.columns[0].unit == unit
    (note,) = [note for note in dataset.notes if "unit" in note]
    assert "column 'x'" in note
    (key,) = shlex.split(note[note.rindex("('dataset.units=") + 1 : note.rindex(" confirms it")])
    confirmed = load(cells, **paste(key))
    np.testing.assert_array_equal(confirmed.X["x"].tolist()[: len(cells)], expected)
    assert not [note for note in confirmed.notes if "unit" in note]


@pytest.mark.parametrize("cells", [["Q1", "Q2"], ["E11", "E12"], ["D-80331", "D-80332"], ["007A", "008A"]])
def test_letters_in_front_of_numbers_and_codes_are_names(cells: list[str]) -> None:
    dataset = load(cells)
    assert (dataset.columns[0].kind, dataset.columns[0].unit) == ("nominal", "")
    assert dataset.columns[0].values == tuple(cells)


@pytest.mark.parametrize(
    "cells",
    [
        [f"{day}.5.2012" for day in range(1, 29)],
        [f"{day} Jan 2012" for day in range(1, 29)],
        [f"{month}/5/2012" for month in range(1, 13)],
        [f"192.168.0.{host}" for host in range(40)],
        [f"{area}-555-1234" for area in range(201, 240)],
        [f"{version}.1.0" for version in range(1, 20)],
    ],
)
def test_times_dates_and_codes_are_no_numbers_with_a_unit(cells: list[str]) -> None:
    column = load(cells).columns[0]
    assert (column.unit, column.kind == "numeric") == ("", False)


@pytest.mark.parametrize("dash", ["−", "–"])
@pytest.mark.parametrize(("point", "unit"), [(".", ""), (",", ""), (".", " °C"), (",", " kr")])
def test_a_dash_in_front_of_numbers_is_a_minus_sign(dash: str, point: str, unit: str) -> None:
    cells = [f"{dash * (number % 3)}"[:1] + f"{number}{point}5{unit}" for number in range(40)]
    expected = [(-1 if number % 3 else 1) * (number + 0.5) for number in range(40)]
    dataset = load(cells)
    assert dataset.X["x"].tolist() == expected
    assert load(cells, nominal=["x"]).columns[0].kind == "nominal"


def test_a_given_unit_reads_cells_with_and_without_it_and_refuses_others() -> None:
    assert numbers(["12 kg", "13"], units={"x": "kg"}) == [12, 13]
    with pytest.raises(UserError, match=r"gives 'x' the unit 'kg', but '500 g' in row 2 is not a number"):
        load(["12 kg", "500 g"], units={"x": "kg"})
    with pytest.raises(UserError, match=r"dataset.nominal and dataset.units both name 'x'"):
        load(["12 kg"], units={"x": "kg"}, nominal=["x"])
    assert load(["12 kg", "13 kg"], nominal=["x"]).columns[0].values == ("12 kg", "13 kg")


def test_a_target_with_a_unit_is_a_regression_from_every_source(tmp_path: Path) -> None:
    frame = pd.DataFrame({"area": [f"{number},5 m²" for number in range(40)], "price": PRICES})
    frame.to_csv(tmp_path / "text.csv", index=False, sep=";")
    frame.to_parquet(tmp_path / "text.parquet")
    frame.to_excel(tmp_path / "text.xlsx", index=False)
    (tmp_path / "text.jsonl").write_text("\n".join(json.dumps(row) for row in frame.to_dict("records")))
    with sqlite3.connect(tmp_path / "text.db") as database:
        frame.to_sql("houses", database, index=False)
    loaded = [read_table(str(tmp_path / f"text.{each}"), "price") for each in ("csv", "parquet", "xlsx", "jsonl")]
    query = {"url": f"sqlite:///{tmp_path / 'text.db'}", "query": "SELECT * FROM houses"}
    for dataset in [*loaded, load_query("price", **query), load_frame(frame, "price")]:
        assert dataset.task == "regression"
        assert dataset.y.tolist() == NUMBERS
        assert dataset.X["area"].tolist() == [number + 0.5 for number in range(40)]
        assert [column.unit for column in dataset.columns] == ["m²", "€"]
        assert dataset.guessed == {"decimal": "comma", "thousands": "point"}
    assert len({dataset.digest() for dataset in loaded}) == 1
