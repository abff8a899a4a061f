"""Tuning: pick hyperparameters from a space, on the validation part or by inner cross-validation of the training part.

The search is scikit-learn's.  Preprocessing is fitted inside each inner fold; the test rows are never seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from pipeline.refusal import Refusal


@dataclass(frozen=True)
class Material:
    """The rows that tuning may see, and what is to be made as good as possible.

    Attributes
    ----------
    X : DataFrame of shape (n, d)
        Training rows, then validation rows where tuning may use them.
    y : ndarray of shape (n,)
    n_train : int
        How many of the rows are for training.
    score : callable
        (fitted model, X, y) -> float, in the metric's natural sign.
    more_is_better : bool
    is_classes : bool
        Whether y are labels, kept in proportion over the inner folds.
    seed : int
        Of the inner folds.
    """

    X: pd.DataFrame
    y: np.ndarray
    n_train: int
    score: Callable[[BaseEstimator, pd.DataFrame, np.ndarray], float]
    more_is_better: bool
    is_classes: bool
    seed: int


@dataclass(frozen=True)
class NoTuning:
    """Take the learner as it is written."""

    folds: int = 0
    needs_rows: bool = False

    def tune(self, model: Pipeline, material: Material) -> tuple[Pipeline, pd.DataFrame | None]:
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
            raise Refusal(
                f"tuning.folds={self.folds!r} must be 0 (score on the validation part) or a whole number from 2."
            )
        for grid in self.grids:
            for name, values in grid.items():
                if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                    raise Refusal(f"space.{name}={values!r} must be a list of values to try.")
        if not any(self.grids):
            raise Refusal(
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

    def tune(self, model: Pipeline, material: Material) -> tuple[Pipeline, pd.DataFrame | None]:
        """Return the model with the best parameters, not fitted, and the table of candidates.

        Of equal candidates the first wins: parameters in alphabetical order, values in their own, the last parameter
        fastest.
        """
        sign = 1 if material.more_is_better else -1
        search = GridSearchCV(
            clone(model),
            [{f"learner__{name}": list(values) for name, values in grid.items()} for grid in self.grids],
            scoring=lambda fitted, X, y: sign * material.score(fitted, X, y),
            cv=self._inner(material),
            refit=False,
            error_score="raise",
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "One or more of the test scores are non-finite", UserWarning)
            search.fit(material.X, material.y)
        results = search.cv_results_
        best: Pipeline = clone(model).set_params(**results["params"][_first_best(results["mean_test_score"])])
        table = pd.DataFrame([{k.removeprefix("learner__"): v for k, v in p.items()} for p in results["params"]])
        return best, table.assign(
            validation_score=sign * results["mean_test_score"], fit_seconds=results["mean_fit_time"]
        )

    def _inner(self, material: Material) -> list[tuple[np.ndarray, np.ndarray]]:
        rows = np.arange(material.n_train)
        if self.folds == 0:
            return [(rows, np.arange(material.n_train, len(material.y)))]
        y = material.y[rows]
        smallest = np.unique(y, return_counts=True)[1].min() if material.is_classes else 0
        kind = StratifiedKFold if smallest >= self.folds else KFold
        return list(kind(self.folds, shuffle=True, random_state=material.seed).split(rows, y))


def _first_best(scores: np.ndarray) -> int:
    if np.isnan(scores).all():
        raise Refusal("tuning: the headline metric is not defined on the inner validation rows for any candidate.")
    return int(np.nanargmax(scores))
