"""Scores of stored runs on single test rows, from their predictions, for `bakeoff compare RUN RUN item=row`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.cells import TEST_PREFIX, choose_compared_metrics, describe_configurations
from bakeoff.pipeline.commands.compare.item_scores import CLUSTER, DATASET, ITEM, SYSTEM, ItemScores
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts, arrange_runs
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import join_words
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_tables

PROBABILITY = "probability_"
TEXTS = {"truth": str, "predicted": str}


def _score_log_loss(table: pd.DataFrame) -> np.ndarray:
    """Return the negative log-probability of the true class of each row, clipped as that of the metric."""
    is_true, probabilities = _find_probabilities(table)
    return np.asarray(-np.log(np.clip(probabilities[is_true], np.finfo(float).eps, None)))


def _score_brier(table: pd.DataFrame) -> np.ndarray:
    """Return the squared error of the probabilities of each row, from 0 to 1 for two classes and to 2 for more."""
    is_true, probabilities = _find_probabilities(table)
    squares = np.sum((probabilities - is_true) ** 2, axis=1)
    return np.asarray(squares / 2 if is_true.shape[1] == 2 else squares)


def _find_probabilities(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return which class is the true one of each row, and the probabilities of all classes, both of shape (m, c)."""
    probabilities = table.filter(regex=f"^{PROBABILITY}")
    is_true = table["truth"].to_numpy()[:, np.newaxis] == probabilities.columns.str.removeprefix(PROBABILITY).to_numpy()
    return is_true, np.clip(probabilities.to_numpy(dtype=float), 0, 1)


ROW_SCORES: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "accuracy": lambda table: (table["truth"] == table["predicted"]).to_numpy(dtype=float),
    "error": lambda table: (table["truth"] != table["predicted"]).to_numpy(dtype=float),
    "log_loss": _score_log_loss,
    "brier": _score_brier,
    "mae": lambda table: (table["truth"] - table["predicted"]).abs().to_numpy(),
    "mse": lambda table: ((table["truth"] - table["predicted"]) ** 2).to_numpy(),
}
"""Metrics that are means over rows -> the score of each row of predictions.csv."""
REGRESSION = ("mae", "mse")


def score_rows(facts: Sequence[RunFacts], description: str, request: CompareRequest, store: Store) -> ItemScores:
    """Return the scores of configurations on test rows.

    A row that is a test row several times, as in repeats of folds, is one item with the mean of its scores.

    Raises
    ------
    UserError
        The runs have other test rows, no predictions, or a metric that is no mean over rows.
    """
    grid, notes = arrange_runs(facts)
    for (name, dataset), own in grid.items():
        if own[0].reason:
            raise UserError(f"compare: item=row needs a finished run of {name} on {dataset}: {own[0].reason}.")
    runs = [each for own in grid.values() for each in own]
    (metric,) = choose_compared_metrics(request.metrics or (), runs, request.rope)
    score = metric.name.removeprefix(TEST_PREFIX)
    if score not in ROW_SCORES:
        raise UserError(
            f"compare: item=row compares means over rows, which {metric.label} is not; "
            f"choose metrics={join_words(ROW_SCORES, 'or')}."
        )
    scores = {key: _score_run_rows(own, score, store) for key, own in grid.items()}
    # A column for each configuration, and the rows of a dataset below those of the one before.
    table = pd.concat(scores, names=[SYSTEM, DATASET, ITEM]).unstack(SYSTEM, sort=False)
    table = table.set_index(pd.RangeIndex(len(table), name=CLUSTER), append=True)
    if any("dataset.weights" in each.run.params for each in runs):
        notes.append("Weights of rows do not count here: each test row is one item.")
    if any(each.run.params["evaluation"] != "holdout" for each in runs):
        notes.append(
            "Each row is scored by the model of its fold, trained on other rows; the p-values hold for these models."
        )
    run_ids = [each.run.run_id for each in runs]
    return ItemScores(table, metric, describe_configurations(grid), description, notes, run_ids)


def _score_run_rows(own: Sequence[RunFacts], score: str, store: Store) -> pd.Series:
    """Return the mean score of each test row of the runs of a configuration on a dataset."""
    texts = [read_tables(store, each.run).get(TABLES[0]) for each in own]
    if None in texts:
        raise UserError(f"compare: run {own[texts.index(None)].short_id} has no predictions left; run its job again.")
    kinds = None if score in REGRESSION else TEXTS
    tables = [pd.read_csv(StringIO(text), dtype=kinds, keep_default_na=kinds is None) for text in texts]
    scored = [pd.Series(ROW_SCORES[score](table), table["row"]) for table in tables]
    return pd.concat(scored).groupby(level=0).mean()
