"""The gain of a split on each column at the root of a tree: information gain, and gain ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, TEXT_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure, check_tree
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHER_BAR_COLOUR = "#b8b8b8"
BAR_INCHES = 0.36


@final
@dataclass(frozen=True, kw_only=True)
class InformationGains(RunFigure):
    """The information gain and the gain ratio of the best split on each column, at the root of a tree."""

    file: str = "information_gains.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner is a decision tree; UserError if it is not."""
        super().check(experiment, splits)
        check_tree("InformationGains", experiment)

    def compute_gains(self, run: FinishedRun) -> dict[str, tuple[float, float]]:
        """Return the gain in bits and the gain ratio of each column, those of a tree with this column and one split."""
        stump_parameters = {"learner__criterion": "entropy", "learner__max_depth": 1}
        gains = {}
        for name in map(str, run.experiment.dataset.X.columns):
            stump = run.fit_variant(stump_parameters, run.split.train, [name])
            gains[name] = _measure_split(stump[-1].fitted_tree_)
        return gains

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a bar for each column, the first column on top and the best in colour."""
        gains = self.compute_gains(run)
        figure, panels = make_panels(2, width=8.4, height=1.0 + BAR_INCHES * len(gains), sharey=True)
        names = list(gains)
        names.reverse()  # bars are drawn from the bottom up
        labels = [self.get_label(name) for name in names]
        _draw_bars(panels[0, 0], labels, [gains[name][0] for name in names])
        add_title(panels[0, 0], "information gain (bits)")
        _draw_bars(panels[0, 1], labels, [gains[name][1] for name in names])
        add_title(panels[0, 1], "gain ratio")
        return figure


def _measure_split(tree: Any) -> tuple[float, float]:
    """Return the information gain and the gain ratio of the root of a tree that has at most one split."""
    share = (tree.weighted_n_node_samples / tree.weighted_n_node_samples[0])[1:]  # (branches,)
    if share.size == 0:
        return 0.0, 0.0
    # The entropy of the root, less the mean entropy of its branches weighted by their rows.
    gain = float(tree.impurity[0] - tree.impurity[1:] @ share)
    if gain <= 0:
        return gain, 0.0
    # A split into many branches has a high entropy of its own, by which the ratio discounts its gain.
    split_information = float(-share @ np.log2(share))
    return gain, gain / split_information


def _draw_bars(axes: Axes, labels: list[str], values: list[float]) -> None:
    best = max(values)
    colours = [CLASS_COLOURS[0] if value == best else OTHER_BAR_COLOUR for value in values]
    bars = axes.barh(labels, values, color=colours)
    axes.bar_label(bars, [format_score(value) for value in values], padding=4, color=TEXT_COLOUR)
    right = 1.2 * best if best > 0 else 1.0  # room for the numbers
    axes.set(xlim=(0, right))
