"""A finished run as what is explained: its own model, and the test rows of its folds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, score_headline
from bakeoff.pipeline.explanation.explain_model import Scoring, Subject
from bakeoff.pipeline.explanation.fold_models import FoldModels
from bakeoff.pipeline.explanation.importances import MAX_ROWS, ScoredPart
from bakeoff.pipeline.explanation.row_explanation import RowOfInterest
from bakeoff.pipeline.refit import LoadedRun
from bakeoff.pipeline.seeds import derive_seed
from bakeoff.pipeline.stages.splitting import Split

MAX_POOLED_FOLDS = 200
"""Of more folds that test a single row each, as many are drawn."""
MIN_TEST_ROWS = 2
FITTED_ROWS = "rows that the model was fitted on"
SHOWN_LETTERS = 8
"""Of the id of a run; as many name it on the command line."""


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


def list_fitted_rows(split: Split) -> np.ndarray:
    """Return the numbers of the rows that a model was fitted on, each once."""
    return np.unique(split.train)


def select_row(experiment: Experiment, number: int, split: Split) -> RowOfInterest:
    """Return a row of the dataset of a run.

    Parameters
    ----------
    experiment : Experiment
    number : int
        From 0, as in predictions.csv.
    split : Split
        Of the explained model.

    Raises
    ------
    UserError
        There is no such row.
    """
    dataset = experiment.dataset
    n = len(dataset.y)
    if not 0 <= number < n:
        raise UserError(f"explain: row={number} is not a row of {dataset.name}, which has the rows 0 to {n - 1}.")
    truth = dataset.y[number]
    return RowOfInterest(
        X=dataset.X.iloc[[number]],
        name=f"row {number} of {dataset.name}",
        standing=_describe_standing(number, split),
        truth=str(truth) if dataset.is_classification else f"{float(truth):.6g}",
    )


def _describe_standing(number: int, split: Split) -> str:
    if number in split.test:
        return "a test row, which the model has not seen"
    if number in split.validation:
        return "a validation row, which the model was chosen on and not fitted on"
    if number in split.train:
        return "a row that the model was fitted on"
    return "a row that is in no part of the split"


def make_run_subject(run: LoadedRun, folds: Sequence[FoldResult], model: FittedModel, number: int | None) -> Subject:
    """Return a run, fitted again, as what is explained.

    Parameters
    ----------
    run : LoadedRun
    folds : sequence of FoldResult
    model : FittedModel
        The run's own.
    number : int or None
        Of the row to explain.

    Raises
    ------
    UserError
        There is no such row.
    """
    experiment = run.experiment
    dataset = experiment.dataset
    row = None if number is None else select_row(experiment, number, model.split)
    parts, parts_words = list_scored_parts(experiment, folds)
    fitted = dataset.X.iloc[list_fitted_rows(model.split)]
    return Subject(
        name=f"run {run.stored.run_id[:SHOWN_LETTERS]} ({run.stored.name})",
        model=model.predictor,
        fitted=f"fitted on {len(fitted):,} of {len(dataset.y):,} rows of {dataset.name}",
        target=dataset.target,
        positive="" if dataset.positive is None else str(dataset.positive),
        seed=experiment.seed,
        background=fitted,
        background_words=FITTED_ROWS,
        rows=fitted,
        rows_words=f"the {len(fitted):,} {FITTED_ROWS}",
        parts=parts,
        parts_words=parts_words,
        scoring=make_scoring(experiment),
        file_stem=run.stored.run_id[:SHOWN_LETTERS],
        row=row,
    )
