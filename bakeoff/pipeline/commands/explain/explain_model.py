"""The explanation of a model on given rows: the effect of each column, and the interpretable parts of its learner.

What is explained is the output of the model: a probability for each class, a decision value, the predicted class, or a
number. The importance of a column is the decrease of the score on test rows when its cells are permuted. Partial
dependence is the mean output over some rows when all of them are given the same value in the column. The rules of a
tree and the coefficients of a linear model are taken from the learner itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.commands.explain.tree_rules import MISSING, Feature, Rule, list_rules, trace_features
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.model.permutation import Score, ScoredPart, permute_columns
from bakeoff.pipeline.model.training_record import TrainingRecord
from bakeoff.pipeline.stages.calibration import DECISION, PROBABILITY
from bakeoff.pipeline.stages.preprocessing.transformers import NOMINAL, NUMERIC, ORDERED, find_kind
from bakeoff.pipeline.stages.scoring.predictions import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)
from bakeoff.pipeline.text.wording import count_nouns, format_number

PREDICTION = "predict"
WORDS = {PROBABILITY: "probability of", DECISION: "decision value of", PREDICTION: "share of rows predicted as"}
REPEATS_OF_FOLDS = 5
"""The number of permutations of each column in each of several folds."""
REPEATS_OF_ONE_PART = 20
MAX_DEPENDENCES = 8
"""The number of columns whose partial dependence is shown, unless columns are named."""
GRID_POINTS = 20
MAX_DISTINCT = 12
"""A numeric column with at most this many distinct values is shown at all of them."""
MAX_VALUES = 20
"""If a nominal column has more values, the most frequent ones are shown."""
PERCENTILES = (5.0, 95.0)
"""The percentiles at the ends of the grid, beyond which the model has seen few rows."""
RUG_SHARES = np.linspace(0.005, 0.995, 100)
"""The quantiles that stand for the rows in a picture."""
MAX_ROWS = 1000
"""If there are more rows, this number of rows is sampled."""
INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Subject:
    """A model to explain, with the rows on which it is explained.

    Attributes
    ----------
    name : str
    model : estimator
        A fitted estimator that takes the features of the dataset.
    record : TrainingRecord
    experiment : Experiment
        The experiment of its run.
    rows : DataFrame of shape (m, d)
        The rows used for partial dependence.
    rows_words : str
    parts : sequence of ScoredPart
        Rows with their targets, used for importances; empty if there are none.
    parts_words : str
        A description of these rows, or the reason why there are none.
    facts : tuple of str
        Further sentences on the model.
    """

    name: str
    model: Any
    record: TrainingRecord
    experiment: Experiment
    rows: pd.DataFrame
    rows_words: str
    parts: Sequence[ScoredPart]
    parts_words: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The explanation of a model, with all numbers shown in the terminal and on the page.

    Attributes
    ----------
    name : str
        The name of the model.
    facts : tuple of str
        Sentences on what the model is, on which rows it was fitted, and what is explained.
    outputs : ModelOutputs
    importances : Importances or None
    importance_rows : str
        The rows on which the importances are measured, or the reason why there are none.
    dependences : tuple of Dependence
        The partial dependences on the most important columns, in this order.
    dependence_rows : str
        The rows over which the means are taken.
    dependence_note : str
        Which columns are not shown; empty if all are shown.
    parts : LearnerParts
    units : mapping of str to str
        Column -> the unit of its numbers, if it has one.
    """

    name: str
    facts: tuple[str, ...]
    outputs: ModelOutputs
    importances: Importances | None
    importance_rows: str
    dependences: tuple[Dependence, ...]
    dependence_rows: str
    dependence_note: str
    parts: LearnerParts
    units: Mapping[str, str] = field(default_factory=dict)


def require_columns(columns: Sequence[str], known: Sequence[str]) -> None:
    """Raise UserError if a column is not a feature of the model."""
    for name in columns:
        if name not in known:
            raise UserError(f"explain: columns={name!r} is not a column of the model. {did_you_mean(name, known)}")


def explain_model(subject: Subject, columns: Sequence[str]) -> Explanation:
    """Explain a model.

    Parameters
    ----------
    subject : Subject
    columns : sequence of str
        The columns whose partial dependence is computed; by default the most important ones.
    """
    record, experiment = subject.record, subject.experiment
    outputs = find_outputs(subject.model, record.target, record.positive)
    importances = None
    ranked = list(record.features)
    if subject.parts:
        importances = measure_importances(
            subject.parts,
            partial(score_headline, experiment),
            experiment.headline,
            experiment.headline_metric.greater_is_better,
            derive_seed(experiment.seed, "explanation"),
        )
        ranked = [str(name) for name in importances.columns.index]
    dependences, note = _compute_dependences(
        outputs, subject.rows, columns or ranked, len(columns) or MAX_DEPENDENCES, experiment.seed
    )
    drawn = f"{MAX_ROWS:,} rows, drawn from " if len(subject.rows) > MAX_ROWS else ""
    parts = describe_learner(subject.model, experiment.dataset.X, record.target)
    explained = f"This explains the {outputs.words}."
    if outputs.method == DECISION:
        explained += f" {parts.learner} has no predict_proba; use calibration=platt for probabilities."
    return Explanation(
        name=subject.name,
        facts=(f"{parts.learner} on {record.dataset}, {record.describe_rows()}.", explained, *subject.facts),
        outputs=outputs,
        importances=importances,
        importance_rows=subject.parts_words,
        dependences=dependences,
        dependence_rows=f"{drawn}{subject.rows_words}",
        dependence_note=note,
        parts=parts,
        units={column.name: column.unit for column in record.columns if column.unit},
    )


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
    target : str
    """

    model: Any
    method: str
    names: tuple[str, ...]
    codes: tuple[int, ...] = ()
    target: str = ""

    @property
    def words(self) -> str:
        """The output in words, such as ``probability of each class``."""
        if not self.codes:
            return f"prediction of {self.names[0]}"
        return f"{WORDS[self.method]} {'each class' if len(self.names) > 1 else f'{self.target}={self.names[0]}'}"

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
            # With two classes, the decision value belongs to the second one.
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
    return ModelOutputs(model, method, tuple(classes[code] for code in codes), codes, target)


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
        {"mean": values.mean(axis=1), "deviation": values.std(axis=1, ddof=1)}, drawn[0].X.columns.rename("column")
    )
    words = metric.replace("_", " ")
    return Importances(
        metric=words,
        change=f"{'fall' if greater_is_better else 'rise'} in {words}",
        score=float(np.mean([score(part.model, part.X, part.y, part.weights) for part in drawn])),
        columns=columns.sort_values("mean", ascending=False, kind="stable"),
        spread=f"{len(drawn)} folds" if len(drawn) > 1 else f"{repeats} permutations",
    )


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
    rug : ndarray
        Quantiles of the numbers in the column, each for an equal share of the rows; empty for other kinds.
    """

    column: str
    points: tuple[Point, ...]
    means: np.ndarray
    note: str
    rug: np.ndarray


def _compute_dependences(
    outputs: ModelOutputs, rows: pd.DataFrame, columns: Sequence[str], most: int, seed: int
) -> tuple[tuple[Dependence, ...], str]:
    """Return the partial dependence on the first columns that have one, and the columns not shown."""
    row_seed = derive_seed(seed, "explanation rows")
    shown: list[Dependence] = []
    for position, name in enumerate(columns):
        if len(shown) == most:
            left = count_nouns(len(columns) - position, "less important column is", "less important columns are")
            return tuple(shown), f"{left} not shown; choose columns with columns=[…]"
        found = compute_dependence(outputs, rows, name, row_seed)
        if found is not None:
            shown.append(found)
    named = [each.column for each in shown]
    without = [name for name in columns if name not in named]
    note = f"not shown, because they hold text, dates or a single value: {', '.join(without)}" if without else ""
    return tuple(shown), note


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
    positions = [point.position for point in points if point.position is not None]
    quantiles = X[column].dropna().quantile(RUG_SHARES).to_numpy(float) if positions else np.empty(0)
    rug = quantiles[(quantiles >= min(positions, default=0)) & (quantiles <= max(positions, default=0))]
    return Dependence(column, tuple(points), np.array(means), note, rug)


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


@dataclass(frozen=True)
class LearnerParts:
    """The interpretable parts of a fitted learner.

    Attributes
    ----------
    learner : str
        The name of its class.
    rules : tuple of Rule
        The rules; empty unless the learner is one of bakeoff's trees.
    coefficients : DataFrame or None
        Feature × output, per unit of the feature as the learner receives it, the largest first; the intercept is last.
    notes : tuple of str
        Notes on how to interpret these parts.
    """

    learner: str
    rules: tuple[Rule, ...] = ()
    coefficients: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def describe_learner(model: Any, X: pd.DataFrame, target: str) -> LearnerParts:
    """Return the interpretable parts of the learner of a fitted model.

    Parameters
    ----------
    model : estimator
        A pipeline, or a wrapper that calibrates, thresholds or transforms its output.
    X : DataFrame of shape (m, d)
        Rows of the dataset.
    target : str
        The name of the target.
    """
    notes: list[str] = []
    while not isinstance(model, Pipeline):
        if isinstance(model, TransformedTargetRegressor):
            notes.append("The following describes the learner, which predicts the transformed target.")
            model = model.regressor_
        elif hasattr(model, "calibrated_classifiers_"):
            notes.append("The following describes the learner before its probabilities are calibrated.")
            model = model.calibrated_classifiers_[0].estimator
        elif hasattr(model, "threshold"):
            notes.append("The following describes the learner before the run's threshold is applied.")
            model = model.estimator_
        elif hasattr(model, "estimator"):  # scikit-learn's FrozenEstimator
            model = model.estimator
        else:
            model = Pipeline([("learner", model)])
    learner: Any = model[-1]
    name = type(learner).__name__
    if hasattr(learner, "fitted_tree_"):
        rules = list_rules(learner, trace_features(model, X))
        return LearnerParts(name, rules=tuple(rules), notes=tuple(notes))
    if getattr(learner, "coef_", None) is None:
        return LearnerParts(name)
    coefficients = _list_coefficients(learner, trace_features(model, X), target)
    return LearnerParts(name, coefficients=coefficients, notes=tuple(notes))


def _list_coefficients(learner: Any, features: Sequence[Feature], target: str) -> pd.DataFrame | None:
    """Return the coefficients of a linear model with its feature names, or None if the names do not match."""
    coefficients = np.atleast_2d(np.asarray(learner.coef_, dtype=np.float64))  # (outputs, k)
    if coefficients.shape[1] != len(features):
        return None
    order = np.argsort(-np.abs(coefficients).max(axis=0), kind="stable")
    outputs = _name_outputs(learner, len(coefficients), target)
    words = [features[position].words for position in order]
    table = pd.DataFrame(coefficients.T[order], index=pd.Index(words, name="column"), columns=outputs)
    intercepts = np.ravel(getattr(learner, "intercept_", []))
    if len(intercepts) == len(outputs):
        table.loc[INTERCEPT] = intercepts
    return table


def _name_outputs(learner: Any, n_outputs: int, target: str) -> list[str]:
    """Return the class, the pair of classes, or the target to which each row of coefficients refers."""
    if not hasattr(learner, "classes_"):
        return [target]
    classes = [str(label) for label in learner.classes_]
    if n_outputs == 1:
        return [classes[-1]]
    # With three classes there are as many pairs as classes.
    is_of_pairs = hasattr(learner, "support_") and learner.get_params().get("multi_class", "ovo") == "ovo"
    if n_outputs == len(classes) and not is_of_pairs:
        return classes
    return [f"{one} or {other}" for i, one in enumerate(classes) for other in classes[i + 1 :]]
