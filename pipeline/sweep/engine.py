"""The engine of sweeps: plan all jobs, then run those to do in this process, in workers, or with another launcher."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, final

from bakeoff.pipeline.experiment.loop import describe_limit, limit_processes
from bakeoff.pipeline.sweep.compose import LaunchJobs, SweepCommand
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import BUSY, NOT_RUN, REFUSED, SKIPPED, ComposedJob, Job, JobOutcome
from bakeoff.pipeline.sweep.options import SweepOptions
from bakeoff.pipeline.sweep.planning import DONE, DUPLICATE, INVALID, LearnerPattern, Plan, Planner, record_sweep
from bakeoff.pipeline.sweep.result_table import ResultTable, add_stored_scores, make_tables
from bakeoff.pipeline.sweep.workers import Workers, prepare_server
from bakeoff.pipeline.tracking.run import get_tracker
from bakeoff.pipeline.tracking.store import Store

POLL_SECONDS = 0.5
"""Time between two checks of a job that another process runs."""
LOST_STORE = "the store is lost, and no further job is started; the same command runs the others when the store works"
RunJobs = Callable[[Iterable[Job]], Iterator[JobOutcome]]
"""Consumes jobs one by one as processes become free, and yields their outcomes as they arrive."""
RecordOutcome = Callable[[JobOutcome], object]
"""Records the outcome of a job that need not run."""


class Search(ABC):
    """Chooses the jobs of a sweep, each when a process is free, with the outcomes of earlier ones.

    Attributes
    ----------
    n_jobs : int
        The largest number of jobs.
    batch_size : int or None
        The number of jobs passed to another launcher at a time; None for all of them.
    """

    n_jobs: int
    batch_size: int | None = None

    @abstractmethod
    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs to run, each chosen on demand.

        Parameters
        ----------
        record : callable
            Records the outcome of a chosen job that need not run.
        """

    def tell(self, outcome: JobOutcome) -> JobOutcome:
        """Record the outcome of a job, and return it in the form to keep and show."""
        return outcome


@final
@dataclass
class ListedJobs(Search):
    """Jobs that are all known before the first one runs: those of a grid, of random points, or of paired values."""

    jobs: Sequence[Job]

    def __post_init__(self) -> None:
        self.n_jobs = len(self.jobs)

    def ask(self, record: RecordOutcome) -> Iterator[Job]:
        """Yield the jobs in order."""
        return iter(self.jobs)


@dataclass(frozen=True)
class SweepReport:
    """The results of a sweep.

    Attributes
    ----------
    outcomes : list of JobOutcome
        The outcomes of the jobs that ended, were already done, or were refused.
    name : str
        The name of the sweep, or of the earlier sweep that it continues.
    plan : Plan
        The plan; without entries for a study, which chooses its jobs one by one.
    results : list of JobOutcome
        The outcomes of all jobs, with stored scores of those already done; empty if nothing was to run.
    settings : list of mapping
        Of the stores of the jobs; empty if nothing is stored.
    notes : tuple of str
        Notes on possible problems of the data, and problems that did not stop the sweep.
    is_dry_run : bool
        Whether only the plan was requested.
    skips_invalid : bool
        Whether invalid jobs were to be left out.
    """

    outcomes: list[JobOutcome]
    name: str
    plan: Plan = field(default_factory=lambda: Plan(()))
    results: Sequence[JobOutcome] = ()
    settings: Sequence[Mapping[str, Any]] = ()
    notes: tuple[str, ...] = ()
    is_dry_run: bool = False
    skips_invalid: bool = False

    @property
    def tables(self) -> list[ResultTable]:
        """A table for each headline score."""
        return make_tables(self.results)


@dataclass
class SweepEngine:
    """Plans and runs a sweep, and prints its progress.

    Attributes
    ----------
    command : SweepCommand
        The command, whose folder is created only if something runs.
    """

    command: SweepCommand

    def __post_init__(self) -> None:
        self._runner = make_job_runner(self.command)
        self._skips_invalid = self.command.options.on_invalid == "skip"

    def run(
        self, composed_jobs: Sequence[ComposedJob], pattern: LearnerPattern | None, notes: Sequence[str]
    ) -> SweepReport:
        """Plan the jobs and run those to do.

        Parameters
        ----------
        composed_jobs : sequence of ComposedJob
        pattern : LearnerPattern or None
            The pattern that selects the learners, if they are not named explicitly.
        notes : sequence of str
            Notes on the command.

        Raises
        ------
        UserError
            A store cannot be written, or the pattern matches no learner for the task.
        """
        command = self.command
        options = command.options
        resources = self._runner.resources
        if command.launch is None and _needs_workers(options) and not options.dry_run:
            prepare_server()
        left_out = ""
        if pattern is not None:
            composed_jobs, left_out = pattern.select_jobs(composed_jobs, resources)
        planner = Planner(self._runner, options.resume)
        try:
            plan = planner.make_plan(composed_jobs)
        except KeyboardInterrupt:
            SweepDisplay(0, command.quiet).show_unplanned(len(composed_jobs))
            raise
        display = SweepDisplay(len(plan.jobs), command.quiet)
        notes = [*notes, *self._describe_limits(plan), *plan.unidentified]
        display.show_checked(left_out, resources.datasets, notes)
        remarks = [f"{dataset.name}: {remark}" for dataset in resources.datasets for remark in dataset.remarks]
        report = SweepReport(
            refused_outcomes(plan),
            name=plan.sweep or command.folder.name,
            plan=plan,
            notes=(*notes, *remarks, *([left_out] if left_out else [])),
            is_dry_run=options.dry_run,
            skips_invalid=self._skips_invalid,
        )
        if options.dry_run:
            plan = planner.add_estimates(plan)
            display.show_plan(plan, options.workers)
            return replace(report, plan=plan)
        # An invalid job is often a mistake in the command, which then affects the other jobs as well.
        if report.outcomes and not self._skips_invalid:
            display.show_invalid(plan)
            return report
        return self._run_planned(report, display)

    def _run_planned(self, report: SweepReport, display: SweepDisplay) -> SweepReport:
        """Run the jobs of a plan that are not done, and return the report with their outcomes."""
        command = self.command
        plan = report.plan
        # A store that cannot be written must be rejected before the first job runs.
        for job in plan.jobs:
            get_tracker(self._runner.resources, job.spec).open_store()
        stores = self._find_stores(plan)
        search = ListedJobs(plan.jobs)
        # Workers start before anything needs a thread, because a process with threads cannot be copied.
        with executor(self._runner, command, search) as run_jobs:
            command.folder.mkdir(parents=True, exist_ok=True)
            problems = record_sweep(report.name, plan, stores)
            display.show_start(plan, continued="" if report.name == command.folder.name else report.name)
            display.show_problems(problems)
            done = [entry.to_outcome(SKIPPED) for entry in plan.with_state(DONE)]
            # The best so far is the best of all jobs of the sweep, including those already done.
            skipped = add_stored_scores(done, stores)
            display.show_best(skipped)
            loop = SweepLoop(command.options.max_failures, display, search, [*report.outcomes, *skipped])
            try:
                loop.run_all(run_jobs)
            except KeyboardInterrupt:
                display.show_interrupted(loop.outcomes, len(plan.entries) - len(plan.with_state(DUPLICATE)))
                raise
        display.show_end(loop.outcomes, len(plan.entries), self._skips_invalid)
        results, settings = loop.outcomes, list[Mapping[str, Any]]()
        if not loop.has_lost_store:  # else the scores of earlier jobs cannot be read
            stores = self._find_stores(plan)
            results = add_stored_scores([*loop.outcomes, *_list_unstarted(plan, loop.outcomes)], stores)
            settings = [job.spec["tracking"] for job in plan.identified if job.number in stores]
        notes = (*report.notes, *problems)
        report = replace(report, outcomes=loop.outcomes, results=results, settings=settings, notes=notes)
        display.show_tables(report.tables, report.name, settings)
        return report

    def _describe_limits(self, plan: Plan) -> list[str]:
        """Return notes on requests for more processes than this machine has cores."""
        most_jobs = max((job.spec.get("n_jobs", 1) for job in plan.jobs), default=1)
        command = self.command
        of_workers = describe_limit("workers", command.options.workers) if command.launch is None else ()
        return [*of_workers, *describe_limit("n_jobs", most_jobs)]

    def _find_stores(self, plan: Plan) -> dict[int, Store]:
        """Return the store of each job of a plan that has one, by the number of the job."""
        found = {job.number: self._runner.find_store(job) for job in plan.identified}
        return {number: store for number, store in found.items() if store is not None}


def make_job_runner(command: SweepCommand) -> JobRunner:
    """Return the runner of the process of a sweep, which leaves user-defined code to the processes that run jobs."""
    options = command.options
    runs_here = command.launch is None and not _needs_workers(options)
    return JobRunner(options.resume, options.timeout, command.tracebacks, tries_own_code=runs_here)


def refused_outcomes(plan: Plan) -> list[JobOutcome]:
    """Return the outcomes of the invalid jobs of a plan."""
    return [entry.to_outcome(REFUSED) for entry in plan.with_state(INVALID)]


def _list_unstarted(plan: Plan, outcomes: Sequence[JobOutcome]) -> list[JobOutcome]:
    """Return an outcome for each job that did not start, because the sweep ended before it."""
    known = {outcome.number for outcome in outcomes}
    return [job.to_outcome(NOT_RUN, "the sweep ended before it") for job in plan.jobs if job.number not in known]


@contextmanager
def executor(runner: JobRunner, command: SweepCommand, search: Search) -> Iterator[RunJobs]:
    """Yield the function that runs jobs with another launcher, in workers, or in this process.

    Parameters
    ----------
    runner : JobRunner
        The runner for this process, whose settings workers inherit.
    command : SweepCommand
    search : Search
        The source of jobs, which limits the number of workers.
    """
    options = command.options
    launch = command.launch
    if launch is not None:
        yield lambda jobs: _launch_batches(launch, iter(jobs), search.batch_size, options)
    elif _needs_workers(options) and search.n_jobs > 0 and not options.dry_run:
        with Workers(runner, limit_processes(options.workers, search.n_jobs)) as workers:
            yield workers.run_jobs
    else:
        yield lambda jobs: map(runner.run_job, jobs)


def _needs_workers(options: SweepOptions) -> bool:
    # A time limit needs a process that can be killed, so even a single job at a time then runs in a worker.
    return options.workers > 1 or options.timeout is not None


def _launch_batches(
    launch: LaunchJobs, jobs: Iterator[Job], batch_size: int | None, options: SweepOptions
) -> Iterator[JobOutcome]:
    while batch := list(islice(jobs, batch_size)):
        yield from launch(batch, options)


@dataclass
class SweepLoop:
    """Runs the jobs of a search until all have ended or too many have failed.

    Attributes
    ----------
    max_failures : int or None
        The number of failures that ends the sweep.
    display : SweepDisplay
    search : Search
    outcomes : list of JobOutcome
        Outcomes known in advance; the others are appended as they arrive.
    has_lost_store : bool
        Whether a job ended because its store cannot be used.
    """

    max_failures: int | None
    display: SweepDisplay
    search: Search
    outcomes: list[JobOutcome]
    has_lost_store: bool = False
    _is_stopped: bool = field(default=False)

    def run_all(self, run_jobs: RunJobs) -> None:
        """Run the jobs; retry those that run in another process until they have ended.

        Parameters
        ----------
        run_jobs : callable
            A function yielded by `executor`.
        """
        jobs: Iterable[Job] = self.search.ask(self.record_outcome)
        with self.display:
            while not self._is_stopped:
                started: dict[int, Job] = {}
                outcomes = run_jobs(self._until_stopped(jobs, started))
                # A job in another process may still fail, and is then run here.
                busy = [started[outcome.number] for outcome in outcomes if not self.record_outcome(outcome)]
                if not busy:
                    return
                self.display.show_waiting(len(busy))
                time.sleep(POLL_SECONDS)
                jobs = busy

    def record_outcome(self, outcome: JobOutcome) -> bool:
        """Record and show an outcome; return False if the job still runs in another process."""
        if outcome.kind == BUSY:
            return False
        outcome = self.search.tell(outcome)
        self.outcomes.append(outcome)
        self.display.show_outcome(outcome)
        # Running jobs are completed, but no further ones are started.
        if outcome.has_lost_store and not self.has_lost_store:
            self.has_lost_store = True
            self._is_stopped = True
            self.display.show_problems([LOST_STORE])
        if self.max_failures is not None:
            n_failures = sum(outcome.has_failed for outcome in self.outcomes)
            self._is_stopped |= n_failures >= self.max_failures
        return True

    def _until_stopped(self, jobs: Iterable[Job], started: dict[int, Job]) -> Iterator[Job]:
        """Yield jobs until too many have failed, and record the started ones by number."""
        remaining = iter(jobs)
        while not self._is_stopped and (job := next(remaining, None)) is not None:
            started[job.number] = job
            yield job
