"""Trees: variants of a tree side by side, such as before and after pruning, and the gains of splits at the root.

The function named by `draw_tree` returns the positions and texts of a tree; its sizes are read from ``fitted_tree_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.panels import (
    BAR_INCHES,
    CLASS_COLOURS,
    OTHER_COLOUR,
    add_legend,
    add_title,
    draw_bars,
    make_panels,
)
from bakeoff.pipeline.figures.planes import check_colours
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.figures.tree_diagram import TreeDiagram
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import find_best_candidate, fit_candidates
from bakeoff.pipeline.text.numbers import format_score

COST_COMPLEXITY = "cost_complexity"
PESSIMISTIC = "pessimistic"

MAX_WIDTH_INCHES = 9.0
MAX_HEIGHT_INCHES = 11.0
"""Trees whose texts need more room than this are drawn as dots."""
MIN_PANEL_INCHES = 4.5
PANEL_GAP_INCHES = 0.25
TITLE_INCHES = 0.75
LEGEND_INCHES = 0.75
DOTS_INCHES = 2.5


@dataclass(frozen=True, kw_only=True)
class TreeFigure(RunFigure):
    """Abstract: a figure of one of bakeoff's decision trees."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner is a decision tree; UserError if it is not."""
        super().check(experiment, splits)
        # Trees of scikit-learn have no such method, and other attributes than the figure needs.
        if not hasattr(experiment.learner, "prune"):
            raise self.refuse("draws decision trees", "add learner=decision_tree, or remove the figure")
        if experiment.target.is_on:
            raise self.refuse("would show the values of a transformed target", "set target=none, or remove the figure")


@final
@dataclass(frozen=True, kw_only=True)
class Trees(TreeFigure):
    """Variants of a tree, side by side.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> other parameters of the run's pipeline. If there are none, the tree of the run is drawn, before and
        after its pruning.
    draw_tree : callable
        Takes a fitted tree; returns its positions, texts and edges.
    pruning : mapping of str to str
        Title -> a method of the tree's ``prune``, or ``cost_complexity``, whose α is the best on the validation rows.
    columns : int
        The largest number of panels in a row.
    """

    draw_tree: Callable[[Any], Any]
    variants: Mapping[str, Parameters] = field(default_factory=dict)
    pruning: Mapping[str, str] = field(default_factory=dict)
    columns: int = 3
    file: str = "trees.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a tree, and that pruning has validation rows; UserError if not."""
        super().check(experiment, splits)
        if experiment.dataset.is_classification:
            check_colours(self, experiment)
        needs_validation = bool(set(self.pruning.values()) - {PESSIMISTIC})
        if needs_validation and not experiment.has_validation_rows:
            raise self.refuse("prunes on validation rows, and there are none", "set evaluation.validation=0.2")
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        pipelines = self._fit_trees(run)
        diagrams = [
            TreeDiagram.from_tree(pipeline[-1], self.draw_tree(pipeline[-1]), self.get_label)
            for pipeline in pipelines.values()
        ]
        n = len(diagrams)
        columns, height, has_texts = self._choose_layout(diagrams)
        widest = max(diagram.measure_width() for diagram in diagrams) + PANEL_GAP_INCHES
        width = MAX_WIDTH_INCHES / columns if n > 1 else min(MAX_WIDTH_INCHES, max(MIN_PANEL_INCHES, widest))
        figure, panels = make_panels(n, columns, width=width, height=height, frame=LEGEND_INCHES)
        drawn = zip(panels, diagrams, has_texts, pipelines.items(), strict=True)
        for axes, diagram, with_texts, (title, pipeline) in drawn:
            axes.set_axis_off()
            if with_texts:
                diagram.draw_texts(axes)
            else:
                diagram.draw_dots(axes)
            add_title(axes, title, _describe_tree(run, pipeline))
        dataset = run.experiment.dataset
        marks = {
            str(label): Line2D([], [], marker="s", markersize=8, linestyle="", color=colour)
            for label, colour in zip(dataset.classes if dataset.is_classification else (), CLASS_COLOURS, strict=False)
        }
        explanation = _explain_leaves(has_texts, dataset.is_classification)
        add_legend(figure, f"{self.get_label(dataset.target)} ({explanation})", marks)
        return figure

    def _fit_trees(self, run: FinishedRun) -> dict[str, Pipeline]:
        """Return the trees to draw, by title."""
        if self.variants:
            return {title: self._fit_and_prune(run, title) for title in self.variants}
        if run.model.path is None:
            return {run.learner_name: run.model.pipeline}
        method = run.experiment.pruning.method.replace("_", "-")
        unpruned = run.fit_variant({}, run.split.train)
        return {"before pruning": unpruned, f"after {method} pruning": run.model.pipeline}

    def _choose_layout(self, diagrams: Sequence[TreeDiagram]) -> tuple[int, float, list[bool]]:
        """Return the panels in a row, the height of each, and which trees have texts; fewer panels are preferred."""
        most = min(self.columns, len(diagrams))
        height = max(diagram.measure_height() for diagram in diagrams) + TITLE_INCHES
        widest = max(diagram.measure_width() for diagram in diagrams) + PANEL_GAP_INCHES
        for columns in range(most, 0, -1):
            rows = -(-len(diagrams) // columns)
            if height * rows < MAX_HEIGHT_INCHES and widest < MAX_WIDTH_INCHES / columns:
                return columns, height, [True] * len(diagrams)
        # Where some trees are too large, the small ones keep their texts if there is room for these in their panels.
        room = MAX_WIDTH_INCHES / most - PANEL_GAP_INCHES
        has_texts = [diagram.measure_width() < room and diagram.measure_height() < DOTS_INCHES for diagram in diagrams]
        return most, DOTS_INCHES + TITLE_INCHES * any(has_texts), has_texts

    def _fit_and_prune(self, run: FinishedRun, title: str) -> Pipeline:
        """Fit a variant, and prune it if a method is given for its title."""
        pipeline = run.fit_variant(self.variants[title], run.split.train)
        method = self.pruning.get(title)
        if method == COST_COMPLEXITY:
            return _prune_by_cost_complexity(run, pipeline)
        # Pessimistic pruning estimates errors from the training rows that the tree has counted.
        if method == PESSIMISTIC:
            pipeline[-1].prune(None, None, method=method)
        elif method is not None:
            # Pruning is a method of the learner, so the rows must first be transformed by the steps before it.
            X, y = run.select_rows(run.split.validation)
            pipeline[-1].prune(pipeline[:-1].transform(X), y, method=method)
        return pipeline


def _prune_by_cost_complexity(run: FinishedRun, full: Pipeline) -> Pipeline:
    """Return the smallest of the subtrees of cost-complexity pruning that are best on the validation rows."""
    X, y = run.select_rows(run.split.train)
    X = full[:-1].transform(X)
    alphas = clone(full[-1]).cost_complexity_pruning_path(X, y).ccp_alphas.tolist()
    pruned = {
        position: Pipeline([*full.steps[:-1], ("learner", tree)])
        for position, tree, _ in fit_candidates(full[-1], [{"ccp_alpha": alphas}], X, y)
    }
    # Penalties ascend, so the last of equally good subtrees is the smallest.
    smallest_first = [pruned[position] for position in range(len(alphas) - 1, -1, -1)]
    scores = np.array([run.score_rows(pipeline, run.split.validation) for pipeline in smallest_first])
    return smallest_first[find_best_candidate(scores, run.experiment.headline_metric.greater_is_better)]


def _describe_tree(run: FinishedRun, pipeline: Pipeline) -> str:
    """Return the size of a tree and its headline score on the rows that it was not grown from, as a note."""
    tree = pipeline[-1].fitted_tree_
    size = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
    parts = {"validation": run.split.validation, "test": run.split.test}
    scores = [f"{part} {format_score(run.score_rows(pipeline, rows))}" for part, rows in parts.items() if len(rows)]
    return f"{size}\n{run.experiment.headline}: {', '.join(scores)}" if scores else size


def _explain_leaves(has_texts: Sequence[bool], is_classification: bool) -> str:
    """Return what the numbers in leaves are, and the sizes of leaves in trees without texts."""
    if not any(has_texts):
        return "size: rows in the leaf"
    if not is_classification:
        return "in a leaf: the mean, and the number of rows"
    return "number: rows in the leaf" if all(has_texts) else "number or size: rows in the leaf"


@final
@dataclass(frozen=True, kw_only=True)
class InformationGains(TreeFigure):
    """The information gain and the gain ratio of the best split on each column, at the root of a tree."""

    file: str = "information_gains.png"

    task: ClassVar[str | None] = "classification"

    def compute_gains(self, run: FinishedRun) -> dict[str, tuple[float, float]]:
        """Return the gain in bits and the gain ratio of each column, those of a tree with this column and one split."""
        stump: dict[str, Any] = {"learner__criterion": "entropy", "learner__max_depth": 1}
        names = [str(name) for name in run.experiment.dataset.X.columns]
        trees = {name: run.fit_variant(stump, run.split.train, [name])[-1].fitted_tree_ for name in names}
        return {name: _measure_split(tree) for name, tree in trees.items()}

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a bar for each column, the first column on top and the best in colour."""
        gains = self.compute_gains(run)
        names = [self.get_label(name) for name in gains]
        figure, panels = make_panels(2, width=4.2, height=1.0 + 1.4 * BAR_INCHES * len(gains), sharey=True)
        titles = ("information gain (bits)", "gain ratio")
        for axes, title, values in zip(panels, titles, zip(*gains.values(), strict=True), strict=True):
            colours = [CLASS_COLOURS[0] if value == max(values) else OTHER_COLOUR for value in values]
            draw_bars(axes, names, values, texts=[format_score(value) for value in values], colours=colours)
            add_title(axes, title)
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
