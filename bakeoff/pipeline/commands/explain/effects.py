"""The effect of each column on the output and the score of a model.

The output is a probability for each class, a decision value, the predicted class, or a number. The importance of a
column is the decrease of the score on test rows when its cells are permuted. Partial dependence is the mean output over
some rows when all of them are given the same value in the column.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.permutation import Score, ScoredPart, permute_columns
from bakeoff.pipeline.model.tree_rules import MISSING
from bakeoff.pipeline.stages.calibration import DECISION, PROBABILITY
from bakeoff.pipeline.stages.preprocessing.join_steps import NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.stages.scoring.outputs import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)
from bakeoff.pipeline.text.wording import format_number

PREDICTION = "predict"
WORDS = {PROBABILITY: "probability of", DECISION: "decision value of", PREDICTION: "share of rows predicted as"}


@final
@dataclass(frozen=True)
class ModelOutputs:
    """The k numbers that a model predicts for each row.

    Attributes
    ----------
    model : estimator
        A fitted estimator that takes the columns of the dataset.
    method : {"predict_proba", "decision_function", "predict"}
        The method that computes the numbers; for classes, ``predict`` gives 1 for the predicted class and 0 for others.
    names : tuple of k str
        The classes, or only the positive one of two; for regression, the target.
    codes : tuple of k int
        The positions of these classes among the classes of the model; empty for regression.
    """

    model: Any
    method: str
    names: tuple[str, ...]
    codes: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """The output in words, such as ``probability of each class``."""
        what = "each class" if len(self.names) > 1 else self.names[0]
        return f"{WORDS[self.method] if self.codes else 'prediction of'} {what}"

    def compute(self, X: pd.DataFrame) -> np.ndarray:
        """Return the numbers for rows X (m, d) in an array of shape (m, k).

        Raises
        ------
        InvalidPredictions
            The model does not produce such numbers.
        """
        if not self.codes:
            return predict_values(self.model, X, classes=None).astype(np.float64)[:, np.newaxis]
        if self.method == PROBABILITY:
            return predict_probabilities(self.model, X).astype(np.float64)[:, list(self.codes)]
        if self.method == DECISION:
            scores = compute_decision(self.model, X).astype(np.float64)[:, np.newaxis]
            # The decision value for two classes is that of the second one.
            return scores if self.codes[0] else -scores
        classes = get_classes(self.model)
        codes = locate_labels(predict_values(self.model, X, classes), classes)  # (m,)
        return (codes[:, np.newaxis] == self.codes).astype(np.float64)


def find_outputs(model: Any, target: str, positive: str | None) -> ModelOutputs:
    """Choose which output of a model to explain.

    Probabilities are preferred, then the decision value for two classes, then predictions: with more classes, some
    learners return a decision value for each pair.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    target : str
        The name of the target.
    positive : str or None
        The positive class, if there is one.
    """
    if not hasattr(model, "classes_"):
        return ModelOutputs(model, PREDICTION, (target,))
    classes = [str(label) for label in model.classes_]
    is_binary = len(classes) == 2
    codes = tuple(range(len(classes)))
    if is_binary:
        codes = (classes.index(positive) if positive in classes else 1,)
    method = PREDICTION
    if hasattr(model, PROBABILITY):
        method = PROBABILITY
    elif is_binary and hasattr(model, DECISION):
        method = DECISION
    return ModelOutputs(model, method, tuple(classes[code] for code in codes), codes)


REPEATS_OF_FOLDS = 5
"""The number of permutations of each column in each of several folds."""
REPEATS_OF_ONE_PART = 20


@dataclass(frozen=True)
class Importances:
    """The importance of every column for one score.

    Attributes
    ----------
    metric : str
        The name of the score in words.
    change : str
        How the score changes when an informative column is permuted.
    score : float
        The mean score of the parts before anything is permuted.
    columns : DataFrame of shape (d, 2)
        The ``mean`` decrease of the score, positive if a column is informative, and its ``deviation``; most important
        first.
    spread : str
        What the standard deviations are computed over.
    """

    metric: str
    change: str
    score: float
    columns: pd.DataFrame
    spread: str


def measure_importances(
    parts: Sequence[ScoredPart], score: Score, metric: str, greater_is_better: bool, seed: int
) -> Importances:
    """Return the permutation importance of every column.

    Parameters
    ----------
    parts : sequence of ScoredPart
        The test rows of each fold, with its model.
    score : callable
    metric : str
    greater_is_better : bool
    seed : int
    """
    generator = np.random.default_rng(seed)
    drawn = [part.draw(generator) for part in parts]
    repeats = REPEATS_OF_FOLDS if len(drawn) > 1 else REPEATS_OF_ONE_PART
    losses = [
        permute_columns(part, score, greater_is_better, repeats, seed + number) for number, part in enumerate(drawn)
    ]
    values = np.stack([part.mean(axis=1) for part in losses], axis=1) if len(losses) > 1 else losses[0]
    columns = pd.DataFrame(
        {"mean": values.mean(axis=1), "deviation": values.std(axis=1, ddof=1)}, index=drawn[0].X.columns
    )
    words = metric.replace("_", " ")
    return Importances(
        metric=words,
        change=f"{'fall' if greater_is_better else 'rise'} in {words}",
        score=float(np.mean([score(part.model, part.X, part.y, part.weights) for part in drawn])),
        columns=columns.sort_values("mean", ascending=False, kind="stable"),
        spread=f"{len(drawn)} folds" if len(drawn) > 1 else f"{repeats} permutations",
    )


GRID_POINTS = 20
MAX_DISTINCT = 12
"""A numeric column with at most this many distinct values is shown at all of them."""
MAX_VALUES = 20
"""If a nominal column has more values, the most frequent ones are shown."""
PERCENTILES = (5.0, 95.0)
"""The percentiles at the ends of the grid, beyond which the model has seen few rows."""
MAX_ROWS = 1000
"""If there are more rows, this number of rows is sampled."""


class Point(NamedTuple):
    """A value for which the output of a model is computed.

    Attributes
    ----------
    value : object
        The value, of the type of the cells; None for a missing cell.
    label : str
        The value as text.
    position : float or None
        The value as a number; None if it has none.
    n_rows : int
        The number of rows with this value, or with a number nearer to it than to the other points.
    """

    value: Any
    label: str
    position: float | None
    n_rows: int


@dataclass(frozen=True)
class Dependence:
    """The partial dependence of a model on one column.

    Attributes
    ----------
    column : str
    points : tuple of v Point
        The points in the order of their values, with missing cells last.
    means : ndarray of shape (v, k)
        The mean outputs of the model at each point.
    note : str
        A note on the values that are not shown; empty if all are shown.
    """

    column: str
    points: tuple[Point, ...]
    means: np.ndarray
    note: str


def compute_dependence(outputs: ModelOutputs, X: pd.DataFrame, column: str, seed: int) -> Dependence | None:
    """Return the partial dependence of a model on one column.

    Parameters
    ----------
    outputs : ModelOutputs
    X : DataFrame of shape (m, d)
    column : str
    seed : int
        The seed for sampling rows if there are more than `MAX_ROWS`. Row counts always refer to all rows.

    Returns
    -------
    Dependence or None
        None for text and dates, which have no grid, and for a column with fewer than two values.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29, 2001.
    """
    points, note = choose_points(X[column])
    if len(points) < 2:
        return None
    rows = X
    if len(X) > MAX_ROWS:
        drawn = np.random.default_rng(seed).choice(len(X), MAX_ROWS, replace=False)
        rows = X.iloc[np.sort(drawn)]
    dtype = X[column].dtype
    means = []
    for point in points:
        same = pd.Series([point.value] * len(rows), index=rows.index)
        # A column of whole numbers is also given the points between them.
        is_whole = dtype.kind in "iub" and not pd.isna(point.value)
        changed = rows.assign(**{column: same if is_whole else same.astype(dtype)})
        means.append(outputs.compute(changed).mean(axis=0))
    return Dependence(column, tuple(points), np.array(means), note)


def choose_points(column: pd.Series) -> tuple[list[Point], str]:
    """Choose the values of a column (m,) at which to compute the output, and report which are omitted.

    Examples
    --------
    >>> points, note = choose_points(pd.Series([3.0, 1.0, 1.0, None]))
    >>> [(point.label, point.n_rows) for point in points], note
    ([('1', 2), ('3', 1), ('missing', 1)], '')
    """
    kind = find_kind(column.dtype)
    present = column.dropna()
    if kind in (NOMINAL, ORDERED):
        points, note = _list_values(present)
    elif kind == NUMERIC:
        points, note = _divide_numbers(present.to_numpy(dtype=np.float64))
    else:
        return [], ""
    n_missing = len(column) - len(present)
    return ([*points, Point(None, MISSING, None, n_missing)] if n_missing else points), note


def _list_values(present: pd.Series) -> tuple[list[Point], str]:
    """Return the values of a nominal column in their order, except those that occur in no row."""
    counts = present.value_counts()
    counts = counts[counts > 0]
    frequent = set(counts.index[:MAX_VALUES])
    n_left_out = len(counts) - len(frequent)
    shown = [value for value in present.cat.categories if value in frequent]
    points = [Point(value, str(value), None, int(counts[value])) for value in shown]
    return points, f"{n_left_out} rarer values are not shown" if n_left_out else ""


def _divide_numbers(present: np.ndarray) -> tuple[list[Point], str]:
    """Return all distinct numbers if there are few, or equidistant points between the percentiles."""
    values, counts = np.unique(present, return_counts=True)
    n_beyond = 0
    if len(values) > MAX_DISTINCT:
        low, high = np.percentile(present, PERCENTILES)
        if low == high:
            low, high = values[0], values[-1]
        values, step = np.linspace(low, high, GRID_POINTS, retstep=True)
        # Each row counts at its nearest point; rows more than half a step beyond the ends count at none.
        edges = np.concatenate([values - step / 2, [values[-1] + step / 2]])
        counts, _ = np.histogram(present, edges)
        n_beyond = len(present) - int(counts.sum())
    points = [
        Point(value, format_number(value), value, count)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True)
    ]
    return points, f"{n_beyond} rows lie outside this range" if n_beyond else ""
