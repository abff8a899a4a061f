"""Compressed files of text: the extension says how they are decompressed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import IO

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.size_limits import read_expanded


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a file, decompressed if its last extension is that of a compressed file.

    Raises
    ------
    UserError
        The file is damaged or cannot be opened, or an archive holds several files.
    """
    read = DECOMPRESSORS.get(file.suffix.lower(), Path.read_bytes)
    try:
        return read(file)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise UserError(f"dataset.path={str(file)!r} cannot be read: {error}.") from error


def open_bytes(file: Path) -> IO[bytes]:
    """Open a file for reading, decompressed if its last extension is that of a compressed file."""
    is_compressed = file.suffix.lower() in DECOMPRESSORS
    return BytesIO(read_bytes(file)) if is_compressed else file.open("rb")


def strip_compression(file: Path) -> Path:
    """Return the path without the extension of a compressed file: ``a.csv`` of ``a.csv.gz``."""
    return file.with_suffix("") if file.suffix.lower() in DECOMPRESSORS else file


def _read_gzip(file: Path) -> bytes:
    with gzip.open(file) as stream:
        return read_expanded(stream.read, file)


def _read_bzip2(file: Path) -> bytes:
    with bz2.open(file) as stream:
        return read_expanded(stream.read, file)


def _read_xz(file: Path) -> bytes:
    with lzma.open(file) as stream:
        return read_expanded(stream.read, file)


def _read_zip(file: Path) -> bytes:
    """Return the one file of an archive; folders, and the entries that macOS adds, do not count."""
    with zipfile.ZipFile(file) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        members = [name for name in names if not name.startswith("__MACOSX/")]
        if len(members) != 1:
            listed = ", ".join(members) or "nothing"
            raise UserError(f"dataset.path={str(file)!r} must hold one file, but holds {listed}; extract the table.")
        with archive.open(members[0]) as stream:
            return read_expanded(stream.read, file)


DECOMPRESSORS: Mapping[str, Callable[[Path], bytes]] = {
    ".gz": _read_gzip,
    ".bz2": _read_bzip2,
    ".xz": _read_xz,
    ".zip": _read_zip,
}
"""Extension -> function."""
