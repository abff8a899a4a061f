"""From runs to a finished comparison."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import bakeoff
from bakeoff.pipeline.comparison.analysis.analyse import Analysis
from bakeoff.pipeline.comparison.analysis.base import find_base, find_base_run_row, order_rows
from bakeoff.pipeline.comparison.analysis.choices import ChosenRows, ValidationScores, choose_rows
from bakeoff.pipeline.comparison.cells import describe_datasets, make_cells, make_configuration
from bakeoff.pipeline.comparison.comparison import ComparedDataset, ComparedMetric, Comparison
from bakeoff.pipeline.comparison.grid.run_facts import RunFacts
from bakeoff.pipeline.comparison.grid.run_grid import MissingJob, arrange_runs
from bakeoff.pipeline.comparison.metrics import choose_compared_metrics, get_validation_metric
from bakeoff.pipeline.comparison.notes import write_notes
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.results import MetricResult
from bakeoff.pipeline.comparison.words import count_nouns, join_words
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.find_run import find_headline
from bakeoff.pipeline.tracking.reading.looks import count_looks
from bakeoff.pipeline.tracking.reading.stored_runs import read_series
from bakeoff.pipeline.tracking.store import Store

PACKAGES = ("numpy", "scipy", "scikit-learn", "scikit-posthocs", "statsmodels", "baycomp", "mlflow")
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
    grid = arrange_runs(facts, missing, request.keeps_all)
    runs = [each for own in grid.runs.values() for each in own]
    metrics = choose_compared_metrics(request.metrics, runs, request.rope)
    headline = find_headline(runs[0].run.params, runs[0].run.metrics) or metrics[0].name
    validation = get_validation_metric(metrics[0].name, headline)
    series = read_series(store, [each.run for each in runs], [*(metric.name for metric in metrics), validation])
    configurations = [make_configuration(name, params) for name, params in grid.configurations.items()]
    cells = make_cells(grid, series, metrics)
    datasets = tuple(_add_looks(dataset, store) for dataset in describe_datasets(grid, cells))
    base = find_base_run_row(configurations) if request.has_base_run else find_base(request.base, configurations)
    scores = ValidationScores(validation, series, grid)
    chosen = choose_rows(configurations, cells, scores, base, request.may_choose)
    _require_scores(chosen)
    chosen = _order_chosen(drop_empty_rows(chosen), datasets, metrics[0])
    analysis = Analysis(datasets, metrics, chosen, request)
    settings = analysis.make_settings(base)
    results = analysis.analyze(settings)
    return Comparison(
        question=_write_question([row.name for row in chosen.rows], datasets, metrics[0]),
        selection=request.selection,
        command=request.command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=_write_verdict(results[0]),
        notes=(*grid.notes, *write_notes(chosen, metrics, datasets, settings)),
        settings=settings,
        metrics=metrics,
        datasets=datasets,
        configurations=chosen.rows,
        cells=tuple(chosen.cells[row.name, dataset.name] for row in chosen.rows for dataset in datasets),
        results=results,
        choices=chosen.choices,
        other_configurations=chosen.others,
        other_cells=tuple(chosen.cells[other.name, dataset.name] for other in chosen.others for dataset in datasets),
        run_ids=tuple(dict.fromkeys(each.run.run_id for each in runs)),
        store=store.uri,
        experiment=experiment,
        versions=_read_versions(),
        repeat=request.repeat,
    )


def _add_looks(dataset: ComparedDataset, store: Store) -> ComparedDataset:
    looks = [count_looks(store, dataset.digest, splits) for splits in dataset.splits_digests]
    return replace(dataset, n_looks=max(looks, default=0))


def drop_empty_rows(chosen: ChosenRows) -> ChosenRows:
    """Return the rows without those that have no scores on any dataset: they would leave no dataset complete."""
    full = {name for (name, _), cell in chosen.cells.items() if not cell.reason}
    kept = tuple(row for row in chosen.rows if row.name in full)
    dropped = tuple(row for row in chosen.rows if row.name not in full)
    return replace(chosen, rows=kept, others=(*chosen.others, *dropped))


def _require_scores(chosen: ChosenRows) -> None:
    rows = [row.name for row in chosen.rows]
    full = {name for (name, _), cell in chosen.cells.items() if name in rows and not cell.reason}
    if len(full) >= 2:
        return
    reasons = [
        f"{cell.configuration} on {cell.dataset}: {cell.reason}" for cell in chosen.cells.values() if cell.reason
    ]
    told = "; ".join(reasons[:3])
    raise UserError(
        f"compare: {count_nouns(len(full), 'configuration')} has scores in every fold of some dataset; {told}."
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
