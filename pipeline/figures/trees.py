"""Trees: variants of one beside each other, before and after pruning.

A tree tells its own positions and words through the ``draw`` that the YAML names, and its sizes through ``tree_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_changes
from bakeoff.pipeline.figures.panels import COLOURS, Picture, check_colours, head, key, sheet
from bakeoff.pipeline.figures.tree_diagram import Sketch
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import fit_candidates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COST_COMPLEXITY = "cost_complexity"
WIDTH, TALLEST = 9.0, 11.0
"""Inches of a figure; trees whose words want more are drawn without them."""


def check_tree(name: str, experiment: Experiment) -> None:
    """Refuse a learner that is no tree of ours."""
    if not hasattr(experiment.learner, "prune"):
        raise UserError(f"figures: {name} draws decision trees; add learner=decision_tree, or take the figure out.")


@final
@dataclass(frozen=True, kw_only=True)
class Trees(Picture):
    """Variants of a tree, side by side.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> what of the run's pipeline is changed.
    draw_tree : callable
        Takes a fitted tree; returns its positions, words and edges.
    pruning : mapping of str to str
        Title -> a method of the tree's ``prune``, or ``cost_complexity``, whose α is the best on the validation rows.
    columns : int
        Panels in a row.
    """

    variants: Mapping[str, Parameters]
    draw_tree: Callable[[Any], Any]
    pruning: Mapping[str, str] = field(default_factory=dict)
    columns: int = 3
    file: str = "trees.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what is no tree, and pruning that has no rows."""
        super().check(experiment, splits)
        check_tree("Trees", experiment)
        check_colours("Trees", experiment)
        if set(self.pruning.values()) - {"pessimistic"} and not experiment.splitter.validation:
            raise UserError("figures: Trees shows pruning on a validation part; set evaluation.validation=0.2.")
        check_changes(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        fitted = {title: self._fit(run, title, parameters) for title, parameters in self.variants.items()}
        sketches = [Sketch.of(tree[-1], self.draw_tree(tree[-1]), self.label) for tree in fitted.values()]
        columns, words = self._layout(sketches)
        rows = -(-len(fitted) // columns)
        height = max(sketch.height() for sketch in sketches) + 0.75 if words else 2.5
        width = min(WIDTH, max(4.5, WIDTH / 3 + 0.5) * columns)
        figure, panels = sheet(columns, rows, width=width, height=0.4 + height * rows)
        for axes in panels.flat:
            axes.set_axis_off()
        for axes, sketch, (title, pipeline) in zip(panels.flat, sketches, fitted.items(), strict=False):
            if words:
                sketch.write(axes, width / columns - 0.25)
            else:
                sketch.dot(axes)
            head(axes, title, self._sizes(run, pipeline))
        self._key(figure, run.experiment.dataset, "number: rows in the leaf" if words else "size: rows in the leaf")
        return figure

    def _layout(self, sketches: Sequence[Sketch]) -> tuple[int, bool]:
        """Return how many panels stand in a row, and whether words fit: rather fewer panels than no words."""
        most = min(self.columns, len(sketches))
        for columns in range(most, 0, -1):
            height = (max(sketch.height() for sketch in sketches) + 0.75) * -(-len(sketches) // columns)
            if height < TALLEST and all(sketch.width() < WIDTH / columns - 0.25 for sketch in sketches):
                return columns, True
        return most, False

    def _fit(self, run: FinishedRun, title: str, parameters: Parameters) -> Pipeline:
        """Fit a variant, and prune it on the validation rows."""
        pipeline = run.fit(parameters, run.split.train)
        method = self.pruning.get(title)
        if method is None:
            return pipeline
        X, y = run.rows(run.split.validation) if len(run.split.validation) else (None, None)
        if method == COST_COMPLEXITY:
            return self._smallest_of_the_best(run, pipeline)
        prepared = None if X is None else pipeline[:-1].transform(X)
        pipeline[-1].prune(*((None, None) if method == "pessimistic" else (prepared, y)), method=method)
        return pipeline

    def _smallest_of_the_best(self, run: FinishedRun, full: Pipeline) -> Pipeline:
        """Of the subtrees of cost-complexity pruning return the one that is best on the validation rows."""
        tables = [run.rows(run.split.train), run.rows(run.split.validation)]
        (X, y), (Q, truth) = ((full[:-1].transform(X) if len(full) > 1 else X, y) for X, y in tables)
        alphas = clone(full[-1]).cost_complexity_pruning_path(X, y).ccp_alphas.tolist()
        subtrees = {place: tree for place, tree, _ in fit_candidates(full[-1], [{"ccp_alpha": alphas}], X, y)}
        scores = [run.score(subtrees[place], Q, truth) for place in range(len(alphas))]
        return Pipeline([*full.steps[:-1], ("learner", subtrees[len(scores) - 1 - int(np.argmax(scores[::-1]))])])

    def _sizes(self, run: FinishedRun, pipeline: Pipeline) -> str:
        tree = pipeline[-1].tree_
        size = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
        parts = {"validation": run.split.validation, "test": run.split.test}
        said = [f"{part} {run.score(pipeline, *run.rows(rows)):.3f}" for part, rows in parts.items() if len(rows)]
        return size + (f"\n{run.experiment.headline}: {', '.join(said)}" if said else "")

    def _key(self, figure: Figure, dataset: Dataset, numbers: str) -> None:
        from matplotlib.lines import Line2D

        marks = {
            str(label): Line2D([], [], marker="s", markersize=8, linestyle="", color=COLOURS[code])
            for code, label in enumerate(dataset.classes)
        }
        key(figure, self.label(dataset.target), marks | {f"({numbers})": Line2D([], [], linestyle="")})
