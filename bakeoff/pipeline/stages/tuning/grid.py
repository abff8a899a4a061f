"""Choose hyperparameters on the validation part, or by inner cross-validation on the training part.

Preprocessing is fitted inside each inner fold, once for all candidates; the test rows are never seen. A learner that
can fit many values of a parameter together (`PathEstimator`) does so. The candidate with the best mean score is chosen,
or the first of several equal ones. With a budget, candidates are tried in a random order until the time is over.
"""

import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.errors import InvalidPredictions, UserError, did_you_mean, require_folds
from bakeoff.pipeline.stages.tuning.candidates import (
    BEST,
    RULES,
    FitRows,
    Grid,
    TuningData,
    draw_positions,
    find_simplest,
    fit_candidates,
    preprocess_tables,
    require_order,
)
from bakeoff.pipeline.stages.tuning.race import choose_level, find_worse
from bakeoff.pipeline.stages.tuning.score_file import FoldScores

LEFT_OUT = "left out"
"""The beginning of a warning on a candidate that failed."""
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
        Whether it is an error if a learner has no space, or a candidate needs more rows than there are. Otherwise such
        a learner is not tuned and such candidates are left out, with a warning.
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
        """The grids without integers above the largest value of their parameter."""
        largest = self.largest
        allowed = [
            {
                name: [value for value in values if not isinstance(value, int) or value <= largest.get(name, math.inf)]
                for name, values in grid.items()
            }
            for grid in self.grids
        ]
        return [grid for grid in allowed if all(grid.values())]

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
            All candidates failed, or no score is defined.
        """
        if not self.grids:
            learner_name = type(model[-1]).__name__
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
        if not self.candidates:
            return model, None
        results = CandidateResults(self, model, data)
        results.collect()
        rows: list[int] = np.flatnonzero(results.n_folds).tolist()  # the candidates that were tried
        mean_scores = np.array([results.get_scores(row).mean() for row in rows])
        best = self._find_best(results, rows, mean_scores, data.greater_is_better)
        best_params = self.candidates[rows[best]]
        learner_params = {f"learner__{name}": value for name, value in best_params.items()}
        best_model: Pipeline = clone(model).set_params(**learner_params)
        fit_seconds = np.nanmean(results.seconds[rows], axis=1)
        table = pd.DataFrame(self.candidates).iloc[rows].assign(validation_score=mean_scores, fit_seconds=fit_seconds)
        return best_model, table if self.race is None else table.assign(**{INNER_FOLDS: results.n_folds[rows]})

    def _find_best(
        self, results: "CandidateResults", rows: list[int], mean_scores: np.ndarray, greater_is_better: bool
    ) -> int:
        """Return the position, among the candidates that were tried, of the one that the rule selects."""
        n_folds = results.n_folds[rows]
        # A candidate that dropped out of a race cannot be chosen.
        final_scores = np.where(n_folds == n_folds.max(), mean_scores, np.nan)
        best = find_best_candidate(final_scores, greater_is_better)
        if self.select == BEST:
            return best
        of_best = results.get_scores(rows[best])  # (inner folds,)
        error = float(np.std(of_best, ddof=1) / np.sqrt(len(of_best)))
        is_close = np.abs(final_scores - final_scores[best]) <= error  # (number of tried candidates,)
        candidates = [self.candidates[row] for row in rows]
        return find_simplest(candidates, is_close, final_scores, self.simpler, greater_is_better)

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


class CandidateResults:
    """The scores and the fit times of candidates on the inner folds, which are collected while candidates are fitted.

    Parameters
    ----------
    tuning : GridTuning
    model : Pipeline
        It does not change.
    data : TuningData

    Attributes
    ----------
    scores, seconds : ndarray of shape (number of candidates, inner folds)
        NaN where a candidate was not tried, or where its score is not defined.
    rows : dict of int to int
        The position of each candidate among all points -> its row; a race removes those that drop out.
    left_out : list of str
        The reasons why candidates were left out.
    """

    def __init__(self, tuning: GridTuning, model: Pipeline, data: TuningData) -> None:
        self.tuning = tuning
        self.model = model
        self.data = data
        self.rows = {position: row for row, position in enumerate(tuning.positions)}
        self.scores = np.full((len(tuning.candidates), len(data.inner_splits)), np.nan)
        self.seconds = np.full_like(self.scores, np.nan)
        self.left_out: list[str] = []

    @property
    def is_fitted(self) -> np.ndarray:
        """Whether each candidate was fitted on each inner fold."""
        return ~np.isnan(self.seconds)

    @property
    def n_folds(self) -> np.ndarray:
        """The number of inner folds on which each candidate was fitted."""
        return self.is_fitted.sum(axis=1)

    def get_scores(self, row: int) -> np.ndarray:
        """Return the scores of a candidate on the inner folds on which it was fitted."""
        return self.scores[row, self.is_fitted[row]]

    def collect(self) -> None:
        """Fit and score the candidates until all are done, the time is over, or the recorded number is reached.

        Raises
        ------
        InvalidPredictions
            All candidates failed on an inner fold.
        """
        started = time.monotonic()
        tuning = self.tuning
        n_most = tuning.tried[self.data.number] if tuning.tried else math.inf
        budget = math.inf if tuning.tried or tuning.budget is None else tuning.budget
        numbers = range(len(self.data.inner_splits))
        folds = map(self._score_fold, numbers) if tuning.race is None else iter([self._race(tuning.race)])
        # With a budget, each candidate is scored on all inner folds before the next one, otherwise fold by fold.
        steps = chain.from_iterable(folds) if tuning.budget is None else zip(*folds, strict=True)
        for n_tried, _ in enumerate(steps, start=1):
            if n_tried >= n_most or time.monotonic() - started >= budget:
                break
        is_unscored = (self.is_fitted & np.isnan(self.scores)).any(axis=1)
        if self.left_out and is_unscored[self.n_folds > 0].all():
            reason = self.left_out[0].removeprefix(f"{LEFT_OUT}: ")
            raise InvalidPredictions(f"tuning has no candidate left; {reason}")

    def _score_fold(self, number: int) -> Iterator[None]:
        """Score the candidates on an inner fold, or take the scores of a run that was killed; yield after each."""
        if self.tuning.budget is not None:  # the time decides which candidates are tried
            yield from self._fit_fold(number)
            return
        positions = list(self.rows)
        rows = list(self.rows.values())
        place = (self.data.number, number)
        found = self.data.score_file.find(place, positions)
        if found is None:
            with warnings.catch_warnings(record=True, action="always") as caught:
                yield from self._fit_fold(number)
            messages = list(dict.fromkeys(str(warning.message) for warning in caught))
            scores = self.scores[rows, number].tolist()
            found = FoldScores(positions, scores, self.seconds[rows, number].tolist(), messages)
            self.data.score_file.add(place, found)
        else:
            for _ in positions:
                self.data.count_fit()
                yield
            self.scores[rows, number] = found.scores
            self.seconds[rows, number] = found.seconds
            self.left_out += [message for message in found.messages if message.startswith(LEFT_OUT)]
        for message in found.messages:
            warnings.warn(message, stacklevel=2)

    def _fit_fold(self, number: int) -> Iterator[None]:
        """Fit and score the candidates on an inner fold; yield after each."""
        data = self.data
        learner = self.model[-1]
        train, validation = data.inner_splits[number]
        # Candidates differ only in parameters of the learner, so the rows are preprocessed only once.
        X, Q = preprocess_tables(self.model, data.X.iloc[train], data.y[train], data.X.iloc[validation])
        given = data.prepare(X, data.y[train], data.select_weights(train))
        weights = data.select_weights(validation)
        seed = None if self.tuning.budget is None else self.tuning.seed
        fits = fit_candidates(learner, self.tuning.allowed_grids, given.X, given.y, self.rows, given.weights, seed)
        for position, fitted, seconds in fits:
            row = self.rows[position]
            self.scores[row, number] = self._score_candidate(row, given, fitted, Q, data.y[validation], weights)
            self.seconds[row, number] = seconds
            data.count_fit()
            yield

    def _score_candidate(self, row: int, given: FitRows, fitted: Any, *rows: Any) -> float:
        """Return the score of a candidate on the rows of an inner fold; NaN, with a warning, if it failed."""
        try:
            if isinstance(fitted, Exception):
                raise fitted
            return self.data.score(given.complete(fitted), *rows)  # in the units of the target
        except InvalidPredictions as error:
            reason = str(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        candidate = ", ".join(f"{name}={value}" for name, value in self.tuning.candidates[row].items())
        self.left_out.append(f"{LEFT_OUT}: the candidate {candidate} of tuning: {reason}")
        warnings.warn(self.left_out[-1], stacklevel=2)
        return math.nan

    def _race(self, alpha: float) -> Iterator[None]:
        """Score inner folds in random order, and drop candidates from the race after each look.

        Parameters
        ----------
        alpha : float
            The chance, over all looks, that a candidate as good as the best one is dropped.
        """
        inner_splits = self.data.inner_splits
        level = choose_level(alpha, len(self.rows))
        order = np.random.default_rng(self.data.seed).permutation(len(inner_splits)).tolist()
        looks = tuple(range(self.tuning.burn_in, len(order) + 1))
        ratio = float(np.mean([len(validation) / len(train) for train, validation in inner_splits]))
        for n_done, number in enumerate(order, start=1):
            yield from self._score_fold(number)
            if n_done in looks:
                done = self.scores[list(self.rows.values())][:, order[:n_done]]  # (candidates in the race, n_done)
                is_worse = find_worse(done, looks, ratio, level, self.data.greater_is_better)
                for position in np.array(list(self.rows))[is_worse].tolist():
                    del self.rows[position]
            if len(self.rows) == 1:
                return


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
