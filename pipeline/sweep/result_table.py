"""The results of a sweep as tables: a row for each configuration, a column for each dataset.

Scores are compared within a dataset only: the best of each dataset is marked, and over datasets there are ranks. Jobs
that were done before are part of the table, with the scores in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bakeoff.pipeline.card.report import format_mean
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, SKIPPED, STOPPED, JobCell, JobOutcome
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, search_stored_runs

MIN_RANKED_DATASETS = 2
RANKED_DIGITS = 12
"""Scores that agree in this many digits, relative to the largest of their dataset, are tied."""
DIGEST_LETTERS = 4
MAX_IDS_PER_QUERY = 500
"""The length of a query is limited."""


@dataclass(frozen=True)
class Result:
    """What is known of a configuration on a dataset.

    Attributes
    ----------
    mean : float
        Of the headline score over folds; NaN if it is not defined, or the job did not finish.
    std : float or None
        None for a single fold.
    failure : str
        Why there is no score, in a word: the name of the error, ``killed``, ``refused``, ``not run``; else empty.
    reason : str
        The same as a sentence.
    """

    mean: float = float("nan")
    std: float | None = None
    failure: str = ""
    reason: str = ""

    @property
    def has_score(self) -> bool:
        """Whether the job finished with a score that is defined."""
        return not np.isnan(self.mean)


@dataclass(frozen=True)
class ResultTable:
    """The results of all jobs with the same headline score.

    Attributes
    ----------
    metric : str
        ``test_accuracy``.
    greater_is_better : bool
    configurations, datasets : tuple of str
        In the order of the jobs.
    results : mapping of (str, str) to Result
        (configuration, dataset) -> result; a job that the sweep does not have is absent.
    """

    metric: str
    greater_is_better: bool
    configurations: tuple[str, ...]
    datasets: tuple[str, ...]
    results: Mapping[tuple[str, str], Result]

    @cached_property
    def scores(self) -> np.ndarray:
        """The means, shape (configurations, datasets); NaN where there is no score."""
        missing = Result()
        return np.array([
            [self.results.get((configuration, dataset), missing).mean for dataset in self.datasets]
            for configuration in self.configurations
        ])  # fmt: skip

    @cached_property
    def _rounded_scores(self) -> np.ndarray:
        """The scores, rounded relative to the largest of each dataset: (configurations, datasets)."""
        finite = np.where(np.isfinite(self.scores), self.scores, 0.0)
        largest = np.max(np.abs(finite), axis=0, initial=0.0)  # (datasets,)
        _, exponent = np.frexp(largest)
        # A power of two as the unit changes no digit of the scores that it divides.
        unit = np.ldexp(1.0, exponent)
        return np.asarray(np.round(self.scores / unit, RANKED_DIGITS) * unit)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The rank of each score in its dataset, 1 for the best; tied ones share their mean rank; NaN without score."""
        signed = -self._rounded_scores if self.greater_is_better else self._rounded_scores
        n_better = (signed[None, :, :] < signed[:, None, :]).sum(axis=1)  # (configurations, datasets)
        n_equal = (signed[None, :, :] == signed[:, None, :]).sum(axis=1)
        return np.where(np.isnan(signed), np.nan, 1 + n_better + (n_equal - 1) / 2)

    @cached_property
    def is_best(self) -> np.ndarray:
        """Whether each score is the best of several on its dataset, shape (configurations, datasets); ties all are."""
        signed = self._rounded_scores if self.greater_is_better else -self._rounded_scores
        highest = np.max(np.where(np.isnan(signed), -np.inf, signed), axis=0)
        has_choice = (~np.isnan(signed)).sum(axis=0) > 1
        return np.asarray((signed == highest) & has_choice)

    @cached_property
    def is_ranked(self) -> np.ndarray:
        """Whether each configuration has a score on some dataset."""
        return np.asarray(~np.isnan(self.scores).all(axis=1))

    @cached_property
    def complete_datasets(self) -> tuple[str, ...]:
        """The datasets on which every configuration has a score, except those that have none anywhere."""
        scores = self.scores[self.is_ranked]
        is_complete = ~np.isnan(scores).any(axis=0)
        return tuple(dataset for dataset, full in zip(self.datasets, is_complete, strict=True) if full)

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

        With several datasets of which fewer than two are complete there is no common order, and that of the jobs stays.
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
        Those without a cell have no place in a table.
    """
    placed = [outcome for outcome in outcomes if outcome.cell is not None and outcome.kind != STOPPED]
    placed.sort(key=lambda outcome: outcome.number)
    cells = _distinguish_cells(placed)
    metrics = {outcome.number: outcome.headline for outcome in placed if outcome.headline}
    tables = []
    for metric in dict.fromkeys(metrics.values()):
        # A job that did not finish has no headline: it belongs where its dataset stands.
        datasets = {cells[number].dataset for number, headline in metrics.items() if headline == metric}
        members = [
            outcome
            for outcome in placed
            if metrics.get(outcome.number, metric) == metric and cells[outcome.number].dataset in datasets
        ]
        tables.append(_make_table(metric, members, cells))
    return [table.sort_configurations() for table in tables]


def add_stored_scores(outcomes: Sequence[JobOutcome], stores: Mapping[int, Store]) -> list[JobOutcome]:
    """Return the outcomes, those of jobs that were done before with their scores in the store.

    Parameters
    ----------
    outcomes : sequence of JobOutcome
    stores : mapping of int to Store
        The store of each job by its number.
    """
    run_ids: dict[tuple[str, str], list[str]] = {}
    by_key = {(store.uri, store.experiment_id): store for store in stores.values()}
    for outcome in outcomes:
        store = stores.get(outcome.number)
        if _lacks_scores(outcome) and store is not None and outcome.run_id is not None:
            run_ids.setdefault((store.uri, store.experiment_id), []).append(outcome.run_id)
    stored: dict[str, StoredRun] = {}
    for key, ids in run_ids.items():
        for start in range(0, len(ids), MAX_IDS_PER_QUERY):
            quoted = ", ".join(f"'{run_id}'" for run_id in ids[start : start + MAX_IDS_PER_QUERY])
            found = search_stored_runs(by_key[key], f"attributes.run_id IN ({quoted})")
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
        headline=headline,
        value=format_mean(dict(run.metrics), headline),
        metrics=run.metrics,
        score=run.metrics[headline],
        greater_is_better=is_greater_better(headline, run.params),
    )


def _make_table(metric: str, outcomes: Sequence[JobOutcome], cells: Mapping[int, JobCell]) -> ResultTable:
    results = {}
    for outcome in outcomes:
        cell = cells[outcome.number]
        results[cell.configuration, cell.dataset] = _read_result(outcome, metric)
    scored = next(outcome for outcome in outcomes if outcome.headline == metric)
    return ResultTable(
        metric,
        scored.greater_is_better,
        configurations=tuple(dict.fromkeys(configuration for configuration, _ in results)),
        datasets=tuple(dict.fromkeys(dataset for _, dataset in results)),
        results=results,
    )


def _read_result(outcome: JobOutcome, metric: str) -> Result:
    if outcome.kind in (FINISHED, SKIPPED):
        if not outcome.metrics:
            return Result(failure="no scores", reason=f"run {outcome.run_id} has no scores in the store")
        return Result(outcome.metrics.get(metric, float("nan")), outcome.metrics.get(f"{metric}_std"))
    # The reason of a failure begins with the name of the error.
    failure = outcome.reason.partition(":")[0] if outcome.kind == FAILED else outcome.kind
    return Result(failure=failure, reason=outcome.reason.partition("\n")[0])


def _distinguish_cells(outcomes: Sequence[JobOutcome]) -> dict[int, JobCell]:
    """Return the cell of each job by its number, so that different datasets and different jobs have different ones."""
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
