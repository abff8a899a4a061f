"""What a person sees of a sweep: the plan, one line a job or one bar, and at the end what failed and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, STOPPED, JobOutcome
from bakeoff.pipeline.sweep.planning import DONE, DUPLICATE, INVALID, TO_DO, Plan

MAX_ROWS_SHOWN = 40
"""Rows of a table of what went wrong; the store holds the others."""
MAX_WARNINGS_SHOWN = 5
"""Different warnings that are shown."""
MIN_NAME_WIDTH, MAX_NAME_WIDTH = 36, 60
"""Letters that names of jobs have room for."""


class SweepDisplay:
    """Jobs and plans go to standard output, the bar and what went wrong to standard error.

    Parameters
    ----------
    total : int
        How many jobs are to run.
    """

    def __init__(self, total: int) -> None:
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)
        counts = (BarColumn(), MofNCompleteColumn(), TextColumn("jobs"), TimeRemainingColumn())
        told = (TextColumn("[red]{task.fields[failed]}"), TextColumn("{task.fields[best]}"))
        self._bar = Progress(*counts, *told, console=self._err, disable=not self._err.is_terminal)
        self._task = self._bar.add_task("", total=total, failed="", best="")
        self._best: JobOutcome | None = None
        self._failed = 0
        self._width = MIN_NAME_WIDTH
        self._warned: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show_start(self, plan: Plan) -> None:
        """Say how many jobs there are, and how many will run."""
        self._width = min(max([MIN_NAME_WIDTH, *(len(row.name) for row in plan.with_state(TO_DO))]), MAX_NAME_WIDTH)
        self._out.print(f"{_count(len(plan.entries))}: {_summary(plan)}", soft_wrap=True)

    def show_outcome(self, outcome: JobOutcome) -> None:
        """Show the outcome of a job."""
        self._failed += outcome.went_wrong
        for warning in outcome.warnings:
            self._warned[warning] = self._warned.get(warning, 0) + 1
        if outcome.kind in (FINISHED, SKIPPED) and outcome.value and _is_better(outcome, self._best):
            self._best = outcome
        best = f"best {self._best.value} {escape(self._best.name)}" if self._best else ""
        self._bar.update(self._task, advance=1, failed=f"{self._failed} failed" if self._failed else "", best=best)
        console = self._bar.console if self._err.is_terminal and self._out.is_terminal else self._out
        console.print(_line(outcome, self._width), soft_wrap=True)

    def show_waiting(self, count: int) -> None:
        """Say that other processes run what is left; once is enough on paper."""
        self._bar.update(self._task, best=f"waiting for {_count(count)} that another process runs")

    def show_end(self, outcomes: Sequence[JobOutcome], planned: int) -> None:
        """Show what the learners had to say, the best job, and a table of what did not finish, and why."""
        for warning, jobs in list(self._warned.items())[:MAX_WARNINGS_SHOWN]:
            self._err.print(f"[yellow]warning[/] of {_count(jobs)}: {escape(warning)}", soft_wrap=True)
        if len(self._warned) > MAX_WARNINGS_SHOWN:
            self._err.print(
                f"and {len(self._warned) - MAX_WARNINGS_SHOWN} other warnings; warnings.txt of each run has its own"
            )
        if self._best is not None:
            self._out.print(
                f"best  {escape(self._best.name)}  {self._best.headline} {self._best.value}", soft_wrap=True
            )
        self.show_unfinished(outcomes, planned)

    def show_unfinished(self, outcomes: Sequence[JobOutcome], planned: int) -> None:
        """Show a table of what did not finish, and why."""
        wrong = [outcome for outcome in outcomes if outcome.kind not in (FINISHED, SKIPPED, STOPPED)]
        if wrong:
            self._err.print(f"{len(wrong)} of {_count(planned)} did not finish:")
            self._wrong(wrong)

    def show_invalid(self, plan: Plan) -> None:
        """Show why a sweep does not start."""
        rows = plan.with_state(INVALID)
        self._err.print(f"refused: {len(rows)} of {_count(len(plan.entries))} cannot work, so none was started:")
        self._wrong([JobOutcome(row.draft.number, row.name, REFUSED, row.reason) for row in rows])
        self._err.print("Mend them, or add on_invalid=skip to run the others.", soft_wrap=True)

    def show_plan(self, plan: Plan, workers: int) -> None:
        """Show all jobs, what is done, what cannot work and why, and how long it may take."""
        width = max((len(row.name) for row in plan.entries), default=0)
        for row in plan.entries:
            hint = f"about {row.seconds:.1f} s" if row.seconds is not None else row.reason
            told = f"#{row.draft.number:<4} {row.name:<{width}}  {row.state:<7}  {hint}".rstrip()
            self._out.print(escape(told), soft_wrap=True)
        self._out.print(f"{_count(len(plan.entries))}: {_summary(plan)}", soft_wrap=True)
        known = [row.seconds for row in plan.with_state(TO_DO) if row.seconds is not None]
        if known:
            unknown = len(plan.with_state(TO_DO)) - len(known)
            rest = f", and {_count(unknown)} of which the store knows nothing" if unknown else ""
            self._out.print(f"about {_duration(sum(known) / workers)}{rest}", soft_wrap=True)

    def _wrong(self, outcomes: Sequence[JobOutcome]) -> None:
        """Show what went wrong: a reason once, under the jobs that share it."""
        jobs: dict[str, list[JobOutcome]] = {}
        for outcome in outcomes[:MAX_ROWS_SHOWN]:
            jobs.setdefault(outcome.reason, []).append(outcome)
        for reason, sharing in jobs.items():
            for outcome in sharing:
                self._err.print(f"  {outcome.kind:<8} #{outcome.number} {escape(outcome.name)}", soft_wrap=True)
            self._err.print(f"           {escape(reason)}", soft_wrap=True)
        if len(outcomes) > MAX_ROWS_SHOWN:
            self._err.print(f"  and {len(outcomes) - MAX_ROWS_SHOWN} more")


def _line(outcome: JobOutcome, width: int) -> str:
    if outcome.kind == FINISHED:
        told = f"{outcome.headline} {outcome.value}  {outcome.seconds:.2f} s  {outcome.run_id or ''}"
    else:
        told = f"{outcome.kind}  {escape(outcome.reason.splitlines()[0] if outcome.reason else '')}"
    return f"#{outcome.number:<4} {escape(outcome.name):<{width}} {told}".rstrip()


def _is_better(outcome: JobOutcome, best: JobOutcome | None) -> bool:
    if best is None:
        return outcome.score == outcome.score
    return outcome.score > best.score if outcome.greater_is_better else outcome.score < best.score


def _summary(plan: Plan) -> str:
    words = {TO_DO: "to run", DONE: "done already", DUPLICATE: "given twice", INVALID: "invalid"}
    counts = {state: len(plan.with_state(state)) for state in words}
    return ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count or state == TO_DO)


def _count(jobs: int) -> str:
    return f"{jobs} job" if jobs == 1 else f"{jobs} jobs"


def _duration(seconds: float) -> str:
    """Say a duration as a person would.

    Examples
    --------
    >>> _duration(8), _duration(125), _duration(7300)
    ('8 s', '2 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
