"""The replay of one run: rebuilt, repeated and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.replay.differences import (
    Comparison,
    compare_metrics,
    compare_models,
    compare_tables,
    measure_repeat,
)
from bakeoff.pipeline.replay.replay_report import (
    DIFFERENT,
    IDENTICAL,
    UNKNOWN,
    Change,
    ReplayReport,
    find_changes,
    find_verdict,
)
from bakeoff.pipeline.replay.request import ReplayRequest
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.job import ContinueRule, PreparedJob, always_continue, execute_job, prepare_job
from bakeoff.pipeline.tracking import NoTracker
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.loading import FoundModel, open_model
from bakeoff.pipeline.tracking.provenance import find_thread_pools, list_tags
from bakeoff.pipeline.tracking.store import MAX_TAG_LETTERS, Store
from bakeoff.pipeline.tracking.stored_config import find_data, require_trust
from bakeoff.pipeline.tracking.stored_runs import TABLES, RunRecord, read_run_record

FINISHED = "FINISHED"
FAILED = "FAILED"
REQUIRED_KEYS = ("dataset", "learner", "evaluation", "seed")
NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}


def rebuild_spec(record: RunRecord, trust: Sequence[str], path: str | None = None) -> dict[str, Any]:
    """Return the settled configuration that runs a stored run again, and stores and draws nothing.

    Parameters
    ----------
    record : RunRecord
    trust : sequence of str
        Packages that the user trusts now.
    path : str, optional
        Where the file of the dataset is now, if it was moved.

    Raises
    ------
    UserError
        The run cannot be repeated, it trusts a package that the user does not, or its file is gone.
    """
    require_repeatable(record)
    require_trust(record.spec, record.run_id, trust)
    spec = dict(record.spec)
    spec["trust"] = list(trust)
    spec["tracking"] = NO_TRACKING
    spec["figures"] = []
    spec["dataset"] = find_data(record.spec["dataset"], record.run_id, record.source, path)
    return settle_config(spec)


def require_repeatable(record: RunRecord) -> None:
    """Reject a run that was not evaluated by bakeoff, or that did not end by itself.

    Raises
    ------
    UserError
    """
    missing = [key for key in REQUIRED_KEYS if key not in record.spec]
    if missing or "config_hash" not in record.tags:
        raise UserError(f"run {record.run_id} is not the run of a job of bakeoff, so there is nothing to repeat.")
    if record.status == "RUNNING":
        raise UserError(f"run {record.run_id} is still running; replay it when it has ended.")
    if record.status not in (FINISHED, FAILED) and not was_stopped(record):
        reason = record.tags.get("error", "it has no error message")
        raise UserError(
            f"run {record.run_id} ended as {record.status} ({reason}), so its numbers are incomplete; "
            "run its job again."
        )


def was_stopped(record: RunRecord) -> bool:
    """Whether a study stopped the run before its last fold."""
    return STOPPED_TAG in record.tags


@dataclass(frozen=True)
class Repeat:
    """What a job yields when it runs again.

    Attributes
    ----------
    folds : list of FoldResult
    model : FittedModel or None
        None if the job failed or was stopped.
    error : str
        The type and the message of the exception that ended the job; empty if it did not fail.
    """

    folds: list[FoldResult]
    model: FittedModel | None = None
    error: str = ""


def repeat_job(prepared: PreparedJob, record: RunRecord) -> Repeat:
    """Run the job of a stored run again, as many folds of it as the run evaluated; nothing is stored.

    Parameters
    ----------
    prepared : PreparedJob
    record : RunRecord

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C or SIGTERM.
    """
    evaluated: list[FoldResult] = []

    def keep_evaluated(folds: Iterator[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
        for fold in folds:
            yield fold
            evaluated.append(fold)

    try:
        result = execute_job(prepared, NoTracker(), keep_evaluated, _make_continue_rule(record))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it is a result: the stored run may have failed in the same way
        return Repeat(evaluated, error=f"{type(error).__name__}: {error}")
    return Repeat(result.folds, None if result.stopped else result.model)


def limit_threads(tags: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP have the numbers of threads that a run recorded.

    The order in which a sum is computed depends on them, and with it the last bits of the result: a product of two
    random 1,797 x 64 tables differs between one and two threads of OpenBLAS.

    Parameters
    ----------
    tags : mapping of str to str
        Those of the run.
    """
    threads: dict[str, int] = json.loads(tags.get("threads", "{}"))
    return find_thread_pools().limit(limits=threads)


def _make_continue_rule(record: RunRecord) -> ContinueRule:
    """Return the rule that ends a run after as many folds as a study let it have; any other run is completed."""
    if not was_stopped(record):
        return always_continue
    steps = [step for name, step in record.values if name.startswith("fold/")]
    # The store has no series of a single fold, because the mean is the same number.
    n_folds = max(steps, default=0) + 1

    def continue_rule(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
        return len(folds) < n_folds

    return continue_rule


def replay_run(store: Store, run_id: str, request: ReplayRequest, resources: PartCache) -> ReplayReport:
    """Run a stored run again and compare every number; the store does not change.

    Parameters
    ----------
    store : Store
    run_id : str
    request : ReplayRequest
    resources : PartCache
        Datasets that several replays share.

    Raises
    ------
    UserError
        The run cannot be repeated.
    """
    record = read_run_record(store, run_id)
    spec = rebuild_spec(record, request.trust, request.dataset__path)
    dataset = resources.get_dataset(spec)
    if dataset.digest() != record.tags.get("dataset_digest"):
        return _report_other_data(record, dataset)
    prepared = prepare_job(spec, Invocation({}), resources)
    # The circumstances are read inside, because the numbers of threads are among them.
    with limit_threads(record.tags):
        circumstances = {**list_tags(), **prepared.description.tags}
        repeat = repeat_job(prepared, record)
        comparisons, notes = _compare(store, record, prepared, repeat, request)
    reason, verdict = _judge_end(record, repeat, comparisons)
    return ReplayReport(
        run_id=record.run_id,
        name=record.name,
        verdict=verdict,
        reason=reason,
        comparisons=tuple(comparisons),
        changes=tuple(find_changes(record.tags, circumstances)),
        notes=tuple(notes),
    )


def _report_other_data(record: RunRecord, dataset: Dataset) -> ReplayReport:
    """Return the report on a run whose data have changed: other data have other scores, so it is not run again."""
    change = Change("data", record.tags.get("dataset_digest", UNKNOWN), dataset.digest())
    reason = f"the data have changed since ({dataset.source}), so it was not run again"
    return ReplayReport(record.run_id, record.name, DIFFERENT, reason, changes=(change,))


def _compare(
    store: Store, record: RunRecord, prepared: PreparedJob, repeat: Repeat, request: ReplayRequest
) -> tuple[list[Comparison], list[str]]:
    """Return the possible comparisons, and notes on values that cannot be compared."""
    experiment = prepared.experiment
    comparisons = [compare_metrics(record.values, measure_repeat(experiment, repeat.folds, repeat.model))]
    notes: list[str] = []
    if record.status != FINISHED or repeat.model is None:
        return comparisons, notes
    comparisons += compare_tables(record.tables, experiment, repeat.folds, repeat.model)
    if TABLES[0] not in record.tables:
        notes.append(f"{TABLES[0]} is not among the artifacts of the run any more")
    if record.model_id is None:
        notes.append("the run has stored no model")
        return comparisons, notes
    try:
        model = open_model(store, FoundModel(record.run_id, record.model_id), request.trust)
    except UserError as error:
        notes.append(str(error))
    else:
        comparisons.append(compare_models(model.estimator, repeat.model.predictor, experiment.dataset))
    return comparisons, notes


def _judge_end(record: RunRecord, repeat: Repeat, comparisons: list[Comparison]) -> tuple[str, str]:
    """Return the reason, which is empty if the numbers are sufficient, and the verdict."""
    stored_error = record.tags.get("error", "") if record.status == FAILED else ""
    error = repeat.error[:MAX_TAG_LETTERS]
    if error != stored_error:
        then = f"failed with {stored_error}" if stored_error else "finished"
        now = f"fails with {error}" if error else "finishes"
        return f"the stored run {then}, and it {now} now", DIFFERENT
    verdict = find_verdict(comparisons)
    if stored_error and verdict == IDENTICAL:
        return f"it fails again with {stored_error}", IDENTICAL
    return "", verdict
