"""Decision regions: the class that a learner predicts at each point of a plane of two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    TEXT_COLOUR,
    add_legend,
    add_title,
    collect_marks,
    make_panels,
    scatter_classes,
)
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.run_figure import RunFigure, check_class_count
from bakeoff.pipeline.stages.scoring import get_classes, predict_values
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID_POINTS = 300
"""Points along each axis at which a class is predicted."""
MARGIN_SHARE = 0.06
"""The margin of the plane around the rows on each side, as a fraction of a column's range."""
FEW_ROWS = 20
"""Up to this number of rows, markers are large."""
LARGE_MARKER_AREA = 70
SMALL_MARKER_AREA = 26
QUERY_MARKER_AREA = 190
SINGLE_PANEL_INCHES = 5.0


def check_plane(name: str, experiment: Experiment, columns: Sequence[str]) -> None:
    """Check before a run that a figure has a plane of two numeric columns, and colours for all classes.

    Parameters
    ----------
    name : str
        The figure's.
    experiment : Experiment
    columns : sequence of str
        Those that the user has named; all columns of the dataset if there is none.

    Raises
    ------
    UserError
        A column does not exist or is nominal, there are more or fewer than two, or there are too many classes.
    """
    dataset = experiment.dataset
    known = [str(column) for column in dataset.X.columns]
    for column in columns:
        if column not in known:
            raise UserError(f"figures: {name}.columns names {column!r}. {did_you_mean(str(column), known)}")
    chosen = list(columns) or known
    if len(chosen) != 2 or set(chosen) & set(dataset.nominal):
        raise UserError(
            f"figures: {name} draws a plane of two numeric columns, and {dataset.name} has {len(known)} "
            f"columns ({len(dataset.nominal)} nominal); name two numeric columns in {name}.columns."
        )
    check_class_count(name, experiment)


def shade_regions(axes: Axes, pipeline: Pipeline, X: pd.DataFrame, classes: np.ndarray) -> None:
    """Colour the plane around the rows by predicted class, and draw the boundaries between classes.

    Parameters
    ----------
    axes : Axes
    pipeline : fitted Pipeline
    X : DataFrame of shape (n, 2)
    classes : ndarray of shape (c,)
        All classes of the dataset, of which the pipeline may have seen fewer.
    """
    from matplotlib.colors import ListedColormap
    from sklearn.inspection import DecisionBoundaryDisplay

    margin = MARGIN_SHARE * (X.max() - X.min())
    corners = pd.DataFrame([X.min() - margin, X.max() + margin])
    display = DecisionBoundaryDisplay.from_estimator(
        pipeline,
        corners,
        eps=0,
        grid_resolution=GRID_POINTS,
        response_method="predict",
        plot_method="pcolormesh",
        ax=axes,
        alpha=0.22,
        zorder=-1,
        rasterized=True,
    )
    # The display numbers the classes that the pipeline has seen; each keeps its colour among all classes.
    colours = [CLASS_COLOURS[code] for code, label in enumerate(classes) if label in pipeline.classes_]
    display.surface_.set(cmap=ListedColormap(colours), clim=(-0.5, len(colours) - 0.5))
    # The display has colours, but no lines; each contour separates the classes up to a code from those above it.
    for code in range(len(colours) - 1):
        above = display.response > code  # (GRID_POINTS, GRID_POINTS)
        axes.contour(display.xx0, display.xx1, above, levels=[0.5], colors=TEXT_COLOUR, linewidths=0.5, alpha=0.7)


@final
@dataclass(frozen=True, kw_only=True)
class DecisionRegions(RunFigure):
    """The plane coloured by predicted class, a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> other parameters of the run's pipeline, such as ``{learner__n_neighbors: 1}``; the run's own model if
        there are none.
    columns : sequence of str
        The two columns to draw, if the dataset has more.
    query : sequence of two floats, optional
        A point to mark; its predicted class is written above the panel if `scores` is false.
    scores : bool
        Whether to write the headline score of each variant, fitted on all columns, under its title.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    columns: Sequence[str] = ()
    query: Sequence[float] | None = None
    scores: bool = True
    file: str = "decision_regions.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a classification in a plane; UserError if it is not."""
        super().check(experiment, splits)
        check_plane("DecisionRegions", experiment, self.columns)
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        dataset = run.experiment.dataset
        X, y = run.select_rows(run.split.train, self.columns)
        variants = run.name_variants(self.variants)
        width = 9.0 if len(variants) > 1 else SINGLE_PANEL_INCHES
        figure, panels = make_panels(len(variants), width=width, sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels[0], variants.items(), strict=True):
            pipeline = run.get_variant(parameters, self.columns)
            self._draw_panel(axes, pipeline, X, y, dataset.classes)
            if self.scores:
                note = self._describe_scores_of_all_columns(run, parameters)
            else:
                note = self._describe_query(pipeline, X)
            add_title(axes, title, note)
        panels[0, 0].set_ylabel(self.get_label(X.columns[1]))
        add_legend(figure, self.get_label(dataset.target), collect_marks(panels[0]))
        return figure

    def _draw_panel(self, axes: Axes, pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, classes: np.ndarray) -> None:
        shade_regions(axes, pipeline, X, classes)
        area = LARGE_MARKER_AREA if len(X) <= FEW_ROWS else SMALL_MARKER_AREA
        scatter_classes(axes, X.iloc[:, 0].to_numpy(), X.iloc[:, 1].to_numpy(), y, classes, area)
        if self.query is not None:
            axes.scatter(
                self.query[0],
                self.query[1],
                s=QUERY_MARKER_AREA,
                c="white",
                marker="*",
                edgecolors=TEXT_COLOUR,
                zorder=4,
                label="query",
            )
        # Panels share the axis of the second column, which is named at the left one alone.
        axes.set(xlabel=self.get_label(X.columns[0]), ylabel="")

    def _describe_scores_of_all_columns(self, run: FinishedRun, parameters: Parameters) -> str:
        scores = self.describe_scores(run, parameters)
        if self.columns:
            return f"with all {run.experiment.dataset.X.shape[1]} columns, {scores}"
        return scores

    def _describe_query(self, pipeline: Pipeline, X: pd.DataFrame) -> str:
        if self.query is None:
            return ""
        row = pd.DataFrame([self.query], columns=X.columns)
        (predicted,) = predict_values(pipeline, row, get_classes(pipeline))
        point = ", ".join(f"{value:g}" for value in self.query)
        return f"({point}) is {predicted}"
