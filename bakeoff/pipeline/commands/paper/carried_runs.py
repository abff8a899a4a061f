"""The runs that a capsule carries, which join a comparison as if their jobs had been run here.

A carried run has what a comparison reads of a stored one: params, tags, means, and the scores of each fold. It is
paired with stored runs by the digests of its rows and of its splits. The capsule may come from anybody: the files that
are read are limited in size, and checked as a whole before they are used. Its code is never run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.compare.run_grid import (
    OVERRIDES_TAG,
    RunFacts,
    describe_run,
    list_target_words,
)
from bakeoff.pipeline.commands.compare.scores_table import read_table
from bakeoff.pipeline.commands.comparison_report.latex_tables import hide_folders
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES
from bakeoff.pipeline.tracking.description import ENVIRONMENT_TAG
from bakeoff.pipeline.tracking.stored_runs import FINISHED, TRIED_TAG, StoredRun, find_fault, tidy_name

FORMAT = 1
"""The version of the format of capsules."""
MANIFEST = "manifest.json"
SCORES = "scores.parquet"
RUNS = "runs.parquet"
PREDICTIONS_TAG = "predictions_digest"
"""The tag with the SHA-256 of the predictions of a run."""
CARRIED_TAGS = (
    "dataset_digest", "splits_digest", "rows_per_fold", "config_hash", "code_hash", "versions", "blas", "threads",
    ENVIRONMENT_TAG, TRIED_TAG, PREDICTIONS_TAG,
)  # fmt: skip
NUMBERS = (*SCORE_PREFIXES, "fits")
"""The beginnings of the names of the means that are the same on each machine."""
TIMES = "time/"


def write_runs(facts: Sequence[RunFacts], has_times: bool = False) -> bytes:
    """Return runs as Parquet, with a row for each, in their order.

    Parameters
    ----------
    facts : sequence of RunFacts
    has_times : bool
        Whether to write times, which differ each time the same jobs are run.
    """
    prefixes = (*NUMBERS, TIMES) if has_times else NUMBERS
    rows = []
    for each in facts:
        run = each.run
        words = [f"{key}={value}" for key, value in list_target_words(run).items()]
        tags = {key: run.tags[key] for key in CARRIED_TAGS if key in run.tags}
        values: dict[str, Mapping[str, Any]] = {
            # The keys of a dataset may be paths of this machine.
            "params": {key: value for key, value in run.params.items() if not key.startswith("dataset.")},
            "tags": {**tags, OVERRIDES_TAG: json.dumps(words)},
            "metrics": {key: value for key, value in run.metrics.items() if key.startswith(prefixes)},
        }
        texts = {column: json.dumps(value, sort_keys=True) for column, value in values.items()}
        rows.append({"name": hide_folders(run.name), "reason": hide_folders(each.reason), **texts})
    return pd.DataFrame(rows).to_parquet(index=False, compression="zstd")


def read_runs(runs: bytes, scores: bytes) -> list[RunFacts]:
    """Return carried runs with the scores of their folds; raise an error of any kind if they are damaged.

    Parameters
    ----------
    runs, scores : bytes
        The files `RUNS` and `SCORES` of a capsule.
    """
    series: dict[int, dict[str, list[float]]] = {}
    rows, table = read_parquet(runs, RUNS).to_dict("records"), read_parquet(scores, SCORES)
    if {*table["job"]} != {*range(len(rows))}:
        raise ValueError(f"{RUNS} has other jobs than {SCORES}")
    scored = table.dropna(subset="metric").sort_values(["job", "metric", "fold"])
    for job, metric, score in scored[["job", "metric", "score"]].itertuples(index=False):
        series.setdefault(int(job), {}).setdefault(metric, []).append(float(score))
    return [_read_run(job, row, series.get(job, {})) for job, row in enumerate(rows)]


def _read_run(job: int, row: Mapping[Any, Any], series: Mapping[str, Sequence[float]]) -> RunFacts:
    params, tags, metrics = (json.loads(row[column]) for column in ("params", "tags", "metrics"))
    name, reason = tidy_name(row["name"]), tidy_name(row["reason"])
    shown = {key: tidy_name(value) for key, value in params.items()}
    run = StoredRun(f"job {job}", name, "FAILED" if reason else FINISHED, False, 0, shown, tags, metrics)
    if fault := find_fault(run):
        raise ValueError(f"{run.run_id} was not written by bakeoff: {fault}")
    values = {metric: tuple(scores) for metric, scores in series.items()}
    return replace(describe_run(run), reason=reason, series=values)


def read_parquet(content: bytes, name: str) -> pd.DataFrame:
    """Return the table in a Parquet file with a name, within the limits for all tables."""
    with TemporaryDirectory(prefix="bakeoff-") as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        return read_table(file)
