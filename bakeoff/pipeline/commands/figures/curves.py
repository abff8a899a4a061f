"""Figures of scores and of a regression: learning and validation curves, candidates of tuning, errors, predictions."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from bakeoff.pipeline.commands.drawing.panels import (
    CLASS_COLOURS,
    MUTED_COLOUR,
    add_heading,
    add_legend,
    add_title,
    collect_marks,
    label_axes,
    make_panels,
    use_whole_ticks,
)
from bakeoff.pipeline.commands.figures.run_figure import (
    FinishedRun,
    Parameters,
    RunFigure,
    TabulatedFigure,
    check_variants,
)
from bakeoff.pipeline.errors import UserError, first_line
from bakeoff.pipeline.experiment import Experiment, FoldResult, evaluate_split
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.stages.scoring.predictions import predict_values
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import GridTuning, find_best_candidate
from bakeoff.pipeline.text import secrets, wording
from bakeoff.pipeline.text.wording import count_nouns, format_score

VARIANTS = "without pruning, calibration and threshold"
WARNING = "the test score of a value chosen from this curve is optimistic"
DEFAULT_SIZES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
MIN_LOG_RATIO = 20.0
"""Positive numbers are drawn on a logarithmic axis if the largest is at least this many times the smallest."""
SHORT_AXIS_RATIO = 100.0
BAND_ALPHA = 0.15
MAX_VALUE_LETTERS = 14
"""Longer values, such as lists, are truncated."""
PARTS = {"train": ("training rows", CLASS_COLOURS[1], "s"), "test": ("test rows", CLASS_COLOURS[0], "o")}
"""Column of the tables -> label, colour and marker of its line."""


@dataclass(frozen=True, kw_only=True)
class ScoreCurves(TabulatedFigure):
    """Abstract: the headline score on training and test rows of every fold, against another quantity."""

    def draw_scores(self, run: FinishedRun, table: pd.DataFrame, places: list[Any], note: str) -> tuple[Figure, Axes]:
        """Draw means over the folds, with their standard deviation as a band.

        Parameters
        ----------
        run : FinishedRun
        table : DataFrame
            A row for each of v places and each fold, with the scores ``train`` and ``test``.
        places : list of v float or str
        note : str
        """
        figure, (axes,) = make_panels(width=7.2, height=3.9)
        for part, (label, colour, marker) in PARTS.items():
            scores = table[part].to_numpy(dtype=float).reshape(len(places), len(run.folds))  # (v, folds)
            folds = pd.DataFrame(scores, pd.Index(places))  # NaN, if a fold has no score, is ignored
            if pd.api.types.is_numeric_dtype(folds.index):
                folds = folds.sort_index(kind="stable")
            mean, deviation = folds.mean(axis=1), folds.std(axis=1)  # ddof=1, as stored with a run
            axes.plot(mean.index, mean, color=colour, marker=marker, markersize=4.5, linewidth=1.8, label=label)
            band: Any = {"color": colour, "alpha": BAND_ALPHA, "linewidth": 0}
            axes.fill_between(mean.index, mean - deviation, mean + deviation, **band)
        axes.set_ylabel(self.get_label(run.experiment.headline))
        axes.grid(axis="y")
        add_title(axes, run.title, note)
        add_legend(figure, "", collect_marks([axes]))
        return figure, axes


@final
@dataclass(frozen=True, kw_only=True)
class LearningCurve(ScoreCurves):
    """The headline score on training and test rows of every fold, against the number of training rows.

    The whole procedure of the run (preprocessing, tuning, fitting, pruning) is repeated on a part of the training rows
    of each fold; validation and test rows stay the same. A larger part contains the smaller ones and preserves the
    class proportions. If the rows are in chronological order, a part consists of the latest rows.

    Parameters
    ----------
    sizes : sequence of float
        Fractions of the training rows, greater than 0 and at most 1.
    """

    sizes: Sequence[float] = DEFAULT_SIZES
    file: str = "learning_curve.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the sizes are fractions; raise UserError otherwise."""
        super().check(experiment, splits)
        if not self.sizes or not all(is_number(size) and 0 < size <= 1 for size in self.sizes):
            raise UserError(
                f"figures: LearningCurve.sizes={self.sizes!r} must be a list of fractions of the training rows, above "
                "0 and at most 1, such as [0.1,0.3,1]."
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a row for each size and fold with its rows, and both scores or the reason for having none."""
        lines = [line for fold in run.folds for line in self._measure_fold(run, fold)]
        return pd.DataFrame(lines).sort_values(["size", "fold"], kind="stable", ignore_index=True)

    def _measure_fold(self, run: FinishedRun, fold: FoldResult) -> Iterator[dict[str, Any]]:
        """Yield the scores of a fold for each size."""
        experiment = run.experiment
        ordered = order_rows(experiment, fold)
        for size in sorted(set(self.sizes)):
            n_rows = max(1, round(size * len(ordered)))
            # The fold was fitted on all rows, so that result already exists.
            scores, reason = fold.scores, ""
            if n_rows < len(ordered):
                scores, reason = _evaluate_part(experiment, fold, np.sort(ordered[:n_rows]))
            found = {part: scores.get(f"{part}_{experiment.headline}", np.nan) for part in PARTS}
            yield {"size": size, "rows": n_rows, "fold": fold.number, **found, "reason": reason}

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw means over the folds, with their standard deviation as a band."""
        # The training parts of different folds may differ by a row or two.
        n_rows = table.groupby("size")["rows"].mean()
        figure, axes = self.draw_scores(run, table, n_rows.tolist(), run.describe_folds())
        axes.set_xlabel("training rows")
        axes.set_xlim(left=0)
        return figure


def order_rows(experiment: Experiment, fold: FoldResult) -> np.ndarray:
    """Return the training rows of a fold in an order whose beginnings are the parts to learn from.

    The latest rows come first if rows are in chronological order; otherwise they are shuffled so that each class has
    about the same proportion in every beginning.
    """
    rows = fold.split.train
    if experiment.splitter.keeps_order:
        return rows[::-1]
    seed = derive_seed(experiment.seed, "learning_curve") + fold.number
    shuffled = np.random.default_rng(seed).permutation(rows)
    if not experiment.dataset.is_classification:
        return shuffled
    labels = pd.Series(experiment.dataset.y[shuffled])
    grouped = labels.groupby(labels)
    # The i-th of the k rows of a class is placed at the fraction (i + 1/2) / k of the order.
    place = (grouped.cumcount() + 0.5) / grouped.transform("size")  # (n,)
    return shuffled[np.argsort(place.to_numpy(), kind="stable")]


def _evaluate_part(experiment: Experiment, fold: FoldResult, rows: np.ndarray) -> tuple[Mapping[str, float], str]:
    """Return the scores of a fold trained on some of its rows, or the learner's reason if there are none."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return evaluate_split(experiment, fold.number, replace(fold.split, train=rows)).scores, ""
    except (ValueError, UserError) as error:
        # A few rows may have only one class, or be fewer than the requested neighbours.
        return {}, secrets.hide_secrets(first_line(error))


@final
@dataclass(frozen=True, kw_only=True)
class ValidationCurve(ScoreCurves):
    """The headline score on training and test rows of every fold, against one parameter of the learner.

    The figure shows over- and underfitting. Do not use it to choose a value: a score used for a choice no longer
    estimates the score on new rows.

    Parameters
    ----------
    parameter : str, optional
        A parameter of the learner; by default the first one in the space with at least two numeric values.
    values : sequence, optional
        The values; by default those in the space.
    space : mapping or sequence of mappings, optional
        Parameter -> values; by default the space in which the run was tuned.
    """

    parameter: str | None = None
    values: Sequence[Any] | None = None
    space: Any = None
    file: str = "validation_curve.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the learner has the parameter and accepts the values; raise UserError otherwise."""
        super().check(experiment, splits)
        parameter, values = self.choose_values(experiment)
        check_variants(experiment, splits, [{f"learner__{parameter}": value} for value in values])

    def choose_values(self, experiment: Experiment) -> tuple[str, list[Any]]:
        """Return the parameter and its values, which default to those in the space.

        Raises
        ------
        UserError
            Neither the arguments nor the space define a parameter with values.
        """
        known = self._read_space(experiment)
        # The first parameter with at least two numeric values, or else the first one with two values.
        with_numbers = [name for name, values in known.items() if sum(map(is_number, values)) > 1]
        with_several = [name for name, values in known.items() if len(values) > 1]
        parameter = self.parameter or next(iter([*with_numbers, *with_several]), None)
        values = self.values if self.values is not None else known.get(parameter or "")
        if parameter is None or not values or isinstance(values, str):
            raise self.refuse(
                f"has no values of {parameter or 'a parameter'} for {type(experiment.learner).__name__}",
                "give them, as in figures=[{validation_curve: {parameter: NAME, values: [1, 2]}}]",
            )
        return parameter, list(values)

    def _read_space(self, experiment: Experiment) -> dict[str, list[Any]]:
        """Return the values of each learner parameter in the space, from the first grid that contains it."""
        space = self.space
        if space is None and isinstance(experiment.tuning, GridTuning):
            space = experiment.tuning.space
        grids = [space] if isinstance(space, Mapping) else list(space or [])
        known = experiment.learner.get_params()
        found: dict[str, list[Any]] = {}
        for grid in grids:
            for name, values in grid.items():
                if name in known:
                    found.setdefault(name, list(values))
        return found

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a row for each value and fold, with both scores."""
        parameter, values = self.choose_values(run.experiment)
        cells = pd.Series([value if is_number(value) else str(value) for value in values], dtype=object)
        table = run.compute_validation_curve(parameter, values)
        named = table.assign(parameter=parameter, value=cells[table["position"]].to_numpy())
        return named[["parameter", "value", "fold", *PARTS]]

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw means over the folds, with their standard deviation as a band."""
        parameter, values = self.choose_values(run.experiment)
        note = f"{run.describe_folds()}, {VARIANTS}\n{WARNING}"
        figure, axes = self.draw_scores(run, table, place_values(values), note)
        scale_values(axes)
        axes.set_xlabel(self.get_label(parameter))
        return figure


def is_number(value: Any) -> bool:
    """Return whether a value can be placed on a numeric axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def place_values(values: Sequence[Any]) -> list[Any]:
    """Return the positions of values on an axis: numbers to scale, or all values side by side if some are text.

    Examples
    --------
    >>> place_values([0.5, 8]), place_values([2, [50, 50], None])
    ([0.5, 8], ['2', '[50, 50]', 'None'])
    """
    if all(map(is_number, values)):
        return list(values)
    return [wording.cut_text(str(value), MAX_VALUE_LETTERS) for value in values]


def scale_values(axes: Axes) -> None:
    """Make the horizontal axis logarithmic, with plain labels, if its values are numbers of different magnitudes."""
    low, high = axes.dataLim.intervalx
    use_whole_ticks(axes)
    if low <= 0 or high < MIN_LOG_RATIO * low:
        return
    axes.set_xscale("log")
    # Short axes also have labels at 2 and 5 times a power of ten.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < SHORT_AXIS_RATIO * low else (1.0,)))
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.tick_params(axis="x", which="minor", length=2, labelbottom=False)


MAX_PANELS_IN_A_ROW = 3
PANEL_INCHES = 3.3
STAR: Any = {"marker": "*", "linestyle": "", "markersize": 11, "color": CLASS_COLOURS[1], "zorder": 4}


@final
@dataclass(frozen=True, kw_only=True)
class Candidates(RunFigure):
    """The score of each candidate of the run's model against each parameter, with the chosen candidate.

    The scores are those of the rows used for the choice: inner folds of the training rows, or the validation part. They
    do not estimate the score on new rows.
    """

    file: str = "candidates.png"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is tuned; raise UserError otherwise."""
        super().check(experiment, splits)
        if not isinstance(experiment.tuning, GridTuning):
            raise self.refuse("shows the results of tuning, but tuning=none", "add tuning=grid")
        if not experiment.tuning.candidates:
            learner_name = type(experiment.learner).__name__
            raise self.refuse(f"shows the results of tuning, but {learner_name} has no candidates", "give a space")

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a panel for each parameter with all candidates and the chosen one."""
        tuning = run.experiment.tuning
        assert isinstance(tuning, GridTuning)
        assert run.model.candidates is not None
        # With a budget, some candidates were not tried and have no score.
        tried = run.model.candidates["validation_score"]
        scores = tried.reindex(range(len(tuning.candidates))).to_numpy()  # (candidates,)
        chosen = find_best_candidate(scores, run.experiment.headline_metric.greater_is_better)
        names = list(dict.fromkeys(name for candidate in tuning.candidates for name in candidate))
        shape: Any = {"width": PANEL_INCHES, "height": 2.7, "frame": 1.3, "sharey": True}
        figure, panels = make_panels(len(names), MAX_PANELS_IN_A_ROW, **shape)
        for axes, name in zip(panels, names, strict=True):
            # In a space with several grids, a candidate may lack the parameter.
            values = {number: each[name] for number, each in enumerate(tuning.candidates) if name in each}
            places = dict(zip(values, place_values([*values.values()]), strict=True))
            axes.plot([*places.values()], scores[[*places]], "o", color=CLASS_COLOURS[0], alpha=0.5, label="candidate")
            if chosen in places:
                axes.plot(places[chosen], scores[chosen], **STAR, label="chosen")
            axes.margins(x=0.12)
            scale_values(axes)
            axes.set_xlabel(self.get_label(name))
            axes.grid(axis="y")
        rows = f"{tuning.folds} inner folds" if tuning.folds else "validation rows"
        panels[0].set_ylabel(f"{self.get_label(run.experiment.headline)}, {rows}")
        add_heading(figure, run.title)
        add_legend(figure, f"{count_nouns(len(tried), 'candidate')} of the run's model", collect_marks(panels))
        return figure


MAX_DRAWN_ROWS = 2000
"""If there are more rows, this number of rows is sampled at random."""
CURVE_POINTS = 1500
DOTS: Any = {"s": 20, "color": CLASS_COLOURS[0], "alpha": 0.5, "edgecolors": "none"}
LINE: Any = {"color": MUTED_COLOUR, "linestyle": ":"}
MARGIN_SHARE = 0.04
"""The margin of a curve around the rows on each side, as a fraction of the column's range."""


@final
@dataclass(frozen=True, kw_only=True)
class Residuals(RunFigure):
    """Predicted against true targets, and residuals against predictions, on the test rows of all folds."""

    file: str = "residuals.png"

    task: ClassVar[str | None] = "regression"

    def draw(self, run: FinishedRun) -> Figure:
        """Draw both panels; perfect predictions lie on the lines."""
        figure, (left, right) = make_panels(2, width=4.5, height=4.2)
        target = self.label_column(run, run.experiment.dataset.target)
        residuals = run.truth - run.predicted  # (m,)
        # Both panels show the same rows, and drawing the figure again shows them again.
        shown = np.random.default_rng(0).permutation(len(residuals))[:MAX_DRAWN_ROWS]
        left.scatter(run.predicted[shown], run.truth[shown], **DOTS)
        ends = [run.truth.min(), run.truth.max()]
        left.plot(ends, ends, **LINE)
        left.set_ylabel(f"true {target}")
        add_title(left, run.title, run.describe_test_rows())
        right.scatter(run.predicted[shown], residuals[shown], **DOTS)
        right.axhline(0, **LINE)
        right.set_ylabel("true minus predicted")
        spread = f"mean {format_score(residuals.mean())}, standard deviation {format_score(residuals.std(ddof=1))}"
        add_title(right, "Residuals", spread)
        for axes in (left, right):
            axes.set_xlabel(f"predicted {target}")
            axes.grid()
        return figure


@final
@dataclass(frozen=True, kw_only=True)
class RegressionCurves(RunFigure):
    """Predictions against the only column of a dataset, with a panel for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> changed parameters of the run's pipeline; if empty, those of the run are used.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    file: str = "regression_curves.png"

    task: ClassVar[str | None] = "regression"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is a regression on one numeric column; raise UserError otherwise."""
        super().check(experiment, splits)
        dataset = experiment.dataset
        d = dataset.X.shape[1]
        if d != 1 or dataset.nominal:
            columns = f"{dataset.name} has {d} columns, {len(dataset.nominal)} of them nominal"
            raise self.refuse(f"are drawn over one numeric column, but {columns}")
        check_variants(experiment, splits, self.variants.values())

    def draw(self, run: FinishedRun) -> Figure:
        """Draw the training rows and the curve of each variant."""
        X, y = run.select_rows(run.split.train)
        (name,) = X.columns
        margin = MARGIN_SHARE * float(np.ptp(X[name]))
        grid = pd.DataFrame({name: np.linspace(X[name].min() - margin, X[name].max() + margin, CURVE_POINTS)})
        variants = self.variants or {run.learner_name: {}}
        n_panels = len(variants)
        figure, panels = make_panels(n_panels, n_panels, width=9.0 / n_panels, height=3.6, sharex=True, sharey=True)
        for axes, (title, parameters) in zip(panels, variants.items(), strict=True):
            axes.scatter(X[name], y, **DOTS, label="rows")
            curve = predict_values(run.get_variant(parameters), grid, classes=None)  # (m,)
            axes.plot(grid[name], curve, color=CLASS_COLOURS[1], linewidth=1.8, label="prediction")
            axes.grid(axis="y")
            add_title(axes, title, self.describe_scores(run, parameters))
        label_axes(panels, *(self.label_column(run, each) for each in (str(name), run.experiment.dataset.target)))
        add_legend(figure, "", collect_marks(panels))
        return figure
