"""From runs to a finished comparison."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import bakeoff
from bakeoff.pipeline.comparison.analysis.analyse import Analysis
from bakeoff.pipeline.comparison.analysis.base import find_base, find_base_run_row, order_rows
from bakeoff.pipeline.comparison.analysis.choices import ChosenRows, ValidationScores, choose_rows
from bakeoff.pipeline.comparison.cells import describe_datasets, make_cells, make_configuration
from bakeoff.pipeline.comparison.comparison import Cell, ComparedDataset, ComparedMetric, Comparison, Configuration
from bakeoff.pipeline.comparison.grid.pairing import CellKey
from bakeoff.pipeline.comparison.grid.run_facts import RunFacts
from bakeoff.pipeline.comparison.grid.run_grid import MissingJob, RunGrid, arrange_runs
from bakeoff.pipeline.comparison.metrics import choose_compared_metrics, get_validation_metric
from bakeoff.pipeline.comparison.notes import write_notes
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.results import MetricResult
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.words import join_words
from bakeoff.pipeline.tracking.find_run import find_headline
from bakeoff.pipeline.tracking.history import count_looks
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import read_series

PACKAGES = ("numpy", "scipy", "scikit-learn", "mlflow")
MAX_REASONS = 3
MAX_DATASETS_IN_VERDICT = 4
"""Up to this number of datasets, the verdict on each is a part of the whole one if tests over datasets are not."""


def compare_runs(
    facts: Sequence[RunFacts], missing: Sequence[MissingJob], store: Store, experiment: str, request: ComparisonRequest
) -> Comparison:
    """Compare runs.

    Parameters
    ----------
    facts : sequence of RunFacts
        Finished or not, the newest first.
    missing : sequence of MissingJob
        Jobs without a run.
    store : Store
    experiment : str
        Its name.
    request : ComparisonRequest

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    scored = _read_scores(arrange_runs(facts, missing, request.keeps_all), store, request)
    datasets = scored.datasets
    headline = scored.metrics[0]
    base = _find_base(scored.configurations, request)
    chosen = choose_rows(scored.configurations, scored.cells, scored.validation, base, request.may_choose)
    _require_scores(chosen)
    # The order comes after the choice: the best row is the base by default, and only rows that remain may be it.
    chosen = _order_chosen(_drop_empty_rows(chosen), datasets, headline)
    analysis = Analysis(datasets, scored.metrics, chosen, request)
    settings = analysis.make_settings(base)
    results = analysis.analyze(settings)
    notes = write_notes(chosen, scored.metrics, datasets, settings)
    return Comparison(
        question=_write_question(analysis.names, datasets, headline),
        selection=request.selection,
        command=hide_secrets(request.command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=_write_verdict(results[0]),
        notes=(*scored.grid.notes, *notes),
        settings=settings,
        metrics=scored.metrics,
        datasets=datasets,
        configurations=chosen.rows,
        cells=_list_cells(chosen, chosen.rows, datasets),
        results=results,
        choices=chosen.choices,
        other_configurations=chosen.others,
        other_cells=_list_cells(chosen, chosen.others, datasets),
        run_ids=scored.run_ids,
        store=hide_secrets(store.uri),
        experiment=experiment,
        versions=_read_versions(),
        repeat=request.repeat,
    )


@dataclass(frozen=True)
class ScoredGrid:
    """A grid of runs with the scores of their folds.

    Attributes
    ----------
    grid : RunGrid
    metrics : tuple of ComparedMetric
    configurations : list of Configuration
    cells : mapping of CellKey to Cell
    datasets : tuple of ComparedDataset
    validation : ValidationScores
        By which one of several configurations of a learner may be chosen.
    """

    grid: RunGrid
    metrics: tuple[ComparedMetric, ...]
    configurations: list[Configuration]
    cells: dict[CellKey, Cell]
    datasets: tuple[ComparedDataset, ...]
    validation: ValidationScores

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of all runs that were read, each once."""
        return tuple(dict.fromkeys(each.run.run_id for each in self.grid.finished))


def _read_scores(grid: RunGrid, store: Store, request: ComparisonRequest) -> ScoredGrid:
    """Read the scores of the folds of all runs of a grid."""
    runs = grid.finished
    metrics = choose_compared_metrics(request.metrics, runs, request.rope)
    first_run = runs[0].run
    headline = find_headline(first_run.params, first_run.metrics) or metrics[0].name
    validation = get_validation_metric(metrics[0].name, headline)
    # One query for all runs: a query for each would take most of the time of a comparison.
    series = read_series(store, [each.run for each in runs], [*(metric.name for metric in metrics), validation])
    cells = make_cells(grid, series, metrics)
    return ScoredGrid(
        grid=grid,
        metrics=metrics,
        configurations=[make_configuration(name, params) for name, params in grid.configurations.items()],
        cells=cells,
        datasets=tuple(_add_looks(dataset, store) for dataset in describe_datasets(grid, cells)),
        validation=ValidationScores(validation, series, grid),
    )


def _find_base(configurations: Sequence[Configuration], request: ComparisonRequest) -> str:
    if request.has_base_run:
        return find_base_run_row(configurations)
    return find_base(request.base, configurations)


def _list_cells(
    chosen: ChosenRows, rows: Sequence[Configuration], datasets: Sequence[ComparedDataset]
) -> tuple[Cell, ...]:
    return tuple(chosen.cells[row.name, dataset.name] for row in rows for dataset in datasets)


def _add_looks(dataset: ComparedDataset, store: Store) -> ComparedDataset:
    looks = [count_looks(store, dataset.digest, splits) for splits in dataset.splits_digests]
    return replace(dataset, n_looks=max(looks, default=0))


def _find_full_rows(chosen: ChosenRows) -> set[str]:
    """Return the names of the rows that have scores on some dataset."""
    rows = {row.name for row in chosen.rows}
    full = {name for (name, _), cell in chosen.cells.items() if not cell.reason}
    return rows & full


def _drop_empty_rows(chosen: ChosenRows) -> ChosenRows:
    """Return the rows without those that have no scores on any dataset: they would leave no dataset complete."""
    full = _find_full_rows(chosen)
    kept = tuple(row for row in chosen.rows if row.name in full)
    dropped = tuple(row for row in chosen.rows if row.name not in full)
    return replace(chosen, rows=kept, others=(*chosen.others, *dropped))


def _require_scores(chosen: ChosenRows) -> None:
    full = _find_full_rows(chosen)
    if len(full) >= 2:
        return
    empty = [cell for cell in chosen.cells.values() if cell.reason]
    reasons = [f"{cell.configuration} on {cell.dataset}: {cell.reason}" for cell in empty[:MAX_REASONS]]
    found = "only one configuration has" if full else "no configuration has"
    raise UserError(
        f"compare: {found} scores in all folds of a dataset, and a comparison needs two; {'; '.join(reasons)}."
    )


def _order_chosen(chosen: ChosenRows, datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> ChosenRows:
    by_name = {row.name: row for row in chosen.rows}
    order = order_rows(list(by_name), datasets, chosen.cells, metric)
    return replace(chosen, rows=tuple(by_name[name] for name in order))


def _write_question(order: Sequence[str], datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> str:
    what = join_words(sorted(order)) if len(order) <= 3 else f"{len(order)} configurations"
    where = datasets[0].name if len(datasets) == 1 else f"{len(datasets)} datasets"
    which = "Which of" if len(order) > 1 else "How good is"
    return f"{which} {what} is best on {where} by {metric.label}, and how sure is that?"


def _write_verdict(result: MetricResult) -> tuple[str, ...]:
    """Return the verdict over datasets, or of the only one; of few datasets, that on each."""
    if result.overall is None:
        return result.datasets[0].verdict
    if not result.overall.too_few or len(result.datasets) > MAX_DATASETS_IN_VERDICT:
        return result.overall.verdict
    each = [f"On {dataset.dataset}: {dataset.verdict[0]}" for dataset in result.datasets]
    return (*result.overall.verdict, *each)


def _read_versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "bakeoff": bakeoff.__version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
