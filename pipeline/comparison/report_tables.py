"""The tables of a comparison, on which all reports are based."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    Cell,
    ComparedMetric,
    Comparison,
    DatasetResult,
    MetricResult,
    OverallResult,
    Summary,
)
from bakeoff.pipeline.comparison.pair_tables import find_posterior
from bakeoff.pipeline.tables import table as tables
from bakeoff.pipeline.tables.table import CODE, EMPTY, TEXT, Row, Table, make_table
from bakeoff.pipeline.text.numbers import (
    ABSENT,
    equate_p,
    format_count,
    format_deviation,
    format_p,
    format_percent,
    format_score,
    format_seconds,
    format_statistic,
)

BASE = "base"
COUNTS = tables.Cell("(v/\N{NO-BREAK SPACE}/*)", hint="datasets on which it is better, the same, worse")
N_SUMMARY_COLUMNS = 2
"""The columns of the table of scores that summarize the columns of the datasets."""


def tabulate_scores(comparison: Comparison, result: MetricResult) -> Table:
    """Return a row for each configuration and a column for each dataset; of a single dataset, its tests as well."""
    if result.overall is None:
        return tabulate_dataset(comparison, result.datasets[0], result.metric)
    # The ranks come first, because the columns of many datasets fill several screens.
    columns: Row = ["mean rank", COUNTS, *(dataset.dataset for dataset in result.datasets)]
    # The base is not compared with itself.
    counts = {comparison.settings.base: BASE}
    for each in result.overall.counts:
        counts[each.configuration] = f"{each.better}/{each.same}/{each.worse}"
    rows: list[Row] = []
    for row in comparison.configurations:
        rank = format_statistic(result.overall.mean_ranks.get(row.name, math.nan))
        scores = _write_scores(comparison, result, row.name)
        rows.append([row.name, rank, counts.get(row.name, ABSENT), *scores])
    footnote = _explain_signs(comparison, result.metric, comparison.settings.base)
    title = comparison.find_metric(result.metric).label
    return make_table(title, ["configuration", *columns], rows, footnote)


def _write_scores(comparison: Comparison, result: MetricResult, configuration: str) -> list[tables.Cell]:
    """Return the score of a configuration on each dataset."""
    scores = []
    for dataset in result.datasets:
        cell = comparison.find_cell(configuration, dataset.dataset)
        scores.append(_write_score(dataset.find_summary(configuration), cell))
    return scores


def tabulate_dataset(comparison: Comparison, result: DatasetResult, metric: str) -> Table:
    """Return a row for each configuration of one dataset: mean, interval, tests against the base, cost."""
    interval = f"{100 * (1 - comparison.settings.alpha):g} % interval"
    columns = ["configuration", "mean", interval, "rank", "p vs base", "better", "equivalent", "worse", "fit"]
    columns += ["predict", "fits"]
    found = [(row.name, result.find_summary(row.name)) for row in comparison.configurations]
    rows: list[Row] = []
    # The rows of one dataset are ordered by its ranks, not by the mean ranks over all.
    for name, summary in sorted(found, key=lambda pair: math.inf if pair[1] is None else pair[1].rank):
        cell = comparison.find_cell(name, result.dataset)
        score = _write_score(summary, cell)
        if summary is None:
            rows.append([name, score, *[ABSENT] * (len(columns) - 2)])
            continue
        rows.append([
            name,
            score,
            f"{format_score(summary.low)} to {format_score(summary.high)}",
            f"{summary.rank:g}",
            BASE if name == result.base else format_p(summary.p_value),
            *map(format_percent, find_posterior(result, name)),
            *_write_costs(cell.fit_seconds, cell.predict_seconds, cell.n_fits),
        ])  # fmt: skip
    # With several datasets, the table of scores explains the signs.
    footnote = _explain_signs(comparison, metric, result.base) if len(comparison.datasets) == 1 else ""
    return make_table(result.dataset, columns, rows, footnote)


def tabulate_costs(comparison: Comparison, result: MetricResult) -> Table:
    """Return score and cost of each configuration, and whether it is on the Pareto front."""
    metric = comparison.find_metric(result.metric)
    is_relative = metric.is_rope_relative and len(result.datasets) > 1
    score = f"{metric.label} / base's" if is_relative else f"mean {metric.label}"
    rows = [
        [
            point.configuration,
            format_score(point.score),
            *_write_costs(point.fit_seconds, point.predict_seconds, point.n_fits),
            "yes" if point.is_efficient else "",
        ]
        for point in result.pareto
    ]
    columns = ("configuration", score, "fit", "predict", "fits", "on the front")
    footnote = "Mean times per fold over the datasets that count. Front: nothing else is as good and faster."
    return make_table("score and cost", columns, rows, footnote)


def tabulate_members(comparison: Comparison, result: MetricResult) -> Table | None:
    """Return the scores of the configurations that rows represent; None if there are none."""
    rows: list[Row] = []
    for configuration in comparison.other_configurations:
        cells = [comparison.find_cell(configuration.name, dataset.name) for dataset in comparison.datasets]
        rows.append([configuration.name, *(_write_member(cell, result.metric) for cell in cells)])
    if not rows:
        return None
    columns = ("configuration", *(dataset.name for dataset in comparison.datasets))
    footnote = "A row of the comparison stands for these; they take part in no test."
    return make_table("other configurations", columns, rows, footnote)


def tabulate_choices(comparison: Comparison) -> Table | None:
    """Return the number of folds in which each configuration was chosen for its learner; None if there are none."""
    rows = [
        [cell.configuration, cell.dataset, member, format_count(n_folds)]
        for cell in comparison.cells
        for member, n_folds in sorted(cell.chosen.items(), key=lambda item: -item[1])
    ]
    columns = ("row", tables.Cell("dataset", TEXT), tables.Cell("chosen", TEXT), "folds")
    return make_table("Configurations that were chosen inside the folds", columns, rows) if rows else None


def tabulate_datasets(comparison: Comparison) -> Table:
    """Return the datasets with the digests of their rows and of their splits."""
    texts = ("rows", "evaluation")
    counts = ("scores per cell", "training rows", "test rows", "looks")
    columns = [tables.Cell(title, TEXT) for title in texts] + [tables.Cell(title) for title in counts]
    columns += [tables.Cell(title, CODE) for title in ("digest", "splits")]
    rows = [
        [
            dataset.name,
            dataset.description.removeprefix(f"{dataset.name}: ") or ABSENT,
            dataset.evaluation,
            str(dataset.n_folds),
            format_rows(dataset.n_train),
            format_rows(dataset.n_test),
            format_count(dataset.n_looks) if dataset.n_looks else ABSENT,
            dataset.digest,
            " ".join(dataset.splits_digests),
        ]
        for dataset in comparison.datasets
    ]
    return make_table("Datasets", ["dataset", *columns], rows)


def format_rows(mean: float) -> str:
    """Return a mean number of rows per fold.

    Examples
    --------
    >>> [format_rows(mean) for mean in (135.0, 13.6, 12345.0, float("nan"))]
    ['135', '13.6', '12,345', '–']
    """
    if not math.isfinite(mean):
        return ABSENT
    return format_count(int(mean)) if mean == int(mean) else f"{mean:,.1f}"


def describe_rope(metric: ComparedMetric) -> str:
    """Return the half width of the region of practical equivalence in words."""
    return f"{100 * metric.rope:g} % of the mean of the base" if metric.is_rope_relative else f"{metric.rope:g}"


def describe_tests(overall: OverallResult) -> str:
    """Return the tests over datasets in one line; empty if there are none."""
    if math.isnan(overall.friedman):
        return ""
    difference = overall.critical_difference
    critical = "" if math.isnan(difference) else f"; Nemenyi's critical difference {format_statistic(difference)}"
    return (
        f"Friedman χ² = {format_statistic(overall.friedman)} (corrected for ties), {equate_p(overall.friedman_p)}; "
        f"Iman–Davenport F = {format_statistic(overall.iman_davenport)}, {equate_p(overall.iman_davenport_p)}{critical}"
    )


def describe_overall(overall: OverallResult) -> list[str]:
    """Return the tests over datasets, or the reason for their absence, and a sentence for each ignored dataset."""
    left_out = [f"{dataset} does not count over datasets: {reason}." for dataset, reason in overall.left_out.items()]
    return [line for line in (describe_tests(overall), overall.too_few, *left_out) if line]


def list_empty_cells(comparison: Comparison) -> Mapping[str, str]:
    """Return each reason for empty cells, with a description of these cells."""
    places: dict[str, list[str]] = {}
    for cell in comparison.cells:
        # One failure often empties many cells, so that each reason is written once.
        if not cell.scores:
            places.setdefault(cell.reason or "no scores", []).append(f"{cell.configuration} on {cell.dataset}")
    return {reason: ", ".join(cells) for reason, cells in places.items()}


def describe_configurations(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield name, remark and YAML parameters of each configuration, including those represented by a row."""
    for configuration in (*comparison.configurations, *comparison.other_configurations):
        remarks = []
        if configuration.is_tuned:
            remarks.append("hyperparameters are chosen inside each fold")
        if configuration.members:
            remarks.append("chosen fold by fold by validation scores among " + ", ".join(configuration.members))
        if configuration in comparison.other_configurations:
            remarks.append("not a row of the comparison")
        lines = [f"{name}: {value}" for name, value in sorted(configuration.params.items())]
        yield configuration.name, "; ".join(remarks), "\n".join(lines)


def _write_score(summary: Summary | None, cell: Cell) -> tables.Cell:
    if summary is None:
        return _write_empty(cell)
    return tables.Cell(
        format_score(summary.mean), note=format_deviation(summary.std), mark=summary.mark, is_best=summary.is_best
    )


def _write_empty(cell: Cell) -> tables.Cell:
    """Return the first words of the reason; notes contain the whole reason."""
    reason = cell.reason or "no scores"
    return tables.Cell(reason.partition(":")[0], EMPTY, hint=reason)


def _write_member(cell: Cell, metric: str) -> tables.Cell:
    """Return mean and standard deviation over the folds of a cell that is not tested."""
    scores = np.array(cell.scores.get(metric, ()))
    if not scores.size:
        return _write_empty(cell)
    deviation = float(np.std(scores, ddof=1)) if scores.size > 1 else math.nan
    return tables.Cell(format_score(float(np.mean(scores))), note=format_deviation(deviation))


def _write_costs(fit_seconds: float, predict_seconds: float, n_fits: int) -> tuple[str, str, str]:
    n_spent = format_count(n_fits) if n_fits else ABSENT
    return format_seconds(fit_seconds), format_seconds(predict_seconds), n_spent


def _explain_signs(comparison: Comparison, metric: str, base: str) -> str:
    """Return the direction of the scores and the meaning of the signs next to them."""
    shown = comparison.find_metric(metric)
    return (
        f"{shown.label}, {shown.direction} is better; {tables.BEST_SIGN} the best; v, * significantly better, worse "
        f"than the base {base} (corrected t-test, α = {comparison.settings.alpha:g})"
    )
