"""Tuning: pick hyperparameters from a space, on the validation part or by inner cross-validation of the training part.

Preprocessing is fitted inside each inner fold, once for all candidates; the test rows are never seen.  Where a learner
can fit a whole sequence of values together (`PathEstimator`), it is asked to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError


@runtime_checkable
class PathEstimator(Protocol):
    """What a learner has that fits many values of one parameter for little more than one.

    The k nearest neighbours are among the k + 1 nearest, and a shallow tree is the top of a deeper one: such work is
    done once.  Each estimator is equal to one fitted anew with that value (to the solver's tolerance where one
    solution is the start of the search for the next), and stays so when the iterator goes on.  A table of numbers may
    come as a plain array.
    """

    path_parameters: ClassVar[tuple[str, ...]]

    def path(
        self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None
    ) -> Iterator[BaseEstimator]:
        """Yield a fitted estimator for each value, in the order given; the learner itself stays as it is."""


@dataclass(frozen=True)
class TuningData:
    """The rows that tuning may see, and what is to be made as good as possible.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Training rows, then validation rows where tuning may use them.
    y : ndarray of shape (n,)
    n_train : int
        How many of the rows are for training.
    score : callable
        (fitted learner, prepared X, y) -> float, in the metric's natural sign.
    greater_is_better : bool
    is_classification : bool
        Whether y are labels, kept in proportion over the inner folds.
    seed : int
        Of the inner folds.
    """

    X: pd.DataFrame
    y: np.ndarray
    n_train: int
    score: Callable[[BaseEstimator, pd.DataFrame, np.ndarray], float]
    greater_is_better: bool
    is_classification: bool
    seed: int


@dataclass(frozen=True)
class NoTuning:
    """Take the learner as it is written."""

    folds: int = 0
    needs_rows: bool = False

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model unchanged."""
        return model, None


@dataclass(frozen=True)
class GridTuning:
    """Try every combination of a space.

    Parameters
    ----------
    space : mapping or sequence of mappings
        Learner's parameter -> list of values; several mappings are several grids.
    folds : int
        Inner folds of the training rows; 0 scores on the validation part instead.
    """

    space: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None
    folds: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds == 1 or self.folds < 0:
            raise UserError(
                f"tuning.folds={self.folds!r} must be 0 (score on the validation part) or a whole number from 2."
            )
        for grid in self.grids:
            for name, values in grid.items():
                if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                    raise UserError(f"space.{name}={values!r} must be a list of values to try.")
        if not any(self.grids):
            raise UserError(
                "tuning=grid has no space: give +space.PARAMETER=[...], or space=NAME of a file in conf/space."
            )

    @property
    def grids(self) -> list[Mapping[str, Sequence[Any]]]:
        """The space as a list of grids."""
        return [self.space] if isinstance(self.space, Mapping) else list(self.space or [])

    @property
    def needs_rows(self) -> bool:
        """Whether candidates are scored on the validation part."""
        return self.folds == 0

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model with the best parameters, not fitted, and the table of candidates.

        Of equal candidates the first wins: parameters in alphabetical order, values in their own, the last parameter
        fastest.
        """
        candidates = list(ParameterGrid([dict(grid) for grid in self.grids]))
        inner = self._inner(data)
        scores, seconds = np.empty((2, len(candidates), len(inner)))
        for number, (train, validation) in enumerate(inner):
            X, Q = preprocess_tables(model, data.X.iloc[train], data.y[train], data.X.iloc[validation])
            for place, learner, lap in fit_candidates(model[-1], self.grids, X, data.y[train]):
                scores[place, number] = data.score(learner, Q, data.y[validation])
                seconds[place, number] = lap
        mean = scores.mean(axis=1)
        chosen = candidates[_first_best(mean if data.greater_is_better else -mean)]
        best: Pipeline = clone(model).set_params(**{f"learner__{name}": value for name, value in chosen.items()})
        table = pd.DataFrame(candidates)
        return best, table.assign(validation_score=mean, fit_seconds=seconds.mean(axis=1))

    def _inner(self, data: TuningData) -> list[tuple[np.ndarray, np.ndarray]]:
        rows = np.arange(data.n_train)
        if self.folds == 0:
            return [(rows, np.arange(data.n_train, len(data.y)))]
        y = data.y[rows]
        smallest = np.unique(y, return_counts=True)[1].min() if data.is_classification else 0
        kind = StratifiedKFold if smallest >= self.folds else KFold
        return list(kind(self.folds, shuffle=True, random_state=data.seed).split(rows, y))


def preprocess_tables(model: Pipeline, X: pd.DataFrame, y: np.ndarray, *others: pd.DataFrame) -> list[Any]:
    """Fit copies of the steps before the learner; return the tables, X first, as the learner is to see them.

    Parameters
    ----------
    model : Pipeline
        Stays as it is.
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    *others : DataFrame
        Of the same columns; only transformed.
    """
    steps = clone(Pipeline([("table", "passthrough"), *model.steps[:-1]]))
    tables = [steps.fit_transform(X, y), *map(steps.transform, others)]
    return [_bare(model[-1], table) for table in tables]


def fit_candidates(
    learner: BaseEstimator, grids: Sequence[Mapping[str, Sequence[Any]]], X: Any, y: np.ndarray
) -> Iterator[tuple[int, BaseEstimator, float]]:
    """Fit the learner with every combination of the grids, along a `PathEstimator` where it has one.

    Parameters
    ----------
    learner : estimator
        Stays as it is.
    grids : sequence of mappings
        Parameter -> values.
    X : table of shape (n, d)
    y : ndarray of shape (n,)

    Yields
    ------
    place : int
        The candidate's position in scikit-learn's ``ParameterGrid(grids)``; each comes once, in any order.
    fitted : estimator
    seconds : float
        Wall time until it was there; the first of a path bears what the path shares.
    """
    first = 0
    for grid in grids:
        candidates = list(ParameterGrid(dict(grid)))
        along = _path_parameter(learner, grid)
        for places in _groups(grid, along):
            common = clone(clone(learner).set_params(**candidates[places[0]]))
            fits = (common.fit(X, y) for _ in places) if along is None else common.path(X, y, along, grid[along])
            for place in places:
                started = time.perf_counter()
                fitted = next(fits)
                yield first + place, fitted, time.perf_counter() - started
        first += len(candidates)


def _bare(learner: Any, table: Any) -> Any:
    """Return a table of numbers as an array, where no name matters: each candidate would look at every name again."""
    named = getattr(learner, "categorical_features", "from_dtype") != "from_dtype"
    if not isinstance(learner, PathEstimator) or not isinstance(table, pd.DataFrame) or named:
        return table
    return table.to_numpy() if all(dtype == np.float64 for dtype in table.dtypes) else table


def _first_best(scores: np.ndarray) -> int:
    if np.isnan(scores).all():
        raise UserError("tuning: the headline metric is not defined on the inner validation rows for any candidate.")
    return int(np.nanargmax(scores))


def _path_parameter(learner: Any, grid: Mapping[str, Sequence[Any]]) -> str | None:
    """Return the parameter with the most values among those that the learner has a path along, or None."""
    names = [name for name in sorted(grid) if isinstance(learner, PathEstimator) and name in learner.path_parameters]
    longest = max(names, key=lambda name: len(grid[name]), default=None)
    return longest if longest is not None and len(grid[longest]) > 1 else None


def _groups(grid: Mapping[str, Sequence[Any]], along: str | None) -> list[list[int]]:
    """Put together the candidates, by position in their grid, that differ in one parameter only; each alone if None.

    Examples
    --------
    >>> _groups({"depth": [1, 2, 3], "weights": ["equal", "distance"]}, "depth")
    [[0, 2, 4], [1, 3, 5]]
    """
    names = sorted(grid)  # the order of ParameterGrid, the last parameter fastest
    shape = [len(grid[name]) for name in names]
    places = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if along is None:
        return places.reshape(-1, 1).tolist()
    return np.moveaxis(places, names.index(along), -1).reshape(-1, len(grid[along])).tolist()
