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

from bakeoff.pipeline.commands.accept.line import Contender, Rules
from bakeoff.pipeline.commands.accept.request import AcceptRequest
from bakeoff.pipeline.commands.compare.run_grid import read_overrides
from bakeoff.pipeline.commands.repetition.differences import CLOSE
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, load_run
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.fitting import select_weights
from bakeoff.pipeline.experiment.stage_log import RESERVE, RowSet
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.stages.scoring.scorers import describe_definition
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.tracking.names import is_greater_better, read_metric_entries
from bakeoff.pipeline.tracking.stored_runs import read_series, read_tables

PREDICTIONS_FILE = "predictions.csv"
AUDIT_FILE = "audit.csv"


@dataclass(frozen=True)
class Evidence:
    """A run whose scores were checked; ``note`` says what could not be checked."""

    run: LoadedRun
    contender: Contender
    rules: Rules
    note: str


def check_run(request: AcceptRequest, word: str, metric: str) -> Evidence:
    """Return a run with its scores, after its record has been checked against its data and its predictions.

    Parameters
    ----------
    request : AcceptRequest
    word : str
        Names the run.
    metric : str
        The score to read; empty for the headline metric.

    Raises
    ------
    UserError
        The run is not finished, has a single split, or its record does not hold together.
    """
    store, run = load_run(replace(request, run=word, register=""))
    experiment, stored = run.experiment, run.stored
    _require_identity(run)
    name = metric or experiment.headline
    if name not in experiment.metrics:
        raise UserError(f"metric={name}: run {stored.run_id} lacks it. {did_you_mean(name, experiment.metrics)}")
    series = read_series(store, [stored], [f"test_{name}"])
    scores = series[stored.run_id].get(f"test_{name}", ())
    tables = read_tables(store, stored)
    note = _check_predictions(run, name, scores, tables.get(PREDICTIONS_FILE, ""))
    rules = _find_rules(run, name)
    if rules.reserve and not shows_reserve(tables.get(AUDIT_FILE, ""), rules.reserve):
        raise UserError(
            f"run {stored.run_id}: its record of the rows ({AUDIT_FILE}) does not show that it left the reserved rows "
            "alone; run it again."
        )
    rows = run.splits.mean_rows
    ratio = rows["test"] / rows["train"]
    job = stored.tags["config_hash"]
    return Evidence(run, Contender(stored.run_id, job, stored.name, _write_command(run), scores, ratio), rules, note)


def shows_reserve(audit: str, reserve: str) -> bool:
    """Whether the record of the rows of a run names the reserve in each of its models."""
    rows = list(csv.DictReader(StringIO(audit)))
    named = {row.get("fold") for row in rows if (row.get("stage"), row.get("digest")) == (RESERVE, reserve)}
    return bool(named) and named == {row.get("fold") for row in rows}


def _require_identity(run: LoadedRun) -> None:
    """Reject a run whose splits, or whose configuration, code and versions, are not what its record says."""
    run_id, tags = run.stored.run_id, run.stored.tags
    if len(run.splits.folds) < 2:
        raise UserError(
            f"run {run_id} has a single split, which does not show how much chance moves a score; use "
            "evaluation=repeated_kfold, or another evaluation with several folds."
        )
    job = hash_config(run.spec, run.experiment.dataset.digest())
    if (job, run.splits.digest()) != (tags.get("config_hash"), tags.get("splits_digest")):
        raise UserError(
            f"run {run_id} does not have the identity that its configuration has now: its record, its code, its metric "
            f"or the versions of packages have changed since. Run it again: {_write_command(run)}"
        )


def _find_rules(run: LoadedRun, metric: str) -> Rules:
    """Return what the other runs of a line must share with a run."""
    params, dataset, final = run.stored.params, run.experiment.dataset, run.splits.final
    return Rules(
        metric=metric,
        definition=describe_definition(metric, read_metric_entries(params), params.get("evaluation.costs")),
        greater_is_better=is_greater_better(f"test_{metric}", params),
        dataset=dataset.name,
        data=dataset.digest(),
        reserve="" if final is None else RowSet.of(final.test, len(dataset.y)).digest(),
        folds=run.splits.digest(),
        versions=run.stored.tags.get("versions", ""),
    )


def _check_predictions(run: LoadedRun, name: str, scores: Sequence[float], text: str) -> str:
    """Compute the scores again from stored predictions; return a note if they do not suffice for that.

    Raises
    ------
    UserError
        A prediction belongs to another row or fold, a score differs, or there is none.
    """
    folds, metric, place = run.splits.folds, run.experiment.metrics[name], f"run {run.stored.run_id}: "
    if len(scores) != len(folds) or any(map(math.isnan, scores)):
        raise UserError(f"{place}{name} is not defined in each of its {len(folds)} folds; choose another metric=.")
    if not text:
        raise UserError(f"{place}its {PREDICTIONS_FILE} is missing, so its scores cannot be checked; run it again.")
    by_fold = dict(iter(pd.read_csv(StringIO(text), dtype=str, keep_default_na=False).groupby("fold")))
    if by_fold.keys() != set(map(str, range(len(folds)))):
        raise UserError(f"{place}{PREDICTIONS_FILE} has other folds than its configuration makes; run it again.")
    for number, (split, score) in enumerate(zip(folds, scores, strict=True)):
        predictions = _read_predictions(run, split, by_fold[str(number)])
        if metric.needs and predictions.probabilities is None:
            return f"{place}{name} needs decision values, which are not stored, so it was not computed again"
        again = compute_score(metric, predictions)
        if not math.isclose(again, score, rel_tol=CLOSE, abs_tol=CLOSE):
            raise UserError(
                f"{place}{name} of fold {number} is stored as {score:.6g}, but its predictions give {again:.6g}: the "
                "record or the metric was changed; run it again."
            )
    return ""


def _read_predictions(run: LoadedRun, split: Split, own: pd.DataFrame) -> Predictions:
    """Return the predictions of a fold from their texts."""
    dataset = run.experiment.dataset
    truth, weights = dataset.y[split.test], select_weights(run.experiment, split.test)
    classes = dataset.classes if dataset.is_classification else None
    # Numbers and labels are written as the shortest text that restores them.
    labels = None if classes is None else {str(label): label for label in classes.tolist()}
    try:
        values = [own[name].map(labels.__getitem__ if labels else float) for name in ("truth", "predicted")]
        is_same = np.array_equal(values[0].to_numpy(), truth)
        if own["row"].tolist() != list(map(str, split.test.tolist())) or not is_same:
            raise ValueError
    except (KeyError, ValueError):
        raise UserError(
            f"run {run.stored.run_id}: {PREDICTIONS_FILE} has other rows, targets or labels than its folds."
        ) from None
    predicted = values[1].to_numpy().astype(truth.dtype)
    if classes is None:
        return Predictions(truth, predicted, weights=weights)
    columns = [f"probability_{label}" for label in classes]
    has_all = {*columns} <= {*own} and not (own[columns] == "").any(axis=None)
    probabilities = own[columns].to_numpy().astype(float) if has_all else None
    return Predictions(truth, predicted, probabilities, None, classes, dataset.positive, weights=weights)


def _write_command(run: LoadedRun) -> str:
    return shlex.join(["bakeoff", *read_overrides(run.stored)])
