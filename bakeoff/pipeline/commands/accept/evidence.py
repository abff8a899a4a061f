"""The scores of a run that is offered to a line, computed again from its stored predictions.

The run is rebuilt, not fitted: its data, its splits, its metric and the digest of all that decides its result have to
be those of today, and each stored prediction has to belong to the row of its fold.
"""

from __future__ import annotations

import csv
import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.accept.command import AcceptRequest
from bakeoff.pipeline.commands.accept.line import Contender
from bakeoff.pipeline.commands.compare.run_grid import read_overrides
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.fitting import select_weights
from bakeoff.pipeline.experiment.stage_log import RESERVE, RowSet
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorers import describe_definition
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.sweep.differences import CLOSE
from bakeoff.pipeline.sweep.refit import LoadedRun, load_run
from bakeoff.pipeline.tracking.names import read_metric_entries
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import read_series, read_tables

PREDICTIONS_FILE = "predictions.csv"
AUDIT_FILE = "audit.csv"
PROBABILITY_PREFIX = "probability_"
MIN_FOLDS = 2


@dataclass(frozen=True)
class Evidence:
    """A run whose scores were checked.

    Attributes
    ----------
    run : LoadedRun
    contender : Contender
    metric, definition, reserve : str
        As in a `Line`.
    notes : tuple of str
    """

    run: LoadedRun
    contender: Contender
    metric: str
    definition: str
    reserve: str
    notes: tuple[str, ...]


def check_run(request: AcceptRequest, word: str, metric: str = "") -> tuple[Store, Evidence]:
    """Return a run with its scores, after its record has been checked against its data and its predictions.

    Parameters
    ----------
    request : AcceptRequest
    word : str
        Names the run.
    metric : str
        By default the headline metric of the run.

    Raises
    ------
    UserError
        The run is not finished, has a single split, or its record does not hold together.
    """
    store, run = load_run(replace(request, run=word, register=""))
    _require_identity(run)
    name = metric or run.experiment.headline
    if name not in run.experiment.metrics:
        raise UserError(
            f"metric={name}: run {run.stored.run_id} lacks it. {did_you_mean(name, run.experiment.metrics)}"
        )
    tables = read_tables(store, run.stored)
    scores = _read_scores(store, run, name)
    notes = _check_predictions(run, name, scores, tables.get(PREDICTIONS_FILE, ""))
    reserve = "" if run.splits.final is None else _find_reserve(run)
    if reserve and not shows_reserve(tables.get(AUDIT_FILE, ""), reserve):
        raise UserError(
            f"run {run.stored.run_id}: its record of the rows ({AUDIT_FILE}) does not show that it left the reserved "
            "rows alone; run it again."
        )
    params = run.stored.params
    definition = describe_definition(name, read_metric_entries(params), params.get("evaluation.costs"))
    return store, Evidence(run, _make_contender(run, scores), name, definition, reserve, tuple(notes))


def shows_reserve(audit: str, reserve: str) -> bool:
    """Whether the record of the rows of a run names the reserve in each of its models."""
    rows = list(csv.DictReader(StringIO(audit)))
    models = {row["fold"] for row in rows if row.get("stage") != "scoring.test"}
    named = {row["fold"] for row in rows if row.get("stage") == RESERVE and row.get("digest") == reserve}
    return bool(models) and models == named


def _require_identity(run: LoadedRun) -> None:
    """Reject a run whose splits, or whose configuration, code and versions, are not what its record says."""
    run_id, tags = run.stored.run_id, run.stored.tags
    if len(run.splits.folds) < MIN_FOLDS:
        raise UserError(
            f"run {run_id} has a single split, which does not show how much chance moves a score; use "
            "evaluation=repeated_kfold, or another evaluation with several folds."
        )
    if run.splits.digest() != tags.get("splits_digest"):
        raise UserError(f"run {run_id}: its folds are not those that its configuration makes now; run it again.")
    if hash_config(run.spec, run.experiment.dataset.digest()) != tags.get("config_hash"):
        raise UserError(
            f"run {run_id} does not have the identity that its configuration has now: its record, its code, its metric "
            f"or the versions of packages have changed since. Run it again: {_write_command(run)}"
        )


def _read_scores(store: Store, run: LoadedRun, name: str) -> tuple[float, ...]:
    stored = f"test_{name}"
    scores = read_series(store, [run.stored], [stored])[run.stored.run_id].get(stored, ())
    if len(scores) != len(run.splits.folds) or any(map(math.isnan, scores)):
        raise UserError(
            f"run {run.stored.run_id}: {name} is not defined in each of its {len(run.splits.folds)} folds; choose "
            "another metric= for a new line."
        )
    return scores


def _check_predictions(run: LoadedRun, name: str, scores: Sequence[float], text: str) -> list[str]:
    """Compute the scores again from stored predictions; return a note if they do not suffice for that.

    Raises
    ------
    UserError
        A prediction belongs to another row or fold, or a score differs.
    """
    run_id, metric = run.stored.run_id, run.experiment.metrics[name]
    if not text:
        raise UserError(
            f"run {run_id}: its {PREDICTIONS_FILE} is missing, so its scores cannot be checked; run it again."
        )
    table = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False)
    if len(table) != sum(len(split.test) for split in run.splits.folds):
        raise UserError(f"run {run_id}: {PREDICTIONS_FILE} does not have each test row once in each repeat.")
    for number, (split, score) in enumerate(zip(run.splits.folds, scores, strict=True)):
        predictions = _read_predictions(run, split, table[table["fold"] == str(number)])
        if metric.needs and predictions.probabilities is None:
            return [f"{name} of run {run_id} needs decision values, which are not stored, so it was not computed again"]
        again = compute_score(metric, predictions)
        if not math.isclose(again, score, rel_tol=CLOSE, abs_tol=CLOSE):
            raise UserError(
                f"run {run_id}: {name} of fold {number} is stored as {score:.6g}, but its predictions give "
                f"{again:.6g}: the record or the metric was changed; run it again."
            )
    return []


def _read_predictions(run: LoadedRun, split: Split, own: pd.DataFrame) -> Predictions:
    """Return the predictions of a fold from their texts."""
    dataset = run.experiment.dataset
    truth = dataset.y[split.test]
    if own["row"].tolist() != list(map(str, split.test.tolist())) or not _is_equal(own["truth"], truth):
        raise UserError(f"run {run.stored.run_id}: {PREDICTIONS_FILE} has other rows than its folds, or other targets.")
    weights = select_weights(run.experiment, split.test)
    if not dataset.is_classification:
        return Predictions(truth, own["predicted"].to_numpy().astype(float), weights=weights)
    labels = {str(label): label for label in dataset.classes.tolist()}
    if not {*own["predicted"]} <= labels.keys():
        raise UserError(f"run {run.stored.run_id}: {PREDICTIONS_FILE} predicts labels that are no class.")
    predicted = np.array([labels[text] for text in own["predicted"]], dtype=dataset.classes.dtype)
    columns = [f"{PROBABILITY_PREFIX}{label}" for label in dataset.classes]
    has_probabilities = {*columns} <= {*own.columns} and not (own[columns] == "").any(axis=None)
    probabilities = own[columns].to_numpy().astype(float) if has_probabilities else None
    return Predictions(
        truth, predicted, probabilities, classes=dataset.classes, positive=dataset.positive, weights=weights
    )


def _is_equal(texts: pd.Series, values: np.ndarray) -> bool:
    """Whether texts are those of numbers or labels."""
    if values.dtype.kind == "f":
        return bool(np.array_equal(texts.to_numpy().astype(float), values))
    return texts.tolist() == list(map(str, values.tolist()))


def _find_reserve(run: LoadedRun) -> str:
    assert run.splits.final is not None
    return RowSet.of(run.splits.final.test, len(run.experiment.dataset.y)).digest()


def _make_contender(run: LoadedRun, scores: tuple[float, ...]) -> Contender:
    rows = run.splits.mean_rows
    return Contender(
        run_id=run.stored.run_id,
        config_hash=run.stored.tags["config_hash"],
        name=run.stored.name,
        command=_write_command(run),
        scores=scores,
        test_train_ratio=rows["test"] / rows["train"],
    )


def _write_command(run: LoadedRun) -> str:
    return shlex.join(["bakeoff", *read_overrides(run.stored)])
