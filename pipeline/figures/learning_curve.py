"""Learning curves: the score on training and test rows against the number of training rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FoldResult, evaluate_split
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.figures.drawing.bands import TEST_STYLE, TRAINING_STYLE, draw_band, is_number, style_scores
from bakeoff.pipeline.figures.drawing.panels import add_title, make_panels
from bakeoff.pipeline.figures.finished_run import FinishedRun
from bakeoff.pipeline.figures.run_figure import TabulatedFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_percent
from bakeoff.pipeline.text.words import count_nouns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE_LETTERS = 105
"""The table has the whole reason."""
DEFAULT_SIZES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@final
@dataclass(frozen=True, kw_only=True)
class LearningCurve(TabulatedFigure):
    """The headline score on training and test rows of every fold against the number of training rows.

    The whole procedure of the run (preprocessing, tuning, fit, pruning) is repeated on a part of the training rows of
    each fold; validation and test rows stay the same. A larger part contains the smaller ones, with each class in
    proportion. Where the rows are in chronological order, a part is the latest of them.

    Parameters
    ----------
    sizes : sequence of float
        Fractions of the training rows, above 0 and at most 1.
    """

    sizes: Sequence[float] = DEFAULT_SIZES
    file: str = "learning_curve.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the sizes are fractions; UserError if not."""
        super().check(experiment, splits)
        is_list = isinstance(self.sizes, Sequence) and not isinstance(self.sizes, str) and len(self.sizes) > 0
        if not is_list or not all(is_number(size) and 0 < size <= 1 for size in self.sizes):
            raise UserError(
                f"figures: LearningCurve.sizes={self.sizes!r} must be a list of fractions of the training rows, above "
                "0 and at most 1, such as [0.1,0.3,1]."
            )

    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return a line for each size and fold: the rows, both scores, and why there are none."""
        lines = [line for fold in run.folds for line in self._measure_fold(run, fold)]
        table = pd.DataFrame(lines)
        return table.sort_values(["size", "fold"], kind="stable", ignore_index=True)

    def _measure_fold(self, run: FinishedRun, fold: FoldResult) -> Iterator[dict[str, Any]]:
        """Yield the scores of a fold for each size."""
        experiment = run.experiment
        ordered = order_rows(experiment, fold)
        for size in sorted(set(self.sizes)):
            n_rows = max(1, round(size * len(ordered)))
            # All rows are what the fold was fitted on, so that its result is there.
            result: FoldResult | None = fold
            reason = ""
            if n_rows < len(ordered):
                result, reason = _evaluate_part(experiment, fold, np.sort(ordered[:n_rows]))
            yield {
                "size": size,
                "rows": n_rows,
                "fold": fold.number,
                "train": _get_score(result, f"train_{experiment.headline}"),
                "test": _get_score(result, f"test_{experiment.headline}"),
                "reason": reason,
            }

    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw means over the folds, and their standard deviation as a band."""
        experiment = run.experiment
        figure, panels = make_panels(1, width=7.2, height=3.9)
        axes = panels[0, 0]
        # Training parts of different folds may differ by a row or two.
        n_rows = table.groupby("size")["rows"].mean().to_numpy()  # (sizes,)
        for part, style in (("train", TRAINING_STYLE), ("test", TEST_STYLE)):
            scores = table.pivot_table(index="size", columns="fold", values=part, dropna=False)
            draw_band(axes, n_rows, scores.to_numpy(), style)
        axes.set(xlabel="training rows")
        axes.set_xlim(left=0)
        style_scores(axes, self.get_label(experiment.headline))
        note = run.describe_folds()
        undefined = table[table["test"].isna()]
        if len(undefined):
            sizes = ", ".join(format_percent(size) for size in undefined["size"].unique())
            place = f"{sizes} of the rows in {count_nouns(undefined['fold'].nunique(), 'fold')}"
            sentence = f"no score at {place}: {undefined['reason'].iloc[0]}"
            note += "\n" + shorten(sentence, NOTE_LETTERS, placeholder=" …")
        add_title(axes, f"{self.get_label(run.learner_name)} on {experiment.dataset.name}", note)
        return figure


def order_rows(experiment: Experiment, fold: FoldResult) -> np.ndarray:
    """Return the training rows of a fold in an order of which each beginning is a part to learn from.

    Parameters
    ----------
    experiment : Experiment
    fold : FoldResult

    Returns
    -------
    ndarray of int
        The latest rows first if rows are in chronological order; else shuffled, so that each class has about the same
        share in every beginning.
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
    # The i-th of the k rows of a class stands at (i + 1/2) / k of the order.
    place = (grouped.cumcount() + 0.5) / grouped.transform("size")  # (n,)
    return shuffled[np.argsort(place.to_numpy(), kind="stable")]


def _evaluate_part(experiment: Experiment, fold: FoldResult, rows: np.ndarray) -> tuple[FoldResult | None, str]:
    """Return the result of a fold that is trained on some of its rows, or None and the learner's reason."""
    split = replace(fold.split, train=rows)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evaluate_split(experiment, fold.number, split), ""
    except (ValueError, UserError) as error:
        # Few rows may be of one class only, or fewer than the neighbours that are asked for.
        return None, str(error).splitlines()[0]


def _get_score(result: FoldResult | None, name: str) -> float:
    return float("nan") if result is None else result.scores.get(name, float("nan"))
