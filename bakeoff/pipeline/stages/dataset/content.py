"""Read the content of a file: decompress it, decode it, and blank lines that are not part of the table."""

import bz2
import codecs
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

import pyarrow as pa

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.keys import FileLayout
from bakeoff.pipeline.text.wording import format_bytes, name_first

UTF_8 = "utf-8"
USUAL_ENCODING = "cp1252"
"""The encoding of most files that are not UTF-8; it is suggested but never assumed."""
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: UTF_8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
OTHER_FORMATS = {
    rb"PK\x03\x04": "is an Excel file or a ZIP archive; its name must end in .xlsx, or in .csv.zip",
    rb"\xd0\xcf\x11\xe0": "is an old Excel file; save it as .xlsx or as CSV",
    rb"\x1f\x8b": "is compressed by gzip; its name must end in .csv.gz",
    rb"BZh\d": "is compressed by bzip2; its name must end in .csv.bz2",
    rb"\xfd7zXZ": "is compressed by xz; its name must end in .csv.xz",
    rb"\x28\xb5\x2f\xfd": "is compressed by Zstandard; its name must end in .csv.zst",
    rb"PAR1": "is Parquet; its name must end in .parquet",
    rb"ARROW1": "is an Arrow file; its name must end in .feather",
    rb"SQLite format 3": "is a database; read it with dataset=sql",
    rb"%PDF": "is a PDF file",
    rb"version https://git-lfs": "is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`",
    rb"(?i)\s*<(!doctype html|html)": "is a web page, not a table; download the file itself",
    rb'\s*+\[?\s*+\{\s*+"': "is JSON; its name must end in .jsonl",
    rb"(?i)(\s*%[^\n]*\n)*\s*@relation\b": "is ARFF; its name must end in .arff",
}
"""The first bytes of files that often have the extension of a text file -> the cure."""


ZIP = ".zip"


@contextmanager
def _open_zip(file: Path) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(file) as archive, archive.open(_find_member(archive, file)) as stream:
        yield stream


def _find_member(archive: zipfile.ZipFile, file: Path) -> str:
    """Return the name of the only file in an archive, ignoring folders and the entries that macOS adds."""
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    members = [name for name in names if not name.startswith("__MACOSX/")]
    if len(members) != 1:
        listed = name_first(members) or "nothing"
        raise UserError(f"dataset.path={str(file)!r} must hold one file, but holds {listed}; extract the table.")
    return members[0]


DECOMPRESSORS: Mapping[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": partial(pa.input_stream, compression="zstd"),
    ZIP: _open_zip,
}
"""Extension -> the function that opens such a file."""


def read_bytes(file: Path) -> bytes:
    """Return the bytes of a file, decompressed if its last extension is that of a compressed file.

    Raises
    ------
    UserError
        The file is damaged or cannot be opened, or an archive holds several files.
    """
    decompress = DECOMPRESSORS.get(file.suffix.lower())
    try:
        if decompress is None:
            return file.read_bytes()
        with decompress(file) as stream:
            read: Iterator[bytes] = iter(partial(stream.read, BYTES_AT_A_TIME), b"")
            parts: Iterator[bytes] = limit_sizes(read, len, file)
            return b"".join(parts)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, RuntimeError) as error:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read: {error}; correct the file, or its extension."
        ) from error


def strip_compression(file: Path) -> Path:
    """Return the path without the extension of a compressed file: ``a.csv`` of ``a.csv.gz``.

    The extension of a file in an archive is added: ``a.csv`` of ``a.zip`` if this holds ``table.csv``, ``table``, or
    ``table.csv.zip``, as older versions of pandas name it.
    """
    extension = file.suffix.lower()
    plain = file.with_suffix("") if extension in DECOMPRESSORS else file
    if extension == ZIP:
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
            member = PurePosixPath(_find_member(archive, file))
            # pandas writes CSV into c.zip as a file c.
            inner = PurePosixPath(member.stem if member.suffix.lower() == ZIP else member).suffix or ".csv"
            return plain if plain.suffix == inner else plain.with_name(plain.name + inner)
    return plain


def read_content(file: Path, layout: FileLayout) -> bytes:
    """Return the text of a file in UTF-8; lines that the layout skips are blank, so line numbers do not change.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The file is not text, is empty, or has another encoding.
    """
    data = read_bytes(file)
    for pattern, found in OTHER_FORMATS.items():
        if re.match(pattern, data):
            raise UserError(f"dataset.path={str(file)!r} cannot be read as a table of text: it {found}.")
    content = _to_utf_8(data, layout, file)
    if layout.skip_rows > 0:
        lines = content.split(b"\n", layout.skip_rows)
        content = b"\n" * (len(lines) - 1) + lines[-1]
    if re.search(rb"\S", content) is None:
        raise make_empty_error(file)
    return content


def make_empty_error(file: Path) -> UserError:
    """Return the error for a file without content."""
    return UserError(f"dataset.path={str(file)!r} is empty; it needs a row of column names and rows of data.")


def read_characters(file: Path, layout: FileLayout) -> str:
    """Return the text of a file of any format, decompressed and decoded.

    Parameters
    ----------
    file : Path
    layout : FileLayout

    Raises
    ------
    UserError
        The file has another encoding.
    """
    return _to_utf_8(read_bytes(file), layout, file).decode()


def _to_utf_8(data: bytes, layout: FileLayout, file: Path) -> bytes:
    """Return a text in UTF-8 without a byte order mark; raise UserError if it cannot be decoded."""
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), UTF_8)
    encoding = marked if layout.encoding is None else str(layout.encoding)
    content = data.removeprefix(codecs.BOM_UTF8)
    if encoding != UTF_8:
        content = _decode(content, encoding, file).removeprefix("\ufeff").encode()
    if b"\0" in content:
        raise UserError(
            f"dataset.path={str(file)!r} cannot be read as a table: it contains NUL characters, so it is not text, "
            "or it is UTF-16 without a mark; for UTF-16, give dataset.encoding=utf-16-le."
        )
    if not content.isascii():
        _decode(content, UTF_8, file)
    return content


def _decode(data: bytes, encoding: str, file: Path) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise UserError(
            f"dataset.encoding={encoding!r} is not an encoding; give one that Python knows, such as utf-8, cp1252, "
            "latin-1 or utf-16."
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start : error.start + 1]
        meaning = byte.decode(USUAL_ENCODING, errors="replace")
        name = "UTF-8" if encoding == UTF_8 else encoding
        raise UserError(
            f"line {line} of {file.name} is not {name}: it holds the byte 0x{byte.hex().upper()}, which is "
            f"{meaning!r} in {USUAL_ENCODING}; give the encoding of the file, such as "
            f"dataset.encoding={USUAL_ENCODING}."
        ) from None


Part = TypeVar("Part")
BYTES_AT_A_TIME = 1024 * 1024
MAX_EXPANSION = 100
"""The maximum ratio of the sizes of cells and their file; tables have 3 to 20."""
MIN_EXPANDED_BYTES = 256 * 1024 * 1024
"""Cells up to this size are read regardless of the size of their file."""


def limit_sizes(parts: Iterable[Part], measure: Callable[[Part], int], file: Path, what: str = "") -> Iterator[Part]:
    """Yield the parts of a file; raise UserError once they are too large for a table.

    Parameters
    ----------
    parts : iterable
    measure : callable
        Returns the size of a part in bytes.
    file : Path
    what : str
        The key and the value to name; by default the path.
    """
    most = max(MIN_EXPANDED_BYTES, MAX_EXPANSION * file.stat().st_size)
    n_bytes = 0
    for part in parts:
        n_bytes += measure(part)
        if n_bytes > most:
            raise UserError(
                f"{what or f'dataset.path={str(file)!r}'} holds more than {format_bytes(most)}, which is more than "
                f"{MAX_EXPANSION} times the size of the file; save the rows as CSV without compression."
            )
        yield part
