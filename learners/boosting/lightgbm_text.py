"""The text in which LightGBM writes a model, checked before the library reads it."""

from __future__ import annotations

import re

FIRST_TREE = b"Tree=0\n"
END_OF_TREES = b"end of trees\n"


def require_complete(written: bytes) -> None:
    """Reject a model that lacks a part of its trees: LightGBM would end the process where it reads on.

    Parameters
    ----------
    written : bytes
        In the text format of LightGBM, which says how many bytes each tree has.

    Raises
    ------
    ValueError
    """
    sizes = re.search(rb"^tree_sizes=([\d ]*)$", written, re.MULTILINE)
    first = written.find(FIRST_TREE)
    last = written.find(END_OF_TREES)
    is_complete = sizes is not None and last >= 0
    if sizes is not None and first >= 0:
        n_bytes = sum(int(size) for size in sizes[1].split())
        is_complete = is_complete and n_bytes == last - first
    if not is_complete:
        raise ValueError("the trees of LightGBM are not complete, or were changed; fit the model again.")
