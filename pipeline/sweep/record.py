"""The list of the jobs of a sweep, written into each store that the sweep uses."""

from __future__ import annotations

from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.planning import DUPLICATE, INVALID, Plan, PlanEntry
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.sweep_record import RecordedJob, SweepRecord, write_sweep_record
from bakeoff.pipeline.tracking.trackers import get_tracker


def record_sweep(name: str, plan: Plan, runner: JobRunner) -> list[str]:
    """Write the jobs of a plan, those that are done or refused included, so that `compare` finds them all.

    A list that cannot be written does not stop the sweep, because its jobs may still be worth running.

    Parameters
    ----------
    name : str
        The sweep's.
    plan : Plan
    runner : JobRunner
        Has opened the stores.

    Returns
    -------
    list of str
        Why a list could not be written.
    """
    stores: dict[tuple[str, str], Store] = {}
    jobs: dict[tuple[str, str], list[RecordedJob]] = {}
    unplaced: list[RecordedJob] = []
    for entry in plan.entries:
        if entry.state == DUPLICATE:
            continue
        store = _find_store(entry, runner)
        if store is None:
            unplaced.append(_describe_job(entry, runner))
            continue
        key = store.uri, store.experiment_id
        stores[key] = store
        jobs.setdefault(key, []).append(_describe_job(entry, runner))
    problems = []
    for key, store in stores.items():
        # A job that could not be composed names no store, and belongs to the sweep all the same.
        try:
            write_sweep_record(store, SweepRecord(name, (*jobs[key], *unplaced)))
        except OSError as error:
            problems.append(
                f"the list of the jobs of this sweep cannot be written ({error}): "
                f"bakeoff compare sweep={name} will find only those that run now"
            )
    return problems


def _find_store(entry: PlanEntry, runner: JobRunner) -> Store | None:
    return None if entry.job is None else get_tracker(runner.resources, entry.job.spec).find_store()


def _describe_job(entry: PlanEntry, runner: JobRunner) -> RecordedJob:
    words = dict(word.lstrip("+").split("=", 1) for word in entry.composed.overrides if "=" in word)
    invocation = entry.composed.invocation
    choices = words if invocation is None else invocation.choices
    # A dataset that is read from a file has a name of its own, which is the one that runs store.
    dataset = choices.get("dataset", "")
    if entry.job is not None:
        dataset = runner.resources.get_dataset(entry.job.spec).name
    return RecordedJob(
        hash="" if entry.job is None else entry.job.hash,
        name=entry.name,
        learner=choices.get("learner", ""),
        dataset=dataset,
        reason=entry.reason if entry.state == INVALID else "",
    )
