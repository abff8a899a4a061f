"""Tuning: the score of each candidate, and what the inner folds of each fold chose."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from bakeoff.pipeline.card.report import ALL_ROWS, tabulate_choices
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.bands import ValueAxis
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    GRID_COLOUR,
    TEXT_COLOUR,
    add_heading,
    add_legend,
    add_title,
    fill_panels,
    hide_unused,
    make_panels,
)
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import Grid, GridTuning, find_best_candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS_IN_A_ROW = 3
PANEL_INCHES = 3.3
BAR_INCHES = 0.34
MAX_NAME_LETTERS = 24
CHOSEN_COLOUR = CLASS_COLOURS[1]
CANDIDATE_COLOUR = CLASS_COLOURS[0]
OTHER_BAR_COLOUR = "#b8b8b8"


def check_tuning(name: str, experiment: Experiment) -> None:
    """Raise UserError if the run is not tuned; `name` is the figure's."""
    if not isinstance(experiment.tuning, GridTuning):
        raise UserError(f"figures: {name} shows what tuning does, and tuning=none; add tuning=grid.")
    if not experiment.tuning.candidates:
        learner_name = type(experiment.learner).__name__
        raise UserError(f"figures: {name} shows what tuning does, and {learner_name} has no candidates; give a space.")


@final
@dataclass(frozen=True, kw_only=True)
class Candidates(RunFigure):
    """The score of each candidate of the run's model against each parameter, and the candidate that was chosen.

    Scores are those of the rows that the choice was made on: inner folds of the training rows, or the validation part.
    They do not estimate the score on new rows.
    """

    file: str = "candidates.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned; UserError if it is not."""
        super().check(experiment, splits)
        check_tuning("Candidates", experiment)

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter: all candidates, the best one of each value, and the one that was chosen."""
        candidates, scores = read_candidates(run)
        chosen = find_best_candidate(scores, run.experiment.headline_metric.greater_is_better)
        names = list(dict.fromkeys(name for candidate in candidates for name in candidate))
        columns, rows = fill_panels(len(names), MAX_PANELS_IN_A_ROW)
        width = max(5.2, PANEL_INCHES * columns)
        figure, panels = make_panels(columns, rows, width=width, height=1.3 + 2.7 * rows, sharey=True)
        hide_unused(panels, len(names))
        for axes, name in zip(panels.flat, names, strict=False):
            self._draw_parameter(axes, name, candidates, scores, chosen, run)
        for axes in panels[:, 0]:
            axes.set_ylabel(f"{self.get_label(run.experiment.headline)}, {_describe_inner_rows(run)}")
        heading = f"{run.learner_name} on {run.experiment.dataset.name}: {len(candidates)} candidates"
        add_heading(figure, heading)
        rows_tuned = "rows of the run's model" if len(run.folds) > 1 else "training rows"
        add_legend(figure, rows_tuned, _make_marks())
        return figure

    def _draw_parameter(
        self,
        axes: Axes,
        name: str,
        candidates: Sequence[Mapping[str, Any]],
        scores: np.ndarray,
        chosen: int,
        run: FinishedRun,
    ) -> None:
        values = _list_values(candidates, name)
        axis = ValueAxis.from_values(values)
        # Of a space of several grids, a candidate may lack the parameter.
        having = [i for i, candidate in enumerate(candidates) if name in candidate]
        place = np.array([axis.positions[_find_value(values, candidates[i][name])] for i in having])
        height = scores[having]
        axes.scatter(place, height, s=16, color=CANDIDATE_COLOUR, alpha=0.35, edgecolors="none")
        # Unlike the maximum, fmax leaves out candidates whose score is NaN.
        find_best = np.fmax if run.experiment.headline_metric.greater_is_better else np.fmin
        best = [find_best.reduce(height[place == position]) for position in axis.positions]
        order = np.argsort(axis.positions, kind="stable")
        axes.plot(axis.positions[order], np.array(best)[order], color=CANDIDATE_COLOUR, linewidth=1.4)
        if chosen in having:
            at = having.index(chosen)
            axes.scatter(place[at], height[at], s=95, color=CHOSEN_COLOUR, marker="*", zorder=4)
        axis.style(axes)
        if axis.scale == "linear":
            axes.margins(x=0.12)
        axes.set_xlabel(self.get_label(name))
        axes.grid(axis="y", color=GRID_COLOUR)


@final
@dataclass(frozen=True, kw_only=True)
class Choices(RunFigure):
    """Nested tuning: how many folds chose each value, by inner folds that never saw the fold's test rows.

    Where the folds choose different values, the score of the run is that of the whole procedure, and not of one value.
    """

    file: str = "choices.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned in several folds; UserError if it is not."""
        super().check(experiment, splits)
        check_tuning("Choices", experiment)
        if len(splits.folds) == 1:
            raise UserError(
                "figures: Choices compares what several folds choose, and there is one split; use evaluation=kfold, "
                "or the figure candidates."
            )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter, with a bar for each value of the space."""
        table = tabulate_choices(run.experiment, run.folds, run.model)
        of_folds = table[table["fold"] != ALL_ROWS]
        of_model = table[table["fold"] == ALL_ROWS]
        # The table begins with the fold and ends with two scores; the parameters are between them.
        names = list(table.columns[1:-2])
        values = {name: _list_texts(run.experiment, name, list(table[name])) for name in names}
        columns, rows = fill_panels(len(names), MAX_PANELS_IN_A_ROW)
        n_bars = max(map(len, values.values()))
        width = max(5.4, PANEL_INCHES * columns)
        height = 1.5 + rows * (0.75 + BAR_INCHES * n_bars)
        figure, panels = make_panels(columns, rows, width=width, height=height)
        hide_unused(panels, len(names))
        for axes, name in zip(panels.flat, names, strict=False):
            counts = [int((of_folds[name] == value).sum()) for value in values[name]]
            _draw_bars(axes, values[name], counts, chosen=set(of_model[name]))
            add_title(axes, self.get_label(name))
        heading = f"{run.learner_name} on {run.experiment.dataset.name}: chosen by inner folds"
        add_heading(figure, heading)
        add_legend(figure, f"{len(run.folds)} folds", _make_bar_marks())
        return figure


def _draw_bars(axes: Axes, values: Sequence[str], counts: Sequence[int], chosen: Collection[str]) -> None:
    """Draw how many folds chose each value; those of the run's model have a colour."""
    from matplotlib.ticker import MaxNLocator

    colours = [CHOSEN_COLOUR if value in chosen else OTHER_BAR_COLOUR for value in values]
    bars = axes.barh([_cut(value) for value in values], counts, color=colours)
    axes.bar_label(bars, [str(count) if count else "" for count in counts], padding=3, color=TEXT_COLOUR)
    axes.set(xlim=(0, 1.15 * max(*counts, 1)), xlabel="folds")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.invert_yaxis()
    # A value that no fold has chosen has no bar to colour.
    for label, value in zip(axes.get_yticklabels(), values, strict=True):
        if value in chosen:
            label.set(color=CHOSEN_COLOUR, fontweight="bold")


def read_candidates(run: FinishedRun) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return the candidates of the run's model, and the score of each on the rows that one was chosen on."""
    tuning = run.experiment.tuning
    assert isinstance(tuning, GridTuning)
    assert run.model.candidates is not None
    scores: np.ndarray = run.model.candidates["validation_score"].to_numpy()
    return tuning.candidates, scores


def _list_values(candidates: Sequence[Grid], name: str) -> list[Any]:
    """Return the values of a parameter, each once; lists cannot be compared by hash."""
    values: list[Any] = []
    for candidate in candidates:
        if name in candidate and candidate[name] not in values:
            values.append(candidate[name])
    return values


def _find_value(values: Sequence[Any], value: Any) -> int:
    return next(i for i, other in enumerate(values) if other == value)


def _list_texts(experiment: Experiment, name: str, chosen: Sequence[str]) -> list[str]:
    """Return the values of a parameter as tables write them, those of the space first."""
    tuning = experiment.tuning
    assert isinstance(tuning, GridTuning)
    texts = [str(value) for grid in tuning.grids for value in grid.get(name, ())]
    return list(dict.fromkeys([*texts, *chosen]))


def _describe_inner_rows(run: FinishedRun) -> str:
    n_inner_folds = run.experiment.tuning.folds
    return f"{n_inner_folds} inner folds" if n_inner_folds else "validation rows"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_NAME_LETTERS else f"{text[: MAX_NAME_LETTERS - 1]}…"


def _make_marks() -> dict[str, Any]:
    from matplotlib.lines import Line2D

    return {
        "candidate": Line2D([], [], linestyle="", marker="o", markersize=4, color=CANDIDATE_COLOUR, alpha=0.5),
        "best of each value": Line2D([], [], color=CANDIDATE_COLOUR, linewidth=1.4),
        "chosen": Line2D([], [], linestyle="", marker="*", markersize=10, color=CHOSEN_COLOUR),
    }


def _make_bar_marks() -> dict[str, Any]:
    from matplotlib.patches import Patch

    return {"chosen on all rows, for the run's model": Patch(color=CHOSEN_COLOUR)}
