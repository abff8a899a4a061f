"""Replay of stored runs, which are rebuilt, repeated and compared; nothing is stored."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.config import settle, words
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.sweep.differences import (
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
from bakeoff.pipeline.sweep.job_runner import JobResult, execute_job, prepare_job
from bakeoff.pipeline.sweep.refit import read_finished_run, repeat_tuning
from bakeoff.pipeline.tracking import NoTracker, models, names, provenance, run_content, stored_runs
from bakeoff.pipeline.tracking.store import Store, open_store

NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}


def replay_runs(request: RefitRequest, sweep: str, folder: str | None) -> Iterator[ReplayReport]:
    """Replay a run or the runs of a sweep and yield reports; a run that cannot be repeated is reported as refused.

    Parameters
    ----------
    request : RefitRequest
        The run, unless a sweep is named.
    sweep : str
        A sweep, whose runs are all replayed; empty for a single run.
    folder : str or None
        The folder in which the files of the datasets are now, if they were moved.

    Raises
    ------
    UserError
        The run or sweep does not exist.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    if sweep:
        run_ids = stored_runs.find_runs_of_sweep(store, sweep)
    else:
        run_ids = [names.find_run_id(store, request.run, request.dataset)]
    resources = PartCache()
    for run_id in run_ids:
        try:
            yield replay_run(store, run_id, request, folder, resources)
        except UserError as error:
            yield ReplayReport(run_id, "", REFUSED, str(error))


def replay_run(
    store: Store, run_id: str, request: RefitRequest, folder: str | None, resources: PartCache
) -> ReplayReport:
    """Run a stored run again and compare every number; the store does not change.

    Parameters
    ----------
    store : Store
    run_id : str
    request : RefitRequest
    folder : str or None
        The folder of the dataset's files, if they were moved.
    resources : PartCache
        Datasets shared by several replays.

    Raises
    ------
    UserError
        The run cannot be repeated.
    """
    run = read_finished_run(store, run_id)
    restored = run_content.restore_config(store, run_id, request.trust, request.dataset__path, folder)
    spec = settle.settle_config({**restored, "tracking": NO_TRACKING, "figures": []})
    dataset = resources.get_dataset(spec)
    if dataset.digest() != run.tags.get("dataset_digest"):  # other data have other scores
        changes = find_changes(run.tags, {**run.tags, "dataset_digest": dataset.digest()})
        reason = f"the data have changed since ({dataset.source}), so it was not run again"
        return ReplayReport(run_id, run.name, DIFFERENT, reason, changes=changes)
    prepared = prepare_job(spec, words.Invocation({}), resources)
    prepared = replace(prepared, experiment=repeat_tuning(prepared.experiment, run))
    # The circumstances are recorded inside, because they include the numbers of threads.
    with limit_threads(run.tags):
        changes = find_changes(run.tags, {**provenance.list_tags(), **prepared.description.tags})
        try:
            result = execute_job(prepared, NoTracker())
        except Exception as error:  # an error is a result, because the stored run has finished
            reason = f"the stored run finished, but it now fails with {type(error).__name__}: {error}"
            return ReplayReport(run_id, run.name, DIFFERENT, reason, changes=changes)
        comparisons, notes = _compare_run(store, run, result, request.trust)
    verdict = DIFFERENT if any(comparison.differences for comparison in comparisons) else IDENTICAL
    return ReplayReport(run_id, run.name, verdict, "", tuple(comparisons), changes, tuple(notes))


def limit_threads(tags: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP use the numbers of threads recorded by a run.

    They determine the order in which a sum is computed, and therefore the last bits of the result: a product of two
    random 1,797 x 64 tables differs between one and two threads of OpenBLAS.

    Parameters
    ----------
    tags : mapping of str to str
        The tags of the run.
    """
    threads: dict[str, int] = json.loads(tags.get("threads", "{}"))
    return provenance.find_thread_pools().limit(limits=threads)


def _compare_run(
    store: Store, run: stored_runs.StoredRun, result: JobResult, trust: Sequence[str]
) -> tuple[list[Comparison], list[str]]:
    """Return the comparisons of scores, tables and models, and notes on what cannot be compared."""
    experiment = result.prepared.experiment
    now = measure_repeat(experiment, result.folds, result.model)
    tables = stored_runs.read_tables(store, run)
    comparisons = [
        compare_values("scores", write_scores(stored_runs.read_values(store, run)), write_scores(now)),
        *compare_tables(tables, experiment, result.folds, result.model),
    ]
    notes = (
        []
        if stored_runs.TABLES[0] in tables
        else [f"{stored_runs.TABLES[0]} is no longer among the artifacts of the run"]
    )
    if not run.model_id:
        return comparisons, [*notes, "the run has stored no model"]
    try:
        model = models.open_model(store, models.FoundModel(run.run_id, run.model_id), trust)
    except UserError as error:
        return comparisons, [*notes, str(error)]
    return [*comparisons, compare_models(model.estimator, result.model.predictor, experiment.dataset)], notes
