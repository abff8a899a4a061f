"""Several files of one shape as one dataset, and a file of test rows."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command import Bakeoff
from damage import draw_damaged, write_formats
from pyarrow import ipc
from wheel_data import wheel_frame

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import read_table
from bakeoff.pipeline.stages.dataset.files import read_file, read_files
from bakeoff.pipeline.stages.dataset.keys import FileLayout


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the penguins in one file and, the columns in another order, in three."""
    monkeypatch.chdir(tmp_path)
    penguins = wheel_frame("penguins")
    penguins.to_csv("penguins.csv", index=False)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate((0, 100, 250)):
        end = (100, 250, len(penguins))[number]
        columns = list(penguins.columns) if number == 0 else sorted(penguins.columns)
        penguins.iloc[start:end][columns].to_csv(f"parts/{number}.csv", index=False)
    return tmp_path


def test_several_files_are_one_dataset_in_the_order_given(parts: Path) -> None:
    whole = read_table("penguins.csv", "species")
    listed = read_table(["parts/0.csv", "parts/1.csv", "parts/2.csv"], "species")
    matched = read_table("parts/*.csv", "species")
    assert listed.digest() == matched.digest() == whole.digest()
    assert listed.notes[0] == "344 rows of 3 files: 0.csv (100), 1.csv (150), 2.csv (94)."
    assert listed.name == "0+2"
    reordered = read_table(["parts/1.csv", "parts/0.csv", "parts/2.csv"], "species")
    assert reordered.digest() != whole.digest()
    assert sorted(reordered.row_codes) == sorted(listed.row_codes)


def test_the_parts_of_rows_that_are_left_out_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("x,y\n1.5,a\n2.5,\n0.5,b\n")
    (tmp_path / "test.csv").write_text("x,y\n1.25,\n2.25,b\n")
    data = read_table(str(tmp_path / "train.csv"), "y", test_path=str(tmp_path / "test.csv"), drop_missing_target=True)
    assert data.parts is not None
    assert data.parts.tolist() == ["train", "train", "test"]
    assert data.X["x"].tolist() == [1.5, 0.5, 2.25]


def test_the_kind_of_a_column_is_that_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("x,y\nlow,a\n2,b\n")
    data = read_table([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], "y")
    assert data.nominal == ["x"]
    assert data.X["x"].tolist() == ["1", "2", "low", "2"]


@pytest.mark.parametrize("order", [["a.csv", "b.csv"], ["b.csv", "a.csv"]])
def test_decimal_commas_of_one_file_count_for_all(tmp_path: Path, order: list[str]) -> None:
    (tmp_path / "a.csv").write_text("x;y\n1,5;a\n2,25;b\n")
    (tmp_path / "b.csv").write_text("x;y\n1.500;a\n2.250;b\n")
    data = read_table([str(tmp_path / name) for name in order], "y")
    assert sorted(data.X["x"]) == [1.5, 2.25, 1500.0, 2250.0]
    assert data.guessed == {"decimal": "comma", "thousands": "point"}


@pytest.mark.parametrize("others", [[1.5, None], np.array([2**64 - 1, 7], np.uint64), [True, False], [1, None]])
def test_codes_beyond_2_to_53_stay_apart_in_files_of_different_types(tmp_path: Path, others: Any) -> None:
    tables = [pd.DataFrame({"x": [2**53, 2**53 + 1]}), pd.DataFrame({"x": others})]
    for suffix, write in (("parquet", pd.DataFrame.to_parquet), ("csv", pd.DataFrame.to_csv)):
        for name, table in zip("ab", tables, strict=True):
            write(table.assign(z=[0.5, 1.5], y=["p", "q"]), tmp_path / f"{name}.{suffix}", index=False)
    read = {
        suffix: read_table([str(tmp_path / f"{name}.{suffix}") for name in "ab"], "y", nominal=["x"]).X["x"]
        for suffix in ("parquet", "csv")
    }
    assert read["parquet"].tolist()[:2] == [str(2**53), str(2**53 + 1)]
    assert read["parquet"].astype(str).tolist() == read["csv"].astype(str).tolist()


def test_declared_values_of_arff_files_are_joined(tmp_path: Path) -> None:
    head = "@relation r\n@attribute x numeric\n@attribute y {%s}\n@data\n"
    (tmp_path / "a.arff").write_text(head % "b,a,d" + "1.5,a\n2.5,b\n")
    (tmp_path / "b.arff").write_text(head % "c,a" + "1.25,a\n2.25,c\n")
    raw = read_files([str(tmp_path / "a.arff"), str(tmp_path / "b.arff")], None, FileLayout())
    assert raw.declared == {"y": ("b", "a", "d", "c")}


def test_train_and_test_files_are_scored_and_replayed_from_another_folder(
    parts: Path, bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["dataset=file", "dataset.target=species", "learner=majority", "evaluation=fixed", "tracking.models=false"]
    answer = bakeoff(*words, "dataset.path='parts/[01].csv'", "dataset.test_path=parts/2.csv")
    assert answer.status == 0, answer.err
    predictions = bakeoff.artifact(bakeoff.runs()[0], "predictions.csv").splitlines()
    assert len(predictions) == 1 + 94
    (parts / "elsewhere").mkdir()
    monkeypatch.chdir(parts / "elsewhere")
    replayed = bakeoff("replay", "latest", f"tracking.uri=sqlite:///{parts}/outputs/mlflow.db")
    assert replayed.status == 0, replayed.err
    assert "identical" in replayed.out


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("extension", write_formats())
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, extension: str) -> None:
    file = tmp_path / f"table{extension}"
    n_refused = 0
    for content in draw_damaged(extension, 60):
        file.write_bytes(content)
        try:
            read_table(str(file), "y")
        except UserError:
            n_refused += 1
    assert n_refused > 10


def test_texts_of_an_arrow_file_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.arrow"
    ends = struct.pack("<4i", 0, 4, 8, 12)
    table = pa.table({"y": pa.array(["long", "text", "here"] * 2)})
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    content = file.read_bytes()
    assert content.count(ends) == 1
    file.write_bytes(content.replace(ends, struct.pack("<4i", 0, 1 << 30, 8, 12)))
    with pytest.raises(UserError, match="cannot be read as a table"):
        read_file(file, FileLayout())


def test_a_number_after_a_control_character_is_read(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("x,y\n" + "\x1f9.5,a\n1,b\n2,a\n3.5,b\n" * 5)
    assert read_table(str(file), "y").X["x"].tolist()[:2] == [9.5, 1.0]
