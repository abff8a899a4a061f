"""The separator of a text, found by parsing its first rows with each candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout, read_sign
from bakeoff.pipeline.stages.dataset.reading.parser import parse_cells

CANDIDATES: Mapping[str, str] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
"""Separator -> its name."""
DEFAULT_SEPARATOR = ","
SAMPLE_BYTES = 1 << 16
MIN_REGULAR_FRACTION = 0.9
"""Of the rows of a sample that must have the same number of cells."""


@dataclass(frozen=True)
class Regularity:
    """How regular the rows of a sample are with a separator.

    Attributes
    ----------
    n_cells : int
        The most frequent number of cells of a row.
    fraction : float
        Of the rows that have this number of cells.
    """

    n_cells: int
    fraction: float


def guess_separator(content: bytes, layout: FileLayout, file: Path) -> str | None:
    """Return the separator that gives all rows the same number of cells, at least two.

    Parameters
    ----------
    content : bytes
        In UTF-8, with at least one row.
    layout : FileLayout
    file : Path
        For messages.

    Returns
    -------
    str or None
        None if no candidate gives rows of several cells.

    Raises
    ------
    UserError
        Several separators do.
    """
    sample = draw_sample(content)
    # A decimal comma separates no cells, unless nothing else does.
    candidates = [each for each in CANDIDATES if each.encode() in sample and each != read_sign(layout.decimal)]
    measured = {each: _measure(sample, each, layout) for each in candidates}
    tables = {each: found for each, found in measured.items() if found.n_cells > 1}
    whole = [each for each, found in tables.items() if found.fraction == 1]
    if len(whole) > 1:
        readings = " and ".join(f"{CANDIDATES[each]!r} gives {tables[each].n_cells} columns" for each in whole)
        remedies = " or ".join(f"dataset.separator={CANDIDATES[each]}" for each in whole)
        raise UserError(f"the separator of {file.name} cannot be guessed: {readings}; give {remedies}.")
    regular = {each: found for each, found in tables.items() if found.fraction >= MIN_REGULAR_FRACTION}
    # The fraction decides before the number of cells: a text may hold many commas.
    ranked = sorted(regular, key=lambda each: (regular[each].fraction, regular[each].n_cells))
    return ranked[-1] if ranked else None


def name_separator(separator: str) -> str:
    """Return the word for a separator, or the separator itself if there is none."""
    return CANDIDATES.get(separator, separator)


def draw_sample(content: bytes) -> bytes:
    """Return the first rows of a text, without the one that is cut."""
    if len(content) <= SAMPLE_BYTES:
        return content
    end = content.rfind(b"\n", 0, SAMPLE_BYTES)
    return content if end < 0 else content[: end + 1]


def _measure(sample: bytes, separator: str, layout: FileLayout) -> Regularity:
    cells = parse_cells(sample, separator, layout)
    n_regular, n_cells = cells.table.shape
    counts = Counter(cells.ragged_counts)
    counts[n_cells] += n_regular
    usual, n_usual = counts.most_common(1)[0]
    return Regularity(usual, n_usual / counts.total())
