"""The results of a sweep as tables: a row for each configuration, a column for each dataset.

Scores are compared within a dataset only. Jobs that were done before are part of the table, with the scores in the
store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, SKIPPED, STOPPED, JobOutcome
from bakeoff.pipeline.tables.table import EMPTY, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import format_deviation, format_mean
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, search_stored_runs

RANKED_DIGITS = 12
"""Scores that agree in this many digits are tied."""
DIGEST_LETTERS = 4
MAX_IDS_PER_QUERY = 500
"""Maximum number of runs in a query, whose length is limited."""


@dataclass(frozen=True)
class ResultTable:
    """The results of all jobs with the same headline score.

    Attributes
    ----------
    metric : str
        The name of the metric, such as ``test_accuracy``.
    greater_is_better : bool
    scores : DataFrame
        The means: a row for each configuration, the best first, and a column for each dataset; NaN without a score.
    results : mapping of (str, str) to JobOutcome
        (configuration, dataset) -> the outcome of the job, if there is one.
    """

    metric: str
    greater_is_better: bool
    scores: pd.DataFrame
    results: Mapping[tuple[str, str], JobOutcome]

    @property
    def is_best(self) -> pd.DataFrame:
        """Whether each score is the best of several on its dataset, or tied."""
        best = self.scores.max() if self.greater_is_better else self.scores.min()
        is_tied = (self.scores - best).abs() <= 10.0**-RANKED_DIGITS * best.abs()
        return is_tied & (self.scores.count() > 1)


def make_tables(outcomes: Iterable[JobOutcome]) -> list[ResultTable]:
    """Return a table for each headline score, the best configurations first; none if no job has a score.

    Parameters
    ----------
    outcomes : iterable of JobOutcome
        The outcomes; those without a cell are ignored.
    """
    placed = [outcome for outcome in outcomes if outcome.cell is not None and outcome.kind != STOPPED]
    results = _distinguish_cells(sorted(placed, key=lambda outcome: outcome.number))
    headlines = dict.fromkeys(outcome.headline for outcome in results.values() if outcome.headline)
    tables = []
    for metric in headlines:
        # A job that did not finish has no headline: it belongs to the table of its dataset.
        datasets = {dataset for (_, dataset), outcome in results.items() if outcome.headline == metric}
        members = {
            cell: outcome
            for cell, outcome in results.items()
            if cell[1] in datasets and outcome.headline in ("", metric)
        }
        tables.append(_make_table(metric, members))
    return tables


def _distinguish_cells(outcomes: Sequence[JobOutcome]) -> dict[tuple[str, str], JobOutcome]:
    """Return outcomes by configuration and dataset, where different jobs and different data have different names."""
    cells = [outcome.cell for outcome in outcomes if outcome.cell is not None]
    names = [name for name, _ in {(cell.dataset, cell.dataset_digest) for cell in cells}]
    results: dict[tuple[str, str], JobOutcome] = {}
    for outcome, (configuration, dataset, digest) in zip(outcomes, cells, strict=True):
        if names.count(dataset) > 1:
            dataset = f"{dataset} {digest[:DIGEST_LETTERS]}"
        if (configuration, dataset) in results:
            configuration = f"{configuration} #{outcome.number}"
        results[configuration, dataset] = outcome
    return results


def _make_table(metric: str, results: Mapping[tuple[str, str], JobOutcome]) -> ResultTable:
    """Return a table whose configurations are ordered by their mean rank; where a score is missing, by the last one."""
    rows = list(dict.fromkeys(configuration for configuration, _ in results))
    columns = list(dict.fromkeys(dataset for _, dataset in results))
    scores = pd.DataFrame(np.nan, pd.Index(rows, name="configuration"), pd.Index(columns, name="dataset"))
    for (configuration, dataset), outcome in results.items():
        if outcome.kind in (FINISHED, SKIPPED):
            scores.loc[configuration, dataset] = outcome.metrics.get(metric, np.nan)
    is_greater = next(outcome.greater_is_better for outcome in results.values() if outcome.headline == metric)
    ranks = scores.rank(ascending=not is_greater, na_option="bottom").mean(axis=1)
    return ResultTable(metric, is_greater, scores.loc[ranks.sort_values(kind="stable").index], results)


def tabulate_results(table: ResultTable) -> Table:
    """Return a row for each configuration with its score on each dataset, or a word on why there is none."""
    is_best = table.is_best.to_numpy()
    rows: list[Row] = []
    for row, name in enumerate(map(str, table.scores.index)):
        cells = [
            _write_result(table, name, dataset, bool(is_best[row, column]))
            for column, dataset in enumerate(map(str, table.scores.columns))
        ]
        rows.append([name, *cells])
    return make_table(table.metric, ["configuration", *map(str, table.scores.columns)], rows)


def _write_result(table: ResultTable, configuration: str, dataset: str, is_best: bool) -> Cell:
    outcome = table.results.get((configuration, dataset))
    if outcome is None:
        return Cell("", EMPTY)
    if outcome.kind not in (FINISHED, SKIPPED):
        # The reason of a failure begins with the name of the error.
        failure = outcome.reason.partition(":")[0] if outcome.kind == FAILED else outcome.kind
        return Cell(failure, EMPTY, hint=outcome.reason.partition("\n")[0])
    if not outcome.metrics:
        return Cell("no scores", EMPTY, hint=f"run {outcome.run_id} has no scores in the store")
    deviation = format_deviation(outcome.metrics.get(f"{table.metric}_std", np.nan))
    return Cell(format_mean(outcome.metrics.get(table.metric, np.nan)), note=deviation, is_best=is_best)


def add_stored_scores(outcomes: Sequence[JobOutcome], store: Store | None) -> list[JobOutcome]:
    """Return the outcomes, with the stored scores of jobs that were already done.

    Parameters
    ----------
    outcomes : sequence of JobOutcome
    store : Store or None
    """
    done = [outcome for outcome in outcomes if outcome.kind in (FINISHED, SKIPPED) and not outcome.metrics]
    ids = [outcome.run_id for outcome in done if outcome.run_id is not None]
    if store is None or not ids:
        return list(outcomes)
    stored: dict[str | None, StoredRun] = {}
    for start in range(0, len(ids), MAX_IDS_PER_QUERY):
        quoted = ", ".join(f"'{run_id}'" for run_id in ids[start : start + MAX_IDS_PER_QUERY])
        stored |= {run.run_id: run for run in search_stored_runs(store, f"attributes.run_id IN ({quoted})")}
    return [
        _add_scores(outcome, stored[outcome.run_id]) if outcome.run_id in stored and not outcome.metrics else outcome
        for outcome in outcomes
    ]


def _add_scores(outcome: JobOutcome, run: StoredRun) -> JobOutcome:
    headline = find_headline(run.params, run.metrics)
    if headline is None:
        return outcome
    is_greater = is_greater_better(headline, run.params)
    return replace(outcome, headlines=(headline,), metrics=run.metrics, greater_is_better=is_greater)
