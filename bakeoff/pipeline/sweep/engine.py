"""The engine of sweeps and studies: it plans all jobs, then runs those that a search chooses, here or elsewhere."""

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any, final

from bakeoff.pipeline.experiment.loop import limit_processes
from bakeoff.pipeline.identity.config_hash import describe_unidentified
from bakeoff.pipeline.sweep.command import LaunchJobs, SweepCommand
from bakeoff.pipeline.sweep.display import ResultTable, SweepDisplay, add_stored_scores, make_tables
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import (
    BUSY,
    DONE,
    FAILED,
    INVALID,
    KILLED,
    NOT_RUN,
    REFUSED,
    SKIPPED,
    TO_DO,
    Job,
    JobOutcome,
    RowsKey,
    TimeKey,
)
from bakeoff.pipeline.sweep.planning import (
    Plan,
    add_estimates,
    find_store,
    make_plan,
    mark_left,
    order_jobs,
    record_sweep,
    take_job,
)
from bakeoff.pipeline.sweep.workers import Workers, prepare_server
from bakeoff.pipeline.tracking.history import list_remarks
from bakeoff.pipeline.tracking.run import get_tracker

POLL_SECONDS = 0.5
"""The time between two checks of a job that another process runs."""
LOST_STORE = "the store is unavailable, so no further job is started; run the same command again when it is back"
LEFT = "it was not expected to end within the budget"
CONTINUED = "The same command runs the jobs that are not done."
RunJobs = Callable[[Iterable[Job]], Iterator[JobOutcome]]
"""Consumes jobs one by one as processes become free, and yields their outcomes as they arrive."""
RecordOutcome = Callable[[JobOutcome], object]
"""Records the outcome of a job that does not need to run."""


class Search(ABC):
    """Chooses each job of a sweep when a process is free, using the outcomes of earlier jobs.

    Attributes
    ----------
    n_jobs : int
        The maximum number of jobs.
    batch_size : int or None
        The number of jobs passed to another launcher at a time; None for all jobs.
    is_over : bool
        Whether jobs are left because the time is over.
    """

    n_jobs: int
    batch_size: int | None = None
    is_over: bool = False

    @abstractmethod
    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs to run, each chosen on demand.

        Parameters
        ----------
        record : callable
            Records the outcome of a chosen job that does not need to run.
        """

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """Record the outcome of a job, and return it in the form in which it is kept and shown."""
        return outcome


@final
@dataclass
class ListedJobs(Search):
    """Jobs that are all known before the first one runs: a grid, random points, or paired values.

    Attributes
    ----------
    jobs : sequence of Job
    has_workers : bool
        Whether workers run them, each of which continues with the rows that it has prepared for its last job.
    """

    jobs: Sequence[Job]
    has_workers: bool = False
    _waiting: dict[RowsKey | None, deque[Job]] = field(default_factory=dict, init=False)
    _running: dict[int, RowsKey | None] = field(default_factory=dict, init=False)
    _ended: list[RowsKey | None] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.n_jobs = len(self.jobs)
        for job in self.jobs:
            self._waiting.setdefault(job.rows_key if self.has_workers else None, deque()).append(job)

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield a job on the rows of the job that ended, else on rows that no worker has, else on the first ones."""
        while self._waiting:
            last = self._ended.pop(0) if self._ended else None
            of_none = (key for key in self._waiting if key not in self._running.values())
            key = last if last in self._waiting else next(of_none, next(iter(self._waiting)))
            job = self._waiting[key].popleft()
            if not self._waiting[key]:
                del self._waiting[key]
            self._running[job.number] = key
            yield job

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """Note that the worker of a job is free."""
        self._ended.append(self._running.pop(outcome.number))
        return outcome


@final
@dataclass
class BudgetedJobs(Search):
    """Jobs that are started only if they are expected to end in time.

    Attributes
    ----------
    waiting : list of Job
        The jobs that were not started yet, in order.
    deadline : float
        The time at which the budget is over, in seconds of the monotonic clock.
    """

    waiting: list[Job]
    deadline: float
    _started: dict[int, tuple[TimeKey, float]] = field(default_factory=dict, init=False)
    _durations: dict[TimeKey, float] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.n_jobs = len(self.waiting)

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs that are expected to end in time."""
        while (job := take_job(self.waiting, self.deadline - time.monotonic(), self._durations)) is not None:
            self._started[job.number] = job.time_key, time.monotonic()
            yield job
        self.is_over = bool(self.waiting)

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """Measure how long the first job of a learner on a dataset took."""
        key, start = self._started[outcome.number]
        self._durations.setdefault(key, time.monotonic() - start)
        return outcome


@dataclass(frozen=True)
class SweepReport:
    """The results of a sweep.

    Attributes
    ----------
    outcomes : list of JobOutcome
        The outcomes, with stored scores, of the jobs that ended, were already done, or were refused.
    name : str
        The name of the sweep.
    plan : Plan
        The plan, which is empty for a study because it chooses its jobs one by one.
    tracking : mapping
        The settings of the store; empty if nothing is stored.
    notes : tuple of str
        Notes on possible problems with the data.
    is_dry_run : bool
        Whether only the plan was requested.
    skips_invalid : bool
        Whether invalid jobs were to be left out.
    """

    outcomes: list[JobOutcome]
    name: str
    plan: Plan = field(default_factory=Plan)
    tracking: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_dry_run: bool = False
    skips_invalid: bool = False

    @property
    def tables(self) -> list[ResultTable]:
        """A table for each headline score."""
        return make_tables(self.outcomes)

    @property
    def is_refused(self) -> bool:
        """Whether an invalid job prevents the start, because the mistake often affects the other jobs as well."""
        return bool(self.plan.with_state(INVALID)) and not self.skips_invalid


class SweepEngine:
    """Plans and runs a sweep, and prints its progress.

    Parameters
    ----------
    command : SweepCommand
        The command, whose folder is created only if a job runs.

    Attributes
    ----------
    runner : JobRunner
        The runner of this process.
    """

    def __init__(self, command: SweepCommand, remarks: tuple[str, ...] = ()) -> None:
        self.command = command
        self._remarks = remarks
        options = self.options = command.options
        self._deadline = time.monotonic() + (options.budget or math.inf)
        self._uses_workers = command.launch is None and options.needs_workers
        # User-defined code is left to the processes that run jobs, because it may end its process.
        runs_here = command.launch is None and not options.needs_workers
        self.runner = JobRunner(options.resume, options.timeout, command.request.tracebacks, tries_own_code=runs_here)

    def run(self, jobs: list[Job]) -> SweepReport:
        """Plan composed jobs and run those that are not done.

        Parameters
        ----------
        jobs : list of Job
            They are replaced in the list by the planned ones.

        Raises
        ------
        UserError
            The store cannot be written.
        """
        options = self.options
        if self._uses_workers and not options.dry_run:
            prepare_server()
        report = self.check(jobs, resume=options.resume)
        if options.dry_run:
            plan = add_estimates(report.plan, self.runner)
            if options.budget is not None:
                plan = mark_left(plan, options.budget, options.workers)
            SweepDisplay(0, self.command.request.quiet).show_plan(plan, options.workers)
            return replace(report, plan=plan)
        return report if report.is_refused else self._run_planned(report)

    def check(self, jobs: list[Job], *, resume: bool) -> SweepReport:
        """Plan composed jobs, print the findings of the checks, and return a report with the refused jobs.

        Parameters
        ----------
        jobs : list of Job
        resume : bool
            Whether finished jobs are looked up in the store.
        """
        options = self.options
        display = SweepDisplay(0, self.command.request.quiet)
        plan = make_plan(jobs, self.runner, display.err.print, resume=resume)
        store = find_store(plan.jobs, self.runner)
        shared = {id(job.shared_spec): job.shared_spec for job in plan.identified}
        findings = dict.fromkeys([
            *self._remarks,
            *plan.remarks,
            *(sentence for spec in shared.values() for sentence in describe_unidentified(spec)),
            *(f"{each.name}: {text}" for each in self.runner.resources.datasets for text in list_remarks(each, store)),
        ])  # fmt: skip
        display.warn(tuple(findings))
        report = SweepReport(
            [job.to_outcome(REFUSED, job.reason) for job in plan.with_state(INVALID)],
            name=self.command.folder.name,
            plan=plan,
            notes=tuple(findings),
            is_dry_run=options.dry_run,
            skips_invalid=options.skips_invalid,
        )
        if report.is_refused and not options.dry_run:
            display.show_refused(report.outcomes, len(plan.jobs))
        return report

    def _run_planned(self, report: SweepReport) -> SweepReport:
        """Run the planned jobs that are not done, and return the report with their outcomes."""
        plan = report.plan
        to_do = plan.with_state(TO_DO)
        display = SweepDisplay(len(to_do), self.command.request.quiet)
        # A store that cannot be written must be rejected before the first job runs.
        for job in to_do[:1]:
            get_tracker(self.runner.resources, job.spec).open_store()
        done = [job.to_outcome(SKIPPED, job.reason, job.run_id) for job in plan.with_state(DONE)]
        outcomes = [*report.outcomes, *done]
        search: Search = ListedJobs(to_do, self._uses_workers)
        if self.options.budget is not None:
            search = BudgetedJobs(order_jobs(add_estimates(plan, self.runner)), self._deadline)
        with self.open_executor(search) as run_jobs:
            store = find_store(plan.jobs, self.runner)
            if store is not None:
                record_sweep(report.name, plan, store)
            display.show(plan.summary)
            self.run_search(search, run_jobs, display, outcomes)
        ended = {outcome.number for outcome in outcomes}
        left = [job.to_outcome(NOT_RUN, LEFT) for job in to_do if search.is_over and job.number not in ended]
        outcomes += left
        display.show_warnings(outcomes)
        display.show_unfinished(outcomes, len(plan.jobs))
        if left:
            display.show(CONTINUED)
        report = self._add_earlier_scores(replace(report, outcomes=outcomes))
        display.show_tables(report.tables, report.name, report.tracking)
        return report

    def _add_earlier_scores(self, report: SweepReport) -> SweepReport:
        """Return a report with the scores of jobs that were done earlier, unless the store was lost."""
        if any(outcome.has_lost_store for outcome in report.outcomes):
            return report
        store = find_store(report.plan.jobs, self.runner)
        tracking = {} if store is None else report.plan.identified[0].spec["tracking"]
        return replace(report, outcomes=add_stored_scores(report.outcomes, store), tracking=tracking)

    @contextmanager
    def open_executor(self, search: Search) -> Iterator[RunJobs]:
        """Create the folder of the sweep, and yield the function that runs jobs.

        It runs them with another launcher, in workers, or in this process. Workers start before any threads do, because
        a process with threads cannot be forked safely.

        Raises
        ------
        UserError
            The folder cannot be written.
        """
        launch = self.command.launch
        if self._uses_workers and search.n_jobs > 0:
            with Workers(self.runner, limit_processes(self.options.workers, search.n_jobs)) as workers:
                self.command.open_folder()
                yield workers.run_jobs
        else:
            self.command.open_folder()
            yield partial(map, self.runner.run_job) if launch is None else partial(self._launch_batches, launch, search)

    def _launch_batches(self, launch: LaunchJobs, search: Search, jobs: Iterable[Job]) -> Iterator[JobOutcome]:
        remaining = iter(jobs)
        for first in remaining:
            yield from launch(islice(chain([first], remaining), search.batch_size), self.options)

    def run_search(self, search: Search, run_jobs: RunJobs, display: SweepDisplay, outcomes: list[JobOutcome]) -> None:
        """Run the jobs of a search, and append their outcomes to those already known.

        A job that runs in another process is tried again until it has ended, because it may fail there.

        Parameters
        ----------
        search : Search
        run_jobs : callable
            What `open_executor` yields.
        display : SweepDisplay
        outcomes : list of JobOutcome

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C or SIGTERM; the runs have ended as KILLED.
        """
        self.runner.show_work = display.show_work
        loop = SweepLoop(self.options.on_error == "stop", display, search, outcomes)
        try:
            loop.run_all(run_jobs)
        except KeyboardInterrupt:
            display.show(CONTINUED)
            raise


@dataclass
class SweepLoop:
    """Runs the jobs of a search until all have ended.

    Attributes
    ----------
    stops_at_failure : bool
        Whether the first failed job ends the sweep.
    display : SweepDisplay
    search : Search
    outcomes : list of JobOutcome
        The outcomes already known; further ones are appended as they arrive.
    """

    stops_at_failure: bool
    display: SweepDisplay
    search: Search
    outcomes: list[JobOutcome]
    _is_stopped: bool = field(default=False, init=False)

    def run_all(self, run_jobs: RunJobs) -> None:
        """Run the jobs; retry jobs that run in another process until they have ended.

        Parameters
        ----------
        run_jobs : callable
        """
        jobs: Iterable[Job] = self.search.ask(self._record)
        with self.display.bar:
            while not self._is_stopped:
                started: dict[int, Job] = {}
                outcomes = run_jobs(self._until_stopped(jobs, started))
                # A job in another process may still fail, and is then run here.
                busy = [started[outcome.number] for outcome in outcomes if not self._record(outcome)]
                if not busy or self.search.is_over:
                    return
                time.sleep(POLL_SECONDS)
                jobs = busy

    def _record(self, outcome: JobOutcome) -> bool:
        """Record and show an outcome; return False if the job still runs in another process."""
        if outcome.kind == BUSY:
            return False
        outcome = self.search.tell(outcome)
        self.outcomes.append(outcome)
        self.display.show_outcome(outcome)
        # Running jobs are completed, but no further ones are started.
        if outcome.has_lost_store and not self._is_stopped:
            self.display.warn([LOST_STORE])
        has_failed = outcome.kind in (FAILED, KILLED)
        self._is_stopped |= outcome.has_lost_store or (self.stops_at_failure and has_failed)
        return True

    def _until_stopped(self, jobs: Iterable[Job], started: dict[int, Job]) -> Iterator[Job]:
        """Yield jobs until the sweep has to end, and record the started ones by number."""
        remaining = iter(jobs)
        while not self._is_stopped and (job := next(remaining, None)) is not None:
            started[job.number] = job
            yield job
