"""What a figure is drawn from: a finished run, and its model fitted again with other parameters."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from bakeoff.pipeline import preflight
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, score_headline
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import NoTuning, fit_candidates, preprocess_tables

Parameters = Mapping[str, Any]
"""Of the run's pipeline, as its ``set_params`` takes them: ``learner__max_depth``, ``learner``, ``preprocessing``."""


def check_changes(experiment: Experiment, splits: Splits, changes: Iterable[Parameters]) -> None:
    """Refuse a parameter that the pipeline has not, a value that the learner does not take, and too many neighbours."""
    whole = Pipeline([("preprocessing", experiment.preprocessing or "passthrough"), ("learner", experiment.learner)])
    for parameters in changes:
        known = whole.get_params()
        for name in parameters:
            if name not in known and "learner" not in parameters:
                raise UserError(f"figures: {name} is no parameter of the run's pipeline. {did_you_mean(name, known)}")
        learner = change(whole, parameters)[-1]
        try:
            preflight.check_parameters(learner, "learner")
            preflight.check_row_bounds(replace(experiment, learner=learner, tuning=NoTuning()), splits)
        except UserError as refusal:
            raise UserError(f"figures: {refusal}") from None


def change(pipeline: Pipeline, parameters: Parameters) -> Pipeline:
    """Return an unfitted copy of a pipeline with some parameters changed; preprocessing may be null."""
    given = {name: "passthrough" if value is None and name == "preprocessing" else value
             for name, value in parameters.items()}  # fmt: skip
    changed: Pipeline = clone(clone(pipeline).set_params(**given))  # cloned again: what is given is not ours to fit
    return changed


@dataclass(frozen=True)
class FinishedRun:
    """A run whose scores are known and whose rows may be shown.

    Attributes
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's own.
    """

    experiment: Experiment
    folds: Sequence[FoldResult]
    model: FittedModel

    @property
    def split(self) -> Split:
        """The rows that the run's own model was fitted and pruned on; the test part is empty if it saw all rows."""
        return self.model.split

    def rows(self, part: np.ndarray, columns: Sequence[str] = ()) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the table and the target of some rows; of all columns unless some are named."""
        X = self.experiment.dataset.X.iloc[part]
        return X[list(columns)] if columns else X, self.experiment.dataset.y[part]

    def fit(self, parameters: Parameters, part: np.ndarray, columns: Sequence[str] = ()) -> Pipeline:
        """Fit the run's pipeline with some parameters changed; what it has to say, the run itself has said."""
        pipeline = change(self.model.pipeline, parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            pipeline.fit(*self.rows(part, columns))
        return pipeline

    def score(self, model: Any, X: Any, y: np.ndarray) -> float:
        """Return the headline score of a fitted model."""
        return score_headline(self.experiment, model, X, y)

    def scores(self, parameters: Parameters) -> tuple[float, float]:
        """Return the headline score on training and on test rows: means over the folds."""
        fitted = [(self.fit(parameters, fold.split.train), fold.split) for fold in self.folds]
        train = np.mean([self.score(pipeline, *self.rows(split.train)) for pipeline, split in fitted])
        test = np.mean([self.score(pipeline, *self.rows(split.test)) for pipeline, split in fitted])
        return float(train), float(test)

    def scores_along(self, parameter: str, values: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the headline score for values of a learner's parameter, each fitted in each fold.

        Where the learner has a path along it (`PathEstimator`), the values of a fold are fitted together.

        Returns
        -------
        training, test : ndarray of shape (v, folds)
        """
        model = self.model.pipeline
        scores = np.empty((2, len(values), len(self.folds)))
        for number, split in enumerate(fold.split for fold in self.folds):
            parts = [self.rows(split.train), self.rows(split.test)]
            X, *tables = preprocess_tables(model, *parts[0], *(table for table, _ in parts))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                for place, learner, _ in fit_candidates(model[-1], [{parameter: list(values)}], X, parts[0][1]):
                    found = [self.score(learner, table, y) for table, (_, y) in zip(tables, parts, strict=True)]
                    scores[:, place, number] = found
        return scores[0], scores[1]
