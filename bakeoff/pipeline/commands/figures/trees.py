"""Figures of trees: variants side by side, such as before and after pruning.

`draw_tree` returns the positions and labels of the nodes of a tree; node sizes are taken from ``fitted_tree_``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.commands.drawing.model_marks import BOX, LEVEL_INCHES, QUESTION_LETTERS, TEXT, draw_edge
from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    NAME_LETTERS,
    ROOM,
    TEXT_COLOUR,
    add_legend,
    add_title,
    choose_ink,
    make_panels,
    wrap_name,
)
from bakeoff.pipeline.commands.figures.planes import check_colours
from bakeoff.pipeline.commands.figures.run_figure import FinishedRun, Parameters, RunFigure, check_variants
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import find_best_candidate, fit_candidates
from bakeoff.pipeline.text.wording import cut_text, format_score

COST_COMPLEXITY = "cost_complexity"
PESSIMISTIC = "pessimistic"

WIDTH_INCHES = 9.0
MIN_INCHES = 4.5
LEAF_INCHES = 1.0
"""The space for the label of a leaf; trees that need more room than their panel has are drawn as dots."""
DOTS_INCHES = 2.5
FRAME_INCHES = 0.75
MAX_COLUMNS = 3
SHORT_ANSWERS = {"<": "yes", "<=": "yes", ">": "no", ">=": "no"}
"""The answers to a question about a number, which is written above them."""


@final
@dataclass(frozen=True, kw_only=True)
class Trees(RunFigure):
    """Variants of one of bakeoff's decision trees, side by side.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> changed parameters of the run's pipeline. If empty, the tree of the run is drawn before and after its
        pruning.
    draw_tree : callable
        Takes a fitted tree; returns the positions and labels of its nodes, and its edges.
    pruning : mapping of str to str
        Title -> a method of the tree's ``prune``, or ``cost_complexity``, whose α is the best one on the validation
        rows.
    """

    draw_tree: Callable[[Any], Any]
    variants: Mapping[str, Parameters] = field(default_factory=dict)
    pruning: Mapping[str, str] = field(default_factory=dict)
    file: str = "trees.png"

    is_wide: ClassVar[bool] = True

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a tree, with validation rows if it is pruned; raise UserError otherwise."""
        super().check(experiment, splits)
        # scikit-learn's trees have no such method, and lack attributes that the figure needs.
        if not hasattr(experiment.learner, "prune"):
            raise self.refuse("draws decision trees", "add learner=decision_tree, or remove the figure")
        if experiment.target.is_on:
            raise self.refuse("would show the values of a transformed target", "set target=none, or remove the figure")
        if experiment.dataset.is_classification:
            check_colours(self, experiment)
        needs_validation = bool(set(self.pruning.values()) - {PESSIMISTIC})
        if needs_validation and not experiment.has_validation_rows:
            raise self.refuse("needs validation rows for pruning, but there are none", "set evaluation.validation=0.2")
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        pipelines = self._fit_trees(run)
        figure, panels, room = _make_tree_panels([pipeline[-1].fitted_tree_ for pipeline in pipelines.values()])
        for axes, (title, pipeline) in zip(panels, pipelines.items(), strict=True):
            learner = pipeline[-1]
            draw = _draw_texts if learner.fitted_tree_.n_leaves <= room else _draw_dots
            draw(axes, learner, self.draw_tree(learner))
            add_title(axes, title, _describe_tree(run, pipeline))
        dataset = run.experiment.dataset
        marks = {
            str(label): Line2D([], [], marker="s", markersize=8, linestyle="", color=colour)
            for label, colour in zip(dataset.classes if dataset.is_classification else (), CLASS_COLOURS, strict=False)
        }
        add_legend(figure, self.get_label(dataset.target), marks)
        return figure

    def _fit_trees(self, run: FinishedRun) -> dict[str, Pipeline]:
        """Return the trees to draw, by title."""
        if self.variants:
            return {title: self._fit_and_prune(run, title) for title in self.variants}
        if run.model.path is None:
            return {run.learner_name: run.model.pipeline}
        method = run.experiment.pruning.method.replace("_", "-")
        unpruned = run.fit_variant({})
        return {"before pruning": unpruned, f"after {method} pruning": run.model.pipeline}

    def _fit_and_prune(self, run: FinishedRun, title: str) -> Pipeline:
        """Fit a variant, and prune it if a method is given for its title."""
        pipeline = run.fit_variant(self.variants[title])
        method = self.pruning.get(title)
        if method == COST_COMPLEXITY:
            return _prune_by_cost_complexity(run, pipeline)
        # Pessimistic pruning estimates errors from the training rows counted in the tree.
        if method == PESSIMISTIC:
            pipeline[-1].prune(None, None, method=method)
        elif method is not None:
            # Pruning is a method of the learner, so the rows must first be transformed by the preceding steps.
            X, y = run.select_rows(run.split.validation)
            pipeline[-1].prune(pipeline[:-1].transform(X), y, method=method)
        return pipeline


def _prune_by_cost_complexity(run: FinishedRun, full: Pipeline) -> Pipeline:
    """Return the smallest of the cost-complexity subtrees that score best on the validation rows."""
    X, y = run.select_rows(run.split.train)
    X = full[:-1].transform(X)
    # The largest penalty comes first, so that the smallest of equally good subtrees is chosen.
    alphas = clone(full[-1]).cost_complexity_pruning_path(X, y).ccp_alphas[::-1].tolist()
    fits = fit_candidates(full[-1], [{"ccp_alpha": alphas}], X, y)
    pruned = {position: Pipeline([*full.steps[:-1], ("learner", tree)]) for position, tree, _ in fits}
    scores = np.array([run.score_rows(pruned[position], run.split.validation) for position in range(len(alphas))])
    return pruned[find_best_candidate(scores, run.experiment.headline_metric.greater_is_better)]


def _describe_tree(run: FinishedRun, pipeline: Pipeline) -> str:
    """Return the size of a tree and its headline score on the rows from which it was not grown, as a note."""
    tree = pipeline[-1].fitted_tree_
    size = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
    parts = {"validation": run.split.validation, "test": run.split.test}
    scores = [f"{part} {format_score(run.score_rows(pipeline, rows))}" for part, rows in parts.items() if len(rows)]
    return f"{size}\n{run.experiment.headline}: {', '.join(scores)}" if scores else size


def _make_tree_panels(trees: list[Any]) -> tuple[Figure, list[Axes], float]:
    """Make a panel for each tree; also return the maximum number of leaves for which labels have room."""
    n = len(trees)
    most_leaves = max(tree.n_leaves for tree in trees)
    room = min(WIDTH_INCHES, ROOM.get())
    columns = min(n, MAX_COLUMNS, int(room / (LEAF_INCHES * most_leaves)))
    if columns == 0:
        # The largest tree is drawn as dots and needs no more room than the others.
        columns = min(n, 2)
    width = room / columns if n > 1 else min(max(MIN_INCHES, LEAF_INCHES * most_leaves), room)
    n_labelled = width / LEAF_INCHES
    levels = max((tree.max_depth + 1 for tree in trees if tree.n_leaves <= n_labelled), default=0)
    height = FRAME_INCHES + max(LEVEL_INCHES * levels, DOTS_INCHES if most_leaves > n_labelled else 0.0)
    return *make_panels(n, columns, width=width, height=height, frame=FRAME_INCHES), n_labelled


def _draw_texts(axes: Axes, learner: Any, drawing: Any) -> None:
    """Draw a tree with its questions, answers and predictions."""
    tree = learner.fitted_tree_
    axes.set_axis_off()
    places = np.column_stack([drawing.x, drawing.y])  # (k, 2)
    for node, text in enumerate(drawing.labels):
        colour = CLASS_COLOURS[drawing.value[node].argmax()]
        leaf: Any = {"color": choose_ink(colour), "bbox": {**BOX, "facecolor": colour, "edgecolor": colour}}
        inner: Any = {"color": TEXT_COLOUR, "bbox": {**BOX, "edgecolor": MUTED_COLOUR}}
        lines = _break_prediction(text) if tree.is_leaf[node] else _break_question(text, learner, node)
        x, y = places[node]
        axes.text(x, y, lines, **(leaf if tree.is_leaf[node] else inner), **TEXT)
    for parent, child, answer in drawing.edges:
        name = str(learner.feature_names_in_[tree.feature[parent]])
        draw_edge(axes, places[[parent, child]], _shorten_answer(answer.removeprefix(name)))
    axes.set(xlim=(-0.6, drawing.x.max() + 0.6), ylim=(drawing.y.min() - 0.4, 0.4))


def _draw_dots(axes: Axes, learner: Any, drawing: Any) -> None:
    """Draw a tree whose leaves are dots coloured by class and sized by their share of the rows."""
    tree = learner.fitted_tree_
    axes.set_axis_off()
    places = np.column_stack([drawing.x, drawing.y])  # (k, 2)
    # One line with gaps, and one set of dots for each size, take a tenth of the bytes of a page.
    gap = np.full(2, np.nan)
    lines = [place for parent, child, _ in drawing.edges for place in (places[parent], places[child], gap)]
    draw_edge(axes, np.array(lines).reshape(-1, 2))
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]  # (k,)
    areas = np.where(tree.is_leaf, 16 + 260 * share, 9)  # (k,)
    colours = np.where(tree.is_leaf, np.array(CLASS_COLOURS)[drawing.value.argmax(axis=1)], MUTED_COLOUR)  # (k,)
    for area in np.unique(areas):
        drawn = areas == area
        axes.scatter(places[drawn, 0], places[drawn, 1], s=area, c=colours[drawn], edgecolors="none", zorder=3)


def _break_question(text: str, learner: Any, node: int) -> str:
    """Return the question of a node in lines, with a long name truncated so that the threshold after it is shown."""
    name = str(learner.feature_names_in_[learner.fitted_tree_.feature[node]])
    if text.startswith(name):
        text = cut_text(name, NAME_LETTERS) + text.removeprefix(name)
    return wrap_name(text.replace("_", " "), QUESTION_LETTERS)


def _break_prediction(text: str) -> str:
    """Return the prediction of a leaf above the number of its rows, which is given in brackets at the end."""
    prediction, bracket, rows = text.rpartition(" (")
    return f"{wrap_name(prediction, QUESTION_LETTERS)}\n({rows}" if bracket else wrap_name(text, QUESTION_LETTERS)


def _shorten_answer(answer: str) -> str:
    """Return the values of a nominal answer, or yes or no for a question about a number.

    Examples
    --------
    >>> _shorten_answer(" in {couple, single}"), _shorten_answer(" = true"), _shorten_answer(" >= 2.45")
    ('couple, single', 'true', 'no')
    """
    sign, _, rest = answer.strip().partition(" ")
    return SHORT_ANSWERS.get(sign) or rest.strip("{}")
