"""The engine: plan all jobs, then run those that are to run, here, in workers, or by another launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from bakeoff.pipeline.sweep.display import Display
from bakeoff.pipeline.sweep.job_runner import Bench
from bakeoff.pipeline.sweep.jobs import BUSY, REFUSED, SKIPPED, Draft, Job, Outcome
from bakeoff.pipeline.sweep.options import Options
from bakeoff.pipeline.sweep.planning import DONE, INVALID, Plan, Planner
from bakeoff.pipeline.sweep.workers import Workers

PATIENCE_SECONDS = 0.5
"""Between two looks at a job that another process runs."""
Launch = Callable[[Sequence[Job], Options], Iterator[Outcome]]
Run = Callable[[Iterable[Job]], Iterator[Outcome]]
"""Run jobs, asked for one by one as there is room for them, and yield their outcomes as they come."""


class Report(Protocol):
    """Whoever wants to know what became of the jobs."""

    outcomes: list[Outcome]
    tracebacks: bool


def conduct(
    drafts: Sequence[Draft], options: Options, report: Report, folder: Path, launch: Launch | None = None
) -> None:
    """Plan and run a sweep.

    Parameters
    ----------
    drafts : sequence of Draft
    options : Options
    report : Report
        Is told the outcomes.
    folder : Path
        Of the sweep; made when something runs.
    launch : callable, optional
        Runs jobs elsewhere.
    """
    bench = Bench(options.resume, options.timeout, report.tracebacks)
    with staff(bench, options, launch) as run:
        planner = Planner(bench, options.resume)
        plan = planner.plan(drafts)
        refused = refusals(plan)
        report.outcomes += refused
        display = Display(len(plan.jobs))
        if options.dry_run:
            display.plan(planner.estimated(plan), options.workers)
        elif refused and options.on_invalid == "stop":
            display.invalid(plan)
        else:
            report.outcomes += [Outcome(row.draft.number, row.name, SKIPPED, row.reason) for row in plan.of(DONE)]
            for job in plan.jobs:
                bench.resources.tracker(job.spec).open()  # a store that cannot be written is refused now
            folder.mkdir(parents=True, exist_ok=True)
            display.begin(plan)
            Course(options, display, report.outcomes).through(plan.jobs, run)
            display.end(report.outcomes, len(plan.rows))


def refusals(plan: Plan) -> list[Outcome]:
    """Return the outcomes of jobs that cannot work."""
    return [Outcome(row.draft.number, row.name, REFUSED, row.reason) for row in plan.of(INVALID)]


@contextmanager
def staff(bench: Bench, options: Options, launch: Launch | None = None, at_once: int | None = None) -> Iterator[Run]:
    """Give the way to run jobs: by another launcher, in workers, or here.

    Parameters
    ----------
    bench : Bench
    options : Options
    launch : callable, optional
        Another launcher.
    at_once : int, optional
        How many jobs it gets at a time; None: all.
    """
    if launch is not None:
        yield lambda jobs: _in_batches(launch, iter(jobs), at_once, options)
    elif (options.workers > 1 or options.timeout is not None) and not options.dry_run:
        with Workers(bench, options.workers) as workers:
            yield workers.run
    else:
        yield lambda jobs: map(bench.run, jobs)


def _in_batches(launch: Launch, jobs: Iterator[Job], size: int | None, options: Options) -> Iterator[Outcome]:
    while batch := list(islice(jobs, size)):
        yield from launch(batch, options)


def _as_it_is(outcome: Outcome) -> Outcome:
    return outcome


@dataclass
class Course:
    """Runs jobs until all came to an end or too many failed.

    Attributes
    ----------
    options : Options
    display : Display
    outcomes : list of Outcome
        Is added to.
    heed : callable
        Is told each outcome, and says how it is to be shown.
    """

    options: Options
    display: Display
    outcomes: list[Outcome]
    heed: Callable[[Outcome], Outcome] = _as_it_is
    _stopped: bool = field(default=False)

    def through(self, jobs: Iterable[Job], run: Run) -> None:
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
                self.display.wait(len(jobs))
                time.sleep(PATIENCE_SECONDS)

    def note(self, outcome: Outcome) -> bool:
        """Take note of an outcome; False if another process runs the job."""
        if outcome.kind == BUSY:
            return False
        outcome = self.heed(outcome)
        self.outcomes.append(outcome)
        self.display.tell(outcome)
        allowed = self.options.failures_allowed
        self._stopped |= allowed is not None and sum(each.went_wrong for each in self.outcomes) >= allowed
        return True

    def _until_stopped(self, jobs: Iterable[Job], given: dict[int, Job]) -> Iterator[Job]:
        left = iter(jobs)
        while not self._stopped and (job := next(left, None)) is not None:
            given[job.number] = job
            yield job
