"""Rows that are no cases: sums of other rows, and notes below the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import load_frame, read_table
from bakeoff.pipeline.stages.dataset.table import Dataset

DRAW = np.random.default_rng(0)
SALES = pd.DataFrame(
    {
        "region": [f"R{row}" for row in range(40)],
        "type": DRAW.choice(["a", "b"], 40),
        "size": DRAW.integers(1, 100, 40),
        "cost": DRAW.uniform(1, 50, 40).round(2),
        "sales": DRAW.uniform(100, 200, 40).round(2),
    }
)
SUMS = SALES[["size", "cost", "sales"]].sum()


def add(frame: pd.DataFrame, *rows: dict[Any, Any]) -> pd.DataFrame:
    return pd.concat([frame, pd.DataFrame(rows)], ignore_index=True)


def suspect(dataset: Dataset) -> list[str]:
    return [note for note in dataset.remarks if "no cases" in note]


def write(what: str, key: str) -> list[str]:
    quote = "'" if '"' in key else ""
    return [f"Rows that may be no cases: {what}; {quote}dataset.drop_rows=[{key}]{quote} leaves them out."]


LABELS = [
    "Summe",
    "Total",
    "Gesamt",
    "Sum",
    "Insgesamt",
    "Gesamtsumme",
    "totals",
    "Zwischensumme",
    "Subtotal",
    "Somme",
    "Sub-total",
]
QUOTED = ["Grand Total", "TOTAL:", " Total"]


@pytest.mark.parametrize("label", [*LABELS, *QUOTED])
@pytest.mark.parametrize("name", ["sales.csv", "sales.xlsx", "sales.parquet"])
def test_a_row_of_sums_is_reported_and_dropped(tmp_path: Path, label: str, name: str) -> None:
    table = add(SALES, {"region": label, **SUMS})
    method = {".csv": "to_csv", ".xlsx": "to_excel", ".parquet": "to_parquet"}[Path(name).suffix]
    getattr(table, method)(tmp_path / name, index=False)
    key = f'"{label}"' if label in QUOTED else label
    assert suspect(read_table(str(tmp_path / name), "sales")) == write(f"sums of other rows, as with {label!r}", key)
    dropped = read_table(str(tmp_path / name), "sales", drop_rows=[label])
    assert (suspect(dropped), dropped.notes[0]) == ([], "Left out by dataset.drop_rows: 1 row.")
    assert dropped.digest() == load_frame(SALES, "sales").digest()


def test_subtotals_are_reported_together() -> None:
    parts = [
        add(part, {"region": "Subtotal", **part[SUMS.index].sum()}) for _, part in SALES.groupby(SALES.index // 10)
    ]
    table = pd.concat(parts, ignore_index=True)
    assert suspect(load_frame(table, "sales")) == write("sums of other rows, as with 'Subtotal'", "Subtotal")
    dropped = load_frame(table, "sales", drop_rows=["Subtotal"])
    assert dropped.notes[0] == "Left out by dataset.drop_rows: 4 rows."


@pytest.mark.parametrize(
    "columns", [["region", "type", *SUMS.index], ["type", "size", "sales"], ["size", "cost", "sales"]]
)
def test_sums_without_a_name_are_recognised_by_their_values(columns: list[str]) -> None:
    table = add(SALES[columns], SUMS[[name for name in columns if name in SUMS]].to_dict())
    found = suspect(load_frame(table, "sales"))
    total = int(SUMS["size"])
    assert found == write(f"sums of other rows, as with '{total}'", f'"{total}"')
    assert len(load_frame(table, "sales", drop_rows=[total]).y) == 40


def test_a_table_without_sums_has_no_suspicion() -> None:
    assert suspect(load_frame(SALES, "sales")) == []
    assert suspect(load_frame(add(SALES, {"region": "R40", "size": 1, "sales": 150.0}), "sales")) == []


def test_notes_below_the_table_are_reported(tmp_path: Path) -> None:
    table = add(SALES, {"region": "Source: Office, 2024"}, {"region": "* estimated"})
    words = "notes below the table, as with '* estimated', 'Source: Office, 2024'"
    assert suspect(load_frame(table, "region")) == write(words, '"* estimated","Source: Office, 2024"')
    dropped = load_frame(table, "sales", drop_rows=["* estimated", "Source: Office, 2024"])
    assert dropped.digest() == load_frame(SALES, "sales").digest()
    with pytest.raises(UserError, match=r"2 missing cells .* dataset.drop_missing_target=true"):
        load_frame(table, "sales")
    (tmp_path / "table.csv").write_text(f"{SALES.to_csv(index=False)}Source: Office\n")
    with pytest.raises(UserError, match=r"line 42 of table.csv has 1 cell, .* or remove it if it is a note"):
        read_table(str(tmp_path / "table.csv"), "sales")


def test_rows_are_dropped_before_the_kinds_of_columns_are_known() -> None:
    table = add(SALES.drop(columns="region"), {"size": "see note", "sales": 150.0})
    assert load_frame(table, "sales", drop_rows=["see note"]).X["size"].dtype == np.float64


def test_dropping_every_row_is_refused() -> None:
    with pytest.raises(UserError, match=r"dataset.drop_rows=\[a,b\] leaves out all rows; remove some of these cells"):
        load_frame(SALES, "sales", drop_rows=["a", "b"])
