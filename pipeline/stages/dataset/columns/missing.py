"""Which cells are missing: a few spellings in every column, and further ones among numbers only."""

from __future__ import annotations

MISSING_ANYWHERE = ("", "NA", "NaN")
"""Spellings of a missing cell in every column."""
MISSING_AMONG_NUMBERS = (
    "?", "-", "--", ".", "nan", "na", "n/a", "N/A", "n.a.", "null", "NULL", "none", "None", "missing",
)  # fmt: skip
"""Spellings of a missing cell in a column whose other cells are numbers; in a nominal column they may be values."""
