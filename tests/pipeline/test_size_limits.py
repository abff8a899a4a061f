"""What a file says of itself is compared with the limits before its cells are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import FileLayout, read_file, size_limits

COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
TABLE = "x,y\n" + "1,a\n2,b\n" * 3000


def test_the_memory_is_that_of_the_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text("123456789\n")
    monkeypatch.setattr(size_limits, "CGROUP_FILES", (tmp_path / "absent", limit))
    assert size_limits.read_machine_bytes() == 123456789
    limit.write_text("max\n")
    assert size_limits.read_machine_bytes() > 123456789


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zip"])
def test_a_file_that_expands_too_much_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"table.csv{ending}"
    if ending == ".zip":
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            archive.writestr("table.csv", TABLE)
    else:
        file.write_bytes(COMPRESSORS[ending](TABLE.encode()))
    assert len(read_file(file, FileLayout()).frame) == 6000
    monkeypatch.setattr(size_limits, "MIN_EXPANDED_BYTES", 100)
    monkeypatch.setattr(size_limits, "PIECE_BYTES", 100)
    monkeypatch.setattr(size_limits, "MAX_EXPANSION", 2)
    with pytest.raises(UserError, match=r"dataset\.path='.*' holds more than .* when it is decompressed"):
        read_file(file, FileLayout())


def test_no_more_is_decompressed_than_half_of_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "table.csv.gz"
    file.write_bytes(gzip.compress(TABLE.encode()))
    monkeypatch.setattr(size_limits, "read_machine_bytes", lambda: 1000)
    monkeypatch.setattr(size_limits, "PIECE_BYTES", 100)
    with pytest.raises(UserError, match="half of the memory"):
        read_file(file, FileLayout())


def test_a_parquet_file_that_cannot_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A million equal cells take some bytes of the file.
    table = pa.table({"x": pa.array([1.0] * 1_000_000), "y": pa.array(["a"] * 1_000_000).dictionary_encode()})
    parquet.write_table(table, tmp_path / "table.parquet")
    assert (tmp_path / "table.parquet").stat().st_size < 10_000
    monkeypatch.setattr(size_limits, "read_machine_bytes", lambda: 10**7)
    with pytest.raises(
        UserError,
        match=r"says that it holds 1,000,000 rows of 2 columns, which need 16\.0 MB; this machine has 10\.0 MB",
    ):
        read_file(tmp_path / "table.parquet", FileLayout())


def test_a_sheet_that_claims_more_cells_than_it_holds_is_read(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["x", "y"])
    workbook.active.append([1, "a"])
    workbook.save(tmp_path / "true.xlsx")
    with ZipFile(tmp_path / "true.xlsx") as true, ZipFile(tmp_path / "false.xlsx", "w") as false:
        for name in true.namelist():
            false.writestr(name, true.read(name).replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"'))
    assert read_file(tmp_path / "false.xlsx", FileLayout()).frame.to_numpy().tolist() == [[1, "a"]]


def test_a_sheet_with_a_cell_in_the_last_corner_is_refused(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["x", "y"])
    workbook.active["XFD100000"] = 1
    workbook.save(tmp_path / "corner.xlsx")
    with pytest.raises(UserError, match="spans 100,000 rows and 16,384 columns, which are more than 50,000,000 cells"):
        read_file(tmp_path / "corner.xlsx", FileLayout())
