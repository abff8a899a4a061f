"""The rows that importances are measured on: the test rows of the folds of a run, with their models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.explanation.importances import MAX_ROWS, ScoredPart
from bakeoff.pipeline.stages.scoring import (
    compute_decision,
    get_classes,
    locate_labels,
    predict_probabilities,
    predict_values,
)

MAX_POOLED_FOLDS = 200
"""Of more folds that test a single row each, as many are drawn."""
MIN_TEST_ROWS = 2


def _all_have(method: str) -> Callable[[Any], bool]:
    """Return a condition of several models: whether each of them has a method."""
    return lambda models: all(hasattr(model, method) for model in models.models)


class FoldModels(BaseEstimator):
    """A predictor for f folds that test one row or a few: row i is predicted by the model of the fold that tests it.

    Permuting a column over the rows of a fold that tests a single one would change nothing.

    Parameters
    ----------
    models : sequence of f estimators
        Fitted.
    folds : ndarray of shape (m,), int
        The number of the fold that tests the row with the label i in the index of a table.
    classes : ndarray of shape (c,) or None
        All classes of the dataset; None for regression.
    """

    def __init__(self, models: Sequence[Any], folds: np.ndarray, classes: np.ndarray | None) -> None:
        self.models = models
        self.folds = folds
        self.classes = classes
        if classes is not None:
            self.classes_ = classes

    def fit(self, X: Any = None, y: Any = None) -> FoldModels:
        """Do nothing: the models are fitted."""
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return the predictions for rows X (m, d), shape (m,)."""
        return self._ask(X, lambda model, rows: predict_values(model, rows, self.classes))

    @available_if(_all_have("predict_proba"))
    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return a probability for each class of the dataset, shape (m, c)."""
        return self._ask(X, self._spread_probabilities)

    @available_if(_all_have("decision_function"))
    def decision_function(self, X: pd.DataFrame) -> np.ndarray:
        """Return the decision values, shape (m,) or (m, c)."""
        return self._ask(X, compute_decision)

    def _spread_probabilities(self, model: Any, rows: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of a model that may lack classes which its training rows did not have."""
        assert self.classes is not None
        probabilities = np.zeros((len(rows), len(self.classes)))
        probabilities[:, locate_labels(get_classes(model), self.classes)] = predict_probabilities(model, rows)
        return probabilities

    def _ask(self, X: pd.DataFrame, respond: Callable[[Any, pd.DataFrame], np.ndarray]) -> np.ndarray:
        """Join the answers of the models, each for its own rows, in the order of the rows."""
        folds = self.folds[X.index]
        of_folds = [np.flatnonzero(folds == fold) for fold in np.unique(folds)]
        answers = [respond(self.models[folds[rows[0]]], X.iloc[rows]) for rows in of_folds]
        in_order = np.argsort(np.concatenate(of_folds), kind="stable")
        return np.concatenate(answers)[in_order]


def list_scored_parts(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    """Return the test rows of the folds of a run with the models that predict them, and which rows these are.

    Folds that test a single row each are one part, because nothing can be permuted within a fold.
    """
    if min(len(fold.split.test) for fold in folds) < MIN_TEST_ROWS:
        return _pool_folds(experiment, folds)
    parts = [_select_part(experiment, fold.model.predictor, fold.split.test) for fold in folds]
    sizes = [len(part.X) for part in parts]
    drawn = f"; of each part, {MAX_ROWS:,} rows are drawn" if max(sizes) > MAX_ROWS else ""
    if len(folds) == 1:
        return parts, f"the {sum(sizes):,} test rows of the run{drawn}"
    rows = f"the {sum(sizes):,} test rows of {len(folds)} folds"
    return parts, f"{rows}, each with the model that was fitted without them{drawn}"


def _select_part(experiment: Experiment, model: object, rows: np.ndarray) -> ScoredPart:
    dataset = experiment.dataset
    weights = None if dataset.weights is None else dataset.weights[rows]
    return ScoredPart(model, dataset.X.iloc[rows], dataset.y[rows], weights)


def _pool_folds(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    """Return the test rows of all folds, or of as many as are allowed, as one part."""
    chosen = np.arange(len(folds))
    if len(folds) > MAX_POOLED_FOLDS:
        generator = np.random.default_rng(derive_seed(experiment.seed, "explanation folds"))
        chosen = np.sort(generator.choice(len(folds), MAX_POOLED_FOLDS, replace=False))
    kept = [folds[number] for number in chosen.tolist()]
    classes = experiment.dataset.classes if experiment.dataset.is_classification else None
    owners = np.repeat(np.arange(len(kept)), [len(fold.split.test) for fold in kept])
    models = FoldModels([fold.model.predictor for fold in kept], owners, classes)
    rows = np.concatenate([fold.split.test for fold in kept])
    which = f"{len(kept)} of {len(folds)}" if len(kept) < len(folds) else f"all {len(folds)}"
    words = f"the test rows of {which} folds together, each predicted by the model that was fitted without it"
    part = _select_part(experiment, models, rows)
    return [replace(part, X=part.X.reset_index(drop=True))], words
