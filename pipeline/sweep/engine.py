"""The engine: plan all jobs, then run those that are to run, here, in workers, or by another launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from bakeoff.pipeline.sweep.display import SweepDisplay
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import BUSY, REFUSED, SKIPPED, ComposedJob, Job, JobOutcome
from bakeoff.pipeline.sweep.options import SweepOptions
from bakeoff.pipeline.sweep.planning import DONE, INVALID, Plan, Planner
from bakeoff.pipeline.sweep.workers import Workers

POLL_SECONDS = 0.5
"""Between two looks at a job that another process runs."""
Launch = Callable[[Sequence[Job], SweepOptions], Iterator[JobOutcome]]
Run = Callable[[Iterable[Job]], Iterator[JobOutcome]]
"""Run jobs, asked for one by one as there is room for them, and yield their outcomes as they come."""


class Report(Protocol):
    """Whoever wants to know what became of the jobs."""

    outcomes: list[JobOutcome]
    tracebacks: bool


def run_sweep(
    drafts: Sequence[ComposedJob], options: SweepOptions, report: Report, folder: Path, launch: Launch | None = None
) -> None:
    """Plan and run a sweep.

    Parameters
    ----------
    drafts : sequence of ComposedJob
    options : SweepOptions
    report : Report
        Is told the outcomes.
    folder : Path
        Of the sweep; made when something runs.
    launch : callable, optional
        Runs jobs elsewhere.
    """
    runner = JobRunner(options.resume, options.timeout, report.tracebacks)
    with executor(runner, options, launch) as run:
        planner = Planner(runner, options.resume)
        plan = planner.make_plan(drafts)
        refused = refusals(plan)
        report.outcomes += refused
        display = SweepDisplay(len(plan.jobs))
        if options.dry_run:
            display.show_plan(planner.add_estimates(plan), options.workers)
        elif refused and options.on_invalid == "stop":
            display.show_invalid(plan)
        else:
            report.outcomes += [
                JobOutcome(row.draft.number, row.name, SKIPPED, row.reason) for row in plan.with_state(DONE)
            ]
            for job in plan.jobs:
                runner.resources.tracker(job.spec).open()  # a store that cannot be written is refused now
            folder.mkdir(parents=True, exist_ok=True)
            display.show_start(plan)
            SweepLoop(options, display, report.outcomes).run(plan.jobs, run)
            display.show_end(report.outcomes, len(plan.entries))


def refusals(plan: Plan) -> list[JobOutcome]:
    """Return the outcomes of jobs that cannot work."""
    return [JobOutcome(row.draft.number, row.name, REFUSED, row.reason) for row in plan.with_state(INVALID)]


@contextmanager
def executor(
    runner: JobRunner, options: SweepOptions, launch: Launch | None = None, at_once: int | None = None
) -> Iterator[Run]:
    """Give the way to run jobs: by another launcher, in workers, or here.

    Parameters
    ----------
    runner : JobRunner
    options : SweepOptions
    launch : callable, optional
        Another launcher.
    at_once : int, optional
        How many jobs it gets at a time; None: all.
    """
    if launch is not None:
        yield lambda jobs: _in_batches(launch, iter(jobs), at_once, options)
    elif (options.workers > 1 or options.timeout is not None) and not options.dry_run:
        with Workers(runner, options.workers) as workers:
            yield workers.run
    else:
        yield lambda jobs: map(runner.run_job, jobs)


def _in_batches(launch: Launch, jobs: Iterator[Job], size: int | None, options: SweepOptions) -> Iterator[JobOutcome]:
    while batch := list(islice(jobs, size)):
        yield from launch(batch, options)


def _as_it_is(outcome: JobOutcome) -> JobOutcome:
    return outcome


@dataclass
class SweepLoop:
    """Runs jobs until all came to an end or too many failed.

    Attributes
    ----------
    options : SweepOptions
    display : SweepDisplay
    outcomes : list of JobOutcome
        Is added to.
    on_outcome : callable
        Is told each outcome, and says how it is to be shown.
    """

    options: SweepOptions
    display: SweepDisplay
    outcomes: list[JobOutcome]
    on_outcome: Callable[[JobOutcome], JobOutcome] = _as_it_is
    _stopped: bool = field(default=False)

    def run(self, jobs: Iterable[Job], run: Run) -> None:
        """Run jobs; those that another process runs are looked at again until they are done."""
        with self.display:
            while not self._stopped:
                given: dict[int, Job] = {}
                waiting = [
                    outcome.number for outcome in run(self._until_stopped(jobs, given)) if not self.note(outcome)
                ]
                jobs = [given[number] for number in waiting]
                if not jobs:
                    return
                self.display.show_waiting(len(jobs))
                time.sleep(POLL_SECONDS)

    def note(self, outcome: JobOutcome) -> bool:
        """Take note of an outcome; False if another process runs the job."""
        if outcome.kind == BUSY:
            return False
        outcome = self.on_outcome(outcome)
        self.outcomes.append(outcome)
        self.display.show_outcome(outcome)
        allowed = self.options.failures_allowed
        self._stopped |= allowed is not None and sum(each.went_wrong for each in self.outcomes) >= allowed
        return True

    def _until_stopped(self, jobs: Iterable[Job], given: dict[int, Job]) -> Iterator[Job]:
        left = iter(jobs)
        while not self._stopped and (job := next(left, None)) is not None:
            given[job.number] = job
            yield job
