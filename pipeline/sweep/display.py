"""The output of a sweep: the plan, a progress bar, a line for each job, unfinished jobs, and the scores."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT, list_store_words
from bakeoff.pipeline.sweep.jobs import FINISHED, INVALID, REFUSED, SKIPPED, STOPPED, TO_DO, JobOutcome
from bakeoff.pipeline.sweep.planning import Plan
from bakeoff.pipeline.sweep.result_table import ResultTable, tabulate_results
from bakeoff.pipeline.tables.table import align_lines, make_table, print_table
from bakeoff.pipeline.text.wording import count_nouns, escape, format_seconds, make_console

MAX_ROWS = 30
"""Maximum number of configurations in a table."""
MAX_FAILURES_SHOWN = 40
"""Maximum number of failures in the list at the end; the store contains the others."""
MAX_WARNINGS_SHOWN = 5
NAME_WIDTH = 36


class SweepDisplay:
    """Prints jobs, plans and scores to standard output, the progress bar, warnings and failures to standard error.

    Parameters
    ----------
    total : int
        The number of jobs to run.
    quiet : bool
        Print nothing.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        self.out = make_console(quiet=quiet)
        self._err = make_console(stderr=True, quiet=quiet)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("jobs"), TimeRemainingColumn())
        self._bar = Progress(*columns, console=self._err, disable=quiet or not self._err.is_terminal)
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show(self, sentence: str) -> None:
        """Print a sentence to standard output."""
        self.out.print(escape(sentence))

    def warn(self, sentences: Sequence[str]) -> None:
        """Print possible mistakes in the command, and problems that did not stop the sweep."""
        for sentence in sentences:
            self._err.print(f"[yellow]warning:[/] {escape(sentence)}")

    def show_end(self, sentence: str) -> None:
        """Print why a sweep ends before its jobs have."""
        self._err.print(escape(sentence))

    def show_outcome(self, outcome: JobOutcome) -> None:
        """Print the outcome of a job and advance the bar."""
        self._bar.update(self._task, advance=1)
        if outcome.kind == FINISHED:
            text = f"{outcome.summary}  {format_seconds(outcome.seconds)}  {outcome.run_id or ''}"
        else:
            first_line = outcome.reason.partition("\n")[0]
            text = f"{outcome.kind}  {first_line}"
        # On a terminal the bar must print the line itself, or they would overwrite each other.
        console = self._bar.console if self._err.is_terminal and self.out.is_terminal else self.out
        console.print(escape(f"#{outcome.number:<4} {outcome.name:<{NAME_WIDTH}} {text}".rstrip()))

    def show_warnings(self, outcomes: Sequence[JobOutcome]) -> None:
        """Print the warnings of the learners, each once with the number of its jobs."""
        counts = Counter(warning for outcome in outcomes for warning in outcome.warnings)
        for warning, n_jobs in counts.most_common(MAX_WARNINGS_SHOWN):
            self._err.print(f"[yellow]warning[/] of {count_nouns(n_jobs, 'job')}: {escape(warning)}")
        if len(counts) > MAX_WARNINGS_SHOWN:
            n_hidden = len(counts) - MAX_WARNINGS_SHOWN
            self._err.print(f"and {n_hidden} other warnings; the file warnings.txt of each run lists its own")

    def show_tables(self, tables: Sequence[ResultTable], sweep: str, setting: Mapping[str, Any]) -> None:
        """Print the scores, and the commands that compare the runs and open them.

        Parameters
        ----------
        tables : sequence of ResultTable
        sweep : str
            The name of the sweep.
        setting : mapping
            The settings of the store; empty if nothing is stored.
        """
        for table in tables:
            whole = tabulate_results(table)
            self.out.print(f"\n[bold]{escape(table.metric)}[/]")
            print_table(replace(whole, rows=whole.rows[:MAX_ROWS]), self.out)
            n_hidden = len(whole.rows) - MAX_ROWS
            if n_hidden > 0:
                self.out.print(f"and {count_nouns(n_hidden, 'more configuration')}")
        if not tables or not setting:
            return
        words = list_store_words(setting.get("uri"), setting.get("experiment", DEFAULT_EXPERIMENT))
        self.show("\ncompare  " + shlex.join(["bakeoff", "compare", f"sweep={sweep}", *words]))
        self.show("open     " + shlex.join(["bakeoff", "ui", *words]))

    def show_unfinished(self, outcomes: Sequence[JobOutcome], n_planned: int, skips_invalid: bool) -> None:
        """Print the jobs that did not finish and why.

        Parameters
        ----------
        outcomes : sequence of JobOutcome
        n_planned : int
        skips_invalid : bool
            Whether the user asked to leave out invalid jobs, which are then counted separately.
        """
        of_jobs = f"of {count_nouns(n_planned, 'job')}"
        left_out = [outcome for outcome in outcomes if skips_invalid and outcome.kind == REFUSED]
        self._show_reasons(left_out, f"{of_jobs} skipped as invalid (on_invalid=skip):")
        # A stopped job is not a failure: the study does not need its score.
        done = (FINISHED, SKIPPED, STOPPED)
        unfinished = [outcome for outcome in outcomes if outcome.kind not in done and outcome not in left_out]
        self._show_reasons(unfinished, f"{of_jobs} did not finish:")

    def show_invalid(self, plan: Plan) -> None:
        """Print why a sweep does not start."""
        invalid = [job.to_outcome(REFUSED, job.reason) for job in plan.with_state(INVALID)]
        n_jobs = count_nouns(len(plan.jobs), "job")
        self._show_reasons(invalid, f"of {n_jobs} cannot work, so none was started:", "refused: ")
        if len(invalid) < len(plan.jobs):
            self._err.print("Correct them, or add on_invalid=skip to run the others.")

    def show_plan(self, plan: Plan, workers: int) -> None:
        """Print all jobs with their states and reasons, and the expected duration of those to do."""
        rows = []
        for job in plan.jobs:
            hint = job.reason if job.seconds is None else f"about {format_seconds(job.seconds, 2)}"
            rows.append([f"#{job.number}", job.name, job.state, hint])
        for line in align_lines(make_table("", [""] * 4, rows)):
            self.show(line)
        self.show(plan.summary)
        # The total is printed only if some durations are known; jobs without one are counted separately.
        to_do = plan.with_state(TO_DO)
        known = [job.seconds for job in to_do if job.seconds is not None]
        if known:
            n_unknown = len(to_do) - len(known)
            unknown = f", and {count_nouns(n_unknown, 'job')} of unknown duration" if n_unknown else ""
            self.show(f"about {format_seconds(sum(known) / workers, 2)}{unknown}")

    def _show_reasons(self, outcomes: Sequence[JobOutcome], title: str, prefix: str = "") -> None:
        """Print the number of some jobs, and each reason once, under the jobs that share it."""
        if not outcomes:
            return
        self._err.print(f"{prefix}{len(outcomes)} {title}")
        by_reason: dict[str, list[JobOutcome]] = {}
        for outcome in outcomes[:MAX_FAILURES_SHOWN]:
            by_reason.setdefault(outcome.reason, []).append(outcome)
        for reason, sharing in by_reason.items():
            for outcome in sharing:
                self._err.print(f"  {outcome.kind:<8} #{outcome.number} {escape(outcome.name)}")
            self._err.print(f"           {escape(reason)}")
        if len(outcomes) > MAX_FAILURES_SHOWN:
            self._err.print(f"  and {len(outcomes) - MAX_FAILURES_SHOWN} more")
