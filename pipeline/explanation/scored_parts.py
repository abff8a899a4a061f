"""The rows that importances are measured on: the test rows of the folds of a run, with their models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bakeoff.pipeline.experiment import Experiment, FoldResult, score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.explanation.explain_model import Scoring
from bakeoff.pipeline.explanation.fold_models import FoldModels
from bakeoff.pipeline.explanation.importances import MAX_ROWS, ScoredPart

MAX_POOLED_FOLDS = 200
"""Of more folds that test a single row each, as many are drawn."""
MIN_TEST_ROWS = 2


def list_scored_parts(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    """Return the test rows of the folds of a run with the models that predict them, and which rows these are.

    Folds that test a single row each are one part, because nothing can be permuted within a fold.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    """
    n_test = sum(len(fold.split.test) for fold in folds)
    if min(len(fold.split.test) for fold in folds) < MIN_TEST_ROWS:
        return _pool_folds(experiment, folds)
    parts = [select_part(experiment, fold.model.predictor, fold.split.test) for fold in folds]
    largest = max(len(part.X) for part in parts)
    drawn = f"; of each part, {MAX_ROWS:,} rows are drawn" if largest > MAX_ROWS else ""
    if len(folds) == 1:
        return parts, f"the {n_test:,} test rows of the run{drawn}"
    return (
        parts,
        f"the {n_test:,} test rows of {len(folds)} folds, each with the model that was fitted without them{drawn}",
    )


def select_part(experiment: Experiment, model: object, rows: np.ndarray) -> ScoredPart:
    """Return some rows of a dataset, to be scored with a model."""
    dataset = experiment.dataset
    weights = None if dataset.weights is None else dataset.weights[rows]
    return ScoredPart(model, dataset.X.iloc[rows], dataset.y[rows], weights)


def _pool_folds(experiment: Experiment, folds: Sequence[FoldResult]) -> tuple[list[ScoredPart], str]:
    generator = np.random.default_rng(derive_seed(experiment.seed, "explanation folds"))
    chosen = np.arange(len(folds))
    if len(folds) > MAX_POOLED_FOLDS:
        chosen = np.sort(generator.choice(len(folds), MAX_POOLED_FOLDS, replace=False))
    kept = [folds[number] for number in chosen.tolist()]
    sizes = [len(fold.split.test) for fold in kept]
    classes = experiment.dataset.classes if experiment.dataset.is_classification else None
    models = FoldModels([fold.model.predictor for fold in kept], sizes, classes)
    rows = np.concatenate([fold.split.test for fold in kept])
    which = f"{len(kept)} of {len(folds)}" if len(kept) < len(folds) else f"all {len(folds)}"
    words = f"the test rows of {which} folds together, each predicted by the model that was fitted without it"
    return [select_part(experiment, models, rows)], words


def make_scoring(experiment: Experiment) -> Scoring:
    """Return the headline score of an experiment."""
    return Scoring(
        score=partial(score_headline, experiment),
        metric=experiment.headline,
        greater_is_better=experiment.headline_metric.greater_is_better,
    )
