"""Which jobs are done, or run elsewhere: the one place that decides it.

A job is done if the store has a FINISHED run under its ``config_hash``, or if its result was kept on this machine when
the store was lost. Plans ask for many jobs, a process asks for the job that it is about to run, and the sweep asks for
the job of a process that died.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bakeoff.pipeline.errors import StoreError
from bakeoff.pipeline.sweep.claims import can_trust_claims
from bakeoff.pipeline.sweep.jobs import BUSY, FINISHED, KILLED, SKIPPED, Job, JobOutcome
from bakeoff.pipeline.tracking import Tracker, history
from bakeoff.pipeline.tracking.store import Store

BUSY_REASON = "another process runs it"
STORED_NOW = "it had finished before, and its results are stored now"


def find_done_jobs(store: Store, hashes: Collection[str]) -> dict[str, str]:
    """Return the runs of those jobs that are done: ``config_hash`` -> run id.

    Runs whose process died are ended first: they would count as running, and their jobs would wait for them.
    """
    history.end_orphans(store)
    return history.find_finished_runs(store, hashes)


def find_ended_job(job: Job, tracker: Tracker, claim_count: int) -> JobOutcome | None:
    """Return the outcome of a job that is done, or that another process runs; None if it is to be run.

    Parameters
    ----------
    job : Job
    tracker : Tracker
        Has opened its store.
    claim_count : int
        The count of its claim, which this process holds now.
    """
    store = tracker.store
    assert store is not None
    # An unchanged count tells without a query that no other process ran the job since the plan asked for it.
    if claim_count % 2 or claim_count != job.claim_count or not can_trust_claims(store.uri):
        run_id = history.find_finished_runs(store, [job.hash]).get(job.hash)
        if run_id is not None:
            return job.to_outcome(SKIPPED, run_id=run_id)
        if history.is_running(store, job.hash):
            return job.to_outcome(BUSY, BUSY_REASON)
    run_id = tracker.store_kept_result(job.hash)
    return None if run_id is None else job.to_outcome(SKIPPED, STORED_NOW, run_id)


def find_lost_job(job: Job, store: Store | None, reason: str, *, resume: bool) -> JobOutcome:
    """End the run of a job whose process died, and return its outcome: the run may have had its last write before.

    Parameters
    ----------
    job : Job
    store : Store or None
        That of the job, if it is stored.
    reason : str
        Why the process died.
    resume : bool
        Whether a run that was finished before counts.
    """
    if store is None:
        return job.to_outcome(KILLED, reason)
    try:
        history.end_killed_runs(store, reason)
        run_id = history.find_finished_runs(store, [job.hash]).get(job.hash) if resume else None
    except StoreError as error:
        return replace(job.to_outcome(KILLED, f"{reason}; {error}"), has_lost_store=True)
    return job.to_outcome(KILLED, reason) if run_id is None else job.to_outcome(FINISHED, run_id=run_id)
