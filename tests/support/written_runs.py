"""Runs as bakeoff stores them, written into a SQLite file in milliseconds, with scores that a test chooses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import count

from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import RunValues

STARTED = count(1_700_000_000_000)
"""Each run starts a millisecond after the one before."""


def write_run(
    store: Store,
    learner: str,
    dataset: str,
    scores: Sequence[float] | None,
    *,
    seed: int = 0,
    metric: str = "test_accuracy",
    further: Mapping[str, Sequence[float]] | None = None,
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str | None] | None = None,
    status: str = "FINISHED",
) -> str:
    """Write a run and return its id.

    Parameters
    ----------
    store : Store
        A SQLite file.
    learner, dataset : str
    scores : sequence of float or None
        One per fold; None for a run without any.
    seed : int
    metric : str
        That of the scores.
    further : mapping of str to sequence of float, optional
        Other metrics, fold by fold.
    params, tags : mapping, optional
        Instead of or in addition to those of a 10-fold evaluation; a tag that is None is left out.
    status : str
    """
    own_params = {
        "dataset": dataset, "learner": learner, "preprocessing": "none", "tuning": "none", "pruning": "none",
        "evaluation": "kfold", "evaluation.folds": "10", "evaluation.repeats": "1", "evaluation.metrics": "null",
        "evaluation.validation": "0", "seed": str(seed), "learner.random_state": str(seed), **(params or {}),
    }  # fmt: skip
    own_tags = {
        "config_hash": f"{learner} {dataset} {seed} {json.dumps(sorted((params or {}).items()))}",
        "dataset_digest": f"rows of {dataset}",
        "splits_digest": f"splits of {dataset}, seed {seed}",
        "rows_per_fold": json.dumps({"train": 90.0, "validation": 0.0, "test": 10.0}),
        "overrides": "[]",
        "mlflow.note.content": f"{dataset}: 100 rows, 4 numeric columns, 3 classes of target",
        **(tags or {}),
    }
    kept_tags = {key: value for key, value in own_tags.items() if value is not None}
    series = {"fits": [1.0], **({} if scores is None else {metric: scores}), **(further or {})}
    values = [each for name, own in series.items() for each in _make_metrics(name, own)]
    values += [("time/fit", 0.2, 0, 0), ("time/predict", 0.01, 0, 0)]
    run_id, _ = store.writer.create_run(store.experiment_id, f"{learner} {dataset}", kept_tags)
    store.writer.add_values(run_id, RunValues(values, own_params))
    store.writer.end_run(run_id, status)
    with closing(sqlite3.connect(store.uri.removeprefix("sqlite:///"))) as database:
        database.execute("UPDATE runs SET start_time = ? WHERE run_uuid = ?", (next(STARTED), run_id))
        database.commit()
    return run_id


def _make_metrics(name: str, values: Sequence[float]) -> list[tuple[str, float, int, int]]:
    mean = (name, sum(values) / len(values), 0, 0)
    if len(values) == 1:
        return [mean]
    return [mean, *((f"fold/{name}", value, 0, step) for step, value in enumerate(values))]
