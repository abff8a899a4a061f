"""The coefficients of a linear model, with intervals over the folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.class_panels import shorten_label
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    GRID_COLOUR,
    MUTED_COLOUR,
    TEXT_COLOUR,
    add_heading,
    add_title,
    fill_panels,
    hide_unused,
    make_panels,
)
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.importances import shorten_name
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_COLUMNS = 20
"""Of more columns, those with the largest coefficients are drawn; the table holds all."""
MAX_OUTPUTS = 12
"""More scores than this (one for each class or pair of classes) are not drawn."""
MAX_PANELS_IN_A_ROW = 4
MAX_TRIAL_ROWS = 200
"""Rows on which it is tried whether the learner has coefficients."""
LINE_INCHES = 0.22


@final
@dataclass(frozen=True, kw_only=True)
class Coefficients(TabulatedFigure):
    """The coefficients of a linear model: their mean over the folds, and one standard deviation to each side.

    A coefficient is the change of a score for one unit of a column after preprocessing. Columns of different units
    cannot be compared unless they are standardized. The intercept is not shown.
    """

    file: str = "coefficients.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run, by a trial on a few rows, that the learner has coefficients; UserError if not."""
        super().check(experiment, splits)
        learner_name = type(experiment.learner).__name__
        try:
            pipeline = _fit_trial(experiment, splits)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"figures: Coefficients tried {learner_name} on a few rows: {reason}") from error
        coefficients = getattr(pipeline[-1], "coef_", None)
        if coefficients is None:
            raise UserError(
                f"figures: Coefficients are those of a linear model, and {learner_name} has none; "
                "choose a linear learner, or remove the figure."
            )
        n_outputs = len(np.atleast_2d(coefficients))
        if n_outputs > MAX_OUTPUTS:
            raise UserError(
                f"figures: Coefficients has panels for {MAX_OUTPUTS} scores, and {learner_name} has {n_outputs}; "
                "choose another dataset, or remove the figure."
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each score and column: mean and standard deviation over the folds, and their number.

        A fold whose training rows lack a class or a value of a nominal column does not count for its coefficients.
        """
        tables = [_tabulate_coefficients(fold.model.pipeline, run) for fold in run.folds]
        every = pd.concat(tables, ignore_index=True)
        grouped = every.groupby(["score", "column"], sort=False)["coefficient"]
        return grouped.agg(["mean", "std", "count"]).reset_index().rename(columns={"count": "folds"})

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a panel for each score, with the same columns in each."""
        scores = list(dict.fromkeys(table["score"]))
        names = _choose_columns(table)
        n_columns = table["column"].nunique()
        columns, rows = fill_panels(len(scores), MAX_PANELS_IN_A_ROW)
        width = 6.0 if len(scores) == 1 else 2.6 + 2.1 * columns
        height = 0.9 + rows * (0.8 + LINE_INCHES * len(names))
        figure, panels = make_panels(columns, rows, width=width, height=height, sharey=True)
        hide_unused(panels, len(scores))
        for axes, score in zip(panels.flat, scores, strict=False):
            # All panels have the same columns in the same order, because they share an axis.
            lines = table[table["score"] == score].set_index("column").reindex(names)
            self._draw_intervals(axes, lines, len(run.folds))
            if len(scores) > 1:
                add_title(axes, shorten_label(score))
        # Panels share the axis, so that it is turned once: the first column of the dataset is on top.
        panels[0, 0].set_ylim(len(names) - 0.5, -0.5)
        self._add_heading(figure, panels, run, scores, len(names), n_columns)
        return figure

    def _draw_intervals(self, axes: Axes, lines: pd.DataFrame, n_folds: int) -> None:
        """Draw the mean of each coefficient, and one standard deviation to each side if there are several folds."""
        positions = np.arange(len(lines))
        axes.axvline(0, color=MUTED_COLOUR, linewidth=0.8)
        axes.errorbar(
            lines["mean"].to_numpy(),
            positions,
            xerr=lines["std"].to_numpy() if n_folds > 1 else None,
            fmt="o",
            markersize=4.5,
            color=CLASS_COLOURS[0],
            ecolor=CLASS_COLOURS[0],
            elinewidth=1.4,
        )
        axes.grid(color=GRID_COLOUR)
        axes.set_yticks(positions, [shorten_name(self.get_label(str(name))) for name in lines.index])

    def _add_heading(
        self, figure: Figure, panels: Any, run: FinishedRun, scores: Sequence[str], n_drawn: int, n_columns: int
    ) -> None:
        dataset = run.experiment.dataset
        heading = f"{run.learner_name} on {dataset.name}"
        note = run.describe_folds()
        if n_drawn < n_columns:
            note += f"\nthe {n_drawn} largest of {n_columns} columns"
        if run.experiment.target.is_on:
            note += "\nof the transformed target"
        if run.experiment.preprocessing is None:
            note += "\ncolumns are not scaled: do not compare different units"
        if len(scores) == 1:
            score = "" if not dataset.is_classification else f" of {shorten_label(scores[0])}"
            add_title(panels[0, 0], heading, note)
            panels[0, 0].set_xlabel(f"coefficient{score}")
            return
        add_heading(figure, heading)
        figure.supxlabel(f"coefficient ({note})", fontsize="medium", color=TEXT_COLOUR)


def _fit_trial(experiment: Experiment, splits: Splits) -> Pipeline:
    """Fit the learner on a few training rows of the first fold, of all classes in turn."""
    dataset = experiment.dataset
    train = splits.folds[0].train
    if dataset.is_classification:
        # The first row of each class, then the second of each, and so on.
        rank = pd.Series(dataset.y[train]).groupby(dataset.y[train]).cumcount()
        train = train[np.argsort(rank.to_numpy(), kind="stable")]
    rows = train[:MAX_TRIAL_ROWS]
    preprocessing = "passthrough" if experiment.preprocessing is None else experiment.preprocessing
    pipeline: Pipeline = clone(Pipeline([("preprocessing", preprocessing), ("learner", experiment.learner)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(dataset.X.iloc[rows], dataset.y[rows])
    return pipeline


def _tabulate_coefficients(pipeline: Pipeline, run: FinishedRun) -> pd.DataFrame:
    """Return a line for each score and column of a fitted model."""
    learner: Any = pipeline[-1]
    X, _ = run.select_rows(run.folds[0].split.test[:1])
    columns = [str(name) for name in getattr(pipeline[:-1].transform(X), "columns", X.columns)]
    coefficients = np.atleast_2d(learner.coef_)  # (scores, columns)
    names = _name_scores(learner, len(coefficients), run.experiment.dataset.target)
    return pd.DataFrame({
        "score": np.repeat(names, len(columns)),
        "column": np.tile(columns, len(names)),
        "coefficient": coefficients.ravel(),
    })  # fmt: skip


def _name_scores(learner: Any, n_scores: int, target: str) -> list[str]:
    """Return what each row of coefficients scores: a class, a class against another one, or the target."""
    if not hasattr(learner, "classes_"):
        return [target]
    classes = [str(label) for label in learner.classes_]
    if n_scores == 1:
        return [classes[-1]]
    # Support vector machines separate pairs of classes, unless they are asked to separate each from the rest.
    is_of_pairs = hasattr(learner, "support_") and learner.get_params().get("multi_class", "ovo") == "ovo"
    if not is_of_pairs:
        return classes
    return [f"{one} or {other}" for i, one in enumerate(classes) for other in classes[i + 1 :]]


def _choose_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns with the largest coefficients, in the order of the dataset."""
    largest = table.assign(size=table["mean"].abs()).groupby("column", sort=False)["size"].max()
    kept = set(largest.sort_values(ascending=False, kind="stable").index[:MAX_COLUMNS])
    return [str(name) for name in largest.index if name in kept]
