"""The engine: plan all jobs, then run those that are to run, here, in workers, or by another launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pipeline.sweep.bench import Bench
from pipeline.sweep.display import Display
from pipeline.sweep.jobs import BUSY, REFUSED, SKIPPED, Draft, Job, Outcome
from pipeline.sweep.options import Options
from pipeline.sweep.planning import DONE, INVALID, Plan, Planner
from pipeline.sweep.workers import Workers

PATIENCE_SECONDS = 0.5
"""Between two looks at a job that another process runs."""
Launch = Callable[[Sequence[Job], Options], Iterator[Outcome]]


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
    in_workers = launch is None and (options.workers > 1 or options.timeout is not None)
    with Workers(bench, options.workers if in_workers and not options.dry_run else 0) as workers:
        planner = Planner(bench, options.resume)
        plan = planner.plan(drafts)
        refused = [Outcome(row.draft.number, row.name, REFUSED, row.reason) for row in plan.of(INVALID)]
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
            course = _Course(options, display, report.outcomes)
            if launch is not None:
                course.through(plan, lambda jobs: launch(list(jobs), options))
            else:
                course.through(plan, workers.run if in_workers else lambda jobs: map(bench.run, jobs))


@dataclass
class _Course:
    """Runs jobs until all came to an end or too many failed."""

    options: Options
    display: Display
    outcomes: list[Outcome]
    _stopped: bool = field(default=False)

    def through(self, plan: Plan, run: Callable[[Iterable[Job]], Iterator[Outcome]]) -> None:
        left = plan.jobs
        self.display.begin(plan)
        with self.display:
            while left and not self._stopped:
                waiting = {outcome.number for outcome in run(self._until_stopped(left)) if self._is_busy(outcome)}
                left = [job for job in left if job.number in waiting]
                if left:
                    self.display.wait(len(left))
                    time.sleep(PATIENCE_SECONDS)
        self.display.end(self.outcomes, len(plan.rows))

    def _until_stopped(self, jobs: Iterable[Job]) -> Iterator[Job]:
        for job in jobs:
            if self._stopped:
                return
            yield job

    def _is_busy(self, outcome: Outcome) -> bool:
        """Take note of an outcome, unless another process runs the job: then it is looked at again."""
        if outcome.kind == BUSY:
            return True
        self.outcomes.append(outcome)
        self.display.tell(outcome)
        allowed = self.options.failures_allowed
        self._stopped = allowed is not None and sum(each.went_wrong for each in self.outcomes) >= allowed
        return False
