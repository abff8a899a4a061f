"""How much the archive of a model may hold, before any of it is unpacked."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile, ZipInfo

FREE_BYTES = 1 << 28
"""What an archive may unpack to, however small it is."""
MAX_RATIO = 50
"""By how much more an archive may grow when it is unpacked: tables of numbers compress less than that."""
INNER_ARCHIVE = ".npz"
SCHEMA = "schema.json"
"""The member that names the types of a model."""
MAX_VISITS = 10_000_000
"""How often skops may look at a node: at one that many others share it looks once for each way that leads to it."""
ID_KEY = "__id__"


class UnsafeArchive(Exception):
    """The archive of a model would unpack to very much."""


def require_bounded_archive(dumped: bytes) -> None:
    """Reject an archive that would unpack to far more than it holds, in itself or in the archives of sparse arrays.

    So is one whose parts share one another in very many ways, which skops would follow for ever.

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
        schema = json.loads(archive.read(SCHEMA)) if SCHEMA in archive.namelist() else {}
    if _count_visits(schema, {}) > MAX_VISITS:
        raise UnsafeArchive(f"its parts share one another in more than {MAX_VISITS:,} ways")


def _count_visits(node: Any, known: dict[Any, int]) -> int:
    """Return how many nodes are visited on all ways down from a node; `known` holds those that were counted."""
    if isinstance(node, list):
        return sum(_count_visits(child, known) for child in node)
    if not isinstance(node, dict):
        return 0
    name = node.get(ID_KEY)
    if name is not None and name in known:
        return known[name]
    # A node that is reached from itself is not followed again.
    known[name] = 0
    known[name] = 1 + sum(_count_visits(child, known) for child in node.values())
    return known[name]


def _list_inner(archive: ZipFile, member: ZipInfo) -> list[ZipInfo]:
    with archive.open(member) as content, ZipFile(io.BytesIO(content.read())) as inner:
        return inner.infolist()


def _require_within(total: int, limit: int) -> None:
    if total > limit:
        raise UnsafeArchive(f"it would unpack to more than {limit:,} bytes, which no model of its size does")
