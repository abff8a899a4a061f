"""The importance of each column: by permutation on test rows, and by the impurity that a tree removes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.figures.drawing.panels import (
    CLASS_COLOURS,
    GRID_COLOUR,
    MUTED_COLOUR,
    add_heading,
    add_title,
    make_panels,
)
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PERMUTATION = "permutation"
IMPURITY = "impurity"
MAX_BARS = 20
"""Of more columns, the most important ones are drawn; the table holds all."""
BAR_INCHES = 0.24
NAME_LETTERS = 32
"""Longer names of columns are cut."""


@final
@dataclass(frozen=True, kw_only=True)
class Importances(TabulatedFigure):
    """How much the headline score falls on test rows if a column is permuted, and the impurity importance of trees.

    Both are means over the folds with their standard deviation. A permuted column loses its relation to the target and
    to the other columns; of two columns that say the same, neither is important. Impurity importances are measured on
    training rows and favour columns with many values (Strobl et al. 2007).

    Parameters
    ----------
    repeats : int
        The number of permutations of each column in each fold.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001. C. Strobl et al., "Bias in random forest variable
    importance measures", BMC Bioinformatics 8, 2007.
    """

    repeats: int = 5
    file: str = "importances.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that test rows can be permuted; UserError if not."""
        super().check(experiment, splits)
        if not isinstance(self.repeats, int) or self.repeats < 1:
            raise UserError(f"figures: Importances.repeats={self.repeats!r} must be an integer of at least 1.")
        fewest = min(len(split.test) for split in splits.checked)
        if fewest < 2:
            raise UserError(
                "figures: Importances permutes the test rows of a fold, and a fold tests one row only; "
                "use evaluation=kfold, or remove the figure."
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each kind of importance and column: the mean and the standard deviation over folds.

        Columns of the impurity are those after preprocessing, which may be more than those of the dataset.
        """
        columns = [str(name) for name in run.experiment.dataset.X.columns]
        permutation = [self._permute_columns(run, number) for number in range(len(run.folds))]
        tables = [_summarize(PERMUTATION, columns, np.array(permutation))]
        if hasattr(run.model.pipeline[-1], "feature_importances_"):
            tables.append(_summarize_impurity(run))
        return pd.concat(tables, ignore_index=True)

    def _permute_columns(self, run: FinishedRun, number: int) -> np.ndarray:
        """Return the mean fall of the headline score in a fold for each column, of shape (d,)."""
        from sklearn.inspection import permutation_importance

        fold = run.folds[number]
        X, y = run.select_rows(fold.split.test)
        weights = run.select_weights(fold.split.test)
        # A fall of an error is a rise of the score: importances are positive where a column helps.
        sign = 1 if run.experiment.headline_metric.greater_is_better else -1
        result: Any = permutation_importance(
            fold.model.predictor,
            X,
            y,
            scoring=lambda model, rows, targets: sign * run.score_model(model, rows, targets, weights),
            n_repeats=self.repeats,
            random_state=derive_seed(run.experiment.seed, "importances") + number,
        )
        means: np.ndarray = result.importances_mean
        return means

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a panel for each kind of importance, the most important column on top."""
        kinds = list(dict.fromkeys(table["kind"]))
        tables = {kind: table[table["kind"] == kind] for kind in kinds}
        order = _order_names(tables[PERMUTATION])
        n_bars = max(min(len(part), MAX_BARS) for part in tables.values())
        width = 5.6 if len(kinds) == 1 else 10.6
        figure, panels = make_panels(len(kinds), width=width, height=1.8 + BAR_INCHES * n_bars)
        for axes, (kind, part) in zip(panels[0], tables.items(), strict=True):
            # Where the columns are the same, both panels have them in the same order, to be compared.
            names = order if set(part["column"]) == set(order) else _order_names(part)
            drawn = part.set_index("column").loc[names[:MAX_BARS]]
            self._draw_bars(axes, drawn, run)
            self._add_title(axes, run, kind, len(part), len(drawn))
        heading = f"{run.learner_name} on {run.experiment.dataset.name}"
        add_heading(figure, heading)
        return figure

    def _draw_bars(self, axes: Axes, drawn: pd.DataFrame, run: FinishedRun) -> None:
        positions = np.arange(len(drawn))
        deviation = drawn["std"].to_numpy() if len(run.folds) > 1 else None
        axes.barh(
            positions,
            drawn["mean"].to_numpy(),
            xerr=deviation,
            color=CLASS_COLOURS[0],
            ecolor=MUTED_COLOUR,
            error_kw={"elinewidth": 1},
        )
        names = [shorten_name(self.get_label(str(name))) for name in drawn.index]
        axes.set_yticks(positions, names)
        axes.invert_yaxis()
        axes.locator_params(axis="x", nbins=5)
        axes.axvline(0, color=MUTED_COLOUR, linewidth=0.8)
        axes.grid(axis="x", color=GRID_COLOUR)
        axes.set_axisbelow(True)

    def _add_title(self, axes: Axes, run: FinishedRun, kind: str, n_columns: int, n_drawn: int) -> None:
        headline = run.experiment.headline.replace("_", " ")
        note = run.describe_folds()
        if n_drawn < n_columns:
            note += f"\nthe first {n_drawn} of {n_columns} columns"
        if kind == PERMUTATION:
            change = "fall" if run.experiment.headline_metric.greater_is_better else "rise"
            axes.set_xlabel(f"{change} of {headline} on test rows")
            add_title(axes, "Permutation", note)
        else:
            axes.set_xlabel("share of impurity removed (training rows)")
            add_title(axes, "Impurity", note)


def shorten_name(name: str) -> str:
    """Return a name, cut to `NAME_LETTERS` characters.

    Examples
    --------
    >>> shorten_name("the width of the widest petal in millimetres")
    'the width of the widest petal…'
    """
    if len(name) <= NAME_LETTERS:
        return name
    return shorten(name, NAME_LETTERS, placeholder="…") if " " in name else f"{name[: NAME_LETTERS - 1]}…"


def _summarize_impurity(run: FinishedRun) -> pd.DataFrame:
    names: list[str] = []
    series: list[pd.Series] = []
    for fold in run.folds:
        pipeline = fold.model.pipeline
        X, _ = run.select_rows(fold.split.test[:1])
        columns = [str(name) for name in getattr(pipeline[:-1].transform(X), "columns", X.columns)]
        names += [name for name in columns if name not in names]
        series.append(pd.Series(pipeline[-1].feature_importances_, index=columns))
    # A value that the training rows of a fold lack has no column there, and no importance.
    values = np.array([one.reindex(names, fill_value=0.0) for one in series])  # (folds, columns)
    return _summarize(IMPURITY, names, values)


def _summarize(kind: str, columns: list[str], values: np.ndarray) -> pd.DataFrame:
    """Return mean and standard deviation of values of shape (folds, columns)."""
    deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(columns), np.nan)
    return pd.DataFrame({"kind": kind, "column": columns, "mean": values.mean(axis=0), "std": deviation})


def _order_names(part: pd.DataFrame) -> list[str]:
    """Return the columns, the most important first."""
    ordered = part.sort_values("mean", ascending=False, kind="stable")
    return [str(name) for name in ordered["column"]]
