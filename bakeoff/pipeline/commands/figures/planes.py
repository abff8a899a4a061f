"""The plane of two columns: the predicted class at each point, and the line between two classes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bakeoff.pipeline.commands.drawing.model_marks import (
    QUERY_MARKER_AREA,
    RING_AREA,
    draw_regions,
    draw_response,
    scatter_classes,
)
from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    NAME_LETTERS,
    TEXT_COLOUR,
    add_legend,
    add_title,
    collect_marks,
    label_axes,
    make_panels,
)
from bakeoff.pipeline.commands.figures.run_figure import FinishedRun, Parameters, RunFigure, check_variants
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.scoring.predictions import get_classes, predict_values
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import count_nouns, cut_text, format_score

FIGURE_INCHES = 9.0
SINGLE_PANEL_INCHES = 5.0
PANEL_INCHES = 3.4
FRAME_INCHES = 0.6


@dataclass(frozen=True, kw_only=True)
class PlaneFigure(RunFigure):
    """Abstract: panels with the training rows in the plane of two numeric columns, coloured by predicted class.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> changed parameters of the run's pipeline, such as ``{learner__n_neighbors: 1}``; if empty, the run's
        model is drawn.
    columns : sequence of str
        The two columns to draw if the dataset has more.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    columns: Sequence[str] = ()

    task: ClassVar[str | None] = "classification"

    @abstractmethod
    def draw_plane(self, axes: Axes, run: FinishedRun, parameters: Parameters) -> str:
        """Draw the plane of a variant; return a note for its title."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there is a plane and a colour for each class; raise UserError otherwise."""
        super().check(experiment, splits)
        dataset = experiment.dataset
        name = type(self).__name__
        known = [str(column) for column in dataset.X.columns]
        for column in self.columns:
            if column not in known:
                raise UserError(f"figures: {name}.columns contains {column!r}. {did_you_mean(str(column), known)}")
        chosen = list(self.columns) or known
        if len(chosen) != 2 or set(chosen) & set(dataset.nominal):
            held = f"{dataset.name} has {len(known)} columns ({len(dataset.nominal)} nominal)"
            cure = f"name two numeric columns in {name}.columns"
            raise self.refuse(f"draws a plane of two numeric columns, but {held}", cure)
        check_colours(self, experiment)
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        dataset = run.experiment.dataset
        variants = self.variants or {run.learner_name: {}}
        n = len(variants)
        columns = n if n <= 3 else 2
        width = FIGURE_INCHES / columns if n > 1 else SINGLE_PANEL_INCHES
        shared: Any = {"sharex": True, "sharey": True}
        figure, panels = make_panels(n, columns, width=width, height=PANEL_INCHES, frame=FRAME_INCHES, **shared)
        X, y = run.select_rows(run.split.train, self.columns)
        marks: dict[str, Any] = {}
        for axes, (title, parameters) in zip(panels, variants.items(), strict=True):
            note = self.draw_plane(axes, run, parameters)
            marks = scatter_classes(axes, X, y, dataset.classes)
            add_title(axes, title, note)
        label_axes(panels, *(self.label_column(run, str(name)) for name in X.columns))
        add_legend(figure, self.get_label(dataset.target), marks | collect_marks(panels))
        return figure


def check_colours(figure: RunFigure, experiment: Experiment) -> None:
    """Raise UserError if there are more classes than colours."""
    n_classes = len(experiment.dataset.classes)
    if n_classes > len(CLASS_COLOURS):
        name = experiment.dataset.name
        raise figure.refuse(f"supports at most {len(CLASS_COLOURS)} classes, but {name} has {n_classes}")


@final
@dataclass(frozen=True, kw_only=True)
class DecisionRegions(PlaneFigure):
    """The plane coloured by predicted class, with a panel for each variant.

    Parameters
    ----------
    query : sequence of two floats, optional
        A point to mark; its predicted class is written above the panel instead of the scores of the variant.
    """

    query: Sequence[float] | None = None
    file: str = "decision_regions.png"

    def draw_plane(self, axes: Axes, run: FinishedRun, parameters: Parameters) -> str:
        """Draw the regions and the query."""
        X, _ = run.select_rows(run.split.train, self.columns)
        model = run.get_variant(parameters, self.columns)
        draw_regions(axes, model, X, run.experiment.dataset.classes)
        if self.query is None:
            of_all = f"with all {run.experiment.dataset.X.shape[1]} columns, " if self.columns else ""
            return of_all + self.describe_scores(run, parameters)
        star: Any = {"c": "white", "marker": "*", "edgecolors": TEXT_COLOUR, "zorder": 4, "label": "query"}
        axes.scatter(self.query[0], self.query[1], s=QUERY_MARKER_AREA, **star)
        (predicted,) = predict_values(model, pd.DataFrame([self.query], columns=X.columns), get_classes(model))
        return f"({', '.join(f'{value:g}' for value in self.query)}) is {cut_text(str(predicted), NAME_LETTERS)}"


@final
@dataclass(frozen=True, kw_only=True)
class Margins(PlaneFigure):
    """The line that separates two classes, with margins and support vectors if the learner has them."""

    file: str = "margins.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that there are two classes in a plane; raise UserError otherwise."""
        super().check(experiment, splits)
        if len(experiment.dataset.classes) != 2:
            raise self.refuse(f"separate two classes, but {experiment.dataset.name} has more")
        if not self.variants and not hasattr(experiment.learner, "decision_function"):
            raise self.refuse(
                f"needs decision values, but {type(experiment.learner).__name__} has none",
                "choose a linear learner or learner=svm, or remove the figure",
            )

    def draw_plane(self, axes: Axes, run: FinishedRun, parameters: Parameters) -> str:
        """Draw f(x) = 0 and, for a support vector machine, f(x) = ±1 and a ring around each support vector."""
        X, y = run.select_rows(run.split.train, self.columns)
        pipeline = run.fit_variant(parameters, self.columns)
        draw_regions(axes, pipeline, X, run.experiment.dataset.classes)
        learner: Any = pipeline[-1]
        has_margin = hasattr(learner, "support_")
        line: Any = {"colors": TEXT_COLOUR, "linestyles": ["--", "-", "--"] if has_margin else "-"}
        contours: Any = {"response_method": "decision_function", "plot_method": "contour"}
        draw_response(axes, pipeline, X, **contours, levels=[-1, 0, 1] if has_margin else [0], linewidths=1.2, **line)
        # The scales are equal, so that the margin has the same width everywhere.
        axes.set_aspect("equal")
        accuracy = f"training accuracy {format_score(float(pipeline.score(X, y)))}"
        if not has_margin:
            return accuracy
        support = X.iloc[learner.support_].to_numpy()
        ring: Any = {"facecolors": "none", "edgecolors": MUTED_COLOUR, "label": "support vector"}
        axes.scatter(support[:, 0], support[:, 1], s=RING_AREA, **ring)
        support_vectors = count_nouns(len(support), "support vector")
        # Only a linear kernel has coefficients in the drawn plane, and therefore a width to measure.
        margin = (
            f"margin {format_score(float(1 / np.linalg.norm(learner.coef_)))}, " if hasattr(learner, "coef_") else ""
        )
        return f"{margin}{support_vectors}\n{accuracy}"
