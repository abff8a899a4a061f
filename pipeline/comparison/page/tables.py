"""The tables of the page: rows of entries, which the template writes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    BETTER,
    WORSE,
    Cell,
    Comparison,
    DatasetResult,
    MetricResult,
    Summary,
)
from bakeoff.pipeline.comparison.page.entries import Entry, Table, name_row
from bakeoff.pipeline.comparison.page.numbers import (
    ABSENT,
    format_count,
    format_p,
    format_percent,
    format_score,
    format_seconds,
)
from bakeoff.pipeline.comparison.page.pairs import find_posterior

MAX_COLUMN_DATASETS = 7
"""With more datasets, they are the rows of the table of scores."""
MAX_INLINE_COLUMNS = 4
COUNTS_TITLE = "(v/\N{NO-BREAK SPACE}/*)"
MARK_CLASSES = {BETTER: "better", WORSE: "worse"}


def tabulate_scores(comparison: Comparison, result: MetricResult) -> Table:
    """Return the table of scores: of one dataset with its tests, of several datasets as a grid."""
    if len(comparison.datasets) == 1:
        return _tabulate_single_dataset(comparison, result)
    if len(comparison.datasets) <= MAX_COLUMN_DATASETS:
        return _tabulate_configurations_by_datasets(comparison, result)
    return _tabulate_datasets_by_configurations(comparison, result)


def _tabulate_single_dataset(comparison: Comparison, result: MetricResult) -> Table:
    (dataset,) = result.datasets
    percent = f"{100 * (1 - comparison.settings.alpha):g} %"
    titles = (
        "configuration",
        "mean",
        f"{percent} interval",
        "rank",
        "p vs base",
        "better",
        "equivalent",
        "worse",
        "fit time",
    )
    rows = []
    for configuration in comparison.configurations:
        cell = comparison.find_cell(configuration.name, dataset.dataset)
        summary = dataset.find_summary(configuration.name)
        if summary is None:
            blanks = [Entry(ABSENT)] * (len(titles) - 2)
            rows.append([name_row(configuration.name), _enter_empty(cell), *blanks])
            continue
        is_base = configuration.name == dataset.base
        triple = find_posterior(dataset, configuration.name)
        rows.append([
            Entry(configuration.name, note="base" if is_base else "", classes="name"),
            _enter_summary(summary),
            Entry(f"{format_score(summary.low)} to {format_score(summary.high)}"),
            Entry(f"{summary.rank:g}"),
            Entry(format_p(summary.p_value)),
            *[Entry(format_percent(share)) for share in triple],
            Entry(format_seconds(cell.fit_seconds)),
        ])  # fmt: skip
    return Table(f"Scores on {dataset.dataset}", [name_row(titles[0]), *map(Entry, titles[1:])], rows)


def _tabulate_configurations_by_datasets(comparison: Comparison, result: MetricResult) -> Table:
    header = [name_row("configuration"), *[Entry(dataset.name) for dataset in comparison.datasets]]
    ranks = _get_ranks(result)
    counts = _get_counts(result)
    header += [Entry("mean rank"), Entry(COUNTS_TITLE, title="datasets on which it is better, the same, worse")]
    rows = []
    for configuration in comparison.configurations:
        name = configuration.name
        note = "base" if name == comparison.settings.base else ""
        entries = [Entry(name, note=note, classes="name")]
        entries += [_enter_score(comparison, dataset, name) for dataset in result.datasets]
        entries += [Entry(ranks.get(name, ABSENT)), Entry(counts.get(name, ABSENT))]
        rows.append(entries)
    return Table(
        f"Scores by {comparison.find_metric(result.metric).label}",
        header,
        rows,
        is_stacked=len(result.datasets) > MAX_INLINE_COLUMNS,
    )


def _tabulate_datasets_by_configurations(comparison: Comparison, result: MetricResult) -> Table:
    names = [configuration.name for configuration in comparison.configurations]
    header = [name_row("dataset")]
    header += [Entry(name, note="base" if name == comparison.settings.base else "") for name in names]
    rows = []
    for dataset in result.datasets:
        scores = [_enter_score(comparison, dataset, name) for name in names]
        rows.append([name_row(dataset.dataset), *scores])
    ranks = _get_ranks(result)
    counts = _get_counts(result)
    footer = [
        [name_row("mean rank"), *[Entry(ranks.get(name, ABSENT)) for name in names]],
        [name_row(COUNTS_TITLE), *[Entry(counts.get(name, ABSENT)) for name in names]],
    ]
    return Table(
        f"Scores by {comparison.find_metric(result.metric).label}",
        header,
        rows,
        footer,
        is_stacked=len(names) > MAX_INLINE_COLUMNS,
    )


def _get_ranks(result: MetricResult) -> Mapping[str, str]:
    ranks = {} if result.overall is None else result.overall.mean_ranks
    return {name: f"{rank:.2f}" for name, rank in ranks.items() if math.isfinite(rank)}


def _get_counts(result: MetricResult) -> Mapping[str, str]:
    counts = () if result.overall is None else result.overall.counts
    return {count.configuration: f"{count.better}/{count.same}/{count.worse}" for count in counts}


def _enter_score(comparison: Comparison, dataset: DatasetResult, configuration: str) -> Entry:
    summary = dataset.find_summary(configuration)
    if summary is None:
        return _enter_empty(comparison.find_cell(configuration, dataset.dataset))
    return _enter_summary(summary)


def _enter_summary(summary: Summary) -> Entry:
    note = f"± {format_score(summary.std)}" if math.isfinite(summary.std) else ""
    classes = ["number"]
    if summary.is_best:
        classes.append("best")
    if summary.mark in MARK_CLASSES:
        classes.append(MARK_CLASSES[summary.mark])
    return Entry(format_score(summary.mean), note=note, mark=summary.mark, classes=" ".join(classes))


def _enter_empty(cell: Cell) -> Entry:
    """Return the first words of the reason; the whole reason stands below the table."""
    reason = cell.reason or "no scores"
    return Entry(reason.split(":")[0], classes="empty", title=reason)


def list_empty_cells(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each reason why cells are empty, with the cells that have it, in words."""
    places: dict[str, list[str]] = {}
    for cell in comparison.cells:
        # One failure often empties many cells, so that each reason is written once.
        if not cell.scores:
            places.setdefault(cell.reason or "no scores", []).append(f"{cell.configuration} on {cell.dataset}")
    return [(reason, ", ".join(cells)) for reason, cells in places.items()]


def tabulate_costs(comparison: Comparison, result: MetricResult) -> Table:
    """Return score and cost of each configuration."""
    label = comparison.find_metric(result.metric).label
    titles = (f"mean {label}", "fit", "predict", "fits spent", "on the front")
    rows = [
        [
            name_row(point.configuration),
            Entry(format_score(point.score)),
            Entry(format_seconds(point.fit_seconds)),
            Entry(format_seconds(point.predict_seconds)),
            Entry(format_count(point.n_fits) if point.n_fits else ABSENT),
            Entry("yes" if point.is_efficient else ""),
        ]
        for point in result.pareto
    ]
    return Table("Score and cost", [name_row("configuration"), *map(Entry, titles)], rows)


def tabulate_datasets(comparison: Comparison) -> Table:
    """Return the datasets with the digests of their rows and of their splits."""
    titles = ("rows", "evaluation", "scores per cell", "training rows", "test rows", "looks", "digest", "splits")
    rows = [
        [
            name_row(dataset.name),
            Entry(dataset.description.removeprefix(f"{dataset.name}: ") or ABSENT, classes=""),
            Entry(dataset.evaluation, classes=""),
            Entry(str(dataset.n_folds)),
            Entry(format_rows(dataset.n_train)),
            Entry(format_rows(dataset.n_test)),
            Entry(format_count(dataset.n_looks) if dataset.n_looks else ABSENT),
            Entry(dataset.digest, classes="code"),
            Entry(" ".join(dataset.splits_digests), classes="code"),
        ]
        for dataset in comparison.datasets
    ]
    return Table("Datasets", [name_row("dataset"), *[Entry(title, classes="") for title in titles]], rows)


def format_rows(mean: float) -> str:
    """Return a mean number of rows per fold.

    Examples
    --------
    >>> [format_rows(mean) for mean in (135.0, 13.6, 12345.0, float("nan"))]
    ['135', '13.6', '12,345', '–']
    """
    return f"{mean:,.1f}".removesuffix(".0") if math.isfinite(mean) else ABSENT


def tabulate_configurations(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return name, remark and parameters as YAML of each configuration, those that a row represents included."""
    described = []
    for configuration in (*comparison.configurations, *comparison.other_configurations):
        remarks = []
        if configuration.is_tuned:
            remarks.append("hyperparameters are chosen inside each fold")
        if configuration.members:
            remarks.append("chosen fold by fold by validation scores among " + ", ".join(configuration.members))
        if configuration in comparison.other_configurations:
            remarks.append("not a row of the comparison")
        lines = [f"{name}: {value}" for name, value in sorted(configuration.params.items())]
        described.append((configuration.name, "; ".join(remarks), "\n".join(lines)))
    return described


def tabulate_choices(comparison: Comparison) -> Table | None:
    """Return in how many folds each configuration was chosen for its learner; None if none was chosen so."""
    rows = []
    for cell in comparison.cells:
        for member, n_folds in sorted(cell.chosen.items(), key=lambda item: -item[1]):
            dataset = Entry(cell.dataset, classes="")
            rows.append(
                [name_row(cell.configuration), dataset, Entry(member, classes=""), Entry(format_count(n_folds))]
            )
    if not rows:
        return None
    header = [name_row("row"), Entry("dataset", classes=""), Entry("chosen", classes=""), Entry("folds")]
    return Table("Configurations that were chosen inside the folds", header, rows)


def tabulate_others(comparison: Comparison, result: MetricResult) -> Table | None:
    """Return the scores of the configurations that rows represent, by the first metric; None if there are none."""
    if not comparison.other_configurations:
        return None
    header = [name_row("configuration"), *[Entry(dataset.name) for dataset in comparison.datasets]]
    rows = []
    for configuration in comparison.other_configurations:
        cells = [comparison.find_cell(configuration.name, dataset.name) for dataset in comparison.datasets]
        rows.append([name_row(configuration.name), *[_enter_cell(cell, result.metric) for cell in cells]])
    is_stacked = len(comparison.datasets) > MAX_INLINE_COLUMNS
    return Table("Configurations that a row stands for", header, rows, is_stacked=is_stacked)


def _enter_cell(cell: Cell, metric: str) -> Entry:
    """Return mean and standard deviation over the folds of a cell that takes part in no test."""
    if metric not in cell.scores:
        return _enter_empty(cell)
    scores = np.array(cell.scores[metric])
    note = f"± {format_score(float(np.std(scores, ddof=1)))}" if len(scores) > 1 else ""
    return Entry(format_score(float(np.mean(scores))), note=note)
