"""Validation curves: the score on training and test rows against one hyperparameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.bands import (
    TEST_STYLE,
    TRAINING_STYLE,
    Scale,
    ValueAxis,
    draw_band,
    format_value,
    is_number,
    style_scores,
)
from bakeoff.pipeline.figures.drawing.panels import MUTED_COLOUR, add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun, check_variants, describe_variants
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WARNING = "a value chosen from this curve makes its test score optimistic"


@final
@dataclass(frozen=True, kw_only=True)
class ValidationCurve(TabulatedFigure):
    """The headline score on training and test rows of every fold against one parameter of the learner.

    The figure shows over- and underfitting. Do not use it to choose a value: a score that was used for a choice is no
    longer an estimate of the score on new rows.

    Parameters
    ----------
    parameter : str, optional
        A parameter of the learner; by default the first of the space with at least two numbers among its values.
    values : sequence, optional
        By default those of the space.
    space : mapping or sequence of mappings, optional
        Parameter -> values; by default the space that the run was tuned in.
    scale : {"auto", "linear", "log"}
        The scale of the axis of values; auto is logarithmic if the greatest is at least 20 times the least.
    left, right : str
        Text at the ends of the axis, such as "overfits".
    """

    parameter: str | None = None
    values: Sequence[Any] | None = None
    space: Any = None
    scale: Scale = "auto"
    left: str = ""
    right: str = ""
    file: str = "validation_curve.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner has the parameter and accepts the values; UserError if not."""
        super().check(experiment, splits)
        parameter, values = self.choose_values(experiment)
        check_variants(experiment, splits, [{f"learner__{parameter}": value} for value in values])

    def choose_values(self, experiment: Experiment) -> tuple[str, list[Any]]:
        """Return the parameter and its values: those given, else those of the space.

        Raises
        ------
        UserError
            Neither gives any.
        """
        values_by_parameter = self._read_space(experiment)
        parameter = self.parameter or _choose_parameter(values_by_parameter)
        values = self.values if self.values is not None else values_by_parameter.get(parameter or "")
        if parameter is None or not values or isinstance(values, str):
            wanted = parameter or "a parameter"
            raise UserError(
                f"figures: ValidationCurve has no values of {wanted} for {type(experiment.learner).__name__}; "
                "give them, as in figures=[{validation_curve: {parameter: NAME, values: [1, 2]}}]."
            )
        return parameter, list(values)

    def _read_space(self, experiment: Experiment) -> dict[str, list[Any]]:
        space = self.space
        if space is None and isinstance(experiment.tuning, GridTuning):
            space = experiment.tuning.space
        grids = [space] if isinstance(space, Mapping) else list(space or [])
        known = experiment.learner.get_params()
        found: dict[str, list[Any]] = {}
        for grid in grids:
            for name, values in grid.items():
                if name in known:
                    found.setdefault(str(name), list(values))
        return found

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each value and fold, with both scores."""
        parameter, values = self.choose_values(run.experiment)
        training, test = run.compute_validation_curve(parameter, values)  # (v, folds)
        n_folds = len(run.folds)
        return pd.DataFrame({
            "parameter": parameter,
            "value": np.repeat(np.array([_to_cell(value) for value in values], dtype=object), n_folds),
            "fold": np.tile(np.arange(n_folds), len(values)),
            "train": training.ravel(),
            "test": test.ravel(),
        })  # fmt: skip

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw means over the folds, and their standard deviation as a band."""
        experiment = run.experiment
        parameter, values = self.choose_values(experiment)
        axis = ValueAxis.from_values(values, self.scale)
        figure, panels = make_panels(1, width=7.2, height=3.9)
        axes = panels[0, 0]
        for part, style in (("train", TRAINING_STYLE), ("test", TEST_STYLE)):
            scores = table[part].to_numpy().reshape(len(values), len(run.folds))
            draw_band(axes, axis.positions, scores, style)
        axis.style(axes)
        axes.set_xlabel(self.get_label(parameter))
        style_scores(axes, self.get_label(experiment.headline))
        self._write_ends(axes)
        note = run.describe_folds() + describe_variants(experiment)
        n_scores = table.groupby("fold")[["train", "test"]].nunique()
        # A flat line looks like a mistake; the note says that it is the result.
        if n_scores.le(1).to_numpy().all():
            note += ", the same score for all values"
        add_title(axes, f"{self.get_label(run.learner_name)} on {experiment.dataset.name}", f"{note}\n{WARNING}")
        return figure

    def _write_ends(self, axes: Axes) -> None:
        inside: Any = {"transform": axes.transAxes, "color": MUTED_COLOUR, "style": "italic"}
        axes.text(0.02, 0.03, self.left, ha="left", **inside)
        axes.text(0.98, 0.03, self.right, ha="right", **inside)


def _to_cell(value: Any) -> Any:
    """Return a number as it is, and any other value as a text."""
    return value if is_number(value) else format_value(value)


def _choose_parameter(values_by_parameter: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the first parameter with at least two numbers among its values, else the first with two values."""
    for name, values in values_by_parameter.items():
        if sum(map(is_number, values)) > 1:
            return name
    for name, values in values_by_parameter.items():
        if len(values) > 1:
            return name
    return None
