"""The engine of sweeps: plan all jobs, then run those to do, in this process, in workers, or with another launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from bakeoff.pipeline.experiment.loop import describe_limit, limit_processes
from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import BUSY, REFUSED, SKIPPED, ComposedJob, Job, JobOutcome
from bakeoff.pipeline.sweep.learner_pattern import LearnerPattern
from bakeoff.pipeline.sweep.options import SweepOptions
from bakeoff.pipeline.sweep.planning import DONE, DUPLICATE, INVALID, Plan, Planner
from bakeoff.pipeline.sweep.process_start import prepare_server
from bakeoff.pipeline.sweep.record import record_sweep
from bakeoff.pipeline.sweep.report import SweepReport, collect_results, find_stores
from bakeoff.pipeline.sweep.result_table import add_stored_scores
from bakeoff.pipeline.sweep.search import ListedJobs, Search
from bakeoff.pipeline.sweep.workers import Workers
from bakeoff.pipeline.tracking.trackers import get_tracker

POLL_SECONDS = 0.5
"""Time between two checks of a job that another process runs."""
LOST_STORE = "the store is lost, and no further job is started; the same command runs the others when the store works"
LaunchJobs = Callable[[Sequence[Job], SweepOptions], Iterator[JobOutcome]]
"""Another launcher: runs a batch of jobs and yields their outcomes in order."""
RunJobs = Callable[[Iterable[Job]], Iterator[JobOutcome]]
"""Takes jobs one by one, as there is room for them, and yields their outcomes as they arrive."""


def run_sweep(
    composed_jobs: Sequence[ComposedJob],
    options: SweepOptions,
    folder: Path,
    launch: LaunchJobs | None = None,
    tracebacks: bool = False,
    learner_pattern: LearnerPattern | None = None,
    quiet: bool = False,
    notes: Sequence[str] = (),
) -> SweepReport:
    """Plan and run a sweep, print what happens, and return what it has done.

    Parameters
    ----------
    composed_jobs : sequence of ComposedJob
    options : SweepOptions
    folder : Path
        The folder of the sweep; created only if something runs.
    launch : callable, optional
        Another launcher.
    tracebacks : bool
        Whether to print the tracebacks of failures.
    learner_pattern : LearnerPattern, optional
        What names the learners of the jobs, if they are not named explicitly.
    quiet : bool
        Whether to print nothing.
    notes : sequence of str
        What is to be said of the command.

    Raises
    ------
    UserError
        A store cannot be written, or the pattern names no learner for the task.
    """
    runner = make_job_runner(options, launch, tracebacks)
    if launch is None and _needs_workers(options) and not options.dry_run:
        prepare_server()
    left_out = ""
    if learner_pattern is not None:
        composed_jobs, left_out = learner_pattern.select_jobs(composed_jobs, runner.resources)
    planner = Planner(runner, options.resume)
    try:
        plan = planner.make_plan(composed_jobs)
    except KeyboardInterrupt:
        SweepDisplay(0, quiet).show_unplanned(len(composed_jobs))
        raise
    name = plan.sweep or folder.name
    skips_invalid = options.on_invalid == "skip"
    refused = refused_outcomes(plan)
    display = SweepDisplay(len(plan.jobs), quiet)
    display.show_left_out(left_out)
    display.show_datasets(runner.resources.datasets)
    if launch is None:
        notes = (*notes, *describe_limit("workers", options.workers))
    most_jobs = max((job.spec.get("n_jobs", 1) for job in plan.jobs), default=1)
    notes = (*notes, *describe_limit("n_jobs", most_jobs))
    notes = (*notes, *plan.unidentified)
    display.show_problems(notes)
    notes = (*notes, *_list_notes(runner, left_out))
    if options.dry_run:
        plan = planner.add_estimates(plan)
        display.show_plan(plan, options.workers)
        return SweepReport(refused, name, plan, notes=notes, is_dry_run=True, skips_invalid=skips_invalid)
    # An invalid job is often a mistake in the command, which then concerns the other jobs too.
    if refused and not skips_invalid:
        display.show_invalid(plan)
        return SweepReport(refused, name, plan, notes=notes)
    # A store that cannot be written must be refused before the first job runs.
    for job in plan.jobs:
        get_tracker(runner.resources, job.spec).open_store()
    # Workers start before anything needs a thread, because a process with threads cannot be copied.
    search = ListedJobs(plan.jobs)
    with executor(runner, options, launch, search) as run_jobs:
        folder.mkdir(parents=True, exist_ok=True)
        problems = record_sweep(name, plan, runner)
        display.show_start(plan)
        if name != folder.name:
            display.show_continued(name)
        display.show_problems(problems)
        done = [entry.to_outcome(SKIPPED) for entry in plan.with_state(DONE)]
        # The best so far is the best of all jobs of the sweep, and not of those alone that run now.
        skipped = add_stored_scores(done, find_stores(plan, runner))
        display.show_best(skipped)
        loop = SweepLoop(options, display, search, [*refused, *skipped])
        try:
            loop.run_all(run_jobs)
        except KeyboardInterrupt:
            display.show_interrupted(loop.outcomes, len(plan.entries) - len(plan.with_state(DUPLICATE)))
            raise
    display.show_end(loop.outcomes, len(plan.entries), skips_invalid)
    if loop.has_lost_store:  # the scores of earlier jobs cannot be read
        results, settings = loop.outcomes, list[Mapping[str, Any]]()
    else:
        results, settings = collect_results(loop.outcomes, plan, runner)
    report = SweepReport(loop.outcomes, name, plan, results, settings, (*notes, *problems), skips_invalid=skips_invalid)
    display.show_tables(report.tables, name, settings)
    return report


def make_job_runner(options: SweepOptions, launch: LaunchJobs | None, tracebacks: bool) -> JobRunner:
    """Return the runner of the process of a sweep, which leaves the code of the user to the processes that run jobs.

    Parameters
    ----------
    options : SweepOptions
    launch : callable or None
        Another launcher.
    tracebacks : bool
        Whether to print the tracebacks of failures.
    """
    runs_here = launch is None and not _needs_workers(options)
    return JobRunner(options.resume, options.timeout, tracebacks, tries_own_code=runs_here)


def _list_notes(runner: JobRunner, left_out: str) -> tuple[str, ...]:
    """Return what is said of the datasets, and of the learners that a pattern leaves out."""
    remarks = [f"{dataset.name}: {remark}" for dataset in runner.resources.datasets for remark in dataset.remarks]
    return (*remarks, left_out) if left_out else tuple(remarks)


def refused_outcomes(plan: Plan) -> list[JobOutcome]:
    """Return the outcomes of the invalid jobs of a plan."""
    return [entry.to_outcome(REFUSED) for entry in plan.with_state(INVALID)]


@contextmanager
def executor(runner: JobRunner, options: SweepOptions, launch: LaunchJobs | None, search: Search) -> Iterator[RunJobs]:
    """Yield the function that runs jobs with another launcher, in workers, or in this process.

    Parameters
    ----------
    runner : JobRunner
        Runs jobs in this process; workers get its settings.
    options : SweepOptions
    launch : callable or None
        Another launcher.
    search : Search
        No more workers are started than it has jobs.
    """
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
    options : SweepOptions
    display : SweepDisplay
    search : Search
    outcomes : list of JobOutcome
        Those that are known before; the others are appended as they arrive.
    has_lost_store : bool
        Whether a job ended because its store cannot be used.
    """

    options: SweepOptions
    display: SweepDisplay
    search: Search
    outcomes: list[JobOutcome]
    has_lost_store: bool = False
    _is_stopped: bool = field(default=False)

    def run_all(self, run_jobs: RunJobs) -> None:
        """Run the jobs; those that another process runs are tried again until they have ended.

        Parameters
        ----------
        run_jobs : callable
            As from `executor`.
        """
        jobs: Iterable[Job] = self.search.ask(self.record_outcome)
        with self.display:
            while not self._is_stopped:
                started: dict[int, Job] = {}
                outcomes = run_jobs(self._until_stopped(jobs, started))
                # A job that another process runs is not done yet: it may fail there, and is then run here.
                busy = [started[outcome.number] for outcome in outcomes if not self.record_outcome(outcome)]
                if not busy:
                    return
                self.display.show_waiting(len(busy))
                time.sleep(POLL_SECONDS)
                jobs = busy

    def record_outcome(self, outcome: JobOutcome) -> bool:
        """Keep and show an outcome; return False if there is none yet because another process runs the job."""
        if outcome.kind == BUSY:
            return False
        outcome = self.search.tell(outcome)
        self.outcomes.append(outcome)
        self.display.show_outcome(outcome)
        # Jobs that are running now still end; only no further ones are started.
        if outcome.has_lost_store and not self.has_lost_store:
            self.has_lost_store = True
            self._is_stopped = True
            self.display.show_problems([LOST_STORE])
        max_failures = self.options.max_failures
        if max_failures is not None:
            n_failures = sum(outcome.has_failed for outcome in self.outcomes)
            self._is_stopped |= n_failures >= max_failures
        return True

    def _until_stopped(self, jobs: Iterable[Job], started: dict[int, Job]) -> Iterator[Job]:
        """Yield jobs until too many have failed, and keep by number those that were started."""
        remaining = iter(jobs)
        while not self._is_stopped and (job := next(remaining, None)) is not None:
            started[job.number] = job
            yield job
