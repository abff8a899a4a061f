"""Analysis of the selected runs by each metric, with the notes that a reader needs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

from bakeoff.pipeline.commands.compare.analysis import analyze_dataset, analyze_overall, compare_costs, rank_cells
from bakeoff.pipeline.commands.compare.cells import (
    choose_compared_metrics,
    describe_dataset,
    find_validation_metric,
    make_cells,
)
from bakeoff.pipeline.commands.compare.comparison import (
    WILCOXON,
    Cell,
    CellKey,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    Configuration,
    MetricResult,
    ScoredCells,
    Settings,
)
from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import RunGrid, arrange_runs
from bakeoff.pipeline.commands.compare.selection import BEST_WORDS, Selection, choose_rows, find_base
from bakeoff.pipeline.commands.compare.stopping import require_repeats
from bakeoff.pipeline.commands.compare.verdict import write_repeats
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import format_range, join_words
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG, StoredRun, read_series

POWER = 0.8
"""The power for which reports estimate the amount of data required."""
MAX_REASONS = 3
MAX_DATASETS_IN_VERDICT = 4
"""Up to this many datasets, the verdict includes one on each dataset if no tests over datasets are possible."""


def compare_runs(store: Store, selection: Selection, request: SelectionRequest, command: str = "") -> Comparison:
    """Compare selected runs.

    Parameters
    ----------
    store : Store
    selection : Selection
    request : SelectionRequest
    command : str
        The command line that requests the comparison.

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    grid = arrange_runs(selection.facts, selection.is_by_id, request.is_until_sure)
    runs = [each.run for each in grid.finished]
    if request.is_until_sure:
        for run in runs:
            require_repeats(run.params["evaluation"], run.params)
    metrics = choose_compared_metrics(request.metrics or (), grid.finished, request.rope)
    cells = _read_cells(store, grid, metrics)
    datasets = tuple(describe_dataset(name, grid, cells, store) for name in grid.datasets)

    configurations = [Configuration(name, dict(own)["learner"], dict(own)) for name, own in grid.configurations.items()]
    scored = ScoredCells(metrics, datasets, configurations, cells, selection.description, grid.notes)
    compared = compare_cells(scored, request, command)
    notes = [*compared.notes, *_write_budget_notes(runs)]
    if not request.is_until_sure and any(each.draw[0] for each in grid.finished):
        notes.append("Repeats were added one at a time: with until=sure the p-values are corrected for these looks.")
    return replace(
        compared,
        notes=tuple(notes),
        run_ids=tuple(dict.fromkeys(run.run_id for run in runs)),
        store=hide_secrets(store.uri),
        experiment=request.tracking__experiment,
    )


def compare_cells(scored: ScoredCells, request: SelectionRequest, command: str = "") -> Comparison:
    """Compare scores; the comparison names neither runs nor a store.

    Parameters
    ----------
    scored : ScoredCells
    request : SelectionRequest
    command : str
        The command line that requests the comparison.

    Raises
    ------
    UserError
        Fewer than two configurations have scores, or there is no such base.
    """
    # Rows are chosen before they are ordered: the best row is the default base, and it must be one that remains.
    chosen = _order_rows(_drop_empty_rows(choose_rows(scored, request.base, request.choice != "none")))
    metrics, datasets, rows = chosen.metrics, chosen.datasets, chosen.configurations
    settings = _make_settings(request, rows)
    results = tuple(_analyze_metric(metric, chosen, settings) for metric in metrics)
    row_cells = tuple(chosen.cells[row.name, dataset.name] for row in rows for dataset in datasets)
    notes = [*chosen.notes, *_write_cell_notes(row_cells, datasets)]
    overall = results[0].overall
    if settings.overall != WILCOXON and (overall is None or overall.test == WILCOXON):
        notes.append(f"overall={settings.overall} compares three or more configurations over several datasets only.")
    return Comparison(
        question=_write_question(rows, datasets, metrics[0]),
        selection=scored.selection,
        command=hide_secrets(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=(*_write_verdict(results[0]), *write_repeats(results[0], datasets, row_cells, settings)),
        notes=(*notes, *_write_notes(metrics, datasets, settings, len(scored.configurations))),
        settings=settings,
        metrics=metrics,
        datasets=datasets,
        configurations=tuple(rows),
        cells=row_cells,
        results=results,
    )


def _read_cells(store: Store, grid: RunGrid, metrics: Sequence[ComparedMetric]) -> dict[CellKey, Cell]:
    """Read the scores of all folds of the runs of a grid."""
    runs = [each.run for each in grid.finished]
    validation = find_validation_metric(metrics[0].name, grid.finished[0])
    # One query for all runs: separate queries would dominate the time of a comparison.
    series = read_series(store, runs, [*(metric.name for metric in metrics), validation])
    return make_cells(grid, series, metrics, validation)


def _make_settings(request: SelectionRequest, rows: Sequence[Configuration]) -> Settings:
    """Return the settings of a comparison, whose default base is the first row."""
    return Settings(
        alpha=request.alpha,
        base=find_base(request.base, rows),
        is_base_given=request.base not in BEST_WORDS,
        power=POWER,
        all_pairs=request.pairs == "all",
        max_repeats=request.repeats if request.is_until_sure else 0,
        overall=request.overall,
    )


def _drop_empty_rows(scored: ScoredCells) -> ScoredCells:
    """Return the rows that have scores on some dataset, with notes on the others; reject fewer than two rows."""
    # A row without any scores would leave no dataset complete.
    full = {name for (name, _), cell in scored.cells.items() if not cell.reason}
    kept = [row for row in scored.configurations if row.name in full]
    if len(kept) < 2:
        empty = [cell for cell in scored.cells.values() if cell.reason]
        reasons = [f"; {cell.configuration} on {cell.dataset}: {cell.reason}" for cell in empty[:MAX_REASONS]]
        found = "only one configuration has" if kept else "no configuration has"
        raise UserError(
            f"compare: {found} scores in all folds of a dataset, and a comparison needs two{''.join(reasons)}."
        )
    notes = [f"{row.name} has no scores and is left out." for row in scored.configurations if row.name not in full]
    return replace(scored, configurations=kept, notes=[*scored.notes, *notes])


def _order_rows(scored: ScoredCells) -> ScoredCells:
    """Return the rows by mean rank on the datasets where all have scores, or on all datasets if there are none."""
    rows = scored.configurations
    ranks = [rank_cells(_list_cells(scored, dataset), scored.metrics[0]) for dataset in scored.datasets]
    complete = [own for own in ranks if len(own) == len(rows)] or ranks
    own_ranks = {row.name: [own[row.name] for own in complete if row.name in own] for row in rows}
    ordered = sorted(rows, key=lambda row: sum(own_ranks[row.name]) / len(own_ranks[row.name]))
    return replace(scored, configurations=ordered)


def _list_cells(scored: ScoredCells, dataset: ComparedDataset) -> list[Cell]:
    """Return the cells of a dataset that have scores, in the order of the rows."""
    cells = [scored.cells[row.name, dataset.name] for row in scored.configurations]
    return [cell for cell in cells if not cell.reason]


def _analyze_metric(metric: ComparedMetric, chosen: ScoredCells, settings: Settings) -> MetricResult:
    names = [row.name for row in chosen.configurations]
    results = tuple(
        analyze_dataset(dataset, metric, _list_cells(chosen, dataset), settings) for dataset in chosen.datasets
    )
    overall = analyze_overall(results, names, metric, settings) if len(results) > 1 else None
    pareto = compare_costs(results, names, chosen.cells, metric, settings.base)
    return MetricResult(metric.name, results, overall, pareto)


def _write_cell_notes(cells: Sequence[Cell], datasets: Sequence[ComparedDataset]) -> list[str]:
    """Return notes on empty cells and on configurations that were fitted on different numbers of rows."""
    notes = [f"Empty: {cell.configuration} on {cell.dataset}: {cell.reason}." for cell in cells if cell.reason]
    for dataset in datasets:
        sizes = sorted({cell.n_train for cell in cells if cell.dataset == dataset.name and not cell.reason})
        # The numbers of rows may be unknown, and a comparison with NaN is false.
        if sizes and sizes[0] < sizes[-1]:
            notes.append(
                f"On {dataset.name}, training parts have {sizes[0]:.0f} to {sizes[-1]:.0f} rows, as when some "
                "configurations reserve validation rows; each pair is corrected by its larger n_test / n_train."
            )
    return notes


def _write_budget_notes(runs: Sequence[StoredRun]) -> list[str]:
    """Return a note if tuning with a budget tried different numbers of candidates."""
    tried = {run.name: json.loads(run.tags[TRIED_TAG]) for run in runs if TRIED_TAG in run.tags}
    if len(set(chain.from_iterable(tried.values()))) < 2:
        return []
    counts = [f"{format_range(each)} by {name}" for name, each in tried.items()]
    return [f"Within tuning.budget, different numbers of candidates were tried in a fold: {', '.join(counts)}."]


def _write_notes(
    metrics: Sequence[ComparedMetric], datasets: Sequence[ComparedDataset], settings: Settings, n_compared: int
) -> list[str]:
    """Return notes on optimistic scores and on defaults."""
    notes = []
    # The configurations of this comparison also count as looks, but the reader can see them here.
    looks = [f"{dataset.n_looks} on {dataset.name}" for dataset in datasets if dataset.n_looks > n_compared]
    if looks:
        notes.append(
            f"More configurations have been scored on the same test rows than the {n_compared} here: "
            f"{', '.join(looks)}. The more configurations are scored, the more optimistic the best score is."
        )
    relative = [metric.label for metric in metrics if metric.is_rope_relative]
    if relative:
        notes.append(
            f"The region of practical equivalence of {join_words(relative)} is a fraction of the base's mean on each "
            "dataset, because the size of these values depends on the dataset."
        )
    if not settings.is_base_given:
        by = " by mean rank" if len(datasets) > 1 else ""
        notes.append(f"The base is {settings.base}, the best{by}; base=NAME selects another.")
    return notes


def _write_question(rows: Sequence[Configuration], datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> str:
    what = join_words(sorted(row.name for row in rows)) if len(rows) <= 3 else f"{len(rows)} configurations"
    where = datasets[0].name if len(datasets) == 1 else f"{len(datasets)} datasets"
    return f"Which of {what} is best on {where} by {metric.label}, and how certain is the result?"


def _write_verdict(result: MetricResult) -> tuple[str, ...]:
    """Return the verdict over datasets or on the only one; with few datasets, return the verdict on each."""
    if result.overall is None:
        return result.datasets[0].verdict
    if not result.overall.too_few or len(result.datasets) > MAX_DATASETS_IN_VERDICT:
        return result.overall.verdict
    each = [f"On {dataset.dataset}: {dataset.verdict[0]}" for dataset in result.datasets]
    return (*result.overall.verdict, *each)
