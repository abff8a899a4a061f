"""``bakeoff.sweep``: many experiments, with their jobs and scores as pandas tables."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import (
    describe_data,
    find_source,
    own_process_state,
    read_words,
    show_html,
    warn_of,
    write_command,
)
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.sweep import display, engine, request
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.jobs import DONE_KINDS, FINISHED, REFUSED, Job, JobOutcome, count_reasons
from bakeoff.pipeline.tracking.stored_runs import SERIES_PREFIXES


def sweep(
    *words: str,
    dataset: Any = None,
    target: str | None = None,
    dataset_name: str | None = None,
    config_dir: str | PathLike[str] | None = None,
    verbose: bool = False,
    **keys: Any,
) -> SweepResult:
    """Run every combination of several values.

    Jobs already finished in the store are included in the result but not run again.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE,VALUE`` as on the command line after ``-m``, each as a separate string.
    dataset : str, path, table, list or mapping, optional
        As for `run`, or a list of names, or a mapping of names to tables and files that share the same target.
    target, dataset_name, config_dir
        As for `run`.
    verbose : bool
        Whether to print the output of the command, with its progress bar. By default nothing is printed, and notes on
        the data and on failed jobs are issued as `BakeoffWarning`.
    **keys
        Further keys with Python values. A list contains a value for each job: ``learner=["knn", "svm"]``,
        ``learner__C=[0.1, 1, 10]``. For ``trust``, ``figures`` and ``space``, and for keys that contain columns, such
        as ``dataset__drop``, a list is a single value. The keys of sweeps are those of the command: ``workers=2``,
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
    own_words = read_words(words, keys, is_sweep=True)
    data_words, notes = describe_data(dataset, target, dataset_name, is_sweep=True)
    source = find_source(config_dir)
    all_words = (*data_words, *own_words)
    with own_process_state(), _single_threads():
        report = request.run_requested_sweep(SweepRequest(all_words, source, quiet=not verbose))
        result = make_sweep_result(report, notes, write_command(all_words, source, "-m"))
    if not verbose:
        warn_of([*result.notes, *result.failures])
    return result


@contextmanager
def _single_threads() -> Iterator[None]:
    """Limit matrix products to one thread during the sweep, as the command does.

    NumPy has already been loaded, so the variables set by the command have no effect in this process; they only affect
    workers.
    """
    is_decided = any(variable in os.environ for variable in request.THREAD_VARIABLES)
    request.set_single_threads()
    if is_decided:
        yield
        return
    # scikit-learn depends on threadpoolctl, which provides no type information.
    with importlib.import_module("threadpoolctl").threadpool_limits(limits=1):
        yield


FIRST_COLUMNS = ("name", "configuration", "dataset", "state", "metric", "score")
LAST_COLUMNS = ("seconds", "reason", "run_id")
STORE_KEYS = ("uri", "experiment")


@dataclass(frozen=True, repr=False)
class SweepResult:
    """A completed sweep.

    Attributes
    ----------
    name : str
        The value of the tag ``sweep`` of its runs.
    runs : DataFrame
        A row for each job with ``name``, ``configuration``, ``dataset``, ``state`` (``finished``, ``skipped`` if it was
        done earlier, ``failed``, …), ``metric`` and ``score``, the mean over folds of each measured value by name,
        ``seconds`` of fitting, the ``reason`` if the job did not finish, and ``run_id``.
    notes : tuple of str
        Notes on the data.
    command : str
        The equivalent command.
    tracking : mapping
        The settings of the store; empty if nothing is stored.
    result_tables : sequence of ResultTable
        The results from which the tables are made.
    """

    name: str
    runs: pd.DataFrame
    notes: tuple[str, ...]
    command: str
    tracking: Mapping[str, Any]
    result_tables: Sequence[display.ResultTable]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Headline score -> its means, with a row for each configuration, best first, and a column for each dataset."""
        return {table.metric: table.scores for table in self.result_tables}

    @property
    def table(self) -> pd.DataFrame:
        """The table of the only headline score.

        Raises
        ------
        UserError
            There are no headline scores or several, as with both classification and regression.
        """
        if len(self.tables) != 1:
            raise UserError(
                f"the jobs have {len(self.tables)} headline scores; use tables, which has one for each, or runs."
            )
        return next(iter(self.tables.values()))

    @property
    def best_run(self) -> str:
        """The id of the run with the best headline score.

        The choice is based on the test rows, so the score is optimistic: it is the best of all scores.

        Raises
        ------
        UserError
            The jobs use several datasets or headline scores, no job has a score, or nothing is stored.
        """
        scored = self.runs[self.runs["score"].notna() & self.runs["run_id"].notna()]
        if len(self.result_tables) != 1 or scored["dataset"].nunique() != 1:
            raise UserError("best_run needs stored runs of one dataset with one headline score; see runs.")
        is_greater_better = self.result_tables[0].greater_is_better
        return str(scored.sort_values("score", ascending=not is_greater_better, kind="stable")["run_id"].iloc[0])

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for each reason why jobs did not finish."""
        unfinished = self.runs[~self.runs["state"].isin(DONE_KINDS)]
        rows = unfinished[["name", "state", "reason"]].itertuples(name=None)
        reasons = count_reasons(starmap(JobOutcome, rows))
        is_plan = "expected_seconds" in self.runs.columns
        return () if is_plan else tuple(f"{sentence} ({names})" for sentence, names in reasons.items())

    def __repr__(self) -> str:
        counts = self.runs["state"].value_counts(sort=False)
        states = ", ".join(f"{count} {state}" for state, count in counts.items())
        return f"<SweepResult {self.name}: {len(self.runs)} jobs: {states}>"

    def _repr_html_(self) -> str:
        tables = list(self.tables.values()) or [self.runs]  # a plan, or no job has a score
        return show_html(repr(self), tables, [*self.notes, *self.failures])


def make_sweep_result(report: engine.SweepReport, notes: Sequence[str], command: str) -> SweepResult:
    """Return the result of a sweep.

    Parameters
    ----------
    report : SweepReport
    notes : sequence of str
        Notes on the given tables.
    command : str

    Raises
    ------
    UserError
        No job was started, because all or one of them is invalid.
    """
    jobs = report.plan.jobs
    outcomes = report.outcomes
    if outcomes and not report.is_dry_run and all(outcome.kind == REFUSED for outcome in outcomes):
        reasons = "; ".join(count_reasons(outcomes))
        raise UserError(f"no job was started: {reasons} on_invalid='skip' runs the jobs that can run.")
    return SweepResult(
        name=report.name,
        runs=_tabulate_plan(jobs) if jobs and report.is_dry_run else _tabulate_jobs(outcomes),
        notes=(*notes, *report.notes),
        command=command,
        tracking=report.tracking,
        result_tables=report.tables,
    )


def _tabulate_jobs(outcomes: Sequence[JobOutcome]) -> pd.DataFrame:
    ordered = sorted(outcomes, key=lambda outcome: outcome.number)
    rows = [_describe_outcome(outcome) for outcome in ordered]
    names = dict.fromkeys(name for outcome in ordered for name in outcome.metrics)
    # The store also contains the fold values of jobs that were already done.
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
    rows = [(job.name, job.state, job.seconds, job.reason, job.run_id) for job in jobs]
    numbers = pd.Index([job.number for job in jobs], name="job")
    return pd.DataFrame(rows, numbers, ["name", "state", "expected_seconds", "reason", "run_id"])


def list_run_ids(result: str | RunResult | SweepResult) -> list[str]:
    """Return the words that specify runs: a given one, or the ids of a result.

    Raises
    ------
    UserError
        The runs are not stored, or the argument is not a result.
    """
    if isinstance(result, str):
        return [result]
    if not isinstance(result, RunResult | SweepResult):
        raise UserError(f"{type(result).__name__} is neither a result of run or sweep, nor the id of a run.")
    ids = [result.run_id] if isinstance(result, RunResult) else result.runs["run_id"]
    stored = [run_id for run_id in ids if isinstance(run_id, str)]
    if not stored:
        raise UserError(f"{result.name} is not stored (tracking=none), so it cannot be read.")
    return stored


def find_store(results: Sequence[str | RunResult | SweepResult], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that select the store, which defaults to that of the first result."""
    found: dict[str, Any] = {}
    for result in results:
        if not isinstance(result, str) and not found:
            settings = result.config["tracking"] if isinstance(result, RunResult) else result.tracking
            found = {f"tracking__{key}": settings[key] for key in STORE_KEYS if settings.get(key) is not None}
    return found | {name: keys[name] for name in keys if keys[name] is not None}
