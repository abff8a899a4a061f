"""The output of a sweep: the plan, a progress bar, a line for each job, unfinished jobs, and the scores."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT, list_store_words
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, STOPPED, JobOutcome
from bakeoff.pipeline.sweep.planning import DONE, DUPLICATE, INVALID, TO_DO, Plan
from bakeoff.pipeline.sweep.result_table import ResultTable, show_table
from bakeoff.pipeline.tables.table import make_table
from bakeoff.pipeline.tables.terminal import align_lines
from bakeoff.pipeline.text.numbers import format_score, format_seconds
from bakeoff.pipeline.text.terminal import escape, make_console
from bakeoff.pipeline.text.words import count_nouns

MAX_FAILURES_SHOWN = 40
"""Maximum number of failures in the table at the end; the store contains the others."""
MAX_WARNINGS_SHOWN = 5
MIN_NAME_WIDTH = 36
MAX_NAME_WIDTH = 60


class SweepDisplay:
    """Prints jobs and plans to standard output, the progress bar and failures to standard error.

    Parameters
    ----------
    total : int
        The number of jobs to run.
    quiet : bool
        Print nothing.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        self._out = make_console(quiet=quiet)
        self._err = make_console(stderr=True, quiet=quiet)
        # The end of the bar shows the number of failures and the best job so far.
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("jobs"),
            TimeRemainingColumn(),
            TextColumn("[red]{task.fields[failed]}"),
            TextColumn("{task.fields[best]}"),
        )
        self._bar = Progress(*columns, console=self._err, disable=quiet or not self._err.is_terminal)
        self._task = self._bar.add_task("", total=total, failed="", best="")
        # Scores of different datasets, or of different metrics, are never compared.
        self._best: dict[tuple[str, str], JobOutcome] = {}
        self._n_failed = 0
        self._name_width = MIN_NAME_WIDTH
        self._warning_counts: Counter[str] = Counter()
        self._preprocessing_counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show_start(self, plan: Plan, continued: str) -> None:
        """Print the number of jobs, how many will run, and the earlier sweep with the same jobs."""
        longest = max((len(entry.name) for entry in plan.with_state(TO_DO)), default=0)
        self._name_width = min(max(longest, MIN_NAME_WIDTH), MAX_NAME_WIDTH)
        self._out.print(_summarize_plan(plan))
        n_undrawn = sum(1 for entry in plan.with_state(DONE) if (entry.composed.spec or {}).get("figures"))
        if n_undrawn:
            self._out.print(
                f"no figures of the {count_nouns(n_undrawn, 'job')} done before: `bakeoff figures RUN` draws them, or "
                "add resume=false"
            )
        if continued:
            self._out.print(f"continues sweep {escape(continued)}")

    def show_best(self, outcomes: Sequence[JobOutcome]) -> None:
        """Show the best of the earlier jobs in the progress bar."""
        for outcome in outcomes:
            self._bar.update(self._task, best=self._describe_best(outcome))

    def show_checked(self, left_out: str, datasets: Sequence[Dataset], notes: Sequence[str]) -> None:
        """Print the findings of the checks of the jobs.

        Parameters
        ----------
        left_out : str
            A sentence on the learners of a pattern without a job; empty if there are none.
        datasets : sequence of Dataset
            Datasets with notes on suspicious columns and columns left out.
        notes : sequence of str
            Notes on possible mistakes in the command.
        """
        if left_out:
            self._out.print(escape(left_out))
        for dataset in datasets:
            for remark in dataset.remarks:
                self._err.print(f"[yellow]dataset {escape(dataset.name)}:[/] {escape(remark)}")
        self.show_problems(notes)

    def show_problems(self, problems: Sequence[str]) -> None:
        """Print problems that did not stop the sweep."""
        for problem in problems:
            self._err.print(f"[yellow]warning:[/] {escape(problem)}")

    def show_outcome(self, outcome: JobOutcome) -> None:
        """Print the outcome of a job and advance the bar."""
        self._n_failed += outcome.has_failed
        self._warning_counts.update(outcome.warnings)
        if outcome.preprocessing:
            self._preprocessing_counts[outcome.preprocessing] += 1
        failed = f"{self._n_failed} failed" if self._n_failed else ""
        self._bar.update(self._task, advance=1, failed=failed, best=self._describe_best(outcome))
        # On a terminal the bar must print the line itself, or they would overwrite each other.
        has_bar = self._err.is_terminal and self._out.is_terminal
        console = self._bar.console if has_bar else self._out
        console.print(_format_outcome(outcome, self._name_width))

    def show_waiting(self, n_jobs: int) -> None:
        """Show in the progress bar that another process runs the remaining jobs."""
        self._bar.update(self._task, best=f"waiting for {count_nouns(n_jobs, 'job')} that another process runs")

    def show_unplanned(self, n_jobs: int) -> None:
        """Print that a sweep was interrupted before its first job."""
        self._err.print(f"none of {count_nouns(n_jobs, 'job')} was started; they were still being checked.")

    def show_interrupted(self, outcomes: Sequence[JobOutcome], n_planned: int) -> None:
        """Print how many jobs were done when a sweep was interrupted, and how to continue it.

        Parameters
        ----------
        outcomes : sequence of JobOutcome
            The known outcomes.
        n_planned : int
            The number of different jobs.
        """
        n_done = sum(outcome.kind in (FINISHED, SKIPPED) for outcome in outcomes)
        self._err.print(f"{n_done} of {count_nouns(n_planned, 'job')} done; the same command runs the others.")

    def show_end(self, outcomes: Sequence[JobOutcome], n_planned: int, skips_invalid: bool) -> None:
        """Print the effect of preprocessing=auto, the warnings of the learners, and the jobs that did not finish.

        Parameters
        ----------
        outcomes : sequence of JobOutcome
        n_planned : int
        skips_invalid : bool
            Whether the user asked to leave out invalid jobs, which are then counted separately.
        """
        for summary, n_jobs in self._preprocessing_counts.items():
            self._out.print(f"preprocessing auto of {count_nouns(n_jobs, 'job')}: {escape(summary)}")
        # Many jobs cause the same warning, so each is printed once with the number of jobs.
        shown = list(self._warning_counts.items())[:MAX_WARNINGS_SHOWN]
        for warning, n_jobs in shown:
            self._err.print(f"[yellow]warning[/] of {count_nouns(n_jobs, 'job')}: {escape(warning)}")
        n_hidden = len(self._warning_counts) - len(shown)
        if n_hidden:
            self._err.print(f"and {n_hidden} other warnings; the file warnings.txt of each run lists its own")
        self.show_unfinished(outcomes, n_planned, skips_invalid)

    def show_tables(self, tables: Sequence[ResultTable], sweep: str, settings: Sequence[Mapping[str, Any]]) -> None:
        """Print the scores, and the commands that compare the runs and open them.

        Parameters
        ----------
        tables : sequence of ResultTable
        sweep : str
            The name of the sweep.
        settings : sequence of mapping
            The settings of the stores of the jobs; empty if nothing is stored.
        """
        for table in tables:
            show_table(table, self._out)
        if not tables:
            return
        has_choice = any(len(table.configurations) > 1 for table in tables)
        self._out.print()
        stores = [
            list_store_words(setting.get("uri"), setting.get("experiment", DEFAULT_EXPERIMENT)) for setting in settings
        ]
        for words in dict.fromkeys(map(tuple, stores)):
            if has_choice:
                command = shlex.join(["bakeoff", "compare", f"sweep={sweep}", *words])
                self._out.print(f"compare  {escape(command)}")
            self._out.print(f"open     {escape(shlex.join(['bakeoff', 'ui', *words]))}")

    def show_unfinished(self, outcomes: Sequence[JobOutcome], n_planned: int, skips_invalid: bool = False) -> None:
        """Print the jobs that did not finish and why; the arguments are those of `show_end`."""
        left_out = [outcome for outcome in outcomes if outcome.kind == REFUSED] if skips_invalid else []
        if left_out:
            self._err.print(f"{len(left_out)} of {count_nouns(n_planned, 'job')} skipped as invalid (on_invalid=skip):")
            self._show_reasons(left_out)
        # A stopped job is not a failure: the study does not need its score.
        others = [outcome for outcome in outcomes if outcome not in left_out]
        unfinished = [outcome for outcome in others if outcome.kind not in (FINISHED, SKIPPED, STOPPED)]
        if unfinished:
            self._err.print(f"{len(unfinished)} of {count_nouns(n_planned, 'job')} did not finish:")
            self._show_reasons(unfinished)

    def show_invalid(self, plan: Plan) -> None:
        """Print why a sweep does not start."""
        invalid = plan.with_state(INVALID)
        n_jobs = count_nouns(len(plan.entries), "job")
        self._err.print(f"refused: {len(invalid)} of {n_jobs} cannot work, so none was started:")
        self._show_reasons([entry.to_outcome(REFUSED) for entry in invalid])
        if len(invalid) < len(plan.entries):
            self._err.print("Correct them, or add on_invalid=skip to run the others.")

    def show_plan(self, plan: Plan, workers: int) -> None:
        """Print all jobs with their states and reasons, and the expected duration of those to do."""
        rows = []
        for entry in plan.entries:
            hint = entry.reason if entry.seconds is None else f"about {format_seconds(entry.seconds, 2)}"
            rows.append([f"#{entry.composed.number}", entry.name, entry.state, hint])
        for line in align_lines(make_table("", [""] * 4, rows)):
            self._out.print(escape(line))
        self._out.print(_summarize_plan(plan))
        # The total is printed only if some durations are known; jobs without one are counted separately.
        estimates = [entry.seconds for entry in plan.with_state(TO_DO) if entry.seconds is not None]
        if estimates:
            n_unknown = len(plan.with_state(TO_DO)) - len(estimates)
            duration = format_seconds(sum(estimates) / workers, 2)
            unknown = f", and {count_nouns(n_unknown, 'job')} of unknown duration" if n_unknown else ""
            self._out.print(f"about {duration}{unknown}")

    def _describe_best(self, outcome: JobOutcome) -> str:
        """Return a description of the best job so far on the dataset of a job."""
        dataset = "" if outcome.cell is None else outcome.cell.dataset
        key = dataset, outcome.headline
        # The scores of a skipped job were read from the store.
        best = self._best.get(key)
        is_complete = outcome.kind in (FINISHED, SKIPPED)
        if is_complete and not math.isnan(outcome.score) and (best is None or _is_better(outcome, best)):
            best = self._best[key] = outcome
        return "" if best is None else f"best {format_score(best.score)} {escape(best.name)}"

    def _show_reasons(self, outcomes: Sequence[JobOutcome]) -> None:
        """Print each reason once, under the jobs that share it."""
        by_reason: dict[str, list[JobOutcome]] = {}
        for outcome in outcomes[:MAX_FAILURES_SHOWN]:
            by_reason.setdefault(outcome.reason, []).append(outcome)
        for reason, sharing in by_reason.items():
            for outcome in sharing:
                self._err.print(f"  {outcome.kind:<8} #{outcome.number} {escape(outcome.name)}")
            self._err.print(f"           {escape(reason)}")
        n_hidden = len(outcomes) - MAX_FAILURES_SHOWN
        if n_hidden > 0:
            self._err.print(f"  and {n_hidden} more")


def _format_outcome(outcome: JobOutcome, name_width: int) -> str:
    if outcome.kind == FINISHED:
        text = f"{outcome.summary}  {format_seconds(outcome.seconds)}  {outcome.run_id or ''}"
    else:
        first_line = outcome.reason.partition("\n")[0]
        text = f"{outcome.kind}  {escape(first_line)}"
    return f"#{outcome.number:<4} {escape(outcome.name):<{name_width}} {text}".rstrip()


def _is_better(outcome: JobOutcome, best: JobOutcome) -> bool:
    return outcome.score > best.score if outcome.greater_is_better else outcome.score < best.score


def _summarize_plan(plan: Plan) -> str:
    """Return the number of jobs, in total and by state: "to do" always, other states if there are any."""
    words = {TO_DO: "to run", DONE: "already done", DUPLICATE: "given twice", INVALID: "invalid"}
    counts = {state: len(plan.with_state(state)) for state in words}
    shown = [f"{count} {words[state]}" for state, count in counts.items() if count or state == TO_DO]
    return f"{count_nouns(len(plan.entries), 'job')}: {', '.join(shown)}"
