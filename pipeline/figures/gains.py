"""What a question about each column would gain at the root of a tree: its information gain, and its gain ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import COLOURS, INK, Picture, head, sheet
from bakeoff.pipeline.figures.trees import check_tree
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, kw_only=True)
class InformationGains(Picture):
    """What a question about each column would gain at the root: its information gain, and its gain ratio."""

    file: str = "information_gains.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what is no tree."""
        super().check(experiment, splits)
        check_tree("InformationGains", experiment)

    def gains(self, run: FinishedRun) -> dict[str, tuple[float, float]]:
        """Return each column's gain in bits and gain ratio: those of a tree of one question that sees no other."""
        gains = {}
        for name in map(str, run.experiment.dataset.X.columns):
            stump = run.fit({"learner__criterion": "entropy", "learner__max_depth": 1}, run.split.train, [name])
            tree = stump[-1].tree_
            share = (tree.weighted_n_node_samples / tree.weighted_n_node_samples[0])[1:]
            gain = float(tree.impurity[0] - tree.impurity[1:] @ share) if share.size else 0.0
            gains[name] = (gain, gain / float(-share @ np.log2(share)) if gain > 0 else 0.0)
        return gains

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a bar for each column, the first column on top and the best in colour."""
        gains = self.gains(run)
        names = list(gains)[::-1]
        figure, panels = sheet(2, width=8.4, height=1.0 + 0.36 * len(gains), sharey=True)
        for axes, title, which in zip(panels[0], ("information gain (bits)", "gain ratio"), (0, 1), strict=True):
            values = [gains[name][which] for name in names]
            best = max(values)
            colours = [COLOURS[0] if value == best else "#b8b8b8" for value in values]
            bars = axes.barh([self.label(name) for name in names], values, color=colours)
            axes.bar_label(bars, [f"{value:.4f}" for value in values], padding=4, color=INK)
            axes.set(xlim=(0, 1.2 * best if best > 0 else 1.0))
            head(axes, title)
        return figure
