"""Tuning: choose hyperparameters on the validation part, or by inner cross-validation of the training part.

Preprocessing is fitted inside each inner fold, once for all candidates; the test rows are never seen. A learner that
can fit many values of a parameter together (`PathEstimator`) does so.
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

Grid = Mapping[str, Sequence[Any]]
"""Parameter -> values; its candidates are all combinations."""


@runtime_checkable
class PathEstimator(Protocol):
    """A learner that fits many values of one parameter for little more than the cost of one.

    The k nearest neighbours are among the k + 1 nearest, and a shallow tree is the top of a deeper one: such work is
    done once. Each estimator is equal to one that is fitted anew with that value (to the solver's tolerance, if one
    solution is the starting point of the next), and does not change when the iterator advances. A table of numbers
    may be given as a plain array.
    """

    path_parameters: ClassVar[tuple[str, ...]]

    def path(
        self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None
    ) -> Iterator[BaseEstimator]:
        """Yield a fitted estimator for each value, in the order given; the learner itself does not change."""


@dataclass(frozen=True)
class TuningData:
    """The rows that tuning may see, and the score to optimize.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Training rows, then validation rows if tuning may use them.
    y : ndarray of shape (n,)
    n_train : int
        The number of training rows.
    score : callable
        (fitted learner, prepared X, y) -> float, in the metric's natural sign.
    greater_is_better : bool
    is_classification : bool
        Whether y holds labels, whose proportions the inner folds keep.
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
    """Leave the learner's parameters unchanged."""

    folds: int = 0
    needs_rows: bool = False

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model unchanged, and no table of candidates."""
        return model, None


@dataclass(frozen=True)
class GridTuning:
    """Try every combination of a space.

    Parameters
    ----------
    space : mapping or sequence of mappings
        Learner's parameter -> list of values; several mappings are several grids.
    folds : int
        The number of inner folds of the training rows; 0 scores on the validation part instead.
    """

    space: Grid | Sequence[Grid] | None
    folds: int = 0

    def __post_init__(self) -> None:
        is_count = isinstance(self.folds, int) and not isinstance(self.folds, bool)
        if not is_count or self.folds == 1 or self.folds < 0:
            raise UserError(
                f"tuning.folds={self.folds!r} must be 0 (score on the validation part) or an integer of at least 2."
            )
        for grid in self.grids:
            for name, values in grid.items():
                if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                    raise UserError(f"space.{name}={values!r} must be a list of values to try.")
        if not any(self.grids):
            raise UserError(
                "tuning=grid has no space: set +space.PARAMETER=[...], or space=NAME to use a file in conf/space."
            )

    @property
    def grids(self) -> list[Grid]:
        """The space as a list of grids."""
        return [self.space] if isinstance(self.space, Mapping) else list(self.space or [])

    @property
    def needs_rows(self) -> bool:
        """Whether candidates are scored on the validation part."""
        return self.folds == 0

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model with the best parameters, not fitted, and the table of candidates.

        Ties go to the first candidate, in the order of scikit-learn's ``ParameterGrid``: parameters in alphabetical
        order, values in the order given, the last parameter fastest.
        """
        candidates = list(ParameterGrid([dict(grid) for grid in self.grids]))
        inner_splits = self._make_inner_splits(data)
        scores = np.empty((len(candidates), len(inner_splits)))
        seconds = np.empty_like(scores)
        for number, (train, validation) in enumerate(inner_splits):
            # Candidates differ in parameters of the learner alone, so the rows are preprocessed once for all.
            X, Q = preprocess_tables(model, data.X.iloc[train], data.y[train], data.X.iloc[validation])
            for position, learner, fit_seconds in fit_candidates(model[-1], self.grids, X, data.y[train]):
                scores[position, number] = data.score(learner, Q, data.y[validation])
                seconds[position, number] = fit_seconds
        mean_scores = scores.mean(axis=1)  # (number of candidates,)
        best_params = candidates[find_best_candidate(mean_scores, data.greater_is_better)]
        learner_params = {f"learner__{name}": value for name, value in best_params.items()}
        best_model: Pipeline = clone(model).set_params(**learner_params)
        table = pd.DataFrame(candidates)
        table = table.assign(validation_score=mean_scores, fit_seconds=seconds.mean(axis=1))
        return best_model, table

    def _make_inner_splits(self, data: TuningData) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each inner fold, the rows to fit on and the rows to score on."""
        train = np.arange(data.n_train)
        if self.folds == 0:
            return [(train, np.arange(data.n_train, len(data.y)))]
        y = data.y[train]
        # Without enough rows of each class, scikit-learn would warn or raise.
        can_stratify = data.is_classification and np.unique(y, return_counts=True)[1].min() >= self.folds
        k_fold = StratifiedKFold if can_stratify else KFold
        splitter = k_fold(self.folds, shuffle=True, random_state=data.seed)
        return list(splitter.split(train, y))


def preprocess_tables(model: Pipeline, X: pd.DataFrame, y: np.ndarray, *others: pd.DataFrame) -> list[Any]:
    """Fit copies of the steps before the learner, and return the transformed tables, X first.

    Parameters
    ----------
    model : Pipeline
        It does not change.
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    *others : DataFrame
        Of the same columns; only transformed.
    """
    steps = clone(Pipeline([("table", "passthrough"), *model.steps[:-1]]))
    tables = [steps.fit_transform(X, y)]
    tables += [steps.transform(other) for other in others]
    return [_drop_column_names(model[-1], table) for table in tables]


def fit_candidates(
    learner: BaseEstimator, grids: Sequence[Grid], X: Any, y: np.ndarray
) -> Iterator[tuple[int, BaseEstimator, float]]:
    """Fit the learner with every combination of the grids, along a path if it is a `PathEstimator`.

    Parameters
    ----------
    learner : estimator
        It does not change.
    grids : sequence of mappings
        Parameter -> values.
    X : table of shape (n, d)
    y : ndarray of shape (n,)

    Yields
    ------
    position : int
        The candidate's position in scikit-learn's ``ParameterGrid(grids)``; each comes once, in any order.
    fitted : estimator
    seconds : float
        Wall time of its fit; the first of a path includes the work that the path shares.
    """
    n_before = 0
    for grid in grids:
        candidates = list(ParameterGrid(dict(grid)))
        parameter = _choose_path_parameter(learner, grid)
        for positions in _group_candidates(grid, parameter):
            # All candidates of a group share the parameters of its first one, except the one along the path.
            shared = clone(learner).set_params(**candidates[positions[0]])
            # A value of the grid may be an estimator, which must not be fitted itself.
            fits = _iter_fits(clone(shared), grid, parameter, X, y)
            for position in positions:
                started = time.perf_counter()
                fitted = next(fits)
                yield n_before + position, fitted, time.perf_counter() - started
        # Positions count through all grids, as in ParameterGrid.
        n_before += len(candidates)


def _iter_fits(learner: Any, grid: Grid, parameter: str | None, X: Any, y: np.ndarray) -> Iterator[BaseEstimator]:
    """Yield the fitted learner, or one for each value of the parameter."""
    if parameter is None:
        yield learner.fit(X, y)
    else:
        yield from learner.path(X, y, parameter, grid[parameter])


def _drop_column_names(learner: Any, table: Any) -> Any:
    """Return a numeric table as an array if column names are not needed: checking them costs time per candidate."""
    names_columns = getattr(learner, "categorical_features", "from_dtype") != "from_dtype"
    if not isinstance(learner, PathEstimator) or not isinstance(table, pd.DataFrame) or names_columns:
        return table
    is_numeric = all(dtype == np.float64 for dtype in table.dtypes)
    return table.to_numpy() if is_numeric else table


def find_best_candidate(scores: np.ndarray, greater_is_better: bool) -> int:
    """Return the position of the first of the best scores that are defined.

    Parameters
    ----------
    scores : ndarray of shape (number of candidates,)
        In the metric's natural sign.
    greater_is_better : bool

    Raises
    ------
    UserError
        No score is defined.
    """
    if np.isnan(scores).all():
        raise UserError("tuning: the headline metric is not defined on the inner validation rows for any candidate.")
    return int(np.nanargmax(scores) if greater_is_better else np.nanargmin(scores))


def _choose_path_parameter(learner: Any, grid: Grid) -> str | None:
    """Return the parameter with the most values among those that the learner has a path along, or None."""
    if not isinstance(learner, PathEstimator):
        return None
    names = [name for name in sorted(grid) if name in learner.path_parameters and len(grid[name]) > 1]
    return max(names, key=lambda name: len(grid[name]), default=None)


def _group_candidates(grid: Grid, parameter: str | None) -> list[list[int]]:
    """Group the candidates, by position in their grid, that differ in one parameter only; each alone if None.

    Examples
    --------
    >>> _group_candidates({"depth": [1, 2, 3], "weights": ["equal", "distance"]}, "depth")
    [[0, 2, 4], [1, 3, 5]]
    """
    names = sorted(grid)  # the order of ParameterGrid, the last parameter fastest
    shape = [len(grid[name]) for name in names]
    positions = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    if parameter is None:
        return positions.reshape(-1, 1).tolist()
    groups = np.moveaxis(positions, names.index(parameter), -1)
    return groups.reshape(-1, len(grid[parameter])).tolist()
