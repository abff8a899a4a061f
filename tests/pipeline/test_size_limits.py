"""What a file says of itself is compared with the limits before its cells are read."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import FileLayout, content, read_file

COMPRESSORS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
TABLE = "x,y\n" + "1,a\n2,b\n" * 3000


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zip"])
def test_a_file_that_expands_too_much_is_refused(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / f"table.csv{ending}"
    if ending == ".zip":
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            archive.writestr("table.csv", TABLE)
    else:
        file.write_bytes(COMPRESSORS[ending](TABLE.encode()))
    assert len(read_file(file, FileLayout()).frame) == 6000
    monkeypatch.setattr(content, "MIN_EXPANDED_BYTES", 100)
    monkeypatch.setattr(content, "MAX_EXPANSION", 2)
    with pytest.raises(UserError, match=r"dataset\.path='.*' holds more than .* when it is decompressed"):
        read_file(file, FileLayout())


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
