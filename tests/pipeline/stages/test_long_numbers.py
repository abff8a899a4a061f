"""Whole numbers beyond 2^53, which float64 does not tell apart, from each kind of source that holds them exactly."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.dataset.loaders import load_frame, load_query, read_table
from bakeoff.pipeline.stages.splitting import SplitInput, TimeSeries

N = 40
STARTS = {"beyond 2**53": (2**53, 1), "epoch nanoseconds": (1_700_000_000_000_000_000, 100)}
DOUBT = "whole numbers beyond 2**53 are floats in the source, so that different ones may be equal"


def make_frame(start: int, step: int) -> pd.DataFrame:
    """Return a table whose column t has different whole numbers, in another order than the rows."""
    numbers = [start + step * (row * 7 % N) for row in range(N)]
    return pd.DataFrame({"x": np.arange(N) % 7 / 2, "z": np.arange(N) * 3 % 11 / 4, "t": numbers, "y": ["a", "b"] * 20})


def read_sqlite(frame: pd.DataFrame, folder: Path, **roles: Any) -> Dataset:
    """Write a table into a database, and read it by a query."""
    with sqlite3.connect(folder / "t.db") as database:
        frame.to_sql("t", database, index=False, if_exists="replace")
    return load_query(roles.pop("target"), url=f"sqlite:///{folder}/t.db", query="select * from t", **roles)


def read_written(name: str, write: Callable[[pd.DataFrame, Path], Any], **keys: Any) -> Callable[..., Dataset]:
    """Return a function that writes a table to a file, and reads it."""

    def read(frame: pd.DataFrame, folder: Path, **roles: Any) -> Dataset:
        write(frame, folder / name)
        return read_table(str(folder / name), **roles, **keys)

    return read


def read_as(dtype: Any) -> Callable[..., Dataset]:
    """Return a function that reads a DataFrame whose long numbers have a type."""
    return lambda frame, folder, **roles: load_frame(frame.astype({"t": dtype}), **roles)


def write_grouped(frame: pd.DataFrame, path: Path) -> None:
    """Write a text file with spaces between groups of digits."""
    frame.assign(t=[f"{number:,}".replace(",", " ") for number in frame["t"]]).to_csv(path, index=False, sep=";")


def write_arff(frame: pd.DataFrame, path: Path) -> None:
    """Write an ARFF file of numeric columns and one of two values."""
    types = {name: "{a,b}" if name == "y" else "numeric" for name in frame}
    lines = ["@relation t", *(f"@attribute {name} {kind}" for name, kind in types.items()), "@data"]
    path.write_text("\n".join([*lines, *(",".join(map(str, row)) for row in frame.itertuples(index=False)), ""]))


EXACT: dict[str, Callable[..., Dataset]] = {
    "csv": read_written("t.csv", lambda frame, path: frame.to_csv(path, index=False)),
    "tsv": read_written("t.tsv", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "groups of digits": read_written("t.csv", write_grouped, thousands="space"),
    "json lines": read_written("t.jsonl", lambda frame, path: frame.to_json(path, orient="records", lines=True)),
    "json": read_written("t.json", lambda frame, path: path.write_text(json.dumps(frame.to_dict("records")))),
    "parquet": read_written("t.parquet", lambda frame, path: frame.to_parquet(path)),
    "arrow": read_written("t.feather", lambda frame, path: frame.to_feather(path)),
    "arff": read_written("t.arff", write_arff),
    "sqlite": read_sqlite,
    **{f"frame of {dtype}": read_as(dtype) for dtype in ("int64", "uint64", "Int64", "object", "str")},
}
FLOATS = {
    "excel": read_written("t.xlsx", lambda frame, path: frame.to_excel(path, index=False)),
    "frame of float64": read_as("float64"),
    "parquet": read_written("t.parquet", lambda frame, path: frame.astype({"t": float}).to_parquet(path)),
}
"""Sources that hold floats, in which different numbers are equal."""


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("source", EXACT)
def test_long_numbers_keep_their_order_as_times_and_are_told_apart_in_other_roles(
    source: str, start: str, tmp_path: Path
) -> None:
    frame = make_frame(*STARTS[start])
    ranks = frame["t"].rank().to_numpy() - 1  # (n,)
    timed = EXACT[source](frame, tmp_path, target="y", time="t")
    given = SplitInput(timed.y, is_classification=True, times=timed.times)
    assert given.time_codes.tolist() == ranks.tolist()
    for split in TimeSeries(folds=3).make_splits(given, seed=0).folds:
        assert ranks[split.train].max() < ranks[split.test].min()
    for role, field in (("groups", "groups"), ("folds", "folds")):
        found = EXACT[source](frame, tmp_path, target="y", **{role: "t"})
        assert np.unique(getattr(found, field)).size == N
    classes = EXACT[source](frame, tmp_path, target="t", task="classification")
    assert sorted(classes.classes) == sorted(map(str, frame["t"]))
    nominal = EXACT[source](frame, tmp_path, target="y", nominal=["t"])
    assert nominal.X["t"].nunique() == N
    assert not any(DOUBT in remark for remark in nominal.remarks)


@pytest.mark.parametrize("role", ["time", "groups", "folds", "nominal", "numeric", "target"])
@pytest.mark.parametrize("source", FLOATS)
def test_a_source_of_floats_is_said_to_merge_long_numbers(source: str, role: str, tmp_path: Path) -> None:
    given = (
        {"target": "t"} if role == "target" else {"target": "y", role: ["t"] if role in ("nominal", "numeric") else "t"}
    )
    for start in STARTS.values():
        found = FLOATS[source](make_frame(*start), tmp_path, **given)
        assert [remark for remark in found.remarks if DOUBT in remark] == [f"Column 't': {DOUBT}; store them as text."]


def test_measurements_and_exact_floats_are_not_doubted() -> None:
    for numbers in (np.geomspace(1e21, 1e40, N), np.arange(N) * 1e6, np.where(np.arange(N) % 2, np.inf, 1.5)):
        found = load_frame(make_frame(0, 1).assign(t=numbers), "y", drop=["t"])
        assert not any(DOUBT in remark for remark in found.remarks)


def test_times_with_many_digits_after_the_point_keep_their_order(tmp_path: Path) -> None:
    frame = make_frame(0, 1)
    seconds = [Decimal(1_700_000_000) + Decimal(int(number)).scaleb(-9) for number in frame["t"]]
    frame.assign(t=[f"{second:.9f}" for second in seconds]).to_csv(tmp_path / "t.csv", index=False)
    found = read_table(str(tmp_path / "t.csv"), "y", time="t")
    assert found.times is not None
    assert np.argsort(found.times).tolist() == np.argsort(frame["t"]).tolist()
