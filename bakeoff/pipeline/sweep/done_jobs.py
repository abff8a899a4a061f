"""Decides whether a job is done, runs elsewhere, or failed.

A job is done if the store has a FINISHED run with its ``config_hash``, or if its result was kept on this machine when
the store was lost. Plans check many jobs at once; a single job is checked before it runs and after its process dies.

Among all processes that use a store, only one runs a job at a time, under a claim: a record lock on eight bytes of a
file next to the store. The kernel releases the lock when the process ends for any reason, so a killed job does not
remain claimed, and NFS shares the lock with other machines.

The eight bytes contain a count, as in a sequence lock: it is odd while the job runs, and even after it has ended. If a
process takes a claim and finds an even count that has not changed since it queried the store, no other process has run
the job in between. With any other count, the store must be queried again.

A store on a server has no such file. It is queried before each job; if two processes start the same job at the same
moment, both may run it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.sweep.jobs import BUSY, FINISHED, KILLED, SKIPPED, Job, JobOutcome
from bakeoff.pipeline.system import PLAIN_FILE, lock_bytes, read_bytes, unlock_bytes, write_bytes
from bakeoff.pipeline.tracking import Tracker, history, sqlite_file
from bakeoff.pipeline.tracking.store import Store

BUSY_REASON = "another process is running it"
STORED_NOW = "it had already finished, and its results are stored now"


def find_done_jobs(store: Store, hashes: Collection[str]) -> dict[str, str]:
    """Return the runs of the finished jobs: ``config_hash`` -> run id.

    Runs whose process died are ended first; otherwise they would count as running, and their jobs would wait for them.
    """
    history.end_orphans(store)
    return history.find_finished_runs(store, hashes)


def find_ended_job(job: Job, tracker: Tracker, claim_count: int) -> JobOutcome | None:
    """Return the outcome of a job that is done or runs in another process, or None if it must be run.

    Parameters
    ----------
    job : Job
    tracker : Tracker
        A tracker with an open store.
    claim_count : int
        The count of the job's claim, which this process holds.
    """
    store = tracker.store
    assert store is not None
    # An unchanged count proves without a query that no other process has run the job since it was planned.
    if claim_count % 2 or claim_count != job.claim_count:
        run_id = history.find_finished_runs(store, [job.hash]).get(job.hash)
        if run_id is not None:
            return job.to_outcome(SKIPPED, f"run {run_id}", run_id)
        if history.is_running(store, job.hash):
            return job.to_outcome(BUSY, BUSY_REASON)
    run_id = tracker.store_kept_result(job.hash)
    return None if run_id is None else job.to_outcome(SKIPPED, STORED_NOW, run_id)


def find_lost_job(job: Job, store: Store | None, reason: str, *, resume: bool) -> JobOutcome:
    """End the run of a job whose process died and return its outcome, as the run may have finished before.

    Parameters
    ----------
    job : Job
    store : Store or None
        The store of the job, if it is stored.
    reason : str
        Why the process died.
    resume : bool
        Whether an earlier finished run is reused.
    """
    if store is None:
        return job.to_outcome(KILLED, reason)
    try:
        history.end_killed_runs(store, reason)
        run_id = history.find_finished_runs(store, [job.hash]).get(job.hash) if resume else None
    except StoreError as error:
        return replace(job.to_outcome(KILLED, f"{reason}; {error}"), has_lost_store=True)
    return job.to_outcome(KILLED, reason) if run_id is None else job.to_outcome(FINISHED, run_id=run_id)


N_SLOTS = 2**20
"""Jobs whose hashes share a slot, which is rare, wait for each other without further effects."""
SLOT_BYTES = 8

UNCLAIMED = -1
"""The count of a job in a store on a server, which equals no other count."""
FILE_MODE = 0o666
"""Further restricted by the umask. Users who can write to the store of a group can run its jobs."""


@dataclass(frozen=True)
class Claims:
    """The claims on the jobs of a store.

    A process must have only one of these objects per store, because closing the file of a second one would release the
    claims of the first.

    Attributes
    ----------
    file : int or None
        A descriptor that stays open as long as the process runs; None for a server.
    """

    file: int | None

    @classmethod
    def open_for_store(cls, uri: str) -> Claims:
        """Open the claims of a store.

        Raises
        ------
        UserError
            The path is not a regular file.
        """
        return cls(
            _open_file(f"{sqlite_file.sqlite_path(uri)}.claims") if uri.startswith(sqlite_file.SQLITE_PREFIX) else None
        )

    def read_count(self, job_hash: str) -> int:
        """Return the count of a job's claim, which changes whenever the claim is taken or released."""
        if self.file is None:
            return UNCLAIMED
        # The file may end before a slot that was never written, which counts as 0.
        return int.from_bytes(read_bytes(self.file, SLOT_BYTES, _slot_offset(job_hash)), "little")

    @contextmanager
    def hold(self, job_hash: str) -> Iterator[int | None]:
        """Take the claim, yield its previous count, and release it; yield None if another process holds it."""
        if self.file is None:
            yield UNCLAIMED
            return
        offset = _slot_offset(job_hash)
        if not lock_bytes(self.file, SLOT_BYTES, offset):
            yield None
            return
        try:
            found = self.read_count(job_hash)
            running = (found + 1) | 1  # the next odd number
            _write_count(self.file, running, offset)
            yield found
            _write_count(self.file, running + 1, offset)
        finally:
            unlock_bytes(self.file, SLOT_BYTES, offset)


def _slot_offset(job_hash: str) -> int:
    return int(job_hash, 16) % N_SLOTS * SLOT_BYTES


def _write_count(file: int, count: int, offset: int) -> None:
    try:
        write_bytes(file, count.to_bytes(SLOT_BYTES, "little"), offset)
    except OSError as error:  # the disk may be full
        raise StoreError(f"jobs cannot be claimed in the file beside the store: {error.strerror}.") from error


def _open_file(path: str) -> int:
    """Open or create a file of claims and return its descriptor; reject a link that another user may have put there."""
    try:
        # A pipe without a reader is rejected immediately instead of blocking.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | PLAIN_FILE, FILE_MODE)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            os.close(descriptor)
            raise OSError(None, "it is not a regular file with a single name")
    except OSError as error:
        raise UserError(
            f"cannot claim jobs in {path!r}: {error.strerror}; delete that file if you do not need it, or set "
            "tracking.uri to another store."
        ) from error
    return descriptor
