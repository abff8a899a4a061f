"""The result of a sweep, with its jobs and scores as tables of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.jobs import FINISHED, SKIPPED, STOPPED, JobOutcome
from bakeoff.pipeline.sweep.planning import PlanEntry
from bakeoff.pipeline.sweep.result_table import ResultTable, tabulate_results
from bakeoff.pipeline.tables.html import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, make_table
from bakeoff.pipeline.tables.terminal import render_text
from bakeoff.pipeline.tracking.stored_runs import SERIES_PREFIXES

TEMPLATE = Path(__file__).parent / "templates" / "sweep.html"
DONE_KINDS = (FINISHED, SKIPPED, STOPPED)
FIRST_COLUMNS = ("name", "configuration", "dataset", "state", "metric", "score")
LAST_COLUMNS = ("seconds", "reason", "run_id")


@dataclass(frozen=True, repr=False)
class SweepResult:
    """A sweep that has ended.

    Attributes
    ----------
    name : str
        That of the tag ``sweep`` of its runs.
    runs : DataFrame
        A row for each job: ``name``, ``configuration``, ``dataset``, ``state`` (``finished``; ``skipped``, which was
        done before; ``failed``, …), ``metric`` and ``score``, all values by name as means over folds, ``seconds`` of
        fitting, ``reason`` of a job that did not finish, and ``run_id``.
    tables : mapping of str to DataFrame
        Headline score -> its means: a row for each configuration, the best first, and a column for each dataset.
    notes : tuple of str
        What is said of the data.
    command : str
        The command that runs the same.
    tracking : mapping
        The settings of the store; empty if nothing is stored.
    """

    name: str
    runs: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()
    command: str = ""
    tracking: Mapping[str, Any] = field(default_factory=dict)
    result_tables: Sequence[ResultTable] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The table of the only headline score.

        Raises
        ------
        UserError
            There are several, as of classification and regression, or none.
        """
        if len(self.tables) == 1:
            return next(iter(self.tables.values()))
        if not self.tables:
            raise UserError("the sweep has no table, because no job has a score; runs has the reasons.")
        raise UserError(
            f"the sweep has {len(self.tables)} headline scores ({', '.join(self.tables)}), whose means cannot stand in "
            "one table; tables has one for each."
        )

    @property
    def best_run(self) -> str:
        """The id of the run with the best headline score.

        The choice was made on the test rows, so that this score is optimistic: it is the best of all that were tried.

        Raises
        ------
        UserError
            The jobs are on several datasets or have several headline scores, no job has a score, or nothing is stored.
        """
        if len(self.result_tables) > 1:
            raise UserError(
                f"best_run: the jobs have {len(self.result_tables)} headline scores ({', '.join(self.tables)}), which "
                "cannot be compared; choose a run by one of them from runs."
            )
        scored = self.runs[self.runs["score"].notna() & self.runs["state"].isin(DONE_KINDS)]
        datasets = list(dict.fromkeys(scored["dataset"]))
        if len(datasets) > 1:
            raise UserError(
                f"best_run: the jobs are on {len(datasets)} datasets ({', '.join(datasets)}), whose scores cannot be "
                "compared; choose a run of one of them from runs, or compare the configurations with bakeoff.compare."
            )
        if scored.empty or not self.result_tables:
            raise UserError("best_run: no job has a score; runs has the reasons.")
        is_greater_better = self.result_tables[0].greater_is_better
        ordered = scored.sort_values("score", ascending=not is_greater_better, kind="stable")
        run_id = ordered["run_id"].iloc[0]
        if not isinstance(run_id, str):
            raise UserError("best_run: the runs are not stored (tracking=none), so that there is none to name.")
        return run_id

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for each reason why jobs did not finish."""
        unfinished = self.runs[~self.runs["state"].isin(DONE_KINDS)]
        sentences = []
        for (state, reason), jobs in unfinished.groupby(["state", "reason"], sort=False):
            sentences.append(f"{', '.join(jobs['name'])}: {state}: {reason}")
        return tuple(sentences) if not self._is_plan else ()

    @property
    def html(self) -> str:
        """The result as a fragment of HTML, as notebooks show it."""
        return self._repr_html_()

    def __repr__(self) -> str:
        counts = self.runs["state"].value_counts(sort=False)
        states = ", ".join(f"{count} {state}" for state, count in counts.items())
        return f"<SweepResult {self.name}: {len(self.runs)} jobs: {states}>"

    def __rich__(self) -> Any:
        """Return the scores as tables for a terminal."""
        from rich.console import Group
        from rich.text import Text

        drawn = [Text(f"{table.metric}\n{render_text(tabulate_results(table))}") for table in self.result_tables]
        return Group(repr(self), *drawn)

    def _repr_html_(self) -> str:
        shown = [tabulate_results(table) for table in self.result_tables]
        if not shown:  # a plan, or no job has a score
            headings = [Cell(str(column), TEXT) for column in ("job", *self.runs.columns)]
            shown = [make_table("jobs", headings, (map(str, row) for row in self.runs.itertuples()))]
        values = {"headline": repr(self), "tables": shown, "notes": [*self.notes, *self.failures]}
        return render_template(TEMPLATE, values)

    @property
    def _is_plan(self) -> bool:
        """Whether nothing was run, because only the plan was asked for."""
        return "expected_seconds" in self.runs.columns


def make_sweep_result(report: SweepReport, notes: Sequence[str], command: str) -> SweepResult:
    """Return the result of a sweep.

    Parameters
    ----------
    report : SweepReport
    notes : sequence of str
        Those of the tables that were given.
    command : str
    """
    results = report.results
    entries = report.plan.entries
    return SweepResult(
        name=report.name,
        runs=_tabulate_plan(entries) if entries and not results else _tabulate_jobs(results),
        tables=_to_frames(report.tables),
        notes=(*notes, *report.notes),
        command=command,
        tracking=next(iter(report.settings), {}),
        result_tables=report.tables,
    )


def _to_frames(tables: Sequence[ResultTable]) -> dict[str, pd.DataFrame]:
    return {
        table.metric: pd.DataFrame(
            table.scores,
            index=pd.Index(table.configurations, name="configuration"),
            columns=pd.Index(table.datasets, name="dataset"),
        )
        for table in tables
    }


def _tabulate_jobs(outcomes: Sequence[JobOutcome]) -> pd.DataFrame:
    ordered = sorted(outcomes, key=lambda outcome: outcome.number)
    rows = [_describe_outcome(outcome) for outcome in ordered]
    names = dict.fromkeys(name for outcome in ordered for name in outcome.metrics)
    # The store also has the values of each fold, of jobs that were done before.
    metrics = [name for name in names if not name.startswith(SERIES_PREFIXES)]
    numbers = pd.Index([outcome.number for outcome in ordered], name="job")
    return pd.DataFrame(rows, index=numbers, columns=[*FIRST_COLUMNS, *metrics, *LAST_COLUMNS])


def _describe_outcome(outcome: JobOutcome) -> dict[str, Any]:
    cell = outcome.cell
    return {
        **outcome.metrics,
        "name": outcome.name,
        "configuration": None if cell is None else cell.configuration,
        "dataset": None if cell is None else cell.dataset,
        "state": outcome.kind,
        "metric": outcome.headline or None,
        "score": outcome.score,
        "seconds": outcome.seconds if outcome.kind == FINISHED else np.nan,
        "reason": "" if outcome.kind in DONE_KINDS else outcome.reason,
        "run_id": outcome.run_id,
    }


def _tabulate_plan(entries: Sequence[PlanEntry]) -> pd.DataFrame:
    rows = [
        {
            "name": entry.name,
            "state": entry.state,
            "expected_seconds": entry.seconds,
            "reason": entry.reason,
            "run_id": entry.run_id,
        }
        for entry in entries
    ]
    numbers = pd.Index([entry.composed.number for entry in entries], name="job")
    return pd.DataFrame(rows, index=numbers)
