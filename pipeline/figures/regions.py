"""The plane of two columns: which class a learner predicts where, and the margins of support vector machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_changes
from bakeoff.pipeline.figures.panels import COLOURS, GREY, INK, Picture, check_colours, head, key, scatter, sheet
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 300
"""Points asked along each axis."""


def check_plane(name: str, experiment: Experiment, columns: Sequence[str]) -> None:
    """Refuse what is not two numeric columns."""
    X, nominal = experiment.dataset.X, experiment.dataset.nominal
    known = [str(column) for column in X.columns]
    for column in columns:
        if column not in known:
            raise UserError(f"figures: {name}.columns names {column!r}. {did_you_mean(str(column), known)}")
    chosen = list(columns) or known
    if len(chosen) != 2 or set(chosen) & set(nominal):
        raise UserError(
            f"figures: {name} draws a plane of two numeric columns, and {experiment.dataset.name} has {len(known)} "
            f"columns ({len(nominal)} nominal); name two numeric ones in its columns."
        )
    check_colours(name, experiment)


def shade(axes: Axes, pipeline: Pipeline, X: pd.DataFrame, classes: np.ndarray) -> None:
    """Colour the plane around the rows by predicted class, and draw the boundary between classes."""
    from matplotlib.colors import ListedColormap
    from sklearn.inspection import DecisionBoundaryDisplay

    around = 0.06 * (X.max() - X.min())
    corners = pd.DataFrame([X.min() - around, X.max() + around])
    known = [code for code, label in enumerate(classes) if label in pipeline.classes_]
    shown = DecisionBoundaryDisplay.from_estimator(
        pipeline, corners, eps=0, grid_resolution=GRID, response_method="predict", plot_method="pcolormesh",
        ax=axes, alpha=0.22, zorder=-1, rasterized=True,
    )  # fmt: skip
    shown.surface_.set(cmap=ListedColormap([COLOURS[code] for code in known]), clim=(-0.5, len(known) - 0.5))
    for code in range(len(known) - 1):
        axes.contour(shown.xx0, shown.xx1, shown.response > code, levels=[0.5], colors=INK, linewidths=0.5, alpha=0.7)


@final
@dataclass(frozen=True, kw_only=True)
class DecisionRegions(Picture):
    """The plane coloured by predicted class, a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> what of the run's pipeline is changed, such as ``{learner__n_neighbors: 1}``.
    columns : sequence of str
        The two columns, where the dataset has more.
    query : sequence of two floats, optional
        A point to mark; its prediction stands in the panel.
    scores : bool
        Whether to say each variant's headline score, of all columns, under its title.
    """

    variants: Mapping[str, Parameters]
    columns: Sequence[str] = ()
    query: Sequence[float] | None = None
    scores: bool = True
    file: str = "decision_regions.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what is no classification in a plane."""
        super().check(experiment, splits)
        check_plane("DecisionRegions", experiment, self.columns)
        check_changes(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        X, y = run.rows(run.split.train, self.columns)
        figure, panels = sheet(len(self.variants), sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels[0], self.variants.items(), strict=True):
            pipeline = run.fit(parameters, run.split.train, self.columns)
            self._panel(axes, pipeline, X, y, run.experiment.dataset.classes)
            seen = f"with all {run.experiment.dataset.X.shape[1]} columns, " if self.columns else ""
            head(axes, title, seen + self.scored(run, parameters) if self.scores else self._said(pipeline, X))
        panels[0, 0].set_ylabel(self.label(X.columns[1]))
        key(figure, self.label(run.experiment.dataset.target), _marks(panels[0]))
        return figure

    def _panel(self, axes: Axes, pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, classes: np.ndarray) -> None:
        shade(axes, pipeline, X, classes)
        scatter(axes, X.iloc[:, 0].to_numpy(), X.iloc[:, 1].to_numpy(), y, classes, 26 if len(X) > 20 else 70)
        if self.query is not None:
            axes.scatter(
                self.query[0], self.query[1], s=190, c="white", marker="*", edgecolors=INK, zorder=4, label="query"
            )
        axes.set(xlabel=self.label(X.columns[0]), ylabel="")

    def _said(self, pipeline: Pipeline, X: pd.DataFrame) -> str:
        if self.query is None:
            return ""
        answer = pipeline.predict(pd.DataFrame([self.query], columns=X.columns))[0]
        return f"({', '.join(f'{value:g}' for value in self.query)}) is {answer}"


@final
@dataclass(frozen=True, kw_only=True)
class Margins(Picture):
    """Lines that separate two classes, with margins and support vectors where the learner has them.

    Parameters
    ----------
    variants : mapping of str to (sequence of) parameters
        Title -> what of the run's pipeline is changed; of several the first colours the plane, and all draw lines.
    """

    variants: Mapping[str, Parameters | Sequence[Parameters]]
    file: str = "margins.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what is not two classes in a plane."""
        super().check(experiment, splits)
        check_plane("Margins", experiment, ())
        if len(experiment.dataset.classes) != 2:
            raise UserError(f"figures: Margins are between two classes; {experiment.dataset.name} has more.")
        check_changes(
            experiment, splits, [parameters for given in self.variants.values() for parameters in _several(given)]
        )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each variant."""
        X, y = run.rows(run.split.train)
        across, up = np.ptp(X.to_numpy(), axis=0)
        # Both axes have one scale, so that margins look as wide as they are.
        height = 1.65 + 8.0 / len(self.variants) * up / across
        figure, panels = sheet(len(self.variants), height=min(height, 9.0), sharex=True, sharey=True)
        for axes, (title, given) in zip(panels[0], self.variants.items(), strict=True):
            pipelines = [run.fit(parameters, run.split.train) for parameters in _several(given)]
            shade(axes, pipelines[0], X, run.experiment.dataset.classes)
            scatter(axes, X.iloc[:, 0].to_numpy(), X.iloc[:, 1].to_numpy(), y, run.experiment.dataset.classes, 30)
            for pipeline in pipelines:
                self._lines(axes, pipeline, X)
            head(axes, title, _note(pipelines, X, y))
            axes.set(xlabel=self.label(X.columns[0]), ylabel="", aspect="equal")
        panels[0, 0].set_ylabel(self.label(X.columns[1]))
        key(figure, self.label(run.experiment.dataset.target), _marks(panels[0]) | _margin(panels[0]))
        return figure

    def _lines(self, axes: Axes, pipeline: Pipeline, X: pd.DataFrame) -> None:
        """Draw f(x) = 0 and, for a support vector machine, f(x) = ±1 and a ring around each support vector."""
        learner: Any = pipeline[-1]
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        across, up = np.meshgrid(np.linspace(left, right, GRID), np.linspace(low, high, GRID))
        table = pd.DataFrame({X.columns[0]: across.ravel(), X.columns[1]: up.ravel()})
        f = pipeline.decision_function(table).reshape(across.shape)
        axes.contour(across, up, f, levels=[0.0], colors=INK, linewidths=1.4)
        if hasattr(learner, "support_"):
            axes.contour(across, up, f, levels=[-1.0, 1.0], colors=GREY, linestyles="--", linewidths=1.1)
            on = X.iloc[learner.support_].to_numpy()
            axes.scatter(
                on[:, 0], on[:, 1], s=120, facecolors="none", edgecolors=INK, linewidths=1.1, label="support vector"
            )


def _several(given: Parameters | Sequence[Parameters]) -> list[Parameters]:
    return [given] if isinstance(given, Mapping) else list(given)


def _marks(panels: Sequence[Axes]) -> dict[str, Any]:
    """Return every mark that a panel has named, by name."""
    marks = [axes.get_legend_handles_labels() for axes in panels]
    return {label: handle for handles, labels in marks for handle, label in zip(handles, labels, strict=True)}


def _margin(panels: Sequence[Axes]) -> dict[str, Any]:
    """Return the dashes of margins, which contours do not name, if a panel has support vectors."""
    from matplotlib.lines import Line2D

    dashes = Line2D([], [], linestyle="--", color=GREY, linewidth=1.1)
    return {"margin, f(x) = ±1": dashes} if "support vector" in _marks(panels) else {}


def _note(pipelines: Sequence[Pipeline], X: pd.DataFrame, y: np.ndarray) -> str:
    """Say how wide the margins are and how many rows hold them up."""
    first: Any = pipelines[0][-1]
    accuracy = f"training accuracy {pipelines[0].score(X, y):#.3g}"
    if hasattr(first, "support_"):
        width = f"margin {1 / np.linalg.norm(first.coef_):.2f}, " if hasattr(first, "coef_") else ""
        return f"{width}{len(first.support_)} support vectors\n{accuracy}"
    nearest = [np.abs(line.decision_function(X)).min() / np.linalg.norm(line[-1].coef_) for line in pipelines]
    return f"nearest row at {' and '.join(f'{distance:.2f}' for distance in nearest)}\n{accuracy}"
