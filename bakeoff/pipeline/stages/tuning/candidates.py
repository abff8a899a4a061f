"""Candidates: the points of a space that tuning tries, their rows, their fits along a path, and the simplest of them.

Points are numbered across all grids as in scikit-learn's ``ParameterGrid``: parameters in alphabetical order, the last
one varying fastest. It looks points up by arithmetic, so large spaces are never enumerated.

The rule of one standard error chooses the simplest candidate whose mean score is not clearly worse than the best one. A
space declares which values are simpler: ``simpler: {max_depth: smaller, min_samples_leaf: greater}``. Candidates are
ordered by the first parameter, equal ones by the second, and so on. Lists count by their sum, and null has no limit.

References
----------
Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and regression trees, section 3.4.3.
Hastie, T., Tibshirani, R. and Friedman, J. (2009). The elements of statistical learning, section 7.10.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.tuning.score_file import ScoreFile

Grid = Mapping[str, Sequence[Any]]
"""Parameter -> values; its candidates are all combinations."""


def draw_positions(n_points: int, n: int | None, seed: int) -> Sequence[int]:
    """Return at most n point numbers, drawn without replacement, in ascending order; all of them if n is None."""
    if n is None or n >= n_points:
        return range(n_points)
    drawn: list[int] = np.sort(np.random.default_rng(seed).choice(n_points, size=n, replace=False)).tolist()
    return drawn


@runtime_checkable
class PathEstimator(Protocol):
    """A learner that can fit many values of a parameter for little more than the cost of one.

    The k nearest neighbours are among the k + 1 nearest, and a shallow tree is the top of a deeper one; such work is
    shared. Each estimator is equal to one fitted separately with that value (up to the solver's tolerance, if solutions
    are used as starting points), and does not change when the iterator advances. A table of numbers may be given as a
    plain array.
    """

    path_parameters: ClassVar[tuple[str, ...]]

    def path(
        self, X: Any, y: Any, parameter: str, values: Sequence[Any], sample_weight: Any = None
    ) -> Iterator[BaseEstimator]:
        """Yield a fitted estimator for each value, in the given order; the learner itself does not change."""


def keep_model(model: Any) -> Any:
    """Return a model unchanged."""
    return model


@dataclass(frozen=True)
class FitRows:
    """The data on which a learner is fitted: preprocessed rows of its training part, which may be balanced.

    Attributes
    ----------
    X : table of shape (n, d)
    y : ndarray of shape (n,)
        Class labels, or targets, which may be transformed.
    weights : ndarray of shape (n,) or None
    complete : callable
        (fitted learner) -> an estimator that predicts in the units of the target.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    complete: Callable[[Any], Any] = keep_model


def fit_candidates(
    learner: BaseEstimator,
    grids: Sequence[Grid],
    X: Any,
    y: np.ndarray,
    positions: Collection[int] | None = None,
    weights: np.ndarray | None = None,
    seed: int | None = None,
) -> Iterator[tuple[int, Any, float]]:
    """Fit the learner with the combinations of the grids, along a path if it is a `PathEstimator`.

    Parameters
    ----------
    learner : estimator
        It does not change.
    grids : sequence of mappings
        Parameter -> values.
    X : table of shape (n, d)
    y : ndarray of shape (n,)
    positions : collection of int, optional
        The positions of the candidates to fit; all of them by default.
    weights : ndarray of shape (n,), optional
        The weights of the rows; all count equally by default.
    seed : int, optional
        The seed of a random order, in which the candidates of a path stay together; by default that of the grids.

    Yields
    ------
    position : int
        The candidate's position in scikit-learn's ``ParameterGrid(grids)``; each occurs once, in any order.
    fitted : estimator or Exception
        The error of a fit that failed.
    seconds : float
        The wall time of the fit; the first of a path includes the shared work of the path.
    """
    # The candidates that are fitted together, by position, with the parameter along whose path they lie.
    groups: list[tuple[str | None, dict[int, dict[str, Any]]]] = []
    n_before = 0
    for grid in grids:
        candidates = ParameterGrid(grid)
        # Positions are counted across all grids, as in ParameterGrid.
        allowed = range(n_before, n_before + len(candidates))
        numbers = [position - n_before for position in (allowed if positions is None else sorted(positions))]
        numbers = [number for number in numbers if 0 <= number < len(candidates)]
        path = _choose_path_parameter(learner, grid)
        for group in _group_candidates(grid, path, numbers):
            has_path = len(group) > 1
            groups.append((path if has_path else None, {n_before + number: candidates[number] for number in group}))
        n_before += len(candidates)
    order = range(len(groups)) if seed is None else np.random.default_rng(seed).permutation(len(groups))
    for place in order:
        parameter, points = groups[place]
        # All candidates of a group share the parameters of its first one, except the one along the path.
        shared = clone(learner).set_params(**next(iter(points.values())))
        values = [point[parameter] for point in points.values()] if parameter else []
        rows = FitRows(X, y, weights)
        # A value in the grid may be an estimator, which itself must not be fitted.
        fits = _iter_fits(clone(shared), parameter, values, rows)
        for position, point in points.items():
            started = time.perf_counter()
            fitted = next(fits, None)
            if fitted is None:  # the path has ended with an error of one of its values
                fitted = next(_iter_fits(clone(learner).set_params(**point), None, (), rows))
            yield position, fitted, time.perf_counter() - started


def _iter_fits(learner: Any, parameter: str | None, values: Sequence[Any], rows: FitRows) -> Iterator[Any]:
    """Yield the fitted learner, or one for each value of the parameter; an error is yielded and ends the fits."""
    weighting = {} if rows.weights is None else {"sample_weight": rows.weights}
    try:
        if parameter is None:
            yield learner.fit(rows.X, rows.y, **weighting)
        else:
            yield from learner.path(rows.X, rows.y, parameter, values, **weighting)
    except Exception as error:
        yield error


def _choose_path_parameter(learner: Any, grid: Grid) -> str | None:
    """Return the parameter with the most values among those for which the learner has a path, or None."""
    if not isinstance(learner, PathEstimator):
        return None
    names = [name for name in sorted(grid) if name in learner.path_parameters and len(grid[name]) > 1]
    return max(names, key=lambda name: len(grid[name]), default=None)


def _group_candidates(grid: Grid, parameter: str | None, positions: Sequence[int]) -> list[list[int]]:
    """Group the positions of candidates that differ only in one parameter; without one, each candidate is a group.

    Examples
    --------
    >>> _group_candidates({"depth": [1, 2, 3], "weights": ["equal", "distance"]}, "depth", [0, 1, 2, 4, 5])
    [[0, 2, 4], [1, 5]]
    """
    if parameter is None:
        return [[position] for position in positions]
    names = sorted(grid)  # the order of ParameterGrid, the last parameter fastest
    shape = [len(grid[name]) for name in names]
    groups: dict[tuple[int, ...], list[int]] = {}
    for position in positions:
        places = list(map(int, np.unravel_index(position, shape)))
        del places[names.index(parameter)]
        groups.setdefault(tuple(places), []).append(position)
    return [groups[key] for key in sorted(groups)]


@dataclass(frozen=True)
class TuningData:
    """The rows that tuning may use, and the score to optimize.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Training rows, then validation rows if tuning may use them.
    y : ndarray of shape (n,)
    inner_splits : sequence of (ndarray, ndarray)
        Positions of the rows to fit on and to score on, for each inner fold.
    score : callable
        (fitted learner, prepared X, y, weights of the rows or None) -> float, in the metric's natural sign.
    greater_is_better : bool
    seed : int
        The seed of the order in which a race uses the inner folds.
    weights : ndarray of shape (n,) or None
        The weight of each row in fits and scores.
    prepare : callable
        (prepared X, y, weights) of the rows to fit on -> the data on which the learner is fitted.
    number : int
        The number of the fold; -1 for the model fitted on all rows.
    count_fit : callable
        Called after each candidate has been fitted and scored. `object` ignores the call.
    score_file : ScoreFile
        Keeps the scores of finished inner folds.
    """

    X: pd.DataFrame
    y: np.ndarray
    inner_splits: Sequence[tuple[np.ndarray, np.ndarray]]
    score: Callable[[BaseEstimator, pd.DataFrame, np.ndarray, np.ndarray | None], float]
    greater_is_better: bool
    seed: int
    weights: np.ndarray | None = None
    prepare: Callable[[Any, np.ndarray, np.ndarray | None], FitRows] = FitRows
    number: int = -1
    count_fit: Callable[[], object] = object
    score_file: ScoreFile = field(default_factory=ScoreFile)

    def select_weights(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows, given by their positions; None without weights."""
        return None if self.weights is None else self.weights[rows]


def preprocess_tables(model: Pipeline, X: pd.DataFrame, y: np.ndarray, *others: pd.DataFrame) -> list[Any]:
    """Fit copies of the steps before the learner, and return the transformed tables, X first.

    Parameters
    ----------
    model : Pipeline
        It does not change.
    X : DataFrame of shape (n, d)
    y : ndarray of shape (n,)
    *others : DataFrame
        Tables with the same columns, which are only transformed.
    """
    steps = clone(Pipeline([("table", "passthrough"), *model.steps[:-1]]))
    tables = [steps.fit_transform(X, y)]
    tables += [steps.transform(other) for other in others]
    return [_drop_column_names(model[-1], table) for table in tables]


def _drop_column_names(learner: Any, table: Any) -> Any:
    """Return a numeric table as an array if column names are not needed, which saves checking them per candidate."""
    names_columns = getattr(learner, "categorical_features", "from_dtype") != "from_dtype"
    if not isinstance(learner, PathEstimator) or not isinstance(table, pd.DataFrame) or names_columns:
        return table
    is_numeric = all(dtype == np.float64 for dtype in table.dtypes)
    return table.to_numpy() if is_numeric else table


BEST = "best"
ONE_STANDARD_ERROR = "one_standard_error"
RULES = (BEST, ONE_STANDARD_ERROR)
SIGNS = {"smaller": 1, "greater": -1}
"""The words of a declaration, and the sign with which simpler values sort first."""


def require_order(grids: Sequence[Grid], simpler: Mapping[str, str], folds: int) -> None:
    """Reject candidates that cannot be ordered by simplicity, or whose scores have no standard error.

    Raises
    ------
    UserError
    """
    if folds == 0:
        raise UserError(
            "tuning.select=one_standard_error needs several scores of each candidate, but tuning.folds=0 scores on the "
            "validation part; set tuning.folds=5, or tuning.select=best."
        )
    known = [name for name in simpler if any(name in grid for grid in grids)]
    if not known:
        raise UserError(
            "tuning.select=one_standard_error needs a space that declares which values are simpler, but this one "
            "declares none of its parameters; add +space.simpler={PARAMETER: smaller} or greater, or set "
            "tuning.select=best."
        )
    for name in known:
        if simpler[name] not in SIGNS:
            raise UserError(f"space.simpler.{name}={simpler[name]!r} must be one of {', '.join(SIGNS)}.")
        for grid in grids:
            for value in grid.get(name, ()):
                _measure(name, value)


def find_simplest(
    candidates: Sequence[Mapping[str, Any]],
    is_close: np.ndarray,
    scores: np.ndarray,
    simpler: Mapping[str, str],
    greater_is_better: bool,
) -> int:
    """Return the position of the simplest candidate among those that are close to the best one.

    Equally simple candidates are ordered by their scores, and then by their positions.

    Parameters
    ----------
    candidates : sequence of mappings
        Parameter -> value.
    is_close : ndarray of bool of shape (number of candidates,)
    scores : ndarray of shape (number of candidates,)
    simpler : mapping of str to str
    greater_is_better : bool
    """
    sign = -1 if greater_is_better else 1

    def order(position: int) -> tuple[float, ...]:
        point = candidates[position]
        values = [SIGNS[word] * _measure(name, point[name]) for name, word in simpler.items() if name in point]
        return (*values, sign * float(scores[position]))

    return min(np.flatnonzero(is_close).tolist(), key=order)


def _measure(name: str, value: Any) -> float:
    """Return the size of a value; reject a value that has none."""
    if value is None:
        return math.inf
    numbers = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(number, int | float) for number in numbers):
        raise UserError(
            f"space.simpler.{name}: {value!r} is no number, so it has no order; leave the parameter out of simpler, or "
            "give numbers."
        )
    return float(sum(numbers))
