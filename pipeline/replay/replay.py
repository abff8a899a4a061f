"""The replay of one run: rebuilt, repeated and compared."""

from __future__ import annotations

from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.experiment.part_cache import PartCache
from bakeoff.pipeline.replay.differences import (
    Comparison,
    compare_metrics,
    compare_models,
    compare_tables,
    measure_repeat,
)
from bakeoff.pipeline.replay.environment import UNKNOWN, Change, describe_circumstances, find_changes
from bakeoff.pipeline.replay.rebuild import FAILED, FINISHED, rebuild_spec
from bakeoff.pipeline.replay.repeat import Repeat, limit_threads, repeat_job
from bakeoff.pipeline.replay.replay_report import DIFFERENT, IDENTICAL, ReplayReport, find_verdict
from bakeoff.pipeline.replay.request import ReplayRequest
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.job import PreparedJob, prepare_job
from bakeoff.pipeline.tracking.metric_log import MAX_TAG_LETTERS
from bakeoff.pipeline.tracking.models import load_reviewed_model
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, RunRecord, read_run_record


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
        circumstances = describe_circumstances(prepared.description.tags)
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
    """Return the comparisons that the store allows, and what cannot be compared."""
    experiment = prepared.experiment
    comparisons = [compare_metrics(record.metrics, measure_repeat(experiment, repeat))]
    notes: list[str] = []
    if record.status != FINISHED or repeat.model is None:
        return comparisons, notes
    comparisons += compare_tables(record.tables, experiment, repeat)
    if TABLES[0] not in record.tables:
        notes.append(f"{TABLES[0]} is not among the artifacts of the run any more")
    if record.model_id is None:
        notes.append("the run has stored no model")
        return comparisons, notes
    model, reason = load_reviewed_model(store, record.model_id, request.trust)
    if model is None:
        notes.append(reason)
    else:
        comparisons.append(compare_models(model, repeat.model.predictor, experiment.dataset))
    return comparisons, notes


def _judge_end(record: RunRecord, repeat: Repeat, comparisons: list[Comparison]) -> tuple[str, str]:
    """Return the reason, which is empty if the numbers say it all, and the verdict."""
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
