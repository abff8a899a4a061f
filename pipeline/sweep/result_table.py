"""The results of a sweep as tables, and on a terminal: a row for each configuration, a column for each dataset.

Scores are compared within a dataset only: the best of each dataset is marked, and over datasets there are ranks. Jobs
that were done before are part of the table, with the scores in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, SKIPPED, STOPPED, JobCell, JobOutcome
from bakeoff.pipeline.tables.table import BEST_SIGN, EMPTY, NUMBER, Cell, Row, Table, make_table
from bakeoff.pipeline.tables.terminal import GAP, print_table, split_columns
from bakeoff.pipeline.text import numbers
from bakeoff.pipeline.text.terminal import escape
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, search_stored_runs

if TYPE_CHECKING:
    from rich.console import Console

MAX_ROWS = 30
"""Maximum number of configurations in a table; the others are counted."""
MAX_PANELS = 2
"""Maximum number of parts of a wide table before the standard deviations are left out."""
MAX_NOTES = 10
RANK = "mean rank"
MIN_RANKED_DATASETS = 2
RANKED_DIGITS = 12
"""Scores that agree in this many digits, relative to the largest of their dataset, are tied."""
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
    configurations, datasets : tuple of str
        In the order of the jobs.
    results : mapping of (str, str) to JobOutcome
        (configuration, dataset) -> the outcome of the job, if there is one.
    """

    metric: str
    greater_is_better: bool
    configurations: tuple[str, ...]
    datasets: tuple[str, ...]
    results: Mapping[tuple[str, str], JobOutcome]

    @cached_property
    def scores(self) -> np.ndarray:
        """The means, shape (configurations, datasets); NaN where there is no score."""
        return np.array([
            [self.read_values(configuration, dataset)[0] for dataset in self.datasets]
            for configuration in self.configurations
        ])  # fmt: skip

    def read_values(self, configuration: str, dataset: str) -> tuple[float, float]:
        """Return the mean and the standard deviation of a score over folds; NaN if there is none."""
        outcome = self.results.get((configuration, dataset))
        if outcome is None or outcome.kind not in (FINISHED, SKIPPED):
            return np.nan, np.nan
        return outcome.metrics.get(self.metric, np.nan), outcome.metrics.get(f"{self.metric}_std", np.nan)

    @cached_property
    def _rounded_scores(self) -> np.ndarray:
        """The scores, rounded relative to the largest of each dataset: (configurations, datasets)."""
        finite = np.where(np.isfinite(self.scores), self.scores, 0.0)
        largest = np.max(np.abs(finite), axis=0, initial=0.0)  # (datasets,)
        _, exponent = np.frexp(largest)
        # Dividing by a power of two changes no digits of the scores.
        unit = np.ldexp(1.0, exponent)
        return np.asarray(np.round(self.scores / unit, RANKED_DIGITS) * unit)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The rank of each score in its dataset, 1 for the best; tied ones share their mean rank; NaN without score."""
        return pd.DataFrame(self._rounded_scores).rank(ascending=not self.greater_is_better).to_numpy()

    @cached_property
    def is_best(self) -> np.ndarray:
        """Whether each score is the best of several on its dataset, or tied: shape (configurations, datasets)."""
        scores = pd.DataFrame(self._rounded_scores)
        best = scores.max() if self.greater_is_better else scores.min()
        return ((scores == best) & (scores.count() > 1)).to_numpy()

    @cached_property
    def is_ranked(self) -> np.ndarray:
        """Whether each configuration has a score on some dataset."""
        return np.asarray(~np.isnan(self.scores).all(axis=1))

    @cached_property
    def complete_datasets(self) -> tuple[str, ...]:
        """The datasets on which every configuration has a score, except those that have none anywhere."""
        lacks_scores = np.isnan(self.scores[self.is_ranked]).any(axis=0)
        return tuple(dataset for dataset, lacks in zip(self.datasets, lacks_scores, strict=True) if not lacks)

    @cached_property
    def mean_ranks(self) -> np.ndarray | None:
        """The mean rank over the complete datasets, shape (configurations,); None with fewer than two of them.

        It is NaN for a configuration without any score.
        """
        if len(self.complete_datasets) < MIN_RANKED_DATASETS or self.is_ranked.sum() < 2:
            return None
        columns = [self.datasets.index(dataset) for dataset in self.complete_datasets]
        return np.asarray(self.ranks[:, columns].mean(axis=1))

    def sort_configurations(self) -> ResultTable:
        """Return the table with the best first: by mean rank, or by the score on the only dataset.

        With several datasets of which fewer than two are complete there is no common order, and the order of the jobs
        stays.
        """
        if self.mean_ranks is not None:
            key = self.mean_ranks
        elif len(self.datasets) == 1:
            key = self.ranks[:, 0]
        else:
            return self
        order = np.argsort(key, kind="stable")  # NaN last
        return replace(self, configurations=tuple(self.configurations[position] for position in order))


def make_tables(outcomes: Iterable[JobOutcome]) -> list[ResultTable]:
    """Return a table for each headline score, the best configurations first; none if no job has a score.

    Parameters
    ----------
    outcomes : iterable of JobOutcome
        The outcomes; those without a cell are ignored.
    """
    placed = [outcome for outcome in outcomes if outcome.cell is not None and outcome.kind != STOPPED]
    placed.sort(key=lambda outcome: outcome.number)
    cells = _distinguish_cells(placed)
    metrics = {outcome.number: outcome.headline for outcome in placed if outcome.headline}
    tables = []
    for metric in dict.fromkeys(metrics.values()):
        # A job that did not finish has no headline: it belongs to the table of its dataset.
        datasets = {cells[number].dataset for number, headline in metrics.items() if headline == metric}
        members = [
            outcome
            for outcome in placed
            if metrics.get(outcome.number, metric) == metric and cells[outcome.number].dataset in datasets
        ]
        tables.append(_make_table(metric, members, cells))
    return [table.sort_configurations() for table in tables]


def add_stored_scores(outcomes: Sequence[JobOutcome], stores: Mapping[int, Store]) -> list[JobOutcome]:
    """Return the outcomes, with the stored scores of jobs that were already done.

    Parameters
    ----------
    outcomes : sequence of JobOutcome
    stores : mapping of int to Store
        The store of each job by its number.
    """
    by_store: dict[tuple[str, str], tuple[Store, list[str]]] = {}
    for outcome in outcomes:
        store = stores.get(outcome.number)
        if _lacks_scores(outcome) and store is not None and outcome.run_id is not None:
            by_store.setdefault((store.uri, store.experiment_id), (store, []))[1].append(outcome.run_id)
    stored: dict[str, StoredRun] = {}
    for store, ids in by_store.values():
        for start in range(0, len(ids), MAX_IDS_PER_QUERY):
            quoted = ", ".join(f"'{run_id}'" for run_id in ids[start : start + MAX_IDS_PER_QUERY])
            found = search_stored_runs(store, f"attributes.run_id IN ({quoted})")
            stored |= {run.run_id: run for run in found}
    return [_add_scores(outcome, stored.get(outcome.run_id or "")) for outcome in outcomes]


def _lacks_scores(outcome: JobOutcome) -> bool:
    return outcome.kind in (FINISHED, SKIPPED) and not outcome.metrics


def _add_scores(outcome: JobOutcome, run: StoredRun | None) -> JobOutcome:
    headline = None if run is None else find_headline(run.params, run.metrics)
    if run is None or headline is None or not _lacks_scores(outcome):
        return outcome
    return replace(
        outcome,
        headlines=(headline,),
        metrics=run.metrics,
        greater_is_better=is_greater_better(headline, run.params),
    )


def _make_table(metric: str, outcomes: Sequence[JobOutcome], cells: Mapping[int, JobCell]) -> ResultTable:
    places = [cells[outcome.number] for outcome in outcomes]
    keys = [(place.configuration, place.dataset) for place in places]
    scored = next(outcome for outcome in outcomes if outcome.headline == metric)
    return ResultTable(
        metric,
        scored.greater_is_better,
        configurations=tuple(dict.fromkeys(place.configuration for place in places)),
        datasets=tuple(dict.fromkeys(place.dataset for place in places)),
        results=dict(zip(keys, outcomes, strict=True)),
    )


def _distinguish_cells(outcomes: Sequence[JobOutcome]) -> dict[int, JobCell]:
    """Return the cells of jobs by number; different datasets and different jobs have different cells."""
    digests: dict[str, set[str]] = {}
    for outcome in outcomes:
        if outcome.cell is not None and outcome.cell.dataset_digest:
            digests.setdefault(outcome.cell.dataset, set()).add(outcome.cell.dataset_digest)
    cells: dict[int, JobCell] = {}
    taken = set()
    for outcome in outcomes:
        cell = outcome.cell
        assert cell is not None
        if len(digests.get(cell.dataset, ())) > 1:
            cell = replace(cell, dataset=f"{cell.dataset} {cell.dataset_digest[:DIGEST_LETTERS]}")
        if (cell.configuration, cell.dataset) in taken:
            cell = replace(cell, configuration=f"{cell.configuration} #{outcome.number}")
        taken.add((cell.configuration, cell.dataset))
        cells[outcome.number] = cell
    return cells


def tabulate_results(table: ResultTable) -> Table:
    """Return a row for each configuration: its mean rank, and its score on each dataset or a reason."""
    ranks = table.mean_ranks
    rows: list[Row] = []
    for row, name in enumerate(table.configurations):
        cells = [
            _write_result(table, name, dataset, is_best=bool(table.is_best[row, column]))
            for column, dataset in enumerate(table.datasets)
        ]
        rows.append([name, *([] if ranks is None else [numbers.format_statistic(ranks[row])]), *cells])
    columns = ["configuration", *([] if ranks is None else [RANK]), *table.datasets]
    return make_table(table.metric, columns, rows)


def show_table(table: ResultTable, console: Console) -> None:
    """Print a table of results with its legend, and the reasons of the jobs without a score."""
    # Marks and ranks refer to the whole table: a hidden configuration may be the best on a dataset.
    whole = tabulate_results(table)
    numbered, reasons = _number_reasons(replace(whole, rows=whole.rows[:MAX_ROWS]))
    shown = _choose_arrangement(numbered, len(table.datasets), console.width)
    console.print()
    console.print(_describe(table, shown))
    print_table(shown, console)
    for number, reason in enumerate(reasons[:MAX_NOTES], start=1):
        console.print(escape(f"[{number}] {reason}"))
    if len(reasons) > MAX_NOTES:
        n_further = len(reasons) - MAX_NOTES
        console.print(f"and {count_nouns(n_further, 'other reason')}; the list of unfinished jobs has them")
    n_hidden = len(whole.rows) - MAX_ROWS
    if n_hidden > 0:
        order = "by mean rank" if table.mean_ranks is not None else "in this order"
        hidden = count_nouns(n_hidden, "more configuration")
        console.print(f"and {hidden}; these are the first {MAX_ROWS} {order}")


def _write_result(table: ResultTable, configuration: str, dataset: str, *, is_best: bool) -> Cell:
    """Return a score, or a word and a sentence on why there is none; empty if there is no such job."""
    outcome = table.results.get((configuration, dataset))
    if outcome is None:
        return Cell("", EMPTY)
    if outcome.kind not in (FINISHED, SKIPPED):
        # The reason of a failure begins with the name of the error.
        failure = outcome.reason.partition(":")[0] if outcome.kind == FAILED else outcome.kind
        return Cell(failure, EMPTY, hint=outcome.reason.partition("\n")[0])
    if not outcome.metrics:
        return Cell("no scores", EMPTY, hint=f"run {outcome.run_id} has no scores in the store")
    mean, deviation = table.read_values(configuration, dataset)
    note = "" if np.isnan(mean) else numbers.format_deviation(deviation)
    return Cell(numbers.format_mean(mean), note=note, is_best=is_best)


def _number_reasons(table: Table) -> tuple[Table, list[str]]:
    """Return the table with a number next to each failure, and the reasons in this order."""
    failed = [cell for row in table.rows for cell in row if cell.kind == EMPTY and cell.text]
    reasons = list(dict.fromkeys(cell.hint for cell in failed))
    rows = (
        tuple(
            replace(cell, note=f"[{reasons.index(cell.hint) + 1}]") if cell.kind == EMPTY and cell.text else cell
            for cell in row
        )
        for row in table.rows
    )
    return replace(table, rows=tuple(rows)), reasons


def _choose_arrangement(table: Table, n_datasets: int, width: int) -> Table:
    """Return a sufficiently narrow table: with a row for each dataset, or without standard deviations."""
    if len(split_columns(table, width)) == 1:
        return table
    is_long = n_datasets > len(table.rows)
    if is_long:
        table = table.transpose("dataset", n_sums=len(table.columns) - 1 - n_datasets)
    if len(split_columns(table, width)) > MAX_PANELS:
        table = table.drop_notes()
    return _number_columns(table) if is_long else table


def _number_columns(table: Table) -> Table:
    """Return the table with numbers in place of names that are too wide, and the names in the footnote."""
    names = [column.text for column in table.columns[1:]]
    cell_width = max(len(cell.line) for row in table.rows for cell in row[1:])
    if max(map(len, names)) <= cell_width:
        return table
    numbers = [f"({number})" for number in range(1, len(names) + 1)]
    key = GAP.join(f"{number} {name}" for number, name in zip(numbers, names, strict=True))
    return replace(table, columns=(table.columns[0], *map(Cell, numbers)), footnote=key)


def _describe(table: ResultTable, shown: Table) -> str:
    """Return the line above a table, which explains its numbers and marks."""
    parts = [f"[bold]{escape(table.metric)}[/]"]
    has_deviations = any(cell.note for row in shown.rows for cell in row if cell.kind == NUMBER)
    if any(f"{table.metric}_std" in outcome.metrics for outcome in table.results.values()):
        parts.append("mean ± std over folds" if has_deviations else "mean over folds (without std, to fit the width)")
    direction = "highest" if table.greater_is_better else "lowest"
    if table.is_best.any():
        parts.append(f"{BEST_SIGN} {direction} of its dataset")
    if table.mean_ranks is not None:
        n_complete = len(table.complete_datasets)
        n_left_out = len(table.datasets) - n_complete
        incomplete = f", without {n_left_out} on which scores are missing" if n_left_out else ""
        parts.append(f"{RANK} over {n_complete} datasets{incomplete}")
    elif len(table.datasets) > 1 and table.is_ranked.sum() > 1:
        parts.append(f"no {RANK}, because fewer than two datasets have all scores")
    return "; ".join(parts)
