"""What validation rows have chosen: candidates of tuning, the choices of each fold, and the steps of pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from bakeoff.pipeline.card.report import ALL_ROWS, tabulate_choices
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.curves import MIN_LOG_RATIO, place_values, scale_values
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import (
    BAR_INCHES,
    CLASS_COLOURS,
    OTHER_COLOUR,
    add_heading,
    add_legend,
    add_title,
    collect_marks,
    draw_bars,
    make_panels,
    set_log_scale,
)
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.pruning import NoPruning
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning, find_best_candidate

MAX_PANELS_IN_A_ROW = 3
PANEL_INCHES = 3.3
CANDIDATE_COLOUR = CLASS_COLOURS[0]
CHOSEN_COLOUR = CLASS_COLOURS[1]


@dataclass(frozen=True, kw_only=True)
class TuningFigure(RunFigure):
    """Abstract: a figure of a tuned run."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned; UserError if it is not."""
        super().check(experiment, splits)
        if not isinstance(experiment.tuning, GridTuning):
            raise self.refuse("shows what tuning does, and tuning=none", "add tuning=grid")
        if not experiment.tuning.candidates:
            learner_name = type(experiment.learner).__name__
            raise self.refuse(f"shows what tuning does, and {learner_name} has no candidates", "give a space")


@final
@dataclass(frozen=True, kw_only=True)
class Candidates(TuningFigure):
    """The score of each candidate of the run's model against each parameter, and the candidate that was chosen.

    Scores are those of the rows that the choice was made on: inner folds of the training rows, or the validation part.
    They do not estimate the score on new rows.
    """

    file: str = "candidates.png"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter: all candidates, the best one of each value, and the one that was chosen."""
        tuning = run.experiment.tuning
        assert isinstance(tuning, GridTuning)
        assert run.model.candidates is not None
        candidates = tuning.candidates
        scores = run.model.candidates["validation_score"].to_numpy()  # (candidates,)
        greater_is_better = run.experiment.headline_metric.greater_is_better
        chosen = find_best_candidate(scores, greater_is_better)
        # Unlike the maximum, fmax leaves out candidates whose score is NaN.
        find_best = np.fmax.reduce if greater_is_better else np.fmin.reduce
        names = list(dict.fromkeys(name for candidate in candidates for name in candidate))
        figure, panels = make_panels(
            len(names), MAX_PANELS_IN_A_ROW, width=PANEL_INCHES, height=2.7, frame=1.3, sharey=True
        )
        for axes, name in zip(panels, names, strict=True):
            # Of a space of several grids, a candidate may lack the parameter.
            having = [number for number, candidate in enumerate(candidates) if name in candidate]
            given = [candidates[number][name] for number in having]
            values = _list_once(given)
            places = place_values(values)
            x = np.array([places[values.index(value)] for value in given])
            y = scores[having]
            axes.scatter(x, y, s=16, color=CANDIDATE_COLOUR, alpha=0.35, edgecolors="none", label="candidate")
            order = np.argsort(places, kind="stable")
            best = [find_best(y[x == place]) for place in places[order]]
            axes.plot(places[order], best, color=CANDIDATE_COLOUR, linewidth=1.4, label="best of each value")
            if chosen in having:
                at = having.index(chosen)
                axes.scatter(x[at], y[at], s=95, color=CHOSEN_COLOUR, marker="*", zorder=4, label="chosen")
            axes.margins(x=0.12)
            scale_values(axes, values)
            axes.set_xlabel(self.get_label(name))
            axes.grid(axis="y")
        rows = f"{tuning.folds} inner folds" if tuning.folds else "validation rows"
        panels[0].set_ylabel(f"{self.get_label(run.experiment.headline)}, {rows}")
        add_heading(figure, f"{run.title}: {len(candidates)} candidates")
        add_legend(figure, "rows of the run's model" if len(run.folds) > 1 else "training rows", collect_marks(panels))
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class Choices(TuningFigure):
    """Nested tuning: how many folds chose each value, by inner folds that never saw the fold's test rows.

    Where the folds choose different values, the score of the run is that of the whole procedure, and not of one value.
    """

    file: str = "choices.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned in several folds; UserError if it is not."""
        super().check(experiment, splits)
        if len(splits.folds) == 1:
            raise self.refuse(
                "compares what several folds choose, and there is one split",
                "use evaluation=kfold, or the figure candidates",
            )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter, with a bar for each value of the space."""
        table = tabulate_choices(run.experiment, run.folds, run.model)
        of_folds = table[table["fold"] != ALL_ROWS]
        of_model = table[table["fold"] == ALL_ROWS]
        # The table begins with the fold and ends with two scores; the parameters are between them.
        names = list(table.columns[1:-2])
        tuning = run.experiment.tuning
        assert isinstance(tuning, GridTuning)
        values = {}
        for name in names:
            of_space = [str(value) for grid in tuning.grids for value in grid.get(name, ())]
            values[name] = _list_once([*of_space, *table[name]])
        height = 0.75 + 1.4 * BAR_INCHES * max(map(len, values.values()))
        figure, panels = make_panels(len(names), MAX_PANELS_IN_A_ROW, width=PANEL_INCHES, height=height, frame=1.3)
        for axes, name in zip(panels, names, strict=True):
            counts = [int((of_folds[name] == value).sum()) for value in values[name]]
            is_chosen = [value in set(of_model[name]) for value in values[name]]
            colours = [CHOSEN_COLOUR if chosen else OTHER_COLOUR for chosen in is_chosen]
            draw_bars(axes, values[name], counts, texts=[str(count or "") for count in counts], colours=colours)
            axes.set_xlabel("folds")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            # A value that no fold has chosen has no bar to colour.
            for label, chosen in zip(axes.get_yticklabels(), is_chosen, strict=True):
                label.set(**({"color": CHOSEN_COLOUR, "fontweight": "bold"} if chosen else {}))
            add_title(axes, self.get_label(name))
        add_heading(figure, f"{run.title}: chosen by inner folds")
        add_legend(figure, f"{len(run.folds)} folds", {"chosen on all rows": Patch(color=CHOSEN_COLOUR)})
        return figure


def _list_once(values: Sequence[Any]) -> list[Any]:
    """Return each value once, in the order of their first occurrence; lists cannot be compared by hash."""
    return [value for number, value in enumerate(values) if value not in values[:number]]


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
        """Draw the paths of the folds, and above them that of the run's model with its two ends."""
        figure, (axes,) = make_panels(width=6.6, height=3.9)
        paths = [fold.model.path for fold in run.folds if fold.model.path is not None]
        if len(run.folds) > 1:
            for path in paths:
                _draw_path(axes, path, OTHER_COLOUR, 0.8, "folds" if path is paths[0] else "_nolegend_")
        own = run.model.path
        assert own is not None
        _draw_path(axes, own, CLASS_COLOURS[0], 1.8, "the run's model" if len(run.folds) > 1 else "tree")
        axes.plot(own.leaves[-1], own.score[-1], "*", markersize=12, color=CHOSEN_COLOUR, label="pruned tree")
        # From hundreds of leaves to a few, a linear axis would leave no room for the last steps.
        ratio = max(path.leaves[0] for path in paths) / own.leaves[-1]
        if ratio >= MIN_LOG_RATIO:
            set_log_scale(axes, ratio)
        # Pruning removes leaves, so that its path is read from left to right.
        axes.invert_xaxis()
        axes.set(xlabel="leaves (pruning goes to the right)", ylabel=_describe_pruning_score(run.experiment))
        axes.grid()
        axes.legend(loc="best")
        method = run.experiment.pruning.method.replace("_", "-")
        leaves = f"{own.leaves[0]} → {own.leaves[-1]} leaves"
        add_title(axes, run.title, f"{method} pruning: {leaves}, depth {own.depth[0]} → {own.depth[-1]}")
        return figure


def _draw_path(axes: Axes, path: Any, colour: str, width: float, label: str) -> None:
    axes.plot(path.leaves, path.score, color=colour, linewidth=width, marker=".", markersize=3 * width, label=label)


def _describe_pruning_score(experiment: Experiment) -> str:
    if experiment.pruning.method == "pessimistic":
        return "estimated accuracy, training rows"
    if experiment.dataset.is_classification:
        return "accuracy on validation rows"
    if experiment.target.is_on:
        return "minus squared error, transformed target"
    return "minus mean squared error, validation rows"
