"""The plane of two columns: the class that a learner predicts at each point, and the lines between two classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    TEXT_COLOUR,
    add_legend,
    add_title,
    collect_marks,
    label_axes,
    make_panels,
    scatter_classes,
)
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.scoring import get_classes, predict_values
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import count_nouns, join_words

GRID_POINTS = 300
"""Points along each axis at which a class is predicted."""
MARGIN_SHARE = 0.06
"""The margin of the plane around the rows on each side, as a fraction of a column's range."""
FEW_ROWS = 20
"""Up to this number of rows, markers are large."""
LARGE_MARKER_AREA = 70
SMALL_MARKER_AREA = 26
QUERY_MARKER_AREA = 190
RING_AREA = 120
FIGURE_INCHES = 9.0
SINGLE_PANEL_INCHES = 5.0
FRAME_INCHES = 1.65
"""Height of titles, axis labels and legend."""
MAX_HEIGHT_INCHES = 9.0
SUPPORT_VECTOR = "support vector"


@dataclass(frozen=True, kw_only=True)
class PlaneFigure(RunFigure):
    """Abstract: panels with the training rows in the plane of two numeric columns."""

    task: ClassVar[str | None] = "classification"

    def check_plane(self, experiment: Experiment, columns: Sequence[str]) -> None:
        """Check before a run that there is a plane, and a colour for each class.

        Parameters
        ----------
        experiment : Experiment
        columns : sequence of str
            Those that the user has named; all columns of the dataset if there is none.

        Raises
        ------
        UserError
            A column does not exist or is nominal, there are more or fewer than two, or there are too many classes.
        """
        name = type(self).__name__
        dataset = experiment.dataset
        known = [str(column) for column in dataset.X.columns]
        for column in columns:
            if column not in known:
                raise UserError(f"figures: {name}.columns names {column!r}. {did_you_mean(str(column), known)}")
        chosen = list(columns) or known
        if len(chosen) != 2 or set(chosen) & set(dataset.nominal):
            held = f"{dataset.name} has {len(known)} columns ({len(dataset.nominal)} nominal)"
            cure = f"name two numeric columns in {name}.columns"
            raise self.refuse(f"draws a plane of two numeric columns, and {held}", cure)
        check_colours(self, experiment)


def check_colours(figure: RunFigure, experiment: Experiment) -> None:
    """Raise UserError if there are more classes than colours."""
    n_classes = len(experiment.dataset.classes)
    if n_classes > len(CLASS_COLOURS):
        name = experiment.dataset.name
        raise figure.refuse(f"has colours for {len(CLASS_COLOURS)} classes, and {name} has {n_classes}")


@final
@dataclass(frozen=True, kw_only=True)
class DecisionRegions(PlaneFigure):
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

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a classification in a plane; UserError if it is not."""
        super().check(experiment, splits)
        self.check_plane(experiment, self.columns)
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        dataset = run.experiment.dataset
        X, y = run.select_rows(run.split.train, self.columns)
        variants = run.name_variants(self.variants)
        n_panels = len(variants)
        width = FIGURE_INCHES / n_panels if n_panels > 1 else SINGLE_PANEL_INCHES
        figure, panels = make_panels(n_panels, n_panels, width=width, height=3.3, frame=0.3, sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels, variants.items(), strict=True):
            model = run.get_variant(parameters, self.columns)
            _draw_classes(axes, model, X, y, dataset.classes)
            if self.query is not None:
                star: Any = {"c": "white", "marker": "*", "edgecolors": TEXT_COLOUR, "zorder": 4, "label": "query"}
                axes.scatter(self.query[0], self.query[1], s=QUERY_MARKER_AREA, **star)
            if self.scores:
                note = f"with all {dataset.X.shape[1]} columns, " if self.columns else ""
                note += self.describe_scores(run, parameters)
            else:
                note = self._describe_query(model, X)
            add_title(axes, title, note)
        label_axes(panels, *map(self.get_label, X.columns))
        add_legend(figure, self.get_label(dataset.target), collect_marks(panels))
        return figure

    def _describe_query(self, model: Any, X: pd.DataFrame) -> str:
        """Return the class that is predicted at the query."""
        if self.query is None:
            return ""
        row = pd.DataFrame([self.query], columns=X.columns)
        (predicted,) = predict_values(model, row, get_classes(model))
        return f"({', '.join(f'{value:g}' for value in self.query)}) is {predicted}"


@final
@dataclass(frozen=True, kw_only=True)
class Margins(PlaneFigure):
    """Lines that separate two classes, with margins and support vectors where the learner has them.

    Parameters
    ----------
    variants : mapping of str to (sequence of) parameters
        Title -> other parameters of the run's pipeline; the run's own model if there are none. Of several in one
        panel, the first colours the plane, and each draws its line.
    """

    variants: Mapping[str, Parameters | Sequence[Parameters]] = field(default_factory=dict)
    file: str = "margins.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are two classes in a plane; UserError if not."""
        super().check(experiment, splits)
        self.check_plane(experiment, ())
        if len(experiment.dataset.classes) != 2:
            raise self.refuse(f"are between two classes, and {experiment.dataset.name} has more")
        if not self.variants and not hasattr(experiment.learner, "decision_function"):
            raise self.refuse(
                f"needs decision values, and {type(experiment.learner).__name__} has none",
                "choose a linear learner or learner=svm, or remove the figure",
            )
        for given in self.variants.values():
            check_variants(experiment, splits, _list_parameters(given))

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant; both axes have the same scale, so that margins are not distorted."""
        dataset = run.experiment.dataset
        X, y = run.select_rows(run.split.train)
        variants = self.variants or {run.learner_name: {}}
        n_panels = len(variants)
        width = FIGURE_INCHES / n_panels if n_panels > 1 else SINGLE_PANEL_INCHES
        x_range, y_range = np.ptp(X.to_numpy(), axis=0)
        height = min(FRAME_INCHES + (width - 0.4) * y_range / x_range, MAX_HEIGHT_INCHES)
        figure, panels = make_panels(n_panels, n_panels, width=width, height=height, sharex=True, sharey=True)
        for axes, (title, given) in zip(panels, variants.items(), strict=True):
            pipelines = [run.fit_variant(parameters, run.split.train) for parameters in _list_parameters(given)]
            _draw_classes(axes, pipelines[0], X, y, dataset.classes)
            for pipeline in pipelines:
                _draw_margins(axes, pipeline, X)
            axes.set_aspect("equal")
            add_title(axes, title, _describe_margins(pipelines, X, y))
        label_axes(panels, *map(self.get_label, X.columns))
        marks = collect_marks(panels)
        if SUPPORT_VECTOR in marks:
            # Contours have no label.
            marks["margin, f(x) = ±1"] = Line2D([], [], linestyle="--", color=MUTED_COLOUR, linewidth=1.1)
        add_legend(figure, self.get_label(dataset.target), marks)
        return figure


def _list_parameters(given: Parameters | Sequence[Parameters]) -> list[Parameters]:
    return [given] if isinstance(given, Mapping) else list(given)


def _draw_classes(axes: Axes, model: Any, X: pd.DataFrame, y: np.ndarray, classes: np.ndarray) -> None:
    """Colour the plane by predicted class, with lines between the classes, and draw the rows."""
    surface: Any = {"plot_method": "pcolormesh", "alpha": 0.22, "zorder": -1, "rasterized": True}
    display: Any = _respond(axes, model, X, response_method="predict", **surface)
    # The display numbers the classes that the model has seen; each keeps its colour among all classes.
    colours = [colour for colour, label in zip(CLASS_COLOURS, classes, strict=False) if label in model.classes_]
    display.surface_.set(cmap=ListedColormap(colours), clim=(-0.5, len(colours) - 0.5))
    for code in range(len(colours) - 1):
        # Each contour separates the classes up to a code from those above it.
        is_above = display.response > code  # (GRID_POINTS, GRID_POINTS)
        line: Any = {"colors": TEXT_COLOUR, "linewidths": 0.5, "alpha": 0.7}
        axes.contour(display.xx0, display.xx1, is_above, levels=[0.5], **line)
    area = LARGE_MARKER_AREA if len(X) <= FEW_ROWS else SMALL_MARKER_AREA
    scatter_classes(axes, X.iloc[:, 0].to_numpy(), X.iloc[:, 1].to_numpy(), y, classes, area)
    axes.set(xlabel="", ylabel="")


def _respond(axes: Axes, model: Any, X: pd.DataFrame, **style: Any) -> DecisionBoundaryDisplay:
    """Draw the response of a model in the plane around the rows."""
    margin = MARGIN_SHARE * (X.max() - X.min())
    corners = pd.DataFrame([X.min() - margin, X.max() + margin])
    return DecisionBoundaryDisplay.from_estimator(model, corners, eps=0, grid_resolution=GRID_POINTS, ax=axes, **style)


def _draw_margins(axes: Axes, pipeline: Pipeline, X: pd.DataFrame) -> None:
    """Draw f(x) = 0; for a support vector machine also f(x) = ±1 and a ring around each support vector."""
    contours: Any = {"response_method": "decision_function", "plot_method": "contour"}
    _respond(axes, pipeline, X, **contours, levels=[0.0], colors=TEXT_COLOUR, linewidths=1.4)
    learner: Any = pipeline[-1]
    if not hasattr(learner, "support_"):
        return
    dashed: Any = {"colors": MUTED_COLOUR, "linestyles": "--", "linewidths": 1.1}
    _respond(axes, pipeline, X, **contours, levels=[-1.0, 1.0], **dashed)
    support = X.iloc[learner.support_].to_numpy()
    ring: Any = {"facecolors": "none", "edgecolors": TEXT_COLOUR, "linewidths": 1.1, "label": SUPPORT_VECTOR}
    axes.scatter(support[:, 0], support[:, 1], s=RING_AREA, **ring)


def _describe_margins(pipelines: Sequence[Pipeline], X: pd.DataFrame, y: np.ndarray) -> str:
    """Return the width of the margin and the number of support vectors, or the distance of the nearest row, as a note.

    Accuracy and margin are those of the first pipeline, distances those of all.
    """
    learner: Any = pipelines[0][-1]
    accuracy = f"training accuracy {format_score(float(pipelines[0].score(X, y)))}"
    if not hasattr(learner, "support_"):
        nearest = [
            np.abs(pipeline.decision_function(X)).min() / np.linalg.norm(pipeline[-1].coef_) for pipeline in pipelines
        ]
        return f"nearest row at {join_words(map(format_score, nearest))}\n{accuracy}"
    support_vectors = count_nouns(len(learner.support_), "support vector")
    # Only with the linear kernel are there coefficients in the plane that is drawn, and so a width to measure.
    if hasattr(learner, "coef_"):
        return f"margin {format_score(float(1 / np.linalg.norm(learner.coef_)))}, {support_vectors}\n{accuracy}"
    return f"{support_vectors}\n{accuracy}"
