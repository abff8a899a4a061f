"""What many cells come to: a table by learner and kind of data, and every cell that is not as it should be by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from benchmarks.cells import Cell

CHECKS = 0.2e-3
"""Seconds below which the checks of input are most of the time."""

EQUAL = 0.02
"""Accuracies, or R², that differ by less are equal: a cell counts where ours is not worse."""

MEMORY = 4.0
"""The peak of memory may be so many times scikit-learn's."""

HEADING = ("learner", "data", "cells", "fit", "worst", "predict", "worst", "above 1", "MB, worst")


def summary(cells: Sequence[Cell]) -> str:
    """Return Markdown: geometric means of the ratios, the table, and what needs a reason."""
    timed = [cell for cell in cells if not cell.note]
    if not timed:
        return "\n".join(["Nothing was measured.", *_skipped(cells)])
    equal = [cell for cell in timed if cell.quality > cell.sklearn_quality - EQUAL]
    overall = f"**{_mean(timed):.2f}** (fit {_mean(timed, ['fit']):.2f}, predict {_mean(timed, ['predict']):.2f})"
    return "\n".join(
        [
            f"Geometric mean of the {2 * len(timed)} ratios ours / scikit-learn: {overall}"
            + (f"; of the {2 * len(equal)} at no worse quality {_mean(equal):.2f}." if equal else "."),
            "",
            *_table(timed),
            "",
            *_above(timed),
            *_memory(timed),
            *_quality(timed),
            *_skipped(cells),
        ]
    )


def _table(cells: Sequence[Cell]) -> list[str]:
    lines = ["| " + " | ".join(HEADING) + " |", "| --- | --- |" + " ---: |" * (len(HEADING) - 2)]
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
    most = f"where ours takes more than {CHECKS * 1e3:g} ms"
    return [f"Above 1, {most}:", "", *lines, ""] if lines else [f"No ratio is above 1 {most}.", ""]


def _memory(cells: Sequence[Cell]) -> list[str]:
    worst = max(cells, key=lambda cell: cell.memory_ratio)
    lines = []
    for name, own in _by_learner([cell for cell in cells if cell.memory_ratio > MEMORY]):
        ordered = sorted(own, key=lambda cell: -cell.memory_ratio)
        told = [f"{c.memory_ratio:.1f} {c.task} ({c.megabytes:.0f} and {c.sklearn_megabytes:.0f} MB)" for c in ordered]
        lines.append(f"- {name}: {'; '.join(told)}")
    said = (
        f"The peak of memory is at most {worst.memory_ratio:.1f} times scikit-learn's ({worst.learner}, {worst.task})"
    )
    return [f"{said}; above {MEMORY:g}:", "", *lines, ""] if lines else [f"{said}.", ""]


def _quality(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for name, own in _by_learner([cell for cell in cells if _differs(cell)]):
        told = [f"{cell.task} {cell.quality:.3f} and {cell.sklearn_quality:.3f}" for cell in own]
        lines.append(f"- {name}: {'; '.join(told)}")
    limit = f"more than {EQUAL:g} from scikit-learn's"
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
    found = [cell for cell in cells if _ratio(cell, what) > 1 and getattr(cell, what) > CHECKS]
    return sorted(found, key=lambda cell: -_ratio(cell, what))


def _differs(cell: Cell) -> bool:
    return abs(cell.quality - cell.sklearn_quality) > EQUAL
