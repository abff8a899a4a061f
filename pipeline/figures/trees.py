"""Trees: variants of a tree side by side, such as before and after pruning.

The function named by `draw_tree` returns the positions and texts of a tree; its sizes are read from ``fitted_tree_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import CLASS_COLOURS, add_legend, add_title, make_panels
from bakeoff.pipeline.figures.drawing.tree_diagram import TreeDiagram
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.run_figure import RunFigure, check_class_count, check_tree
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import find_best_candidate, fit_candidates
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COST_COMPLEXITY = "cost_complexity"
PESSIMISTIC = "pessimistic"

MAX_WIDTH_INCHES = 9.0
MAX_HEIGHT_INCHES = 11.0
"""Trees whose texts need more room than this are drawn as dots."""
MIN_WIDTH_INCHES = 4.5
PANEL_GAP_INCHES = 0.25
TITLE_INCHES = 0.75
LEGEND_INCHES = 0.4
DOTS_HEIGHT_INCHES = 2.5


class PanelLayout(NamedTuple):
    """The number of panels side by side, the height of each in inches, and which of the trees have texts."""

    columns: int
    panel_height: float
    has_texts: list[bool]


@final
@dataclass(frozen=True, kw_only=True)
class Trees(RunFigure):
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
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a tree, and that pruning has validation rows; UserError if not."""
        super().check(experiment, splits)
        check_tree("Trees", experiment)
        if experiment.dataset.is_classification:
            check_class_count("Trees", experiment)
        needs_validation = bool(set(self.pruning.values()) - {PESSIMISTIC})
        if needs_validation and not experiment.has_validation_rows:
            raise UserError(
                "figures: Trees prunes on validation rows, and there are none; set evaluation.validation=0.2."
            )
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        pipelines = self._fit_trees(run)
        diagrams = [
            TreeDiagram.from_tree(pipeline[-1], self.draw_tree(pipeline[-1]), self.get_label)
            for pipeline in pipelines.values()
        ]
        layout = self._choose_layout(diagrams)
        columns = layout.columns
        rows = _count_rows(len(diagrams), columns)
        width = min(MAX_WIDTH_INCHES, max(MIN_WIDTH_INCHES, MAX_WIDTH_INCHES / 3 + 0.5) * columns)
        figure, panels = make_panels(columns, rows, width=width, height=LEGEND_INCHES + layout.panel_height * rows)
        for axes in panels.flat:
            axes.set_axis_off()
        # There may be more panels than trees, so the iterables differ in length.
        trees = zip(diagrams, layout.has_texts, pipelines.items(), strict=True)
        for axes, (diagram, has_texts, (title, pipeline)) in zip(panels.flat, trees, strict=False):
            if has_texts:
                diagram.draw_texts(axes, width / columns - PANEL_GAP_INCHES)
            else:
                diagram.draw_dots(axes)
            add_title(axes, title, _describe_tree(run, pipeline))
        explanation = _explain_leaves(layout.has_texts, run.experiment.dataset.is_classification)
        self._add_class_legend(figure, run.experiment.dataset, explanation)
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

    def _choose_layout(self, diagrams: Sequence[TreeDiagram]) -> PanelLayout:
        """Choose the number of panels in a row; fewer panels are preferred to panels without texts."""
        most = min(self.columns, len(diagrams))
        panel_height = max(diagram.measure_height() for diagram in diagrams) + TITLE_INCHES
        for columns in range(most, 0, -1):
            height = panel_height * _count_rows(len(diagrams), columns)
            panel_width = MAX_WIDTH_INCHES / columns - PANEL_GAP_INCHES
            if height < MAX_HEIGHT_INCHES and all(diagram.measure_width() < panel_width for diagram in diagrams):
                return PanelLayout(columns, panel_height, [True] * len(diagrams))
        # Where some trees are too large, the small ones keep their texts if there is room for these in their panels.
        panel_width = MAX_WIDTH_INCHES / most - PANEL_GAP_INCHES
        has_texts = [
            diagram.measure_width() < panel_width and diagram.measure_height() < DOTS_HEIGHT_INCHES
            for diagram in diagrams
        ]
        panel_height = DOTS_HEIGHT_INCHES + (TITLE_INCHES if any(has_texts) else 0)
        return PanelLayout(most, panel_height, has_texts)

    def _fit_and_prune(self, run: FinishedRun, title: str) -> Pipeline:
        """Fit a variant, and prune it if a method is given for its title."""
        pipeline = run.fit_variant(self.variants[title], run.split.train)
        method = self.pruning.get(title)
        if method is None:
            return pipeline
        if method == COST_COMPLEXITY:
            return _prune_by_cost_complexity(run, pipeline)
        # Pessimistic pruning estimates errors from the training rows that the tree has counted.
        if method == PESSIMISTIC:
            pipeline[-1].prune(None, None, method=method)
            return pipeline
        # Pruning is a method of the learner, so the rows must first be transformed by the steps before it.
        X, y = run.select_rows(run.split.validation)
        pipeline[-1].prune(pipeline[:-1].transform(X), y, method=method)
        return pipeline

    def _add_class_legend(self, figure: Figure, dataset: Dataset, explanation: str) -> None:
        from matplotlib.lines import Line2D

        marks: dict[str, Any] = {}
        for code, label in enumerate(dataset.classes if dataset.is_classification else ()):
            marks[str(label)] = Line2D([], [], marker="s", markersize=8, linestyle="", color=CLASS_COLOURS[code])
        marks[f"({explanation})"] = Line2D([], [], linestyle="")
        add_legend(figure, self.get_label(dataset.target), marks)


def _explain_leaves(has_texts: Sequence[bool], is_classification: bool) -> str:
    """Return what the numbers in leaves are, and the sizes of leaves in trees without texts."""
    if not any(has_texts):
        return "size: rows in the leaf"
    if not is_classification:
        return "in a leaf: the mean, and the number of rows"
    return "number: rows in the leaf" if all(has_texts) else "number or size: rows in the leaf"


def _count_rows(panels: int, columns: int) -> int:
    """Return the rows of panels, the last of which may not be full."""
    return -(-panels // columns)


def _prune_by_cost_complexity(run: FinishedRun, full: Pipeline) -> Pipeline:
    """Return the smallest of the subtrees of cost-complexity pruning that are best on the validation rows."""
    X_train, y_train = run.select_rows(run.split.train)
    X_validation, y_validation = run.select_rows(run.split.validation)
    if len(full) > 1:
        X_train = full[:-1].transform(X_train)
        X_validation = full[:-1].transform(X_validation)
    alphas = clone(full[-1]).cost_complexity_pruning_path(X_train, y_train).ccp_alphas.tolist()
    subtrees = {}
    for position, tree, _ in fit_candidates(full[-1], [{"ccp_alpha": alphas}], X_train, y_train):
        subtrees[position] = tree
    weights = run.select_weights(run.split.validation)
    scores = np.empty(len(alphas))
    for position, subtree in subtrees.items():
        scores[position] = run.score_model(subtree, X_validation, y_validation, weights)
    # Penalties ascend, so the last of equally good subtrees is the smallest.
    greater_is_better = run.experiment.headline_metric.greater_is_better
    best = len(scores) - 1 - find_best_candidate(scores[::-1], greater_is_better)
    return Pipeline([*full.steps[:-1], ("learner", subtrees[best])])


def _describe_tree(run: FinishedRun, pipeline: Pipeline) -> str:
    """Return the size of a tree and its headline score on the rows that it was not grown from, as a note."""
    tree = pipeline[-1].fitted_tree_
    size = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
    scores = []
    for part, rows in (("validation", run.split.validation), ("test", run.split.test)):
        if len(rows):
            score = run.score_model(pipeline, *run.select_rows(rows), run.select_weights(rows))
            scores.append(f"{part} {format_score(score)}")
    if not scores:
        return size
    return f"{size}\n{run.experiment.headline}: {', '.join(scores)}"
