"""CSV files that bakeoff writes: no text is a formula, numbers stay, and reading gives back what was written."""

from __future__ import annotations

import csv
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bakeoff.pipeline.tables.output_file import NUMBER, escape_text, write_csv

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠")
"""The signs of OWASP's page on CSV injection and of ASVS 1.2.10."""
NUMBERS = ("-5", "+5", "-.5", "-1e-300", "+1,5", "-1,234.5", "-7%", "-inf", "+nan", "5", "007", "1e5")
FORMULAS = ("=1+1", "+1+1", "-1+1", "-2-3", "@SUM(A1)", "=cmd|' /C calc'!A0", "-x", "+", "-", "-1e5e5", "+1 000")


@pytest.mark.parametrize("text", [*FORMULAS, *(f"{sign}x" for sign in BEGINNINGS)])
def test_a_formula_is_marked(text: str) -> None:
    assert escape_text(text) == f"'{text}"


@pytest.mark.parametrize("text", [*NUMBERS, "", "a=b", "it's", "'quoted'", "<script>", " x"])
def test_numbers_and_other_text_stay(text: str) -> None:
    assert escape_text(text) == text


@given(st.text(alphabet=[*BEGINNINGS, "'", "1", ".", "e", "a", ","], max_size=6))
@example("'=1")
@example("''-5")
@example("'-5")
def test_escaping_leaves_no_formula(text: str) -> None:
    escaped = escape_text(text)
    assert not escaped.startswith(BEGINNINGS) or NUMBER.fullmatch(escaped)


def test_only_text_changes_in_the_file() -> None:
    table = pd.DataFrame({
        "=name": [-1, 2],
        "text": pd.array(["-a", None], dtype="str"),
        "kind": pd.Categorical(["@x", "-3"]),
        "time": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        "share": [-0.1, np.nan],
    })  # fmt: skip
    text = StringIO()
    write_csv(table, text)
    assert list(csv.reader(StringIO(text.getvalue()))) == [
        ["'=name", "text", "kind", "time", "share"],
        ["-1", "'-a", "'@x", "2020-01-01", "-0.1"],
        ["2", "", "-3", "2020-01-02", ""],
    ]


def test_columns_of_one_name_and_an_index_are_escaped_as_well() -> None:
    table = pd.DataFrame([["=a", -1], ["b", 2]], columns=["x", "x"], index=pd.Index(["=r", "s"], name="@index"))
    text = StringIO()
    write_csv(table, text, has_index=True)
    assert text.getvalue().splitlines() == ["'@index,x,x", "'=r,'=a,-1", "s,b,2"]
