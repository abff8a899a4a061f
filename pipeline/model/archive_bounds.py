"""How much the archive of a model may hold, before any of it is unpacked."""

from __future__ import annotations

import io
from zipfile import ZipFile, ZipInfo

FREE_BYTES = 1 << 28
"""What an archive may unpack to, however small it is."""
MAX_RATIO = 50
"""By how much more an archive may grow when it is unpacked: tables of numbers compress less than that."""
INNER_ARCHIVE = ".npz"


class UnsafeArchive(Exception):
    """The archive of a model would unpack to very much."""


def require_bounded_archive(dumped: bytes) -> None:
    """Reject an archive that would unpack to far more than it holds, in itself or in the archives of sparse arrays.

    Nothing of it is written: the names of its members lead nowhere.

    Parameters
    ----------
    dumped : bytes
        The content of a file in the skops format.

    Raises
    ------
    UnsafeArchive
    """
    limit = FREE_BYTES + MAX_RATIO * len(dumped)
    total = 0
    with ZipFile(io.BytesIO(dumped)) as archive:
        for member in archive.infolist():
            total += member.file_size
            _require_within(total, limit)
            if member.filename.endswith(INNER_ARCHIVE):
                total += sum(inner.file_size for inner in _list_inner(archive, member))
                _require_within(total, limit)


def _list_inner(archive: ZipFile, member: ZipInfo) -> list[ZipInfo]:
    with archive.open(member) as content, ZipFile(io.BytesIO(content.read())) as inner:
        return inner.infolist()


def _require_within(total: int, limit: int) -> None:
    if total > limit:
        raise UnsafeArchive(f"it would unpack to more than {limit:,} bytes, which no model of its size does")
