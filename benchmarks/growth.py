"""The plot of time against n on generated data, with a panel for each learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.tasks import QUERIES

PREFERRED = (20, 2)
"""The numbers of columns and classes that are drawn if they were measured."""

LINES = (
    ("fit", "fit, ours", "#0072B2", "-o"),
    ("sklearn_fit", "fit, scikit-learn", "#0072B2", ":s"),
    ("predict", "predict, ours", "#D55E00", "-o"),
    ("sklearn_predict", "predict, scikit-learn", "#D55E00", ":s"),
)
ACROSS = 4


def drawn(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each learner on generated data of one shape, so that only n changes along a line.

    The shape is 20 columns and two classes, or the most frequent one if there are no such cells.
    """
    made = [cell for cell in cells if cell.family == "made" and not cell.note]
    curves: dict[str, list[Cell]] = {}
    for regression in (False, True):
        kind = [cell for cell in made if (cell.c == 0) == regression]
        shapes = Counter((cell.d, cell.c) for cell in kind)
        preferred = (PREFERRED[0], 0) if regression else PREFERRED
        shape = preferred if preferred in shapes else max(shapes, key=shapes.__getitem__, default=None)
        for cell in kind:
            if (cell.d, cell.c) == shape:
                curves.setdefault(cell.learner, []).append(cell)
    names = list(dict.fromkeys(cell.learner for cell in cells))
    return {name: sorted(curves[name], key=lambda cell: cell.n) for name in names if name in curves}


def caption(cells: Sequence[Cell]) -> str:
    """Return the caption, which names the shape that is drawn."""
    shapes = {(cell.c == 0, cell.d, cell.c) for own in drawn(cells).values() for cell in own}
    told = [
        f"{d} columns {'for regression' if regression else f'and {c} classes'}" for regression, d, c in sorted(shapes)
    ]
    return f"made data of {', or '.join(told)}; predict is given at most {QUERIES} rows"


def plot(cells: Sequence[Cell], file: Path) -> None:
    """Draw how time grows with n."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    curves = drawn(cells)
    if not curves:
        return
    down, across = -(-len(curves) // ACROSS), min(len(curves), ACROSS)
    size = (3.1 * across, 2.5 * down + 0.9)
    figure, panels = plt.subplots(down, across, figsize=size, sharex=True, squeeze=False, layout="constrained")
    for axes, (name, own) in zip(panels.flat, curves.items(), strict=False):
        _panel(axes, name, own)
    for axes in list(panels.flat)[len(curves) :]:
        axes.set_axis_off()
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=min(2 * across, 4), frameon=False)
    figure.supxlabel(f"n, rows: {caption(cells)}", fontsize=9)
    figure.supylabel("CPU time", fontsize=9)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _panel(axes: Any, name: str, cells: Sequence[Cell]) -> None:
    import numpy as np
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    sizes, times = [cell.n for cell in cells], [getattr(cell, key) for cell in cells for key, *_ in LINES]
    for key, label, colour, style in LINES:
        axes.loglog(sizes, [getattr(cell, key) for cell in cells], style, color=colour, label=label, markersize=4)
    axes.tick_params(labelbottom=True)  # also if there is no panel below
    # The limits are whole decades, so that every panel has labelled ticks.
    axes.set_ylim(10 ** np.floor(np.log10(0.9 * min(times))), 10 ** np.ceil(np.log10(1.1 * max(times))))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_major_formatter(EngFormatter("s"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#e5e5e5")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(name, fontsize=10, loc="left", fontweight="bold")
