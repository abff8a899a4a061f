"""How much each column matters for the score: what is lost on test rows if its cells are permuted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.explanation.related_columns import find_related_columns

REPEATS_OF_FOLDS = 5
"""Permutations of each column in each of several folds."""
REPEATS_OF_ONE_PART = 20
MAX_ROWS = 2000
"""Of a larger part, as many rows are drawn."""

Score = Callable[[Any, pd.DataFrame, np.ndarray, np.ndarray | None], float]
"""(model, rows, targets, weights) -> score."""


@dataclass(frozen=True)
class ScoredPart:
    """Rows that a model is scored on.

    Attributes
    ----------
    model : estimator
        Fitted on other rows.
    X : DataFrame of shape (m, d)
    y : ndarray of shape (m,)
    weights : ndarray of shape (m,) or None
    """

    model: Any
    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray | None = None

    def draw(self, generator: np.random.Generator) -> ScoredPart:
        """Return the part with at most `MAX_ROWS` rows."""
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
    greater_is_better : bool
    score : float
        The mean of the parts before anything is permuted.
    columns : tuple of Importance
        Of single columns, the most important first.
    groups : tuple of Importance
        Of columns that say much the same, permuted together.
    n_rows : int
        The rows that were scored, over all parts.
    n_parts : int
    repeats : int
        Permutations of each column in each part.
    """

    metric: str
    greater_is_better: bool
    score: float
    columns: tuple[Importance, ...]
    groups: tuple[Importance, ...]
    n_rows: int
    n_parts: int
    repeats: int

    @property
    def change(self) -> str:
        """What happens to the score if a column is permuted that helps."""
        direction = "fall" if self.greater_is_better else "rise"
        return f"{direction} of {self.metric.replace('_', ' ')}"

    @property
    def spread(self) -> str:
        """What the standard deviations are over."""
        return f"{self.n_parts} folds" if self.n_parts > 1 else f"{self.repeats} permutations"


def measure_importances(
    parts: Sequence[ScoredPart], score: Score, metric: str, greater_is_better: bool, seed: int
) -> Importances:
    """Return the permutation importance of every column.

    A column that is permuted keeps its values and loses its relation to the target and to the other columns. Columns
    that say much the same stand in for one another, so that they are also permuted together, in the same order.

    Parameters
    ----------
    parts : sequence of ScoredPart
        The test rows of each fold with its own model.
    score : callable
    metric : str
    greater_is_better : bool
    seed : int

    Returns
    -------
    Importances

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001. A. Fisher, C. Rudin and F. Dominici, "All models are wrong,
    but many are useful", JMLR 20, 2019.
    """
    generator = np.random.default_rng(seed)
    drawn = [part.draw(generator) for part in parts]
    sign = 1.0 if greater_is_better else -1.0

    def score_part(model: Any, part: ScoredPart, X: pd.DataFrame) -> float:
        return sign * score(model, X, part.y, part.weights)

    baselines = [score_part(part.model, part, part.X) for part in drawn]
    repeats = REPEATS_OF_FOLDS if len(drawn) > 1 else REPEATS_OF_ONE_PART
    names = [str(name) for name in drawn[0].X.columns]
    falls = [_permute_columns(part, score_part, repeats, seed + number) for number, part in enumerate(drawn)]
    singles = [_summarize((name,), [fall[j] for fall in falls]) for j, name in enumerate(names)]
    singles.sort(key=lambda importance: -importance.mean)
    ranked = [importance.columns[0] for importance in singles]
    everything = pd.concat([part.X for part in drawn], ignore_index=True)
    groups = []
    for group in find_related_columns(everything, ranked):
        of_group = partial(_permute_together, columns=group, score_part=score_part, repeats=repeats)
        together = [of_group(part, baseline, generator) for part, baseline in zip(drawn, baselines, strict=True)]
        groups.append(_summarize(group, together))
    return Importances(
        metric=metric,
        greater_is_better=greater_is_better,
        score=sign * float(np.mean(baselines)),
        columns=tuple(singles),
        groups=tuple(groups),
        n_rows=sum(len(part.X) for part in drawn),
        n_parts=len(drawn),
        repeats=repeats,
    )


def _permute_columns(part: ScoredPart, score_part: Callable[..., float], repeats: int, seed: int) -> np.ndarray:
    """Return what the score of a part loses if each column is permuted, of shape (d, repeats)."""
    from sklearn.inspection import permutation_importance

    result: Any = permutation_importance(
        part.model,
        part.X,
        part.y,
        scoring=lambda model, rows, targets: score_part(model, part, rows),
        n_repeats=repeats,
        random_state=seed,
    )
    losses: np.ndarray = result.importances
    return losses


def _permute_together(
    part: ScoredPart,
    baseline: float,
    generator: np.random.Generator,
    *,
    columns: Sequence[str],
    score_part: Callable[..., float],
    repeats: int,
) -> np.ndarray:
    """Return what the score of a part loses if some columns are permuted in the same order, of shape (repeats,)."""
    losses = np.empty(repeats)
    for repeat in range(repeats):
        order = generator.permutation(len(part.X))
        permuted = part.X.copy()
        for name in columns:
            permuted[name] = part.X[name].array.take(order)
        losses[repeat] = baseline - score_part(part.model, part, permuted)
    return losses


def _summarize(columns: tuple[str, ...], losses: Sequence[np.ndarray]) -> Importance:
    """Return mean and standard deviation of the losses in each part, of shape (repeats,) each."""
    values = np.array([part.mean() for part in losses]) if len(losses) > 1 else losses[0]
    return Importance(columns, float(values.mean()), float(values.std(ddof=1)))
