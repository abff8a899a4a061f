"""Parquet and Arrow files, as pandas and pyarrow write them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import content
from bakeoff.pipeline.stages.dataset.files import read_file
from bakeoff.pipeline.stages.dataset.keys import FileLayout

LAYOUT = FileLayout()
TABLE = pa.table(
    {
        "age": pa.array([30, None, 29], pa.int16()),
        "size": pa.array([1.7, 1.8, None], pa.float64()),
        "owner": [True, None, False],
        "job": ["cook", None, "smith"],
        "grade": pa.DictionaryArray.from_arrays([1, 0, None], ["low", "high"], ordered=True),
        "day": pa.array([0, 1, None], pa.date32()),
    }
)
TYPES = ["Int16", "float64", "boolean", "string", "category", "datetime64[ms]"]


def write(folder: Path, table: pa.Table) -> dict[str, Path]:
    """Write a table in every format of Arrow."""
    files = {name: folder / f"people.{name}" for name in ("parquet", "arrow", "feather")}
    parquet.write_table(table, files["parquet"])
    with pa.OSFile(str(files["arrow"]), "wb") as stream, ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    feather.write_feather(table, files["feather"])
    return files


@pytest.mark.parametrize("format_", ["parquet", "arrow", "feather"])
def test_each_format_of_arrow_gives_the_same_typed_cells(tmp_path: Path, format_: str) -> None:
    raw = read_file(write(tmp_path, TABLE)[format_], LAYOUT)
    assert [str(dtype) for dtype in raw.frame.dtypes] == TYPES
    assert (raw.name, raw.notes, raw.declared) == ("people", (), {"grade": ("low", "high")})
    assert raw.frame["grade"].cat.ordered
    as_pandas_reads = TABLE.to_pandas()
    for name in ("age", "size", "owner", "job"):
        assert raw.frame[name].dropna().tolist() == as_pandas_reads[name].dropna().tolist()
        assert raw.frame[name].isna().tolist() == as_pandas_reads[name].isna().tolist()


@pytest.mark.parametrize("format_", ["parquet", "feather"])
def test_a_compressed_file_is_the_same_table(tmp_path: Path, format_: str) -> None:
    file = write(tmp_path, TABLE)[format_]
    compressed = tmp_path / f"people.{format_}.gz"
    compressed.write_bytes(gzip.compress(file.read_bytes()))
    raw = read_file(compressed, LAYOUT)
    assert raw.name == "people"
    pd.testing.assert_frame_equal(raw.frame, read_file(file, LAYOUT).frame)


def test_row_numbers_of_pandas_are_left_out_and_named_ones_are_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5]}, index=[7, 3, 5])
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename_axis("id").to_parquet(tmp_path / "b.parquet")
    frame.reset_index(drop=True).to_parquet(tmp_path / "c.parquet")
    raws = [read_file(tmp_path / f"{name}.parquet", LAYOUT) for name in "abc"]
    note = "Column '__index_level_0__', the row numbers of pandas, is left out."
    assert [list(raw.frame) for raw in raws] == [["x"], ["x", "id"], ["x"]]
    assert [raw.notes for raw in raws] == [(note,), (), ()]


def test_the_folder_of_a_file_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert list(read_file(write(folder, pa.table({"x": [1]}))["parquet"], LAYOUT).frame) == ["x"]


REPEATED = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 500, pa.int32()), ["a" * 1000, "b" * 1000])
EXPANDING = {
    "repeated text": pa.table({"x": REPEATED.cast(pa.string())}),
    "dictionary": pa.table({"x": REPEATED}),
    "compressed text": pa.table({"x": [f"{'a' * 1000}{row}" for row in range(1000)]}),
    "numbers": pa.table({"x": pa.nulls(1_000_000, pa.int64())}),
}


@pytest.mark.parametrize("format_", ["parquet", "feather"])
@pytest.mark.parametrize("what", EXPANDING)
def test_a_file_whose_cells_are_larger_than_a_table_would_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_: str, what: str
) -> None:
    file = tmp_path / f"table.{format_}"
    write_table = parquet.write_table if format_ == "parquet" else feather.write_feather
    write_table(EXPANDING[what], file, compression="zstd")
    assert len(read_file(file, LAYOUT).frame) == len(EXPANDING[what])
    monkeypatch.setattr(content, "MIN_EXPANDED_BYTES", 100_000)
    monkeypatch.setattr(content, "MAX_EXPANSION", 1)
    with pytest.raises(UserError, match=r"dataset\.path='.*' holds more than 100.0 kB, .* save the rows as CSV"):
        read_file(file, LAYOUT)
