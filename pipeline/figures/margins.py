"""Lines that separate two classes, and the margins of support vector machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import (
    MUTED_COLOUR,
    TEXT_COLOUR,
    add_legend,
    add_title,
    collect_marks,
    make_panels,
    scatter_classes,
)
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.regions import GRID_POINTS, check_plane, shade_regions
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import count_nouns, join_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURE_INCHES = 9.0
SINGLE_PANEL_INCHES = 6.0
MARGIN_INCHES = 1.0
"""Width of a figure beside its panels."""
FRAME_INCHES = 1.65
"""Height of titles, axis labels and legend."""
MAX_HEIGHT_INCHES = 9.0
MARKER_AREA = 30
RING_AREA = 120
SUPPORT_VECTOR = "support vector"


@final
@dataclass(frozen=True, kw_only=True)
class Margins(RunFigure):
    """Lines that separate two classes, with margins and support vectors where the learner has them.

    Parameters
    ----------
    variants : mapping of str to (sequence of) parameters
        Title -> other parameters of the run's pipeline; the run's own model if there are none. Of several in one
        panel, the first colours the plane, and each draws its line.
    """

    variants: Mapping[str, Parameters | Sequence[Parameters]] = field(default_factory=dict)
    file: str = "margins.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are two classes in a plane; UserError if not."""
        super().check(experiment, splits)
        check_plane("Margins", experiment, ())
        if len(experiment.dataset.classes) != 2:
            raise UserError(f"figures: Margins are between two classes; {experiment.dataset.name} has more.")
        if not self.variants and not hasattr(experiment.learner, "decision_function"):
            raise UserError(
                f"figures: Margins needs decision values, and {type(experiment.learner).__name__} has none; "
                "choose a linear learner or learner=svm, or remove the figure."
            )
        for given in self.variants.values():
            check_variants(experiment, splits, _list_parameters(given))

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        dataset = run.experiment.dataset
        X, y = run.select_rows(run.split.train)
        variants = self.variants or {run.learner_name: {}}
        width = FIGURE_INCHES if len(variants) > 1 else SINGLE_PANEL_INCHES
        height = _choose_height(X, (width - MARGIN_INCHES) / len(variants))
        figure, panels = make_panels(len(variants), width=width, height=height, sharex=True, sharey=True)
        for axes, (title, given) in zip(panels[0], variants.items(), strict=True):
            pipelines = [run.fit_variant(parameters, run.split.train) for parameters in _list_parameters(given)]
            _draw_panel(axes, pipelines, X, y, dataset.classes)
            add_title(axes, title, _describe_margins(pipelines, X, y))
            axes.set(xlabel=self.get_label(X.columns[0]), ylabel="", aspect="equal")
        panels[0, 0].set_ylabel(self.get_label(X.columns[1]))
        marks = collect_marks(panels[0])
        if SUPPORT_VECTOR in marks:
            marks |= _make_margin_mark()
        add_legend(figure, self.get_label(dataset.target), marks)
        return figure


def _choose_height(X: pd.DataFrame, panel_width: float) -> float:
    """Return the height in inches at which both axes have the same scale, so that margins are drawn undistorted."""
    x_range, y_range = np.ptp(X.to_numpy(), axis=0)
    height = FRAME_INCHES + panel_width * y_range / x_range
    return min(height, MAX_HEIGHT_INCHES)


def _list_parameters(given: Parameters | Sequence[Parameters]) -> list[Parameters]:
    if isinstance(given, Mapping):
        return [given]
    return list(given)


def _draw_panel(axes: Axes, pipelines: Sequence[Pipeline], X: pd.DataFrame, y: np.ndarray, classes: np.ndarray) -> None:
    shade_regions(axes, pipelines[0], X, classes)
    scatter_classes(axes, X.iloc[:, 0].to_numpy(), X.iloc[:, 1].to_numpy(), y, classes, MARKER_AREA)
    # Boundaries come last: their grid covers the axes, which have their limits from the regions and the rows.
    for pipeline in pipelines:
        _draw_boundary(axes, pipeline, X)


def _draw_boundary(axes: Axes, pipeline: Pipeline, X: pd.DataFrame) -> None:
    """Draw f(x) = 0; for a support vector machine also f(x) = ±1 and a ring around each support vector."""
    learner: Any = pipeline[-1]
    x1, x2 = _make_grid(axes)
    points = pd.DataFrame({X.columns[0]: x1.ravel(), X.columns[1]: x2.ravel()})
    f = pipeline.decision_function(points).reshape(x1.shape)  # (GRID_POINTS, GRID_POINTS)
    axes.contour(x1, x2, f, levels=[0.0], colors=TEXT_COLOUR, linewidths=1.4)
    if not hasattr(learner, "support_"):
        return
    axes.contour(x1, x2, f, levels=[-1.0, 1.0], colors=MUTED_COLOUR, linestyles="--", linewidths=1.1)
    support = X.iloc[learner.support_].to_numpy()
    axes.scatter(
        support[:, 0],
        support[:, 1],
        s=RING_AREA,
        facecolors="none",
        edgecolors=TEXT_COLOUR,
        linewidths=1.1,
        label=SUPPORT_VECTOR,
    )


def _make_grid(axes: Axes) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of points over the whole of the axes, each of shape (GRID_POINTS, GRID_POINTS)."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    x1, x2 = np.meshgrid(np.linspace(left, right, GRID_POINTS), np.linspace(bottom, top, GRID_POINTS))
    return x1, x2


def _make_margin_mark() -> dict[str, Any]:
    """Return the legend's entry for margins: contours have no label of their own."""
    from matplotlib.lines import Line2D

    return {"margin, f(x) = ±1": Line2D([], [], linestyle="--", color=MUTED_COLOUR, linewidth=1.1)}


def _describe_margins(pipelines: Sequence[Pipeline], X: pd.DataFrame, y: np.ndarray) -> str:
    """Return the width of the margin and the number of support vectors, or the distance of the nearest row, as a note.

    Accuracy and margin are those of the first pipeline, distances those of all.
    """
    learner: Any = pipelines[0][-1]
    accuracy = f"training accuracy {format_score(pipelines[0].score(X, y))}"
    if not hasattr(learner, "support_"):
        distances = join_words(format_score(_measure_distance(pipeline, X)) for pipeline in pipelines)
        return f"nearest row at {distances}\n{accuracy}"
    support_vectors = count_nouns(len(learner.support_), "support vector")
    # Only with the linear kernel are there coefficients in the plane that is drawn, and so a width to measure.
    if hasattr(learner, "coef_"):
        return f"margin {format_score(float(1 / np.linalg.norm(learner.coef_)))}, {support_vectors}\n{accuracy}"
    return f"{support_vectors}\n{accuracy}"


def _measure_distance(pipeline: Pipeline, X: pd.DataFrame) -> float:
    """Return the distance of the nearest row to the line of a linear learner."""
    learner: Any = pipeline[-1]
    return float(np.abs(pipeline.decision_function(X)).min() / np.linalg.norm(learner.coef_))
