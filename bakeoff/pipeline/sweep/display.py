"""The output of a sweep: the plan, a progress bar, a line for each job, unfinished jobs, and tables of the results.

A table has a row for each configuration and a column for each dataset; scores are only compared within a dataset. Jobs
done earlier are included with their stored scores.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.sweep.jobs import (
    DONE_KINDS,
    FINISHED,
    SKIPPED,
    STOPPED,
    TO_DO,
    JobOutcome,
    Work,
    count_reasons,
)
from bakeoff.pipeline.sweep.planning import Plan
from bakeoff.pipeline.sweep.run_screen import WorkBar, write_store_command
from bakeoff.pipeline.tables.table import EMPTY, Cell, Row, Table, align_lines, make_table, print_table
from bakeoff.pipeline.text.wording import (
    count_nouns,
    escape,
    format_count,
    format_deviation,
    format_mean,
    format_seconds,
    make_console,
    shorten_message,
)
from bakeoff.pipeline.tracking.names import find_headline, is_greater_better
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, load_runs

RANKED_DIGITS = 12
"""Scores that agree in this many digits are tied."""
DIGEST_LETTERS = 4


@dataclass(frozen=True)
class ResultTable:
    """The results of all jobs with the same headline score.

    Attributes
    ----------
    metric : str
        The name of the metric, such as ``test_accuracy``.
    greater_is_better : bool
    scores : DataFrame
        The mean scores, with a row for each configuration, the best first, and a column for each dataset; NaN if
        missing.
    results : mapping of (str, str) to JobOutcome
        (configuration, dataset) -> the outcome of its job, if there is one.
    """

    metric: str
    greater_is_better: bool
    scores: pd.DataFrame
    results: Mapping[tuple[str, str], JobOutcome]

    @property
    def is_best(self) -> pd.DataFrame:
        """Whether each score is the best on its dataset, or tied with it, among several."""
        best = self.scores.max() if self.greater_is_better else self.scores.min()
        is_tied = (self.scores - best).abs() <= 10.0**-RANKED_DIGITS * best.abs()
        return is_tied & (self.scores.count() > 1)


def make_tables(outcomes: Iterable[JobOutcome]) -> list[ResultTable]:
    """Return a table for each headline score of the jobs, with the best configurations first.

    Parameters
    ----------
    outcomes : iterable of JobOutcome
        The outcomes; those without a cell are ignored.
    """
    placed = [(outcome, outcome.cell) for outcome in outcomes if outcome.cell is not None and outcome.kind != STOPPED]
    names = [name for name, _ in {(cell.dataset, cell.dataset_digest) for _, cell in placed}]
    results: dict[tuple[str, str], JobOutcome] = {}
    for outcome, (configuration, dataset, digest) in sorted(placed, key=lambda pair: pair[0].number):
        # Different jobs and different data have distinct names.
        if names.count(dataset) > 1:
            dataset = f"{dataset} {digest[:DIGEST_LETTERS]}"
        if (configuration, dataset) in results:
            configuration = f"{configuration} #{outcome.number}"
        results[configuration, dataset] = outcome
    headlines = dict.fromkeys(outcome.headline for outcome in results.values() if outcome.headline)
    return [_make_table(metric, results) for metric in headlines]


def _make_table(metric: str, results: Mapping[tuple[str, str], JobOutcome]) -> ResultTable:
    """Return a table with configurations ordered by mean rank, where a missing score counts as the last rank."""
    measured = {cell: outcome for cell, outcome in results.items() if outcome.headline == metric}
    datasets = {dataset for _, dataset in measured}
    # An unfinished job has no headline metric, so it belongs to the table of its dataset.
    members = {
        cell: outcome
        for cell, outcome in results.items()
        if cell in measured or (cell[1] in datasets and not outcome.headline)
    }
    cells = pd.MultiIndex.from_tuples(members, names=["configuration", "dataset"])
    means = pd.Series([outcome.metrics.get(metric, np.nan) for outcome in members.values()], cells)
    scores = means.unstack().reindex(index=cells.unique(0), columns=cells.unique(1))
    is_greater = next(iter(measured.values())).greater_is_better
    ranks = scores.rank(ascending=not is_greater, na_option="bottom").mean(axis=1)
    return ResultTable(metric, is_greater, scores.loc[ranks.sort_values(kind="stable").index], members)


def tabulate_results(table: ResultTable) -> Table:
    """Return a row for each configuration with its score on each dataset, or the reason why there is none."""
    datasets = list(map(str, table.scores.columns))
    rows: list[Row] = []
    for name, marks in zip(map(str, table.scores.index), table.is_best.to_numpy(), strict=True):
        cells = [
            _write_result(table, name, dataset, bool(is_best)) for dataset, is_best in zip(datasets, marks, strict=True)
        ]
        rows.append([name, *cells])
    return make_table(table.metric, ["configuration", *datasets], rows)


def _write_result(table: ResultTable, configuration: str, dataset: str, is_best: bool) -> Cell:
    outcome = table.results.get((configuration, dataset))
    if outcome is None:
        return Cell("", EMPTY)
    if not outcome.metrics:
        return Cell(outcome.kind if outcome.kind not in (FINISHED, SKIPPED) else "no scores", EMPTY)
    deviation = format_deviation(outcome.metrics.get(f"{table.metric}_std", np.nan))
    return Cell(format_mean(outcome.metrics.get(table.metric, np.nan)), note=deviation, is_best=is_best)


def add_stored_scores(outcomes: Sequence[JobOutcome], store: Store | None) -> list[JobOutcome]:
    """Return the outcomes, with the stored scores of jobs that were done earlier.

    Parameters
    ----------
    outcomes : sequence of JobOutcome
    store : Store or None
    """
    lacking = [outcome for outcome in outcomes if outcome.kind in (FINISHED, SKIPPED) and not outcome.metrics]
    ids = [outcome.run_id for outcome in lacking if outcome.run_id is not None]
    if store is None or not ids:
        return list(outcomes)
    stored = {run.run_id: run for run in load_runs(store, ids, ["evaluation.metrics"])}
    return [_add_scores(outcome, stored.get(outcome.run_id or "")) for outcome in outcomes]


def _add_scores(outcome: JobOutcome, run: StoredRun | None) -> JobOutcome:
    headline = None if run is None else find_headline(run.params, run.metrics)
    if outcome.metrics or run is None or headline is None:
        return outcome
    is_greater = is_greater_better(headline, run.params)
    return replace(outcome, headlines=(headline,), metrics=run.metrics, greater_is_better=is_greater)


MAX_ROWS = 30
"""Maximum number of configurations in a table."""
MAX_WARNINGS_SHOWN = 5
ALIGNED_JOBS = 1000
"""The columns of a plan are aligned among so many jobs, because the text of a million would fill the memory."""
NAME_WIDTH = 36


class SweepDisplay:
    """Prints jobs, plans and scores to standard output; the progress bar, warnings and failures to standard error.

    Parameters
    ----------
    total : int
        The number of jobs to run.
    quiet : bool
        Whether to print nothing.

    Attributes
    ----------
    n_ended : int
        The number of jobs that have ended.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        self.out = make_console(quiet=quiet)
        self.err = make_console(stderr=True, quiet=quiet)
        self._total = total
        self.n_ended = 0
        self._running: dict[int, Work] = {}
        self._causes: set[str] = set()
        self.bar = WorkBar(self.err, total)
        self._show_progress()

    def show_work(self, number: int, work: Work) -> None:
        """Show how much of a job is done.

        Parameters
        ----------
        number : int
            The job's number.
        work : Work
        """
        self._running[number] = work
        self._show_progress()

    def _show_progress(self) -> None:
        """Show how many jobs have ended, and how much of the running jobs is done."""
        works = self._running.values()
        text = f"{format_count(self.n_ended)} of {count_nouns(self._total, 'job')}"
        if works:
            text += f"; running: {Work(*map(sum, zip(*works, strict=True))).text}"
        self.bar.show(self.n_ended + sum(work.fits / work.n_fits for work in works), text)

    def show(self, sentence: str) -> None:
        """Print a sentence to standard output."""
        self.out.print(escape(sentence))

    def warn(self, sentences: Sequence[str]) -> None:
        """Print possible mistakes in the command and problems that did not stop the sweep."""
        for sentence in sentences:
            self.err.print(f"[yellow]warning:[/] {escape(sentence)}")

    def show_outcome(self, outcome: JobOutcome) -> None:
        """Print the outcome of a job, unless an earlier one had the same cause, and advance the bar."""
        self.n_ended += 1
        self._running.pop(outcome.number, None)
        self._show_progress()
        if outcome.cause in self._causes and outcome.kind not in DONE_KINDS:
            return
        self._causes.add(outcome.cause)
        if outcome.kind == FINISHED:
            text = f"{outcome.summary}  {format_seconds(outcome.seconds)}  {outcome.run_id or ''}"
        else:
            first_line = outcome.reason.partition("\n")[0]
            text = f"{outcome.kind}  {first_line}"
        # On a terminal, the bar must print the line itself; otherwise they would overwrite each other.
        console = self.err if self.err.is_terminal and self.out.is_terminal else self.out
        console.print(escape(f"#{outcome.number:<4} {outcome.name:<{NAME_WIDTH}} {text}".rstrip()))

    def show_warnings(self, outcomes: Sequence[JobOutcome]) -> None:
        """Print the most frequent learner warnings with the number of jobs; each run stores its own warnings."""
        counts = Counter(warning for outcome in outcomes for warning in outcome.warnings)
        for warning, n_jobs in counts.most_common(MAX_WARNINGS_SHOWN):
            self.err.print(f"[yellow]warning[/] in {count_nouns(n_jobs, 'job')}: {escape(warning)}")

    def show_tables(self, tables: Sequence[ResultTable], sweep: str, setting: Mapping[str, Any]) -> None:
        """Print the scores and the commands that compare and open the runs.

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
        self.show(f"\ncompare  {write_store_command(setting, 'compare', f'sweep={sweep}')}")
        self.show(f"open     {write_store_command(setting, 'ui')}")

    def show_unfinished(self, outcomes: Sequence[JobOutcome], n_planned: int) -> None:
        """Print unfinished jobs and the reasons; stopped jobs are omitted, because their study needs no score."""
        unfinished = [outcome for outcome in outcomes if outcome.kind not in DONE_KINDS]
        self._show_reasons(unfinished, f"of {count_nouns(n_planned, 'job')} did not finish:")

    def show_refused(self, outcomes: Sequence[JobOutcome], n_planned: int) -> None:
        """Print why a sweep does not start."""
        n_jobs = count_nouns(n_planned, "job")
        title = f"of {n_jobs} cannot run, so none was started (on_invalid=skip runs the others):"
        self._show_reasons(outcomes, title, "refused: ")

    def show_plan(self, plan: Plan, workers: int) -> None:
        """Print all jobs with their states and reasons, and the expected duration of the jobs to do."""
        for start in range(0, len(plan.jobs), ALIGNED_JOBS):
            rows = [
                [
                    f"#{job.number}",
                    job.name,
                    job.state,
                    job.reason or ("" if job.seconds is None else f"about {format_seconds(job.seconds, 2)}"),
                ]
                for job in plan.jobs[start : start + ALIGNED_JOBS]
            ]
            self.show("\n".join(align_lines(make_table("", [""] * 4, rows))))
        self.show(plan.summary)
        if plan.authors:
            self.show(plan.authors)
        # The total is printed only if some durations are known; the other jobs are counted separately.
        to_do = plan.with_state(TO_DO)
        known = [job.seconds for job in to_do if job.seconds is not None]
        if known:
            n_unknown = len(to_do) - len(known)
            unknown = f", and {count_nouns(n_unknown, 'job')} of unknown duration" if n_unknown else ""
            self.show(f"about {format_seconds(sum(known) / workers, 2)}{unknown}")

    def _show_reasons(self, outcomes: Sequence[JobOutcome], title: str, prefix: str = "") -> None:
        """Print the number of jobs, and each reason once, above the first jobs that share it."""
        if not outcomes:
            return
        self.err.print(f"{prefix}{len(outcomes)} {title}")
        for sentence, names in count_reasons(outcomes).items():
            self.err.print(f"  {escape(sentence)}")
            self.err.print(f"    {escape(shorten_message(names))}")
