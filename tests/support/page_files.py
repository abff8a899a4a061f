"""The files that the commands of the documentation read: small tables with the names and columns that pages use."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
from item_tables import make_outcomes
from page_commands import ROOT
from wheel_data import wheel_frame, wheel_text

N = 120
TITANIC = ROOT / "examples" / "titanic" / "titanic.csv"


def make_customers() -> pd.DataFrame:
    """Return rows whose column `bought` is predicted."""
    rows = np.arange(N)
    return pd.DataFrame({
        "age": 18 + 7 * rows % 60,
        "region": np.array(["north", "south", "east"])[rows % 3],
        "zip": 10115 + rows * 37 % 11,
        "size": np.array(["S", "M", "L"])[rows * 5 % 7 % 3],
        "day": pd.date_range("2024-01-01", periods=N).strftime("%d/%m/%Y"),
        "bought": np.where(rows * 7 % 60 + rows % 5 > 30, "yes", "no"),
    })  # fmt: skip


def make_measured_rows() -> pd.DataFrame:
    """Return rows whose column `y` is predicted, in no order of time, with a column for each role."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=N)
    rows = pd.DataFrame({
        "x": x,
        "y": np.where(x + generator.normal(size=N) > 0, "yes", "no"),
        "part": np.repeat(["train", "validation", "test"], [70, 20, 30]),
        "fold": np.arange(N) % 4,
        "day": pd.date_range("2024-01-01", periods=N // 2).repeat(2).strftime("%Y-%m-%d"),
        "site": np.arange(N) % 12 + 100,
    })  # fmt: skip
    # Metrics of their own are shown on customers of a campaign.
    rows["bought"] = rows["y"]
    return rows.sample(frac=1, random_state=0, ignore_index=True)


def write_customers(folder: Path) -> None:
    """Write customers as my.csv, two halves of them, and new ones."""
    _write_halves(make_customers(), folder)
    make_customers()[:5].drop(columns="bought").to_csv(folder / "new.csv", index=False)


def write_measured_rows(folder: Path) -> None:
    """Write rows with roles as my.csv, and two halves of them."""
    _write_halves(make_measured_rows(), folder)


def write_every_format(folder: Path) -> None:
    """Write the tables of the page on data: text, workbook, ARFF, database, and several files of one shape."""
    write_customers(folder)
    write_titanic(folder)
    (folder / "titanic.arff").write_text(wheel_text("titanic"), encoding="utf-8")
    passengers = wheel_frame("titanic").drop(columns=["boat", "body"])[:200]
    passengers.to_excel(folder / "passengers.xlsx", sheet_name="1912", index=False)
    customers = make_customers()
    with closing(sqlite3.connect(folder / "shop.db")) as shop:
        customers.to_sql("customers", shop, index=False)
    write_parts(folder, decimal=".")


def write_inspected_files(folder: Path) -> None:
    """Write Titanic, and several files of one shape with decimal commas."""
    write_titanic(folder)
    write_parts(folder, decimal=",")


def write_parts(folder: Path, decimal: str) -> None:
    """Write the rows of one table into the files of a folder, the target last."""
    measured = make_measured_rows()[["x", "y"]]
    (folder / "measured").mkdir()
    for part in range(2):
        separator = ";" if decimal == "," else ","
        measured[part::2].to_csv(folder / "measured" / f"{part}.csv", index=False, decimal=decimal, sep=separator)


def write_titanic(folder: Path) -> None:
    """Copy the file of the example, and some of its rows without their target."""
    shutil.copy(TITANIC, folder)
    further = pd.read_csv(TITANIC)[:5].drop(columns="survived")
    for name in ("new.csv", "passengers.csv"):
        further.to_csv(folder / name, index=False)


def write_steps_input(folder: Path) -> None:
    """Write the files of the page on preprocessing."""
    from vega_datasets import local_data

    write_customers(folder)
    pd.read_csv(TITANIC).drop(columns=["boat", "body"]).to_csv(folder / "titanic.csv", index=False)
    local_data.seattle_weather().to_csv(folder / "weather.csv", index=False)


def _write_halves(rows: pd.DataFrame, folder: Path) -> None:
    rows.to_csv(folder / "my.csv", index=False)
    rows[::2].to_csv(folder / "train.csv", index=False)
    rows[1::2].to_csv(folder / "test.csv", index=False)


def write_scores(folder: Path) -> None:
    """Write scores of learners on folds as scores.csv, and of systems on items as outcomes.csv."""
    make_outcomes(500).to_csv(folder / "outcomes.csv", index=False)
    rows = [
        (d, m, f, 0.8 + 0.01 * (f * 3 % 7) - 0.1 * (m == "svm"))
        for d in "ab"
        for m in ("knn", "svm")
        for f in range(10)
    ]
    pd.DataFrame(rows, columns=["dataset", "learner", "fold", "score"]).to_csv(folder / "scores.csv", index=False)


def write_titanic_folds(folder: Path) -> None:
    """Write the table whose folds are those of the project in ``examples/from_hydra``."""
    script = ROOT / "examples" / "from_hydra" / "write_folds.py"
    subprocess.run([sys.executable, str(script)], cwd=folder, check=True)


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "docs/beside-other-tools.md": write_scores,
    "docs/comparison.md": write_scores,
    "docs/data.md": write_every_format,
    "docs/evaluation.md": write_measured_rows,
    "docs/from-hydra.md": write_titanic_folds,
    "docs/inspect.md": write_inspected_files,
    "docs/models.md": write_titanic,
    "docs/preprocessing.md": write_steps_input,
}
"""Pages whose commands read other files than those of `write_customers`."""
