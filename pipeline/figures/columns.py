"""How much the columns of a dataset count: their importance, and the coefficients of a linear model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.panels import (
    BAR_INCHES,
    FONT_POINTS,
    NAME_LETTERS,
    add_heading,
    add_title,
    draw_bars,
    make_panels,
)
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.words import cut_text

PERMUTATION = "permutation"
IMPURITY = "impurity"
MAX_BARS = 20
"""Maximum number of columns, of which those with the greatest values are drawn; the table contains all."""
MAX_OUTPUTS = 12
"""More scores than this (one for each class or pair of classes) are not drawn."""
MAX_TRIAL_ROWS = 200
"""Rows on which it is tried whether the learner has coefficients."""


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

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that test rows can be permuted; UserError if not."""
        super().check(experiment, splits)
        if not isinstance(self.repeats, int) or self.repeats < 1:
            raise UserError(f"figures: Importances.repeats={self.repeats!r} must be an integer of at least 1.")
        if min(len(split.test) for split in splits.checked) < 2:
            raise self.refuse(
                "permutes the test rows of a fold, and a fold tests one row only",
                "use evaluation=kfold, or remove the figure",
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each kind of importance and column: the mean and the standard deviation over folds.

        Columns of the impurity are those after preprocessing, which may be more than those of the dataset.
        """
        columns = run.experiment.dataset.X.columns.astype(str)
        falls = [pd.Series(self._permute_columns(run, number), columns) for number in range(len(run.folds))]
        tables = [_summarize(PERMUTATION, falls)]
        if hasattr(run.model.pipeline[-1], "feature_importances_"):
            pipelines = [fold.model.pipeline for fold in run.folds]
            shares = [pd.Series(each[-1].feature_importances_, run.list_columns(each)) for each in pipelines]
            tables.append(_summarize(IMPURITY, shares))
        return pd.concat(tables, ignore_index=True)

    def _permute_columns(self, run: FinishedRun, number: int) -> np.ndarray:
        """Return the mean fall of the headline score in a fold for each column, of shape (d,)."""
        fold = run.folds[number]
        X, y = run.select_rows(fold.split.test)
        weights = run.select_weights(fold.split.test)
        # A fall of an error is a rise of the score: importances are positive where a column helps.
        sign = 1 if run.experiment.headline_metric.greater_is_better else -1
        result: Any = permutation_importance(
            fold.model.predictor,
            X,
            y,
            scoring=lambda model, rows, targets: sign * score_headline(run.experiment, model, rows, targets, weights),
            n_repeats=self.repeats,
            random_state=derive_seed(run.experiment.seed, "importances") + number,
        )
        means: np.ndarray = result.importances_mean
        return means

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a panel for each kind of importance, the most important column on top."""
        change = "fall" if run.experiment.headline_metric.greater_is_better else "rise"
        xlabels = {
            PERMUTATION: f"{change} of {run.experiment.headline.replace('_', ' ')} on test rows",
            IMPURITY: "share of impurity removed (training rows)",
        }
        tables = {str(kind): part.set_index("column") for kind, part in table.groupby("kind", sort=False)}
        ranked = {kind: _rank_columns(part) for kind, part in tables.items()}
        n_bars = min(max(map(len, tables.values())), MAX_BARS)
        figure, panels = make_panels(len(tables), width=5.5, height=1.8 + BAR_INCHES * n_bars)
        for axes, (kind, part) in zip(panels, tables.items(), strict=True):
            # Where the columns are the same, both panels have them in the same order, to be compared.
            is_comparable = set(ranked[kind]) == set(ranked[PERMUTATION])
            names = ranked[PERMUTATION if is_comparable else kind][:MAX_BARS]
            self._draw_columns(axes, part.loc[names], run)
            note = run.describe_folds()
            if len(names) < len(part):
                note += f"\nthe first {len(names)} of {len(part)} columns"
            axes.set_xlabel(xlabels[kind])
            add_title(axes, kind.capitalize(), note)
        add_heading(figure, run.title)
        return figure

    def _draw_columns(self, axes: Axes, drawn: pd.DataFrame, run: FinishedRun) -> None:
        names = [self.get_label(str(name)) for name in drawn.index]
        draw_bars(axes, names, drawn["mean"].to_numpy(), drawn["std"].to_numpy() if len(run.folds) > 1 else None)


def _summarize(kind: str, folds: list[pd.Series]) -> pd.DataFrame:
    """Return mean and standard deviation over the folds of the importance of each column.

    A value that the training rows of a fold lack has no column there, and no importance.
    """
    names = list(dict.fromkeys(name for fold in folds for name in fold.index))
    values = pd.DataFrame([fold.reindex(names, fill_value=0.0) for fold in folds])
    return pd.DataFrame({"kind": kind, "column": names, "mean": values.mean().array, "std": values.std().array})


def _rank_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns, the most important first."""
    return [str(name) for name in table.sort_values("mean", ascending=False, kind="stable").index]


@final
@dataclass(frozen=True, kw_only=True)
class Coefficients(TabulatedFigure):
    """The coefficients of a linear model: their mean over the folds, and one standard deviation to each side.

    A coefficient is the change of a score for one unit of a column after preprocessing. Columns of different units
    cannot be compared unless they are standardized. The intercept is not shown.
    """

    file: str = "coefficients.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run, by a trial on a few rows, that the learner has coefficients; UserError if not."""
        super().check(experiment, splits)
        learner_name = type(experiment.learner).__name__
        try:
            pipeline = _fit_trial(experiment, splits)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise UserError(f"figures: Coefficients tried {learner_name} on a few rows: {reason}") from error
        coefficients = getattr(pipeline[-1], "coef_", None)
        if coefficients is None:
            raise self.refuse(
                f"are those of a linear model, and {learner_name} has none",
                "choose a linear learner, or remove the figure",
            )
        n_outputs = len(np.atleast_2d(coefficients))
        if n_outputs > MAX_OUTPUTS:
            raise self.refuse(f"has panels for {MAX_OUTPUTS} scores, and {learner_name} has {n_outputs}")

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each score and column: mean and standard deviation over the folds, and their number.

        A fold whose training rows lack a class or a value of a nominal column does not count for its coefficients.
        """
        tables = []
        for fold in run.folds:
            learner: Any = fold.model.pipeline[-1]
            coefficients = np.atleast_2d(learner.coef_)  # (scores, columns)
            names = _name_scores(learner, len(coefficients), run.experiment.dataset.target)
            table = pd.DataFrame(coefficients, names, run.list_columns(fold.model.pipeline))
            tables.append(table.rename_axis(index="score", columns="column").stack())
        grouped = pd.concat(tables).groupby(["score", "column"], sort=False)
        return grouped.agg(["mean", "std", "count"]).reset_index().rename(columns={"count": "folds"})

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw a panel for each score, with the same columns in each: those with the largest coefficients."""
        scores = list(dict.fromkeys(table["score"]))
        largest = table.assign(size=table["mean"].abs()).groupby("column", sort=False)["size"].max()
        kept = largest.nlargest(MAX_BARS).index
        names = [name for name in largest.index if name in kept]
        width = 6.0 if len(scores) == 1 else 3.0
        figure, panels = make_panels(len(scores), width=width, height=1.3 + BAR_INCHES * len(names), sharey=True)
        for axes, score in zip(panels, scores, strict=True):
            drawn = table[table["score"] == score].set_index("column").reindex(names)
            deviations = drawn["std"].to_numpy() if len(run.folds) > 1 else None
            draw_bars(axes, [self.get_label(name) for name in names], drawn["mean"].to_numpy(), deviations)
            if len(scores) > 1:
                add_title(axes, cut_text(score, NAME_LETTERS))
        note = run.describe_folds()
        if len(names) < len(largest):
            note += f"\nthe {len(names)} largest of {len(largest)} columns"
        if run.experiment.target.is_on:
            note += "\nof the transformed target"
        if run.experiment.preprocessing is None:
            note += "\ncolumns are not scaled: do not compare different units"
        if len(scores) == 1:
            of_class = f" of {cut_text(scores[0], NAME_LETTERS)}" if run.experiment.dataset.is_classification else ""
            panels[0].set_xlabel(f"coefficient{of_class}")
            add_title(panels[0], run.title, note)
        else:
            add_heading(figure, run.title)
            figure.supxlabel(f"coefficient ({note})", fontsize=FONT_POINTS)
        return figure


def _fit_trial(experiment: Experiment, splits: Splits) -> Pipeline:
    """Fit the learner on a few training rows of the first fold, of all classes in turn."""
    dataset = experiment.dataset
    train = splits.folds[0].train
    if dataset.is_classification:
        # The first row of each class, then the second of each, and so on.
        rank = pd.Series(dataset.y[train]).groupby(dataset.y[train]).cumcount()
        train = train[np.argsort(rank.to_numpy(), kind="stable")]
    rows = train[:MAX_TRIAL_ROWS]
    preprocessing = "passthrough" if experiment.preprocessing is None else experiment.preprocessing
    pipeline: Pipeline = clone(Pipeline([("preprocessing", preprocessing), ("learner", experiment.learner)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(dataset.X.iloc[rows], dataset.y[rows])
    return pipeline


def _name_scores(learner: Any, n_scores: int, target: str) -> list[str]:
    """Return what each row of coefficients scores: a class, a class against another one, or the target."""
    if not hasattr(learner, "classes_"):
        return [target]
    classes = [str(label) for label in learner.classes_]
    if n_scores == 1:
        return [classes[-1]]
    # Support vector machines separate pairs of classes, unless they are asked to separate each from the rest.
    is_of_pairs = hasattr(learner, "support_") and learner.get_params().get("multi_class", "ovo") == "ovo"
    if not is_of_pairs:
        return classes
    return [f"{one} or {other}" for i, one in enumerate(classes) for other in classes[i + 1 :]]
