"""Scores of stored runs on single test rows, from their predictions, for `bakeoff compare RUN RUN item=row`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
from scipy import stats

from bakeoff.pipeline.commands.compare.cells import TEST_PREFIX, choose_compared_metrics, describe_configurations
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts, arrange_runs
from bakeoff.pipeline.commands.comparison_report.comparison import CellKey, ComparedMetric
from bakeoff.pipeline.commands.items.item_scores import CLUSTER, DATASET, ITEM, SYSTEM, ItemScores
from bakeoff.pipeline.commands.significance.folds import MAX_RELATIVE_ROUNDING
from bakeoff.pipeline.commands.significance.items import MIN_EXCHANGES, N_RESAMPLES, PredictionTests
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.predictions import Predictions, encode_labels
from bakeoff.pipeline.stages.scoring.scorers import find_metric, is_metric_name
from bakeoff.pipeline.text.wording import count_nouns, join_words
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_tables

PREDICTIONS, CONFUSION, *_ = TABLES
PROBABILITY = "probability_"
TEXTS = {"truth": str, "predicted": str}
PLACE = ["run", "fold", "row"]
RANKINGS = ("roc_auc", "average_precision")
"""Metrics that depend on the ranks of probabilities alone."""
MAX_ROWS_IN_ALL = 1_000_000_000
"""More rows than this are not scored to exchange predictions, which would take minutes."""


def _score_log_loss(own: Predictions) -> np.ndarray:
    """Return the negative log-probability of the true class of each row, clipped as that of the metric."""
    likelihood = np.asarray(own.probabilities)[np.arange(len(own.truth)), own.truth]  # (m,)
    return np.asarray(-np.log(np.clip(likelihood, np.finfo(float).eps, 1)))


def _score_brier(own: Predictions) -> np.ndarray:
    """Return the squared error of the probabilities of each row, from 0 to 1 for two classes and to 2 for more."""
    n_classes = len(np.asarray(own.classes))
    squares = np.sum((own.probabilities - np.eye(n_classes)[own.truth]) ** 2, axis=1)
    return np.asarray(squares / 2 if n_classes == 2 else squares)


ROW_SCORES: Mapping[str, Callable[[Predictions], np.ndarray]] = {
    "accuracy": lambda own: own.truth == own.predicted,
    "error": lambda own: own.truth != own.predicted,
    "log_loss": _score_log_loss,
    "brier": _score_brier,
    "mae": lambda own: np.abs(own.truth - own.predicted),
    "mse": lambda own: (own.truth - own.predicted) ** 2,
}
"""Metrics that are means over rows -> the score of each row."""


def score_rows(facts: Sequence[RunFacts], description: str, request: CompareRequest, store: Store) -> ItemScores:
    """Return the scores of configurations on test rows.

    A row that is a test row several times, as in repeats of folds, is one item with the mean of its scores.

    Raises
    ------
    UserError
        The runs have other test rows, no predictions, or a metric that does not follow from them.
    """
    grid, notes = arrange_runs(facts)
    for (name, dataset), own in grid.items():
        if own[0].reason:
            raise UserError(f"compare: item=row needs a finished run of {name} on {dataset}: {own[0].reason}.")
    runs = [each for own in grid.values() for each in own]
    (metric,) = choose_compared_metrics(request.metrics or (), runs, request.rope)
    score = metric.name.removeprefix(TEST_PREFIX)
    tables = {key: _read_predictions(own, store) for key, own in grid.items()}
    models = {
        key: _encode_labels(table, [other for (_, dataset), other in tables.items() if dataset == key[1]])
        for key, table in tables.items()
    }
    is_number = next(iter(models.values())).classes is None
    score_row = ROW_SCORES[score if score in ROW_SCORES else "mae" if is_number else "error"]
    scores = {
        key: pd.Series(score_row(models[key]).astype(float), table["row"]).groupby(level=0).mean()
        for key, table in tables.items()
    }
    # A column for each configuration, and the rows of a dataset below those of the one before.
    table = pd.concat(scores, names=[SYSTEM, DATASET, ITEM]).unstack(SYSTEM, sort=False)
    table = table.set_index(pd.RangeIndex(len(table), name=CLUSTER), append=True)
    predictions = None
    if score not in ROW_SCORES:
        stored = [float(np.mean([each.run.metrics[metric.name] for each in own])) for own in grid.values()]
        predictions = _test_predictions(metric, list(models.values()), tables, table.to_numpy().T, stored)
        notes.append(
            f"{metric.label} is no mean over rows: intervals are quantiles over {N_RESAMPLES} sets of test rows, drawn "
            "with replacement."
        )
    notes += _write_notes(runs)
    run_ids = [each.run.run_id for each in runs]
    return ItemScores(table, metric, describe_configurations(grid), description, notes, run_ids, predictions)


def _write_notes(runs: Sequence[RunFacts]) -> list[str]:
    """Return notes on what test rows as items do not say."""
    notes = []
    if any("dataset.weights" in each.run.params for each in runs):
        notes.append("Weights of rows do not count here: each test row is one item.")
    if any(each.run.params["evaluation"] != "holdout" for each in runs):
        notes.append(
            "Each row is scored by the model of its fold, trained on other rows; the p-values hold for these models."
        )
    return notes


def _read_predictions(own: Sequence[RunFacts], store: Store) -> pd.DataFrame:
    """Return the predictions of the runs of a configuration on a dataset, in the order of runs, folds and rows."""
    texts = [read_tables(store, each.run) for each in own]
    lost = [each.short_id for each, text in zip(own, texts, strict=True) if PREDICTIONS not in text]
    if lost:
        raise UserError(f"compare: run {lost[0]} has no predictions left; run its job again.")
    kinds = TEXTS if CONFUSION in texts[0] else None
    tables = [pd.read_csv(StringIO(text[PREDICTIONS]), dtype=kinds, keep_default_na=kinds is None) for text in texts]
    return pd.concat(tables, keys=range(len(tables)), names=PLACE[:1]).reset_index(PLACE[0]).sort_values(PLACE)


def _encode_labels(table: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> Predictions:
    """Return the predictions of a table, with the positions of labels among the classes of all tables of a dataset."""
    truth, predicted = (table[column].to_numpy() for column in TEXTS)
    if pd.api.types.is_numeric_dtype(table["truth"]):
        return Predictions(truth, predicted)
    shown = table.columns[table.columns.str.startswith(PROBABILITY)]
    labels = {label for each in tables for column in TEXTS for label in each[column].unique()}
    classes = sorted(labels | {*shown.str.removeprefix(PROBABILITY)})
    columns = [f"{PROBABILITY}{label}" for label in classes]
    probabilities = table.reindex(columns=columns, fill_value=0).to_numpy(dtype=float).clip(0, 1)
    own = probabilities if len(shown) else None
    return encode_labels(Predictions(truth, predicted, own, classes=np.array(classes)))


def _rank_probabilities(model: Predictions, folds: Sequence[np.ndarray]) -> Predictions:
    """Return predictions with the ranks of the probabilities in each fold, which other models have on the same scale.

    References
    ----------
    Venkatraman, E. S. and Begg, C. B. (1996). A distribution-free procedure for comparing receiver operating
    characteristic curves from a paired experiment. Biometrika 83, 835-848.
    """
    ranks = np.zeros_like(np.asarray(model.probabilities))
    for rows in folds:
        ranks[rows] = stats.rankdata(np.asarray(model.probabilities)[rows], axis=0)
    return replace(model, probabilities=ranks)


CURE = f"choose metrics={join_words(ROW_SCORES, 'or')}"


def _test_predictions(
    metric: ComparedMetric,
    models: Sequence[Predictions],
    tables: Mapping[CellKey, pd.DataFrame],
    errors: np.ndarray,
    stored: Sequence[float],
) -> PredictionTests:
    """Return the tests of predictions, whose scores are those that the runs store."""
    score = metric.name.removeprefix(TEST_PREFIX)
    rows, *_ = tables.values()
    folds = [np.asarray(own) for own in rows.reset_index().groupby(PLACE[:2]).indices.values()]
    items = np.unique(rows["row"], return_inverse=True)[1]
    if len({dataset for _, dataset in tables}) > 1 or not is_metric_name(score):
        raise UserError(
            f"compare: item=row compares {metric.label}, which is no mean over rows, on one dataset at a time and not "
            f"if it is user-defined; select a dataset with filter=, or {CURE}."
        )
    if score in RANKINGS and all(model.probabilities is not None for model in models):
        models = [_rank_probabilities(model, folds) for model in models]
    # The store does not tell the positive class of all datasets, but only one choice gives the stored scores.
    for positive in (None, *range(len(models[0].classes if models[0].classes is not None else ()))):
        own = [replace(model, positive=positive) for model in models]
        tests = PredictionTests(find_metric(score), own, folds, items, errors)
        if np.allclose([*map(tests.score, own)], stored, rtol=MAX_RELATIVE_ROUNDING, atol=0):
            break
    else:
        raise UserError(
            f"compare: item=row: the stored {metric.label} does not follow from the stored predictions, as with "
            f"weights of rows or decision values; {CURE}."
        )
    if MIN_EXCHANGES * tests.count_scored_rows(math.comb(len(models), 2)) > MAX_ROWS_IN_ALL:
        raise UserError(
            f"compare: item=row: exchanges of {count_nouns(len(items), 'prediction')} of {len(models)} configurations "
            f"would take minutes by {metric.label}; select fewer runs, or {CURE}."
        )
    return tests
