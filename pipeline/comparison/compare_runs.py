"""From runs to a finished comparison: the analysis by each metric, and the notes that a reader needs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import bakeoff
from bakeoff.pipeline.comparison.cells import (
    choose_compared_metrics,
    describe_datasets,
    get_validation_metric,
    make_cells,
    make_configuration,
)
from bakeoff.pipeline.comparison.choices import (
    BEST_BASE,
    ChosenRows,
    ValidationScores,
    choose_rows,
    describe_chosen,
    find_base,
    order_rows,
)
from bakeoff.pipeline.comparison.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    Configuration,
    DatasetResult,
    MetricResult,
    Settings,
)
from bakeoff.pipeline.comparison.dataset_analysis import compare_all_pairs, select_cells, summarize_cells
from bakeoff.pipeline.comparison.overall_analysis import analyze_overall, compare_costs
from bakeoff.pipeline.comparison.request import CompareRequest
from bakeoff.pipeline.comparison.run_grid import arrange_runs
from bakeoff.pipeline.comparison.selection import Selection
from bakeoff.pipeline.comparison.verdict import write_dataset_verdict, write_overall_verdict
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.words import count_nouns, join_words
from bakeoff.pipeline.tracking.find_run import find_headline
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import read_series

PACKAGES = ("numpy", "scipy", "scikit-learn", "mlflow")
POWER = 0.8
"""The power for which reports estimate the required data."""
MAX_REASONS = 3
MAX_DATASETS_IN_VERDICT = 4
"""Up to this number of datasets, the verdict on each is a part of the whole one if tests over datasets are not."""


def compare_runs(
    store: Store, selection: Selection, request: CompareRequest, command: str = "", repeat: Sequence[str] = ()
) -> Comparison:
    """Compare selected runs.

    Parameters
    ----------
    store : Store
    selection : Selection
    request : CompareRequest
    command : str
        The command line that requests the comparison.
    repeat : sequence of str
        Commands that run the jobs again.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    grid = arrange_runs(selection.facts, selection.missing, selection.is_by_id)
    runs = [each.run for each in grid.finished]
    metrics = choose_compared_metrics(request.metrics or (), grid.finished, request.rope)
    headline = find_headline(runs[0].params, runs[0].metrics) or metrics[0].name
    validation = get_validation_metric(metrics[0].name, headline)
    # One query for all runs: separate queries would dominate the time of a comparison.
    series = read_series(store, runs, [*(metric.name for metric in metrics), validation])
    cells = make_cells(grid, series, metrics)
    datasets = describe_datasets(grid, cells, store)

    configurations = [make_configuration(name, params) for name, params in grid.configurations.items()]
    base = find_base(request.base, configurations)
    validation_scores = ValidationScores(validation, series, grid)
    chosen = choose_rows(configurations, cells, validation_scores, base, request.choice != "none")
    # The order comes after the choice: the best row is the base by default, and only rows that remain may be it.
    chosen = _order_rows(_drop_empty_rows(chosen), datasets, metrics[0])
    settings = _make_settings(request, base, chosen.rows)
    results = tuple(_analyze_metric(metric, datasets, chosen, settings) for metric in metrics)
    return Comparison(
        question=_write_question(chosen.names, datasets, metrics[0]),
        selection=selection.description,
        command=hide_secrets(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=_write_verdict(results[0]),
        notes=(*grid.notes, *_write_notes(chosen, metrics, datasets, settings)),
        settings=settings,
        metrics=metrics,
        datasets=datasets,
        configurations=chosen.rows,
        cells=_list_cells(chosen, chosen.rows, datasets),
        results=results,
        choices=chosen.choices,
        other_configurations=chosen.others,
        other_cells=_list_cells(chosen, chosen.others, datasets),
        run_ids=tuple(dict.fromkeys(run.run_id for run in runs)),
        store=hide_secrets(store.uri),
        experiment=request.tracking__experiment,
        versions=_read_versions(),
        repeat=tuple(repeat),
    )


def _list_cells(
    chosen: ChosenRows, rows: Sequence[Configuration], datasets: Sequence[ComparedDataset]
) -> tuple[Cell, ...]:
    return tuple(chosen.cells[row.name, dataset.name] for row in rows for dataset in datasets)


def _drop_empty_rows(chosen: ChosenRows) -> ChosenRows:
    """Return the rows with scores on some dataset; reject fewer than two of them."""
    # A row without any scores would leave no dataset complete.
    full = {name for (name, _), cell in chosen.cells.items() if not cell.reason}
    kept = tuple(row for row in chosen.rows if row.name in full)
    if len(kept) < 2:
        empty = [cell for cell in chosen.cells.values() if cell.reason]
        reasons = [f"{cell.configuration} on {cell.dataset}: {cell.reason}" for cell in empty[:MAX_REASONS]]
        found = "only one configuration has" if kept else "no configuration has"
        raise UserError(
            f"compare: {found} scores in all folds of a dataset, and a comparison needs two; {'; '.join(reasons)}."
        )
    dropped = tuple(row for row in chosen.rows if row.name not in full)
    return replace(chosen, rows=kept, others=(*chosen.others, *dropped))


def _order_rows(chosen: ChosenRows, datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> ChosenRows:
    by_name = {row.name: row for row in chosen.rows}
    order = order_rows(chosen.names, datasets, chosen.cells, metric)
    return replace(chosen, rows=tuple(by_name[name] for name in order))


def _make_settings(request: CompareRequest, base: str, rows: Sequence[Configuration]) -> Settings:
    """Return the settings, with the best row as the base if none was given."""
    return Settings(
        alpha=request.alpha,
        base=rows[0].name if base == BEST_BASE else _find_base_row(base, rows),
        is_base_given=base != BEST_BASE,
        power=POWER,
        all_pairs=request.pairs == "all",
    )


def _find_base_row(base: str, rows: Sequence[Configuration]) -> str:
    """Return the row of a configuration, or the only row of a learner, that was named as the base."""
    if base in [row.name for row in rows]:
        return base
    names = [row.name for row in rows if row.learner == base]
    if len(names) != 1:
        raise UserError(
            f"compare: base={base} is {count_nouns(len(names), 'configuration')}: name one of {', '.join(names)}."
        )
    return names[0]


def _analyze_metric(
    metric: ComparedMetric, datasets: Sequence[ComparedDataset], chosen: ChosenRows, settings: Settings
) -> MetricResult:
    results = tuple(_analyze_dataset(dataset, metric, chosen, settings) for dataset in datasets)
    overall = None
    if len(datasets) > 1:
        overall = analyze_overall(results, chosen.names, metric, settings)
        overall = replace(overall, verdict=write_overall_verdict(overall, metric, settings))
    pareto = compare_costs(results, chosen.names, chosen.cells, metric, settings.base)
    return MetricResult(metric.name, results, overall, pareto)


def _analyze_dataset(
    dataset: ComparedDataset, metric: ComparedMetric, chosen: ChosenRows, settings: Settings
) -> DatasetResult:
    scores = select_cells(dataset, metric, chosen.cells, chosen.names, settings.base)
    if not scores.cells:
        return DatasetResult(dataset.name, "", (), (), ("No configuration has scores here.",))
    summaries = summarize_cells(scores, settings)
    pairs = compare_all_pairs(scores, settings)
    base = "" if scores.base_cell is None else settings.base
    verdict = write_dataset_verdict(summaries, pairs, metric, settings)
    return DatasetResult(dataset.name, base, summaries, pairs, verdict)


def _write_notes(
    chosen: ChosenRows, metrics: Sequence[ComparedMetric], datasets: Sequence[ComparedDataset], settings: Settings
) -> list[str]:
    """Return notes for readers of the numbers."""
    notes = [choice.sentence for choice in chosen.choices]
    notes += [f"Chosen: {describe_chosen(cell)}." for cell in chosen.cells.values() if cell.chosen]
    rows = {row.name for row in chosen.rows}
    empty = [cell for cell in chosen.cells.values() if cell.reason and cell.configuration in rows]
    notes += [f"Empty: {cell.configuration} on {cell.dataset}: {cell.reason}." for cell in empty]
    notes += [f"{row.name} has no scores, and is left out." for row in chosen.others if _is_empty(row.name, chosen)]
    notes += _write_ratio_notes(chosen, datasets)
    notes += _write_look_notes(chosen, datasets)
    relative = [metric.label for metric in metrics if metric.is_rope_relative]
    if relative:
        notes.append(
            f"The region of practical equivalence of {join_words(relative)} is a fraction of the base's mean on each "
            "dataset, because the size of these values depends on the dataset."
        )
    if not settings.is_base_given:
        by = " by mean rank" if len(datasets) > 1 else ""
        notes.append(f"The base is {settings.base}, the best{by}; base=NAME names another.")
    return notes


def _write_look_notes(chosen: ChosenRows, datasets: Sequence[ComparedDataset]) -> list[str]:
    """Return notes on datasets with more configurations scored on the same test rows than compared."""
    # The configurations of this comparison are looks as well, but they are visible here.
    n_compared = len(chosen.rows) + len(chosen.others)
    seen = [f"{dataset.n_looks} on {dataset.name}" for dataset in datasets if dataset.n_looks > n_compared]
    if not seen:
        return []
    return [
        f"This store has scored more configurations on the same test rows than the {n_compared} here: "
        f"{', '.join(seen)}. The more looks, the more the best score is optimistic."
    ]


def _write_ratio_notes(chosen: ChosenRows, datasets: Sequence[ComparedDataset]) -> list[str]:
    """Return notes on datasets on which configurations were fitted on different numbers of rows."""
    notes = []
    for dataset in datasets:
        own = [chosen.cells[row.name, dataset.name] for row in chosen.rows]
        sizes = sorted({cell.n_train for cell in own if not cell.reason})
        if len(sizes) > 1:
            notes.append(
                f"On {dataset.name}, training parts have from {sizes[0]:.0f} to {sizes[-1]:.0f} rows, because some "
                "configurations set validation rows aside; each pair is corrected by its larger n_test / n_train."
            )
    return notes


def _is_empty(name: str, chosen: ChosenRows) -> bool:
    return all(cell.reason for (own, _), cell in chosen.cells.items() if own == name)


def _write_question(order: Sequence[str], datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> str:
    what = join_words(sorted(order)) if len(order) <= 3 else f"{len(order)} configurations"
    where = datasets[0].name if len(datasets) == 1 else f"{len(datasets)} datasets"
    which = "Which of" if len(order) > 1 else "How good is"
    return f"{which} {what} is best on {where} by {metric.label}, and how sure is that?"


def _write_verdict(result: MetricResult) -> tuple[str, ...]:
    """Return the verdict over datasets, or on the only one; for few datasets, the verdict on each."""
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
