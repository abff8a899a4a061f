"""The replay of stored runs: rebuilt, repeated and compared; nothing is stored."""

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
    DIFFERENT,
    IDENTICAL,
    REFUSED,
    Comparison,
    ReplayReport,
    compare_models,
    compare_tables,
    compare_values,
    find_changes,
    measure_repeat,
    write_scores,
)
from bakeoff.pipeline.replay.request import ReplayRequest
from bakeoff.pipeline.stages.dataset.files import list_dataset_files
from bakeoff.pipeline.sweep.job import ContinueRule, PreparedJob, always_continue, execute_job, prepare_job
from bakeoff.pipeline.tables.output_file import require_output
from bakeoff.pipeline.text.wording import expand_home
from bakeoff.pipeline.tracking import NoTracker
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.loading import FoundModel, open_model
from bakeoff.pipeline.tracking.names import find_run_id
from bakeoff.pipeline.tracking.provenance import find_thread_pools, list_tags
from bakeoff.pipeline.tracking.store import MAX_TAG_LETTERS, Store, list_store_paths, open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config, restore_config
from bakeoff.pipeline.tracking.stored_runs import (
    TABLES,
    StoredRun,
    find_runs_of_sweep,
    read_stored_runs,
    read_tables,
    read_values,
)

FAILED = "FAILED"
NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}


@dataclass(frozen=True)
class Repeat:
    """The result of a repeated job.

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


def replay_runs(request: ReplayRequest) -> Iterator[ReplayReport]:
    """Replay a run, or the runs of a sweep, and yield their reports; one that cannot be repeated is refused in its own.

    Parameters
    ----------
    request : ReplayRequest

    Raises
    ------
    UserError
        There is no such run or sweep, or the output cannot be written, or is a file of the data of a run.
    """
    moved = [expand_home(request.dataset__path)] if request.dataset__path else []
    if request.output is not None:
        require_output(request.output, moved, list_store_paths(request.tracking__uri))
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    if request.sweep:
        run_ids = find_runs_of_sweep(store, request.sweep)
    else:
        run_ids = [find_run_id(store, request.run, request.dataset)]
    # Most outputs are new files, for which no configuration needs to be read.
    if request.output is not None and request.output.exists():
        for run_id in run_ids:
            require_output(request.output, list_dataset_files(read_stored_config(store, run_id)["dataset"]))
    resources = PartCache()
    for run_id in run_ids:
        try:
            yield replay_run(store, run_id, request, resources)
        except UserError as error:
            yield ReplayReport(run_id, "", REFUSED, str(error))


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
    (run,) = read_stored_runs(store, [run_id])
    require_repeatable(run)
    restored = restore_config(store, run_id, request.trust, request.dataset__path)
    spec = settle_config({**restored, "tracking": NO_TRACKING, "figures": []})
    dataset = resources.get_dataset(spec)
    if dataset.digest() != run.tags.get("dataset_digest"):  # other data have other scores
        changes = find_changes(run.tags, {**run.tags, "dataset_digest": dataset.digest()})
        reason = f"the data have changed since ({dataset.source}), so it was not run again"
        return ReplayReport(run_id, run.name, DIFFERENT, reason, changes=changes)
    prepared = prepare_job(spec, Invocation({}), resources)
    # The circumstances are read inside, because the numbers of threads are among them.
    with limit_threads(run.tags):
        circumstances = {**list_tags(), **prepared.description.tags}
        stored_values = read_values(store, run)
        repeat = repeat_job(prepared, run, stored_values)
        now = measure_repeat(prepared.experiment, repeat.folds, repeat.model)
        comparisons = [compare_values("scores", write_scores(stored_values), write_scores(now))]
        notes: list[str] = []
        if run.is_finished and repeat.model is not None:
            comparisons += _compare_files(store, run, prepared, repeat, repeat.model, request.trust, notes)
    reason, verdict = _judge_end(run, repeat, comparisons)
    changes = find_changes(run.tags, circumstances)
    return ReplayReport(run_id, run.name, verdict, reason, tuple(comparisons), changes, tuple(notes))


def require_repeatable(run: StoredRun) -> None:
    """Reject a run that was not evaluated by bakeoff, or that did not end by itself.

    Raises
    ------
    UserError
    """
    if "config_hash" not in run.tags:
        raise UserError(f"run {run.run_id} was not made by a bakeoff job, so there is nothing to repeat.")
    if run.status == "RUNNING":
        raise UserError(f"run {run.run_id} is still running; replay it when it has ended.")
    if not run.is_finished and run.status != FAILED and STOPPED_TAG not in run.tags:
        reason = run.tags.get("error", "it has no error message")
        raise UserError(
            f"run {run.run_id} ended as {run.status} ({reason}), so its numbers are incomplete; run its job again."
        )


def repeat_job(prepared: PreparedJob, run: StoredRun, values: Mapping[tuple[str, int], float]) -> Repeat:
    """Run the job of a stored run again, for the same number of folds, without storing anything.

    Parameters
    ----------
    prepared : PreparedJob
    run : StoredRun
    values : mapping of (str, int) to float
        All numbers of the run.

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

    rule = _make_continue_rule(values) if STOPPED_TAG in run.tags else always_continue
    try:
        result = execute_job(prepared, NoTracker(), keep_evaluated, rule)
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


def _make_continue_rule(values: Mapping[tuple[str, int], float]) -> ContinueRule:
    """Return the rule that ends a run after the number of folds that a study allowed."""
    # The store has no series of a single fold, because the mean is the same number.
    n_folds = max((step for name, step in values if name.startswith("fold/")), default=0) + 1

    def continue_rule(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
        return len(folds) < n_folds

    return continue_rule


def _compare_files(
    store: Store,
    run: StoredRun,
    prepared: PreparedJob,
    repeat: Repeat,
    fitted: FittedModel,
    trust: Sequence[str],
    notes: list[str],
) -> list[Comparison]:
    """Return the comparisons of tables and models, and note what cannot be compared."""
    tables = read_tables(store, run)
    comparisons = compare_tables(tables, prepared.experiment, repeat.folds, fitted)
    if TABLES[0] not in tables:
        notes.append(f"{TABLES[0]} is no longer among the artifacts of the run")
    if not run.model_id:
        notes.append("the run has stored no model")
        return comparisons
    try:
        model = open_model(store, FoundModel(run.run_id, run.model_id), trust)
    except UserError as error:
        notes.append(str(error))
        return comparisons
    return [*comparisons, compare_models(model.estimator, fitted.predictor, prepared.experiment.dataset)]


def _judge_end(run: StoredRun, repeat: Repeat, comparisons: Sequence[Comparison]) -> tuple[str, str]:
    """Return the reason, which is empty if the numbers are sufficient, and the verdict."""
    stored_error = run.tags.get("error", "") if run.status == FAILED else ""
    error = repeat.error[:MAX_TAG_LETTERS]
    if error != stored_error:
        then = f"failed with {stored_error}" if stored_error else "finished"
        now = f"fails with {error}" if error else "finishes"
        return f"the stored run {then}, and it {now} now", DIFFERENT
    if any(comparison.differences for comparison in comparisons):
        return "", DIFFERENT
    return f"it fails again with {stored_error}" if stored_error else "", IDENTICAL
