"""A runner: where one process runs jobs, one after the other, and lets none of them harm the next."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.identity import hash_config
from bakeoff.pipeline.job import (
    ContinueRule,
    JobResult,
    PartCache,
    PreparedJob,
    always_continue,
    execute_job,
    name_run,
    prepare_job,
)
from bakeoff.pipeline.report import format_mean, summarize_folds
from bakeoff.pipeline.sweep.claims import Claims
from bakeoff.pipeline.sweep.jobs import (
    BUSY,
    FAILED,
    FINISHED,
    KILLED,
    REFUSED,
    SKIPPED,
    STOPPED,
    Job,
    JobOutcome,
    JobProgress,
)
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.store import SQLITE_PREFIX, Store

MAX_PREPARED_BYTES = 1 << 26
"""So much memory may be taken by the splits of jobs that were checked and wait."""


class TimedOut(BaseException):
    """A job took longer than it may; no ``except Exception`` of a learner can swallow it."""


@dataclass
class JobRunner:
    """Where one process runs jobs.

    Parameters
    ----------
    resume : bool
        Leave out what another process finished meanwhile.
    timeout : float or None
        Seconds that a job may take.
    tracebacks : bool
        Print them.
    began : callable
        Is told when the time of a job begins.
    judge : callable or None
        Says of a job's progress after each fold whether to go on.
    """

    resume: bool = True
    timeout: float | None = None
    tracebacks: bool = False
    began: Callable[[], None] = lambda: None
    judge: Callable[[JobProgress], bool] | None = None
    resources: PartCache = field(default_factory=PartCache)
    _claims: dict[str, Claims] = field(default_factory=dict)
    _prepared: dict[int, tuple[Job, PreparedJob]] = field(default_factory=dict)
    _room: int = MAX_PREPARED_BYTES

    def claims(self, store: Store) -> Claims:
        """Return the claims on a store's jobs."""
        if store.uri not in self._claims:
            self._claims[store.uri] = Claims.beside(store.uri)
        return self._claims[store.uri]

    def identify_job(self, number: int, spec: Mapping[str, Any], invocation: Invocation, asked: bool = True) -> Job:
        """Return the job of a settled configuration; for its hash the data must be read.

        Parameters
        ----------
        number : int
        spec : mapping
        invocation : Invocation
        asked : bool
            Whether the store will be asked, after this, for what is done.

        Raises
        ------
        UserError
        """
        dataset = self.resources.dataset(spec)
        store = self.resources.tracker(spec).find() if asked else None
        key = hash_config(spec, dataset.digest())
        name = name_run({**invocation.choices, "dataset": dataset.name}, spec, invocation.varying)
        seen = -1 if not asked else 0 if store is None else self.claims(store).count(key)
        return Job(number, name, key, spec, invocation, seen)

    def check_job(self, job: Job) -> None:
        """Prepare a job; what small jobs need is kept until they run.

        Raises
        ------
        UserError
        """
        prepared = prepare_job(job.spec, job.invocation, self.resources)
        size = sum(part.nbytes for split in prepared.splits for part in (split.train, split.validation, split.test))
        if size <= self._room:
            self._room -= size
            self._prepared[job.number] = job, prepared

    def _prepare(self, job: Job) -> PreparedJob:
        of, prepared = self._prepared.pop(job.number, (None, None))
        return prepared if prepared and of is job else prepare_job(job.spec, job.invocation, self.resources)

    def run_job(self, job: Job) -> JobOutcome:
        """Run a job, unless it is done or runs elsewhere.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C or SIGTERM; the run ended KILLED.
        """
        try:
            tracker = self.resources.tracker(job.spec)
            tracker.open()
        except UserError as refusal:
            return JobOutcome(job.number, job.name, REFUSED, str(refusal))
        if tracker.store is None or not self.resume:
            return self._attempt(job)
        with self.claims(tracker.store).hold(job.hash) as count:
            if count is None:
                return JobOutcome(job.number, job.name, BUSY, "another process runs it")
            done = self._done_meanwhile(job, count, tracker.store)
            return done or self._attempt(job)

    def _done_meanwhile(self, job: Job, count: int, store: Store) -> JobOutcome | None:
        """Ask the store again if anybody may have run the job since it was asked."""
        if store.uri.startswith(SQLITE_PREFIX) and count == job.seen and count % 2 == 0:
            return None
        run_id = history.find_finished_runs(store, [job.hash]).get(job.hash)
        if run_id is not None:
            return JobOutcome(job.number, job.name, SKIPPED, run_id=run_id)
        if history.is_running(store, job.hash):
            return JobOutcome(job.number, job.name, BUSY, "another process runs it")
        return None

    def _attempt(self, job: Job) -> JobOutcome:
        """Run a job, and turn whatever it raises into its outcome."""
        self.began()
        try:
            with _limited(self.timeout):
                result = execute_job(
                    self._prepare(job), self.resources.tracker(job.spec), _unwatched, self._judge_of(job)
                )
        except UserError as refusal:
            return JobOutcome(job.number, job.name, REFUSED, str(refusal))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, MemoryError and RecursionError too
            if self.tracebacks:
                traceback.print_exc()
            return JobOutcome(job.number, job.name, FAILED, f"{type(error).__name__}: {error}")
        return job_outcome(job, result)

    def _judge_of(self, job: Job) -> ContinueRule:
        """Return who is asked after each fold of a job."""
        ask = self.judge
        if ask is None:
            return always_continue

        def judge(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
            return ask(JobProgress(job.number, len(folds), summarize_folds(experiment, folds)))

        return judge


def job_outcome(job: Job, result: JobResult) -> JobOutcome:
    """Return what is told of a job that ran."""
    headline, metrics = result.experiment.headline, summarize_folds(result.experiment, result.folds)
    return JobOutcome(
        job.number,
        job.name,
        STOPPED if result.stopped else FINISHED,
        reason=result.stopped,
        headline=f"test_{headline}",
        value=format_mean(metrics, f"test_{headline}"),
        score=result.score,
        greater_is_better=result.experiment.metrics[headline].greater_is_better,
        seconds=sum(sum(fold.model.seconds.values()) for fold in result.folds),
        run_id=result.run_id,
        metrics=metrics,
        warnings=tuple(dict.fromkeys(warning for fold in result.folds for warning in fold.model.warnings)),
    )


def killed(job: Job, reason: str) -> JobOutcome:
    """Return the outcome of a job whose process was killed."""
    return JobOutcome(job.number, job.name, KILLED, reason)


def _unwatched(folds: Iterator[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
    return folds


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """Raise TimedOut in this thread after some time; None: never."""
    if seconds is None:
        yield
        return

    def over(number: int, frame: Any) -> None:
        raise TimedOut(f"the job took longer than timeout={seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
