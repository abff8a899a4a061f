"""What validation rows have chosen: the candidates of tuning, and the steps of pruning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.curves import place_values, scale_values
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import (
    CLASS_COLOURS,
    OTHER_COLOUR,
    add_heading,
    add_legend,
    add_title,
    collect_marks,
    make_panels,
)
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning, find_best_candidate

MAX_PANELS_IN_A_ROW = 3
PANEL_INCHES = 3.3
STAR: Any = {"marker": "*", "linestyle": "", "markersize": 11, "color": CLASS_COLOURS[1], "zorder": 4}


@final
@dataclass(frozen=True, kw_only=True)
class Candidates(RunFigure):
    """The score of each candidate of the run's model against each parameter, and the candidate that was chosen.

    Scores are those of the rows that the choice was made on: inner folds of the training rows, or the validation part.
    They do not estimate the score on new rows.
    """

    file: str = "candidates.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned; UserError if it is not."""
        super().check(experiment, splits)
        if not isinstance(experiment.tuning, GridTuning):
            raise self.refuse("shows what tuning does, and tuning=none", "add tuning=grid")
        if not experiment.tuning.candidates:
            learner_name = type(experiment.learner).__name__
            raise self.refuse(f"shows what tuning does, and {learner_name} has no candidates", "give a space")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter: all candidates, and the one that was chosen."""
        tuning = run.experiment.tuning
        assert isinstance(tuning, GridTuning)
        assert run.model.candidates is not None
        scores = run.model.candidates["validation_score"].to_numpy()  # (candidates,)
        chosen = find_best_candidate(scores, run.experiment.headline_metric.greater_is_better)
        names = list(dict.fromkeys(name for candidate in tuning.candidates for name in candidate))
        shape: Any = {"width": PANEL_INCHES, "height": 2.7, "frame": 1.3, "sharey": True}
        figure, panels = make_panels(len(names), MAX_PANELS_IN_A_ROW, **shape)
        for axes, name in zip(panels, names, strict=True):
            # Of a space of several grids, a candidate may lack the parameter.
            having = [number for number, candidate in enumerate(tuning.candidates) if name in candidate]
            places = place_values([tuning.candidates[number][name] for number in having])
            axes.plot(places, scores[having], "o", color=CLASS_COLOURS[0], alpha=0.5, label="candidate")
            if chosen in having:
                axes.plot(places[having.index(chosen)], scores[chosen], **STAR, label="chosen")
            axes.margins(x=0.12)
            scale_values(axes)
            axes.set_xlabel(self.get_label(name))
            axes.grid(axis="y")
        rows = f"{tuning.folds} inner folds" if tuning.folds else "validation rows"
        panels[0].set_ylabel(f"{self.get_label(run.experiment.headline)}, {rows}")
        add_heading(figure, f"{run.title}: {len(tuning.candidates)} candidates")
        add_legend(figure, "rows of the run's model", collect_marks(panels))
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class PruningPaths(RunFigure):
    """The score that pruning chooses by against the number of leaves, from the unpruned tree to the last step.

    The score is that of the validation rows that the cuts are chosen on (of pessimistic pruning, its estimate from the
    training rows), so it does not estimate the score on new rows. Each fold has a path, and the run's own model one.
    """

    file: str = "pruning_path.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it prunes; UserError if it does not."""
        super().check(experiment, splits)
        if isinstance(experiment.pruning, NoPruning):
            raise self.refuse("shows pruning, and pruning=none", "add pruning=best_first")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the paths of the folds, and above them that of the run's model with its end."""
        figure, (axes,) = make_panels(width=6.6, height=3.9)
        if len(run.folds) > 1:
            for fold in run.folds:
                _draw_path(axes, fold.model.path, OTHER_COLOUR, "folds" if fold is run.folds[0] else "")
        path = run.model.path
        assert path is not None
        _draw_path(axes, path, CLASS_COLOURS[0], "the run's model")
        axes.plot(path.leaves[-1], path.score[-1], **STAR, label="pruned tree")
        scale_values(axes)
        # Pruning removes leaves, so that its path is read from left to right.
        axes.invert_xaxis()
        axes.set(xlabel="leaves (pruning goes to the right)", ylabel=_describe_pruning_score(run.experiment))
        axes.grid()
        axes.legend(loc="best")
        method = run.experiment.pruning.method.replace("_", "-")
        leaves = f"{path.leaves[0]} → {path.leaves[-1]} leaves"
        add_title(axes, run.title, f"{method} pruning: {leaves}, depth {path.depth[0]} → {path.depth[-1]}")
        return figure


def _draw_path(axes: Axes, path: Any, colour: str, label: str) -> None:
    axes.plot(path.leaves, path.score, ".-", color=colour, label=label or None)


def _describe_pruning_score(experiment: Experiment) -> str:
    if experiment.pruning.method == "pessimistic":
        return "estimated accuracy, training rows"
    if experiment.dataset.is_classification:
        return "accuracy on validation rows"
    return "minus mean squared error, validation rows"
