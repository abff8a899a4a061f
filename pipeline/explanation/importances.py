"""How much each column matters for the score: what is lost on test rows if its cells are permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.inspection.association import measure_association
from bakeoff.pipeline.stages.preprocessing.join_steps import DATE, NUMERIC, TEXT, find_kind

REPEATS_OF_FOLDS = 5
"""Permutations of each column in each of several folds."""
REPEATS_OF_ONE_PART = 20
MAX_ROWS = 2000
"""Of a larger part, as many rows are drawn."""
MIN_ASSOCIATION = 0.5
"""Columns are related if half of the variance of one is explained by the other."""
MAX_RELATED_COLUMNS = 40
"""Pairs among more columns than this would take longer than the importances."""
MIN_ROWS = 30
"""On fewer rows, no relation is sought."""

Score = Callable[[Any, pd.DataFrame, np.ndarray, np.ndarray | None], float]
"""(model, rows, targets, weights) -> score."""


@dataclass(frozen=True)
class ScoredPart:
    """Rows that a model is scored on, which was fitted on other rows.

    Attributes
    ----------
    model : estimator
    X : DataFrame of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
    """

    model: Any
    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None = None

    def draw(self, generator: np.random.Generator) -> ScoredPart:
        """Return the part with at most `MAX_ROWS` rows; scikit-learn would draw other rows for each column."""
        if len(self.X) <= MAX_ROWS:
            return self
        rows = np.sort(generator.choice(len(self.X), MAX_ROWS, replace=False))
        weights = None if self.weights is None else self.weights[rows]
        return ScoredPart(self.model, self.X.iloc[rows], self.y[rows], weights)


@dataclass(frozen=True)
class Importance:
    """What the score loses if some columns are permuted.

    Attributes
    ----------
    columns : tuple of str
        One, or several that are permuted together.
    mean : float
        Positive where the columns help, whichever direction of the score is better.
    deviation : float
        Standard deviation over the folds, or over the permutations of a single part.
    """

    columns: tuple[str, ...]
    mean: float
    deviation: float


@dataclass(frozen=True)
class Importances:
    """The importance of every column for one score.

    Attributes
    ----------
    metric : str
        In words.
    change : str
        What happens to the score if a column is permuted that helps.
    score : float
        The mean of the parts before anything is permuted.
    columns : tuple of Importance
        Of single columns, the most important first.
    groups : tuple of Importance
        Of related columns, permuted together.
    spread : str
        What the standard deviations are over.
    """

    metric: str
    change: str
    score: float
    columns: tuple[Importance, ...]
    groups: tuple[Importance, ...]
    spread: str


def measure_importances(
    parts: Sequence[ScoredPart], score: Score, metric: str, greater_is_better: bool, seed: int
) -> Importances:
    """Return the permutation importance of every column.

    A column that is permuted keeps its values and loses its relation to the target and to the other columns. Related
    columns stand in for one another, so that they are also permuted together, in the same order.

    Parameters
    ----------
    parts : sequence of ScoredPart
        The test rows of each fold with its own model.
    score : callable
    metric : str
    greater_is_better : bool
    seed : int

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001. A. Fisher, C. Rudin and F. Dominici, "All models are wrong,
    but many are useful", JMLR 20, 2019.
    """
    generator = np.random.default_rng(seed)
    drawn = [part.draw(generator) for part in parts]
    sign = 1.0 if greater_is_better else -1.0

    def score_rows(model: Any, X: pd.DataFrame, y: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
        return sign * score(model, X, y, sample_weight)

    repeats = REPEATS_OF_FOLDS if len(drawn) > 1 else REPEATS_OF_ONE_PART

    losses = [_permute(part.X, part, score_rows, repeats, seed + number) for number, part in enumerate(drawn)]
    singles = _summarize([(str(name),) for name in drawn[0].X.columns], losses)
    singles.sort(key=lambda importance: -importance.mean)
    ranked = [importance.columns[0] for importance in singles]
    related = find_related_columns(pd.concat([part.X for part in drawn], ignore_index=True), ranked)
    together = [
        _permute_together(part, related, score_rows, repeats, seed + number) for number, part in enumerate(drawn)
    ]
    words = metric.replace("_", " ")
    return Importances(
        metric=words,
        change=f"{'fall' if greater_is_better else 'rise'} of {words}",
        score=float(np.mean([score(part.model, part.X, part.y, part.weights) for part in drawn])),
        columns=tuple(singles),
        groups=tuple(_summarize(related, together)),
        spread=f"{len(drawn)} folds" if len(drawn) > 1 else f"{repeats} permutations",
    )


def _permute(table: pd.DataFrame, part: ScoredPart, score: Callable[..., float], repeats: int, seed: int) -> np.ndarray:
    """Return what the score of a part loses if each column of a table (m, k) is permuted, of shape (k, repeats)."""
    from sklearn.inspection import permutation_importance

    result: Any = permutation_importance(
        part.model,
        table,
        part.y,
        scoring=score,
        n_repeats=repeats,
        sample_weight=part.weights,
        random_state=seed,
    )
    losses: np.ndarray = result.importances
    return losses


def _permute_together(
    part: ScoredPart, groups: Sequence[tuple[str, ...]], score: Callable[..., float], repeats: int, seed: int
) -> np.ndarray:
    """Return what the score of a part loses if the columns of each of g groups are permuted, of shape (g, repeats)."""
    # What scikit-learn permutes are the numbers of the rows from which the columns of each group take their cells.
    sources = pd.DataFrame({number: np.arange(len(part.X)) for number in range(len(groups))})

    def score_sources(model: Any, taken: pd.DataFrame, y: np.ndarray, **weights: np.ndarray) -> float:
        moved = {
            name: part.X[name].array.take(taken[number].to_numpy())
            for number, group in enumerate(groups)
            for name in group
        }
        return score(model, part.X.assign(**moved), y, **weights)

    return _permute(sources, part, score_sources, repeats, seed) if groups else np.empty((0, repeats))


def _summarize(groups: Sequence[tuple[str, ...]], losses: Sequence[np.ndarray]) -> list[Importance]:
    """Return mean and standard deviation of the losses (g, repeats) in each part, for each of g groups of columns."""
    values = np.stack([part.mean(axis=1) for part in losses], axis=1) if len(losses) > 1 else losses[0]
    means = values.mean(axis=1)
    deviations = values.std(axis=1, ddof=1)
    return [Importance(*each) for each in zip(groups, means.tolist(), deviations.tolist(), strict=True)]


def find_related_columns(X: pd.DataFrame, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return groups of columns, in each of which every column explains another one or is explained by it.

    Parameters
    ----------
    X : DataFrame of shape (m, d)
    columns : sequence of str
        Those to look at, the most important first; of more than `MAX_RELATED_COLUMNS`, the first ones.

    Returns
    -------
    list of tuple of str
        At least two columns each, in the order of `columns`.
    """
    looked_at = [name for name in columns if find_kind(X[name].dtype) != TEXT][:MAX_RELATED_COLUMNS]
    group_of = {name: number for number, name in enumerate(looked_at)}
    for one, other in combinations(looked_at, 2):
        if group_of[one] != group_of[other] and (_explains(X[one], X[other]) or _explains(X[other], X[one])):
            joined, left = sorted((group_of[one], group_of[other]))
            group_of = {name: joined if group == left else group for name, group in group_of.items()}
    groups: dict[int, list[str]] = {}
    for name, group in group_of.items():
        groups.setdefault(group, []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def _explains(column: pd.Series, explained: pd.Series) -> bool:
    """Return whether a column explains enough of the variance of another, in the rows where that one is known."""
    is_known = explained.notna()
    if is_known.sum() < MIN_ROWS:
        return False
    known = explained[is_known]
    # Numbers count by their ranks, so that few large ones do not decide.
    is_number = find_kind(known.dtype) in (NUMERIC, DATE)
    target = known.rank().to_numpy(dtype=np.float64) if is_number else known.astype(str).to_numpy(dtype=object)
    return measure_association(column[is_known], target) >= MIN_ASSOCIATION
