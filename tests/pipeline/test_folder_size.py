"""The size of what is below a folder, which other processes may change meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bakeoff.pipeline.tracking.limited_calls import measure_folder


def test_files_at_all_depths_count_and_links_do_not(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"12345")
    (tmp_path / "a" / "b" / "two").write_bytes(b"123")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "one")
    assert measure_folder(tmp_path) == 8
    assert measure_folder(tmp_path / "nowhere") == 0


def test_a_file_that_is_deleted_while_files_are_measured_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).write_bytes(b"12345")
    look = os.lstat

    def delete_the_other(path: Path) -> os.stat_result:
        status = look(path)
        for other in tmp_path.iterdir():
            if other != path:
                other.unlink()
        return status

    monkeypatch.setattr("bakeoff.pipeline.tracking.limited_calls.os.lstat", delete_the_other)
    assert measure_folder(tmp_path) == 5
