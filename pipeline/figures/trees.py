"""Trees: variants of one beside each other, before and after pruning, and what each question would gain.

A tree tells its own positions and words through the ``draw`` that the YAML names, and its sizes through ``tree_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from pipeline.dataset import Dataset
from pipeline.experiment import Experiment
from pipeline.figures.canvas import COLOURS, GREY, INK, Picture, head, key, sheet
from pipeline.figures.finished import FinishedRun, Parameters, check_changes
from pipeline.refusal import Refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COST_COMPLEXITY = "cost_complexity"
WORDS = 8
"""Trees of more leaves are drawn without words."""
BETWEEN = np.array([0.38, 0.62])
"""Where an answer stands on the way from question to child."""


def check_tree(name: str, experiment: Experiment) -> None:
    """Refuse a learner that is no tree of ours."""
    if not hasattr(experiment.learner, "prune"):
        raise Refusal(f"figures: {name} draws decision trees; add learner=decision_tree, or take the figure out.")


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

    def check(self, experiment: Experiment) -> None:
        """Refuse what is no tree, and pruning that has no rows."""
        super().check(experiment)
        check_tree("Trees", experiment)
        if set(self.pruning.values()) - {"pessimistic"} and not experiment.splitter.validation:
            raise Refusal("figures: Trees shows pruning on a validation part; set evaluation.validation=0.2.")
        check_changes(experiment, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        fitted = {title: self._fit(run, title, parameters) for title, parameters in self.variants.items()}
        columns = min(self.columns, len(fitted))
        rows = -(-len(fitted) // columns)
        most = max(pipeline[-1].tree_.n_leaves for pipeline in fitted.values())
        figure, panels = sheet(
            columns, rows, width=min(9.0, 4.5 * columns), height=0.3 + (2.9 if most <= WORDS else 2.5) * rows
        )
        for axes in panels.flat:
            axes.set_axis_off()
        for axes, (title, pipeline) in zip(panels.flat, fitted.items(), strict=False):
            self._panel(axes, pipeline, with_words=most <= WORDS)
            head(axes, title, self._sizes(run, pipeline))
        self._key(figure, run.experiment.dataset, "rows in the leaf" if most <= WORDS else "size: rows in the leaf")
        return figure

    def _fit(self, run: FinishedRun, title: str, parameters: Parameters) -> Pipeline:
        """Fit a variant, and prune it on the validation rows."""
        pipeline = run.fit(parameters, run.split.train)
        method = self.pruning.get(title)
        if method is None:
            return pipeline
        X, y = run.rows(run.split.validation) if len(run.split.validation) else (None, None)
        if method == COST_COMPLEXITY:
            return self._smallest_of_the_best(run, parameters, pipeline)
        prepared = None if X is None else pipeline[:-1].transform(X)
        pipeline[-1].prune(*((None, None) if method == "pessimistic" else (prepared, y)), method=method)
        return pipeline

    def _smallest_of_the_best(self, run: FinishedRun, parameters: Parameters, full: Pipeline) -> Pipeline:
        """Of the subtrees of cost-complexity pruning return the one that is best on the validation rows."""
        X, y = run.rows(run.split.train)
        prepared = full[:-1].transform(X) if len(full) > 1 else X
        alphas = clone(full[-1]).cost_complexity_pruning_path(prepared, y).ccp_alphas
        subtrees = [run.fit({**parameters, "learner__ccp_alpha": alpha}, run.split.train) for alpha in alphas]
        scores = [run.score(subtree, *run.rows(run.split.validation)) for subtree in subtrees]
        return subtrees[len(scores) - 1 - int(np.argmax(scores[::-1]))]

    def _panel(self, axes: Axes, pipeline: Pipeline, *, with_words: bool) -> None:
        drawing, tree = self.draw_tree(pipeline[-1]), pipeline[-1].tree_
        for parent, child, answer in drawing.edges:
            x, y = drawing.x[[parent, child]], drawing.y[[parent, child]]
            axes.plot(x, y, color="#b0b0b0", linewidth=0.9, zorder=1)
            if with_words:
                _write(axes, x @ BETWEEN, y @ BETWEEN, _short(answer, drawing.labels[parent]), GREY, "white", "none")
        colours = [COLOURS[code] for code in drawing.value.argmax(axis=1)]
        share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
        for node, (x, y) in enumerate(zip(drawing.x, drawing.y, strict=True)):
            leaf, colour = bool(tree.is_leaf[node]), colours[node]
            if not with_words:
                axes.scatter(x, y, s=16 + 260 * share[node] if leaf else 9, c=colour if leaf else GREY, zorder=3)
            elif leaf:
                _write(axes, x, y, f"{tree.n_node_samples[node]}", "white", colour, colour)
            else:
                _write(axes, x, y, drawing.labels[node], INK, "white", INK)
        axes.set(xlim=(drawing.x.min() - 0.5, drawing.x.max() + 0.5), ylim=(drawing.y.min() - 0.4, 0.35))

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


def _write(axes: Axes, x: float, y: float, words: str, ink: str, paper: str, edge: str) -> None:
    """Write words into a box."""
    box = {"facecolor": paper, "edgecolor": edge, "boxstyle": "round,pad=0.3", "linewidth": 0.9}
    axes.text(
        x, y, words, ha="center", va="center", fontsize=7.5, color=ink, bbox=box, zorder=2 if edge == "none" else 3
    )


def _short(answer: str, question: str) -> str:
    """Say an answer without the column's name, which stands in the question above it.

    Examples
    --------
    >>> _short("family in {couple, single}", "family?"), _short("x1 >= 2.50", "x1 < 2.50?")
    ('couple, single', '≥ 2.50')
    """
    name = question.rstrip("?").split(" < ")[0]
    short = answer.removeprefix(name).strip().removeprefix("= ").removeprefix("in ")
    return short.strip("{}").replace(">=", "≥")


@final
@dataclass(frozen=True, kw_only=True)
class InformationGains(Picture):
    """What a question about each column would gain at the root: its information gain, and its gain ratio."""

    file: str = "information_gains.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment) -> None:
        """Refuse what is no tree."""
        super().check(experiment)
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
