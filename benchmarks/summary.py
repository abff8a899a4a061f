"""Summaries of many cells: a short one for docs/benchmarks.md, and one for the console that lists every slow cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from benchmarks.cells import Cell

INPUT_CHECK_SECONDS = 0.2e-3
"""Below this time, the input checks are most of the measurement."""

QUALITY_TOLERANCE = 0.02
"""Accuracies or values of R² that differ by less count as equal."""

MAX_MEMORY_RATIO = 4.0
"""Cells whose peak memory is a larger multiple of scikit-learn's are listed."""

HEADING = ("learner", "data", "cells", "fit", "worst", "predict", "worst", "above 1", "MB, worst")


def summary(cells: Sequence[Cell]) -> str:
    """Return Markdown for the console: means, the table by learner and kind of data, and all notable cells."""
    timed = [cell for cell in cells if not cell.note]
    if not timed:
        return "\n".join(["Nothing was measured.", *_skipped(cells)])
    lines = [_overall(timed), "", *_table(timed), "", *_above(timed)]
    lines += [*_memory(timed), *_quality(timed), *_skipped(cells)]
    return "\n".join(lines)


def page_summary(cells: Sequence[Cell]) -> str:
    """Return Markdown for docs/benchmarks.md: means, a row for each learner, and counts; the cells are in the CSV."""
    timed = [cell for cell in cells if not cell.note]
    n_slow = sum(len(_slow(timed, what)) for what in ("fit", "predict"))
    n_large = sum(cell.memory_ratio > MAX_MEMORY_RATIO for cell in timed)
    n_different = sum(_differs(cell) for cell in timed)
    n_ratios = 2 * len(timed)
    n_skipped = len(cells) - len(timed)
    limit = f"{INPUT_CHECK_SECONDS * 1e3:g} ms"
    counts = (
        f"Of the {n_ratios} ratios, {n_slow} are above 1 where ours takes more than {limit}. The peak memory is "
        f"more than {MAX_MEMORY_RATIO:g} times scikit-learn's in {n_large} cells, and the quality differs by more than "
        f"{QUALITY_TOLERANCE:g} in {n_different}. {n_skipped} further cells exceeded the time limit on one side."
    )
    rows = [_row(f"**{name}**", "all", own) for name, own in _by_learner(timed)]
    return "\n".join([_overall(timed), "", *_table_head(), *rows, "", counts])


def _overall(timed: Sequence[Cell]) -> str:
    equal = [cell for cell in timed if cell.quality > cell.sklearn_quality - QUALITY_TOLERANCE]
    overall = f"**{_mean(timed):.2f}** (fit {_mean(timed, ['fit']):.2f}, predict {_mean(timed, ['predict']):.2f})"
    at_equal_quality = f"; of the {2 * len(equal)} at no worse quality {_mean(equal):.2f}" if equal else ""
    return f"Geometric mean of the {2 * len(timed)} ratios ours / scikit-learn: {overall}{at_equal_quality}."


def _table_head() -> list[str]:
    return ["| " + " | ".join(HEADING) + " |", "| --- | --- |" + " ---: |" * (len(HEADING) - 2)]


def _table(cells: Sequence[Cell]) -> list[str]:
    lines = _table_head()
    for name, own in _by_learner(cells):
        families = list(dict.fromkeys(cell.family for cell in own))
        lines.append(_row(f"**{name}**", "all" if len(families) > 1 else families[0], own))
        if len(families) > 1:
            lines += [_row("", family, [cell for cell in own if cell.family == family]) for family in families]
    return lines


def _row(name: str, data: str, cells: Sequence[Cell]) -> str:
    texts = [name, data, str(len(cells))]
    for what in ("fit", "predict"):
        worst = max(cells, key=lambda cell: _ratio(cell, what))
        texts += [f"{_mean(cells, [what]):.2f}", f"{_ratio(worst, what):.2f} {worst.task}"]
    slow = [cell for what in ("fit", "predict") for cell in _slow(cells, what)]
    return "| " + " | ".join([*texts, str(len(slow)), f"{max(cell.memory_ratio for cell in cells):.1f}"]) + " |"


def _above(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for name, own in _by_learner(cells):
        for what in ("fit", "predict"):
            told = [
                f"{_ratio(cell, what):.2f} {cell.task} ({getattr(cell, what) * 1e3:.3g} ms)"
                for cell in _slow(own, what)
            ]
            lines += [f"- {name}, {what}: {'; '.join(told)}"] if told else []
    most = f"where ours takes more than {INPUT_CHECK_SECONDS * 1e3:g} ms"
    return [f"Above 1, {most}:", "", *lines, ""] if lines else [f"No ratio is above 1 {most}.", ""]


def _memory(cells: Sequence[Cell]) -> list[str]:
    worst = max(cells, key=lambda cell: cell.memory_ratio)
    lines = []
    for name, own in _by_learner([cell for cell in cells if cell.memory_ratio > MAX_MEMORY_RATIO]):
        ordered = sorted(own, key=lambda cell: -cell.memory_ratio)
        told = [f"{c.memory_ratio:.1f} {c.task} ({c.megabytes:.0f} and {c.sklearn_megabytes:.0f} MB)" for c in ordered]
        lines.append(f"- {name}: {'; '.join(told)}")
    said = f"The peak memory is at most {worst.memory_ratio:.1f} times scikit-learn's ({worst.learner}, {worst.task})"
    return [f"{said}; above {MAX_MEMORY_RATIO:g}:", "", *lines, ""] if lines else [f"{said}.", ""]


def _quality(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for name, own in _by_learner([cell for cell in cells if _differs(cell)]):
        told = [f"{cell.task} {cell.quality:.3f} and {cell.sklearn_quality:.3f}" for cell in own]
        lines.append(f"- {name}: {'; '.join(told)}")
    limit = f"more than {QUALITY_TOLERANCE:g} from scikit-learn's"
    return [f"Quality is {limit} (ours first):", "", *lines, ""] if lines else [f"No quality is {limit}.", ""]


def _skipped(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for name, own in _by_learner(cells):
        reasons = Counter(cell.note for cell in own if cell.note)
        told = ", ".join(f"{count} ({reason})" for reason, count in reasons.most_common())
        lines += [f"- {name}, {reasons.total()} of {len(own)}: {told}"] if reasons else []
    return ["Skipped:", "", *lines] if lines else []


def _by_learner(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    return [(name, list(own)) for name, own in groupby(cells, key=lambda cell: cell.learner)]


def _ratio(cell: Cell, what: str) -> float:
    return float(getattr(cell, f"{what}_ratio"))


def _mean(cells: Sequence[Cell], parts: Sequence[str] = ("fit", "predict")) -> float:
    return float(np.exp(np.mean([np.log(_ratio(cell, what)) for cell in cells for what in parts])))


def _slow(cells: Sequence[Cell], what: str) -> list[Cell]:
    found = [cell for cell in cells if _ratio(cell, what) > 1 and getattr(cell, what) > INPUT_CHECK_SECONDS]
    return sorted(found, key=lambda cell: -_ratio(cell, what))


def _differs(cell: Cell) -> bool:
    return abs(cell.quality - cell.sklearn_quality) > QUALITY_TOLERANCE
