"""One table in every format that is read, for tests that the format does not matter."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from wheel_data import wheel_frame, wheel_text

TITANIC_NUMBERS = ("pclass", "survived", "age", "sibsp", "parch", "fare", "body")
"""The columns of Titanic whose cells are all numbers."""
NAME = "titanic"


def titanic() -> pd.DataFrame:
    """Return Titanic with numbers as numbers: what a user has in Python."""
    frame = wheel_frame(NAME)
    for name in TITANIC_NUMBERS:
        frame[name] = pd.to_numeric(frame[name])
    return frame


def write_titanic(folder: Path) -> Mapping[str, Path]:
    """Write Titanic in every format of files.

    Returns
    -------
    mapping of str to Path
        The name of a format -> its file.
    """
    frame = titanic()
    text = wheel_frame(NAME).fillna("")
    # Cells spelled as in the original, with decimal commas: not what pandas writes.
    commas = text.copy()
    for name in TITANIC_NUMBERS:
        commas[name] = commas[name].str.replace(".", ",")
    files = {
        "csv": folder / "comma" / f"{NAME}.csv",
        "decimal commas": folder / "semicolon" / f"{NAME}.csv",
        "tab": folder / f"{NAME}.tsv",
        "gz": folder / f"{NAME}.csv.gz",
        "parquet": folder / f"{NAME}.parquet",
        "feather": folder / f"{NAME}.feather",
        "arff": folder / f"{NAME}.arff",
        "jsonl": folder / f"{NAME}.jsonl",
        "excel": folder / f"{NAME}.xlsx",
    }
    for file in files.values():
        file.parent.mkdir(parents=True, exist_ok=True)
    text.to_csv(files["csv"], index=False)
    commas.to_csv(files["decimal commas"], index=False, sep=";", quoting=csv.QUOTE_MINIMAL)
    text.to_csv(files["tab"], index=False, sep="\t")
    text.to_csv(files["gz"], index=False)
    frame.to_parquet(files["parquet"])
    frame.to_feather(files["feather"])
    files["arff"].write_text(wheel_text(NAME), encoding="utf-8")
    files["jsonl"].write_text("\n".join(json.dumps(row) for row in rows_of(frame)), encoding="utf-8")
    frame.to_excel(files["excel"], index=False)
    return files


def write_database(file: Path, frame: pd.DataFrame, table: str = NAME) -> str:
    """Write a table into a SQLite file, and return its URL."""
    with sqlite3.connect(file) as database:
        frame.to_sql(table, database, index=False)
    database.close()
    return f"sqlite:///{file}"


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as objects of Python; a missing cell is None, and whole numbers have no decimals."""
    objects = frame.convert_dtypes().astype(object).where(frame.notna(), None)
    return [dict(zip(frame.columns, row, strict=True)) for row in objects.itertuples(index=False)]
