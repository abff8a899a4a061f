"""Classes of which some have far fewer rows than others, so that accuracy says little about them."""

from __future__ import annotations

import numpy as np

from bakeoff.pipeline.stages.dataset.columns.cells import Cells

MAX_IMBALANCE = 10.0
"""Rows of the largest class for each row of the smallest, above which a sentence is due."""
MAX_SHOWN_CLASSES = 3


def suspect_imbalance(cells: Cells) -> tuple[str, ...]:
    """Return a sentence if the largest class has more than `MAX_IMBALANCE` times the rows of the smallest.

    Parameters
    ----------
    cells : Cells
        Of the target.
    """
    distinct = cells.distinct
    counts = np.bincount(distinct.codes[distinct.codes >= 0], minlength=len(distinct.values))  # (c,)
    largest = int(counts.max())
    rare = [position for position in np.argsort(counts, kind="stable") if counts[position] * MAX_IMBALANCE < largest]
    if not rare:
        return ()
    shown = [f"{distinct.values[position]!r} {counts[position]}" for position in rare[:MAX_SHOWN_CLASSES]]
    further = f" ({len(rare) - len(shown)} more classes are as rare)" if len(rare) > len(shown) else ""
    common = distinct.values[int(counts.argmax())]
    return (
        f"{cells.name}: class {common!r} has {largest} of {counts.sum()} rows, {', '.join(shown)}{further}, so that "
        "accuracy says little about rare classes. evaluation.metrics=[balanced_accuracy] counts all classes alike, and "
        "balance=weights fits so.",
    )
