"""Tuning: choose hyperparameters on the validation part, or by inner cross-validation on the training part.

Preprocessing is fitted inside each inner fold, once for all candidates; the test rows are never seen. A learner that
can fit many values of a parameter together (`PathEstimator`) does so. The candidate with the best mean score is chosen,
or the first of several equal ones. With a budget, candidates are tried in a random order until the time is over.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import InvalidPredictions, UserError, did_you_mean, require_folds
from bakeoff.pipeline.stages.tuning.candidates import (
    BEST,
    RULES,
    Grid,
    TuningData,
    draw_positions,
    find_simplest,
    fit_candidates,
    list_allowed_grids,
    preprocess_tables,
    require_order,
)
from bakeoff.pipeline.stages.tuning.race import choose_level, find_worse

INNER_FOLDS = "inner_folds"
"""The column of a race with the number of inner folds on which a candidate was fitted."""
SCORE_ROUNDING = 1e-12
"""Mean scores that differ by at most this fraction of the largest one are equal."""


def find_best_candidate(scores: np.ndarray, greater_is_better: bool) -> int:
    """Return the position of the best defined score; of scores that are equal up to rounding, the first.

    Parameters
    ----------
    scores : ndarray of shape (number of candidates,)
        The scores with the metric's natural sign.
    greater_is_better : bool

    Raises
    ------
    UserError
        No score is defined.
    """
    if np.isnan(scores).all():
        raise UserError(
            "tuning: the headline metric is not defined on the inner validation rows for any candidate; list another "
            "metric first in evaluation.metrics, or set fewer tuning.folds, so that these rows have several targets."
        )
    best = np.nanmax(scores) if greater_is_better else np.nanmin(scores)
    # Means of the same fold scores in a different order differ in their last digits.
    finite = scores[np.isfinite(scores)]
    rounding = SCORE_ROUNDING * np.abs(finite).max(initial=0.0)
    is_tied = scores >= best - rounding if greater_is_better else scores <= best + rounding
    return int(np.argmax(is_tied))


@dataclass(frozen=True)
class NoTuning:
    """Leave the learner's parameters unchanged."""

    folds: int = 0
    needs_rows: bool = False

    def count_fits(self, tried: Any = None) -> int:
        """Return 1: the learner is fitted once for each fold."""
        return 1

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model unchanged, and no table of candidates."""
        return model, None


@dataclass(frozen=True)
class GridTuning:
    """Try every combination in a space, or a random sample of them.

    Parameters
    ----------
    space : mapping or sequence of mappings
        Parameter of the learner -> list of values; several mappings are separate grids.
    folds : int
        The number of inner folds of the training rows; 0 scores on the validation part instead.
    n : int, optional
        The largest number of candidates, drawn without replacement from a larger space; by default all are tried.
    seed : int
        The seed of the draw.
    strict : bool
        Whether it is an error if a learner has no space, or a candidate needs more rows than there are or makes
        predictions that cannot be scored. Otherwise such a learner is not tuned and such candidates are left out, with
        a warning.
    largest : mapping of str to int
        Parameter -> the largest value that the rows allow; set before the checks if ``strict`` is false.
    budget : float, optional
        The seconds after which no further candidate is tried, in each fold; the order is random, and the first one is
        always tried.
    tried : sequence of int
        The number of candidates to try in each fold, and last for all rows, as recorded by a run with a budget.
    select : {"best", "one_standard_error"}
        Whether the candidate with the best mean score is chosen, or the simplest one within a standard error of it.
    simpler : mapping of str to str
        Parameter -> which of its values are simpler, ``smaller`` or ``greater``; the first parameter counts most.
    race : float, optional
        The chance that a candidate as good as the best one is dropped before all inner folds are fitted; by default no
        candidate is dropped.
    burn_in : int
        The number of inner folds on which all candidates of a race are fitted, at least 2.
    """

    space: Grid | Sequence[Grid] | None
    folds: int = 0
    n: int | None = None
    seed: int = 0
    strict: bool = True
    largest: Mapping[str, int] = field(default_factory=dict)
    budget: float | None = None
    tried: Sequence[int] = ()
    select: str = BEST
    simpler: Mapping[str, str] = field(default_factory=dict)
    race: float | None = None
    burn_in: int = 3

    def __post_init__(self) -> None:
        require_folds("tuning.folds", self.folds, "score")
        if self.n is not None and self.n < 1:
            raise UserError(f"tuning.n={self.n!r} must be a positive number of candidates, or null for all.")
        if self.seed < 0:
            raise UserError(f"tuning.seed={self.seed!r} must be an integer of at least 0.")
        if self.race is not None:
            self._require_race(self.race)
        if self.select not in RULES:
            raise UserError(f"tuning.select={self.select!r} is not a rule. {did_you_mean(str(self.select), RULES)}")
        for grid in self.grids:
            for name, values in grid.items():
                if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                    raise UserError(f"space.{name}={values!r} must be a list of values to try.")
        if self.select != BEST and any(self.grids):
            require_order(self.grids, self.simpler, self.folds)
        if self.strict and not any(self.grids):
            raise UserError(
                "tuning=grid has no space: set space.PARAMETER=[...], or space=NAME to use a file in conf/space."
            )

    def _require_race(self, level: float) -> None:
        """Reject a race without a level, without further folds after the burn-in, or with a time limit."""
        if not 0 < level < 1:
            raise UserError(f"tuning.race={level!r} must be a level between 0 and 1, such as 0.05.")
        if self.burn_in < 2:
            raise UserError(f"tuning.burn_in={self.burn_in!r} must be an integer of at least 2.")
        if self.folds <= self.burn_in:
            raise UserError(
                f"tuning.folds={self.folds} leaves no inner fold after tuning.burn_in={self.burn_in}, so a race drops "
                f"nothing; set tuning.folds to at least {self.burn_in + 1}, or use tuning=grid."
            )
        if self.budget is not None:
            raise UserError(
                "tuning.budget tries candidates one by one, but a race compares all of them fold by fold; remove "
                "tuning.budget, or use tuning=grid."
            )

    @property
    def grids(self) -> list[Grid]:
        """The space as a list of grids."""
        grids = [self.space] if isinstance(self.space, Mapping) else list(self.space or [])
        return [grid for grid in grids if grid] if not self.strict else grids

    @property
    def needs_rows(self) -> bool:
        """Whether candidates are scored on the validation part."""
        return self.folds == 0

    @cached_property
    def allowed_grids(self) -> Sequence[Grid]:
        """The grids without the values that the rows do not allow."""
        return list_allowed_grids(self.grids, self.largest)

    @cached_property
    def positions(self) -> Sequence[int]:
        """The positions of the candidates among all points of the allowed grids."""
        n_points = sum(len(ParameterGrid(grid)) for grid in self.allowed_grids)
        return draw_positions(n_points, self.n, self.seed)

    @cached_property
    def candidates(self) -> list[dict[str, Any]]:
        """The points of the space that are tried, in the order of scikit-learn's ``ParameterGrid``."""
        if not self.allowed_grids:
            return []
        points = ParameterGrid(self.allowed_grids)
        return [dict(sorted(points[position].items())) for position in self.positions]

    def tune(self, model: Pipeline, data: TuningData) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the unfitted model with the best parameters, and the table of candidates.

        Ties go to the first candidate, in the order of scikit-learn's ``ParameterGrid``: parameters in alphabetical
        order, values in the given order, the last parameter varying fastest.

        Raises
        ------
        UserError
            The predictions of a candidate cannot be scored, or no score is defined.
        """
        self._warn_of_absent_candidates(model[-1])
        if not self.candidates:
            return model, None
        scores, seconds = self._score_candidates(model, data)
        is_fitted = ~np.isnan(seconds)  # (number of candidates, inner folds)
        n_folds = is_fitted.sum(axis=1)
        rows = np.flatnonzero(n_folds)  # the candidates that were tried
        mean_scores = np.array([scores[row, is_fitted[row]].mean() for row in rows])
        # A candidate that dropped out of a race cannot be chosen.
        final_scores = np.where(n_folds[rows] == n_folds.max(), mean_scores, np.nan)
        best = find_best_candidate(final_scores, data.greater_is_better)
        if self.select != BEST:
            candidates = [self.candidates[row] for row in rows]
            of_best = scores[rows[best], is_fitted[rows[best]]]  # (inner folds,)
            error = float(np.std(of_best, ddof=1) / np.sqrt(len(of_best)))
            is_close = np.abs(final_scores - final_scores[best]) <= error  # (number of tried candidates,)
            best = find_simplest(candidates, is_close, final_scores, self.simpler, data.greater_is_better)
        best_params = self.candidates[rows[best]]
        learner_params = {f"learner__{name}": value for name, value in best_params.items()}
        best_model: Pipeline = clone(model).set_params(**learner_params)
        fit_seconds = [seconds[row, is_fitted[row]].mean() for row in rows]
        table = pd.DataFrame(self.candidates).iloc[rows].assign(validation_score=mean_scores, fit_seconds=fit_seconds)
        return best_model, table if self.race is None else table.assign(**{INNER_FOLDS: n_folds[rows]})

    def _score_candidates(self, model: Pipeline, data: TuningData) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and the seconds of the fits, both of shape (number of candidates, inner folds).

        They are NaN for candidates that were not tried.
        """
        started = time.monotonic()
        inner_splits = self._make_inner_splits(data)
        rows = {position: row for row, position in enumerate(self.positions)}
        scores = np.full((len(self.candidates), len(inner_splits)), np.nan)
        seconds = np.full_like(scores, np.nan)
        left_out: list[str] = []
        n_most = self.tried[data.number] if self.tried else math.inf
        budget = math.inf if self.tried or self.budget is None else self.budget
        seed = None if self.budget is None else self.seed

        def score_fold(number: int) -> Iterator[int]:
            train, validation = inner_splits[number]
            # Candidates differ only in parameters of the learner, so the rows are preprocessed only once.
            X, Q = preprocess_tables(model, data.X.iloc[train], data.y[train], data.X.iloc[validation])
            given = data.prepare(X, data.y[train], data.select_weights(train))
            weights = data.select_weights(validation)
            fits = fit_candidates(model[-1], self.allowed_grids, given.X, given.y, rows, given.weights, seed)
            for position, learner, fit_seconds in fits:
                row = rows[position]
                score = partial(data.score, given.complete(learner), Q, data.y[validation], weights)
                scores[row, number] = self._score_candidate(row, score, left_out)
                seconds[row, number] = fit_seconds
                data.count_fit()
                yield row

        numbers = range(len(inner_splits))
        race = partial(self._race, score_fold, inner_splits, rows, scores, data)
        folds = map(score_fold, numbers) if self.race is None else iter([race(self.race)])
        # With a budget, each candidate is scored on all inner folds before the next one, otherwise fold by fold.
        steps = chain.from_iterable(folds) if self.budget is None else zip(*folds, strict=True)
        for n_tried, _ in enumerate(steps, start=1):
            if n_tried >= n_most or time.monotonic() - started >= budget:
                break
        if left_out:
            is_fitted = ~np.isnan(seconds)
            is_scored = is_fitted.any(axis=1) & ~(is_fitted & np.isnan(scores)).any(axis=1)
            if not is_scored.any():
                raise InvalidPredictions(f"tuning has no candidate left; {left_out[0]}")
        return scores, seconds

    def _race(
        self,
        score_fold: Callable[[int], Iterator[int]],
        inner_splits: Sequence[tuple[np.ndarray, np.ndarray]],
        rows: dict[int, int],
        scores: np.ndarray,
        data: TuningData,
        alpha: float,
    ) -> Iterator[int]:
        """Score inner folds in random order, and drop candidates from the race after each look.

        Parameters
        ----------
        score_fold : callable
            Scores the candidates in the race on an inner fold, and yields the row of each.
        inner_splits : sequence of (ndarray, ndarray)
        rows : dict of int to int
            The position of each candidate in the race -> its row; candidates that drop out are removed.
        scores : ndarray of shape (number of candidates, inner folds)
            Filled by `score_fold`.
        data : TuningData
        alpha : float
            The chance, over all looks, that a candidate as good as the best one is dropped.
        """
        level = choose_level(alpha, len(rows))
        order = np.random.default_rng(data.seed).permutation(len(inner_splits)).tolist()
        looks = tuple(range(self.burn_in, len(order) + 1))
        ratio = float(np.mean([len(validation) / len(train) for train, validation in inner_splits]))
        for n_done, number in enumerate(order, start=1):
            yield from score_fold(number)
            if n_done in looks:
                positions = np.array(list(rows))
                done = scores[list(rows.values())][:, order[:n_done]]  # (candidates in the race, n_done)
                for position in positions[find_worse(done, looks, ratio, level, data.greater_is_better)].tolist():
                    del rows[position]
            if len(rows) == 1:
                return

    def _score_candidate(self, row: int, score: Callable[[], float], left_out: list[str]) -> float:
        """Return the score of a candidate on an inner fold; NaN, with a warning, if it is left out."""
        candidate = ", ".join(f"{name}={value}" for name, value in self.candidates[row].items())
        try:
            with InvalidPredictions.placed(f"the candidate {candidate} of tuning"):
                return score()
        except InvalidPredictions as error:
            if self.strict:
                raise
            left_out.append(str(error))
            warnings.warn(f"left out: {error}", stacklevel=2)
            return float("nan")

    def count_fits(self, tried: Any = None) -> int:
        """Return the number of fits of the learner per fold: candidates on their inner folds, and the best one.

        Parameters
        ----------
        tried : DataFrame, optional
            The candidates that were tried; by default all of them.
        """
        if tried is not None and INNER_FOLDS in tried:
            return 1 + int(tried[INNER_FOLDS].sum())
        n_tried = len(self.candidates if tried is None else tried)
        return 1 + n_tried * max(self.folds, 1)

    def _warn_of_absent_candidates(self, learner: BaseEstimator) -> None:
        """Warn about a learner without candidates, and about values that the rows do not allow."""
        learner_name = type(learner).__name__
        if not self.grids:
            warnings.warn(f"{learner_name} has no search space, so it is fitted without tuning", stacklevel=2)
        for name, largest in self.largest.items():
            given = [value for grid in self.grids for value in grid.get(name, ()) if isinstance(value, int)]
            excluded = [str(value) for value in dict.fromkeys(given) if value > largest]
            if excluded:
                message = (
                    f"tuning leaves out {name}={','.join(excluded)}, because the smallest part used for fitting has "
                    f"{largest} rows"
                )
                warnings.warn(message, stacklevel=2)

    def _make_inner_splits(self, data: TuningData) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return, for each inner fold, the rows to fit on and the rows to score on."""
        train = np.arange(data.n_train)
        if self.folds == 0:
            return [(train, np.arange(data.n_train, len(data.y)))]
        if data.inner_splits is not None:
            return list(data.inner_splits)
        y = data.y[train]
        # Without enough rows of each class, scikit-learn would warn or raise.
        can_stratify = data.is_classification and np.unique(y, return_counts=True)[1].min() >= self.folds
        k_fold = StratifiedKFold if can_stratify else KFold
        splitter = k_fold(self.folds, shuffle=True, random_state=data.seed)
        return list(splitter.split(train, y))


def list_candidate_learners(learner: Any, tuning: NoTuning | GridTuning) -> list[Any]:
    """Return the learner, and an unfitted copy with the parameters of each candidate.

    Parameters that the learner does not have are left out, because the checks reject them.

    Parameters
    ----------
    learner : estimator
    tuning : NoTuning or GridTuning
    """
    candidates = tuning.candidates if isinstance(tuning, GridTuning) else []
    if not isinstance(learner, BaseEstimator) or not candidates:
        return [learner]
    known = learner.get_params()
    known_params = [{name: value for name, value in point.items() if name in known} for point in candidates]
    return [learner, *(clone(learner).set_params(**params) for params in known_params)]
