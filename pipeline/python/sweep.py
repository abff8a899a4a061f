"""``bakeoff.sweep``: many experiments, with their jobs and scores as pandas tables."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.config.words import note_repeated_keys
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import find_source, own_process_state, read_words, warn_of, write_command
from bakeoff.pipeline.python.data import GivenData, open_data
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, STOPPED, Job, JobOutcome
from bakeoff.pipeline.sweep.request import THREAD_VARIABLES, SweepRequest, run_requested_sweep, set_single_threads
from bakeoff.pipeline.sweep.result_table import ResultTable, tabulate_results
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.table import TEXT, Cell, make_table
from bakeoff.pipeline.tables.terminal import render_text
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.stored_runs import SERIES_PREFIXES

MAX_SHOWN_REASONS = 3


def sweep(
    *words: str,
    dataset: Any = None,
    target: Any = None,
    dataset_name: str | None = None,
    config_dir: str | PathLike[str] | None = None,
    verbose: bool = False,
    **keys: Any,
) -> SweepResult:
    """Run every combination of several values.

    Jobs already finished in the store are not run again, and are part of the result.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE,VALUE`` as on the command line after ``-m``, each as a separate text.
    dataset : str, path, table, list or mapping, optional
        As for `run`; or a list of names, or a list of tables and files that have the same target, or a mapping of names
        to such tables.
    target, dataset_name, config_dir
        As for `run`.
    verbose : bool
        Whether to print what the command prints, with its progress bar. By default nothing is printed, and notes on the
        data and on failed jobs are issued as `BakeoffWarning`.
    **keys
        Further keys with Python values. A list contains a value for each job: ``learner=["knn", "svm"]``,
        ``learner__C=[0.1, 1, 10]``. A list is one value of ``trust``, ``figures`` and ``space``, and of keys that
        contain columns, such as ``dataset__drop``. The keys of sweeps are those of the command: ``workers=2``,
        ``timeout=60``, ``search="grid"``, ``resume=False``, ``dry_run=True``.

    Returns
    -------
    SweepResult

    Raises
    ------
    UserError
        The command or one of its jobs is invalid, and nothing was run.

    Examples
    --------
    >>> result = sweep(learner=["majority", "knn"], dataset="wine", evaluation="kfold", tracking="none")
    >>> result.table.round(3).to_dict()
    {'wine': {'knn': 0.697, 'majority': 0.399}}
    """
    given = GivenData(dataset, target, dataset_name, is_sweep=True)
    own_words = read_words(words, keys, is_sweep=True)
    source = find_source(config_dir)
    with own_process_state(), open_data(given, own_words) as (data_words, notes), _single_threads():
        all_words = (*data_words, *own_words)
        report = run_requested_sweep(SweepRequest(all_words, source, quiet=not verbose))
        if not report.is_dry_run:
            _require_start(report)
        result = make_sweep_result(report, notes, write_command(all_words, source, "-m"))
    if not verbose:
        warn_of([*note_repeated_keys(own_words), *result.notes, *result.failures])
    return result


def _require_start(report: SweepReport) -> None:
    """Raise one error, with each reason once, if invalid jobs prevented the start."""
    outcomes = report.outcomes
    if not outcomes or any(outcome.kind != REFUSED for outcome in outcomes):
        return
    reasons = list(dict.fromkeys(outcome.reason for outcome in outcomes))
    n_jobs = count_nouns(len(outcomes), "job")
    shown = "; ".join(reasons[:MAX_SHOWN_REASONS])
    n_more = len(reasons) - MAX_SHOWN_REASONS
    more = f"; and {n_more} other reasons" if n_more > 0 else ""
    has_others = len(outcomes) < len(report.plan.jobs)
    cure = " on_invalid='skip' runs the others." if has_others else ""
    raise UserError(f"{n_jobs} cannot work, so none was started: {shown}{more}{cure}")


@contextmanager
def _single_threads() -> Iterator[None]:
    """Limit matrix products to one thread during the sweep, as in the command.

    NumPy has already been loaded, so the variables that the command sets have no effect in this process. They decide in
    workers.
    """
    is_decided = any(variable in os.environ for variable in THREAD_VARIABLES)
    set_single_threads()
    if is_decided:
        yield
        return
    # scikit-learn depends on threadpoolctl, which publishes no types.
    with importlib.import_module("threadpoolctl").threadpool_limits(limits=1):
        yield


TEMPLATE = Path(__file__).parent / "templates" / "sweep.html"
DONE_KINDS = (FINISHED, SKIPPED, STOPPED)
FIRST_COLUMNS = ("name", "configuration", "dataset", "state", "metric", "score")
LAST_COLUMNS = ("seconds", "reason", "run_id")


@dataclass(frozen=True, repr=False)
class SweepResult:
    """A completed sweep.

    Attributes
    ----------
    name : str
        The name in the tag ``sweep`` of its runs.
    runs : DataFrame
        A row for each job: ``name``, ``configuration``, ``dataset``, ``state`` (``finished``; ``skipped``, which was
        done before; ``failed``, …), ``metric`` and ``score``, all values by name as means over folds, ``seconds`` of
        fitting, ``reason`` of a job that did not finish, and ``run_id``.
    notes : tuple of str
        Notes on the data.
    command : str
        The equivalent command.
    tracking : mapping
        The settings of the store; empty if nothing is stored.
    result_tables : sequence of ResultTable
        The tables of results from which the tables are made.
    """

    name: str
    runs: pd.DataFrame
    notes: tuple[str, ...] = ()
    command: str = ""
    tracking: Mapping[str, Any] = field(default_factory=dict)
    result_tables: Sequence[ResultTable] = ()

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Headline score -> its means: a row for each configuration, the best first, and a column for each dataset."""
        return {table.metric: table.scores for table in self.result_tables}

    @property
    def table(self) -> pd.DataFrame:
        """The table of the only headline score.

        Raises
        ------
        UserError
            There are several, as with classification and regression, or none.
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

        The choice is based on the test rows, so its score is optimistic: it is the best of all scores.

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
        """The result as an HTML fragment, for notebooks."""
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
        """Whether nothing was run, because only the plan was requested."""
        return "expected_seconds" in self.runs.columns


def make_sweep_result(report: SweepReport, notes: Sequence[str], command: str) -> SweepResult:
    """Return the result of a sweep.

    Parameters
    ----------
    report : SweepReport
    notes : sequence of str
        Notes on the given tables.
    command : str
    """
    results = report.results
    jobs = report.plan.jobs
    return SweepResult(
        name=report.name,
        runs=_tabulate_plan(jobs) if jobs and not results else _tabulate_jobs(results),
        notes=(*notes, *report.notes),
        command=command,
        tracking=report.tracking,
        result_tables=report.tables,
    )


def _tabulate_jobs(outcomes: Sequence[JobOutcome]) -> pd.DataFrame:
    ordered = sorted(outcomes, key=lambda outcome: outcome.number)
    rows = [_describe_outcome(outcome) for outcome in ordered]
    names = dict.fromkeys(name for outcome in ordered for name in outcome.metrics)
    # The store also contains the values of each fold of jobs that were already done.
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


def _tabulate_plan(jobs: Sequence[Job]) -> pd.DataFrame:
    rows = [
        {
            "name": job.name,
            "state": job.state,
            "expected_seconds": job.seconds,
            "reason": job.reason,
            "run_id": job.run_id,
        }
        for job in jobs
    ]
    return pd.DataFrame(rows, index=pd.Index([job.number for job in jobs], name="job"))


def name_run(run: str | RunResult) -> str:
    """Return the word for a run: the given one, or the id of a result.

    Raises
    ------
    UserError
        The run is not stored.
    """
    if isinstance(run, str):
        return run
    if run.run_id is None:
        raise UserError(f"the run {run.name} is not stored (tracking=none), so that nothing can be read of it.")
    return run.run_id


def find_store(results: Sequence[RunResult | SweepResult], uri: str | None, experiment: str | None) -> dict[str, Any]:
    """Return the fields of a request that select the given store, or that of the results.

    Parameters
    ----------
    results : sequence of RunResult or SweepResult
    uri, experiment : str or None
        The arguments of the call.

    Raises
    ------
    UserError
        The results are not stored, or in several stores.
    """
    settings = [_read_settings(result) for result in results]
    found = {}
    for key, given in (("uri", uri), ("experiment", experiment)):
        stored = {str(each[key]) for each in settings if each.get(key) is not None}
        if len(stored) > 1:
            raise UserError(
                f"the results are in several stores (tracking.{key}: {', '.join(sorted(stored))}), and only runs of "
                "one can be compared."
            )
        value = given or next(iter(stored), None)
        if value is not None:
            found[f"tracking__{key}"] = value
    return found


def _read_settings(result: RunResult | SweepResult) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = result.config["tracking"] if isinstance(result, RunResult) else result.tracking
    if not settings:
        raise UserError(f"the runs of sweep {result.name} are not stored (tracking=none).")
    return settings
