"""From runs to a finished comparison: the analysis by each metric, and the notes that a reader needs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    find_base_run_row,
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
from bakeoff.pipeline.comparison.request import ComparisonRequest
from bakeoff.pipeline.comparison.run_facts import RunFacts
from bakeoff.pipeline.comparison.run_grid import CellKey, MissingJob, RunGrid, arrange_runs
from bakeoff.pipeline.comparison.verdict import write_dataset_verdict, write_overall_verdict
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.words import count_nouns, join_words
from bakeoff.pipeline.tracking.find_run import find_headline
from bakeoff.pipeline.tracking.history import count_looks
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import read_series

POWER = 0.8
"""The probability with which a difference is to be shown, where reports say what that would take."""


@dataclass(frozen=True)
class Analysis:
    """The analysis of chosen rows by all metrics.

    Attributes
    ----------
    datasets : tuple of ComparedDataset
    metrics : tuple of ComparedMetric
    chosen : ChosenRows
        The rows in the order of the reports, the best first.
    request : ComparisonRequest
    """

    datasets: tuple[ComparedDataset, ...]
    metrics: tuple[ComparedMetric, ...]
    chosen: ChosenRows
    request: ComparisonRequest

    @property
    def names(self) -> list[str]:
        """The names of the rows."""
        return [row.name for row in self.chosen.rows]

    def make_settings(self, base: str) -> Settings:
        """Return the settings, with the best row as the base if none was given."""
        if base == BEST_BASE:
            chosen_base = self.names[0]
        else:
            chosen_base = base if base in self.names else self._find_row_of(base)
        return Settings(
            alpha=self.request.alpha,
            base=chosen_base,
            is_base_given=base != BEST_BASE,
            power=POWER,
            all_pairs=self.request.all_pairs,
        )

    def _find_row_of(self, base: str) -> str:
        """Return the row of a learner that was named as the base."""
        rows = [row.name for row in self.chosen.rows if row.learner == base]
        if len(rows) != 1:
            raise UserError(
                f"compare: base={base} is {count_nouns(len(rows), 'configuration')}: name one of {', '.join(rows)}."
            )
        return rows[0]

    def analyze(self, settings: Settings) -> tuple[MetricResult, ...]:
        """Return the results by each metric."""
        return tuple(self._analyze_metric(metric, settings) for metric in self.metrics)

    def _analyze_metric(self, metric: ComparedMetric, settings: Settings) -> MetricResult:
        results = tuple(self._analyze_dataset(dataset, metric, settings) for dataset in self.datasets)
        overall = None
        if len(self.datasets) > 1:
            overall = analyze_overall(results, self.names, metric, settings)
            overall = replace(overall, verdict=write_overall_verdict(overall, metric, settings))
        pareto = compare_costs(results, self.names, self.chosen.cells, metric, settings.base)
        return MetricResult(metric.name, results, overall, pareto)

    def _analyze_dataset(self, dataset: ComparedDataset, metric: ComparedMetric, settings: Settings) -> DatasetResult:
        scores = select_cells(dataset, metric, self.chosen.cells, self.names, settings.base)
        if not scores.cells:
            return DatasetResult(dataset.name, "", (), (), ("No configuration has scores here.",))
        summaries = summarize_cells(scores, settings)
        pairs = compare_all_pairs(scores, settings)
        base = "" if scores.base_cell is None else settings.base
        verdict = write_dataset_verdict(summaries, pairs, metric, settings)
        return DatasetResult(dataset.name, base, summaries, pairs, verdict)


def write_notes(
    chosen: ChosenRows,
    metrics: Sequence[ComparedMetric],
    datasets: Sequence[ComparedDataset],
    settings: Settings,
) -> list[str]:
    """Return what a reader must know beside the numbers.

    Parameters
    ----------
    chosen : ChosenRows
    metrics : sequence of ComparedMetric
    datasets : sequence of ComparedDataset
    settings : Settings
    """
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
    """Say where more configurations have been scored on the same test rows than are compared."""
    # The configurations of this comparison are looks as well, but the reader sees them here.
    n_compared = len(chosen.rows) + len(chosen.others)
    seen = [f"{dataset.n_looks} on {dataset.name}" for dataset in datasets if dataset.n_looks > n_compared]
    if not seen:
        return []
    return [
        f"This store has scored more configurations on the same test rows than the {n_compared} here: "
        f"{', '.join(seen)}. The more looks, the more the best score is optimistic."
    ]


def _write_ratio_notes(chosen: ChosenRows, datasets: Sequence[ComparedDataset]) -> list[str]:
    """Say where configurations were fitted on different numbers of rows."""
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
