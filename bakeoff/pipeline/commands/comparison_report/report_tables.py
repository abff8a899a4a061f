"""The tables of a comparison, from which all reports are made."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from bakeoff.pipeline.commands.comparison_report.comparison import Cell as Scores
from bakeoff.pipeline.commands.comparison_report.comparison import (
    Comparison,
    DatasetResult,
    ItemPair,
    MetricResult,
    OverallPair,
    OverallResult,
    PairResult,
    Summary,
)
from bakeoff.pipeline.commands.significance.folds import BOUNDED, POWER, UNVARIED
from bakeoff.pipeline.tables.report import Section
from bakeoff.pipeline.tables.table import BEST_SIGN, EMPTY, NAME, NUMBER, TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import (
    ABSENT,
    count_nouns,
    equate_p,
    format_change,
    format_count,
    format_deviation,
    format_p,
    format_percent,
    format_score,
    format_seconds,
    format_statistic,
)

BASE = "base"
COUNTS = Cell("(v/\N{NO-BREAK SPACE}/*)", hint="datasets on which it is better, the same, worse")
TOLD_APART = ">"
NOT_TOLD_APART = "~"
"""Signs between two configurations, the first of which has the better mean."""


def iterate_result(comparison: Comparison, result: MetricResult, *, shows_datasets: bool = False) -> Iterator[Section]:
    """Yield the tables for one metric in the order of a report.

    Parameters
    ----------
    comparison : Comparison
    result : MetricResult
    shows_datasets : bool
        Whether to include a table for each of several datasets, as ``pairs=all`` does.
    """
    # The verdict on the first metric is that of the comparison and is not repeated.
    is_first = result is comparison.results[0]
    overall = result.overall
    if overall is not None:
        verdict = () if is_first else overall.verdict
        yield _tabulate_scores(comparison, result, overall), [*verdict, *describe_overall(overall)]
        if not overall.too_few:
            yield tabulate_overall_pairs(comparison, overall), []
    if overall is None or comparison.settings.all_pairs or shows_datasets:
        for dataset in result.datasets:
            verdict = () if is_first and overall is None else dataset.verdict
            yield _tabulate_dataset(comparison, dataset, result.metric), verdict
            if dataset.pairs:
                yield tabulate_pairs(comparison, dataset), []
    if is_first and result.pareto:
        yield _tabulate_costs(comparison, result), []


def _tabulate_scores(comparison: Comparison, result: MetricResult, overall: OverallResult) -> Table:
    """Return a row for each configuration and a column for each dataset."""
    rows: list[Row] = []
    for row in comparison.configurations:
        rank = format_statistic(overall.mean_ranks[row.name])
        # The base is not compared with itself.
        counts = "/".join(map(str, overall.counts.get(row.name, (BASE,))))
        scores = [
            _write_score(dataset.find_summary(row.name), comparison.find_cell(row.name, dataset.dataset))
            for dataset in result.datasets
        ]
        share = [format_percent(comparison.improvability[row.name])] if row.name in comparison.improvability else []
        rows.append([row.name, rank, *share, counts, *scores])
    # The ranks come first, because the columns of many datasets do not fit on a screen.
    improvability = ["improvability"] if comparison.improvability else []
    columns: Row = [
        "configuration",
        "mean rank",
        *improvability,
        COUNTS,
        *(dataset.dataset for dataset in result.datasets),
    ]
    footnote = _explain_signs(comparison, result.metric, comparison.settings.base)
    return make_table(comparison.find_metric(result.metric).label, columns, rows, footnote)


def _tabulate_dataset(comparison: Comparison, result: DatasetResult, metric: str) -> Table:
    """Return a row for each configuration of one dataset: mean, interval, and tests against the base."""
    interval = f"{100 * (1 - comparison.settings.alpha):g} % interval"
    # Tiers are those of all items, which come first.
    is_first = result is comparison.results[0].datasets[0]
    tiers = comparison.items.list_tiers() if comparison.items and is_first else {}
    columns = ["configuration", "mean", interval, "rank", *(["tier"] if tiers else [])]
    columns += ["p vs base", "better", "equivalent", "worse"]
    rows: list[Row] = []
    # The rows of one dataset are ordered by its ranks, not by the mean ranks over all.
    for summary in result.summaries:
        rows.append([
            summary.configuration,
            _write_score(summary, comparison.find_cell(summary.configuration, result.dataset)),
            ABSENT if math.isnan(summary.low) else f"{format_score(summary.low)} to {format_score(summary.high)}",
            f"{summary.rank:g}",
            *([tiers[summary.configuration]] if tiers else []),
            BASE if summary.configuration == result.base else format_p(summary.p_value),
            *map(format_percent, (summary.p_better, summary.p_equivalent, summary.p_worse)),
        ])  # fmt: skip
    for row in comparison.configurations:
        cell = comparison.find_cell(row.name, result.dataset)
        if cell.reason:
            rows.append([row.name, _write_score(None, cell), *[ABSENT] * (len(columns) - 2)])
    title = f"{comparison.find_metric(metric).label} on {result.dataset}"
    # With several datasets, the table of scores explains the signs.
    footnote = (
        _explain_signs(comparison, metric, result.base) if comparison.items or len(comparison.datasets) == 1 else ""
    )
    bounds = comparison.find_metric(metric).bounds
    if any(bound in (summary.low, summary.high) for summary in result.summaries for bound in bounds):
        footnote = f"{footnote}. {BOUNDED}".removeprefix(". ")
    if any(summary.std == 0 for summary in result.summaries):
        footnote = f"{footnote.rstrip('.')}. {UNVARIED}".removeprefix(". ")
    return make_table(title, columns, rows, footnote)


def _tabulate_costs(comparison: Comparison, result: MetricResult) -> Table:
    """Return the score and cost of each configuration, and whether it is on the Pareto front."""
    metric = comparison.find_metric(result.metric)
    is_relative = metric.is_rope_relative and len(result.datasets) > 1
    columns = ["configuration", f"{metric.label} / base's" if is_relative else f"mean {metric.label}"]
    columns += ["fit", "predict", "fits", "on the front"]
    rows: list[Row] = [
        [
            point.configuration,
            format_score(point.score),
            format_seconds(point.fit_seconds),
            format_seconds(point.predict_seconds),
            format_count(point.n_fits) if point.n_fits else ABSENT,
            "yes" if point.is_efficient else "",
        ]
        for point in result.pareto
    ]
    footnote = "Mean times per fold over the datasets included. Front: no other configuration is as good and faster."
    return make_table("score and cost", columns, rows, footnote)


def tabulate_pairs(comparison: Comparison, result: DatasetResult) -> Table:
    """Return all pairs of one dataset, or those that include the best configuration."""
    shown, hidden = _choose_pairs(comparison, result.pairs, result.summaries[0].configuration)
    rows: list[Row] = [
        [
            _name_pair(pair),
            Cell(format_change(pair.difference), note=f"{format_change(pair.low)} to {format_change(pair.high)}"),
            Cell(format_p(pair.p_value), note=f"± {pair.p_error:.1g}" if getattr(pair, "p_error", 0) else ""),
            format_p(pair.p_holm),
            *map(format_percent, (pair.p_first, pair.p_equivalent, pair.p_second)),
            *_list_answers(pair),
        ]
        for pair in shown
    ]
    columns: Row = ["pair", "difference", "p", "p Holm", "first better", "equivalent", "second better"]
    if comparison.settings.max_repeats or comparison.items:
        columns = [*columns, Cell("answer", TEXT)]
    # Lower errors are better, so the sign needs an explanation.
    unadjusted = "Intervals are not adjusted for the number of pairs. " if len(result.pairs) > 1 else ""
    needed = ""
    if comparison.items:
        columns = [*columns, "wins/losses", "items needed"]
        needed = f"Items needed: for a power of {POWER:g} at the level of Holm's correction. "
    footnote = f"If the difference is positive, the first is better. {unadjusted}{needed}{hidden}".strip()
    return make_table(f"pairs on {result.dataset}", columns, rows, footnote)


def _list_answers(pair: PairResult) -> list[str]:
    """Return the cells of a pair of items, or of folds with ``until=sure``, that other pairs do not have."""
    if isinstance(pair, ItemPair):
        counts = f"{format_count(pair.wins)}/{format_count(pair.losses)}"
        return [pair.answer, counts, ABSENT if pair.rows_needed is None else format_count(pair.rows_needed)]
    return [f"{pair.answer}, {count_nouns(pair.repeats, 'repeat')}"] if pair.answer else []


def tabulate_overall_pairs(comparison: Comparison, overall: OverallResult) -> Table:
    """Return all pairs over datasets, or those that include the best configuration."""
    shown, hidden = _choose_pairs(comparison, overall.pairs, next(iter(overall.mean_ranks)))
    rows: list[Row] = [
        [
            _name_pair(pair),
            format_statistic(pair.rank_difference),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            *map(format_p, (pair.p_nemenyi, pair.p_wilcoxon, pair.p_wilcoxon_holm)),
        ]
        for pair in shown
    ]
    columns = ("pair", "ranks apart", "win/tie/loss", "p Nemenyi", "p Wilcoxon", "p Holm")
    footnote = f"Pairs with {TOLD_APART} differ significantly by {overall.test_name}. {hidden}".strip()
    return make_table("pairs over datasets", columns, rows, footnote)


def _choose_pairs(comparison: Comparison, pairs: Sequence[Any], best: str) -> tuple[Sequence[Any], str]:
    """Return the pairs to list, and a sentence on the number of hidden ones."""
    if comparison.settings.all_pairs:
        return pairs, ""
    shown = [pair for pair in pairs if best in (pair.first, pair.second)]
    n_hidden = len(pairs) - len(shown)
    others = "other one" if n_hidden == 1 else f"{format_count(n_hidden)} others"
    return shown, f"Pairs with the best; pairs=all shows the {others}." if n_hidden else ""


def _name_pair(pair: PairResult | OverallPair) -> Cell:
    sign = TOLD_APART if pair.is_told_apart else NOT_TOLD_APART
    return Cell(f"{pair.first} {sign} {pair.second}", NAME, is_best=pair.is_told_apart)


def describe_overall(overall: OverallResult) -> list[str]:
    """Return the tests over datasets or the reason for their absence, and a sentence for each excluded dataset."""
    left_out = [
        f"{dataset} is excluded from the tests over datasets: {reason}." for dataset, reason in overall.left_out.items()
    ]
    return [line for line in (_describe_tests(overall), overall.too_few, *left_out) if line]


def _describe_tests(overall: OverallResult) -> str:
    """Return the tests over datasets in one line; empty if there are none."""
    if math.isnan(overall.friedman):
        return ""
    return (
        f"Friedman χ² = {format_statistic(overall.friedman)} (corrected for ties), {equate_p(overall.friedman_p)}; "
        f"Iman–Davenport F = {format_statistic(overall.iman_davenport)}, {equate_p(overall.iman_davenport_p)}; "
        f"Nemenyi's critical difference {format_statistic(overall.critical_difference)}"
    )


def _write_score(summary: Summary | None, cell: Scores) -> Cell:
    """Return the mean of a cell, or the first words of the reason why it is empty; notes contain the full reason."""
    if summary is None:
        return Cell(cell.reason.partition(":")[0], EMPTY, hint=cell.reason)
    return Cell(format_score(summary.mean), NUMBER, format_deviation(summary.std), summary.mark, summary.is_best)


def _explain_signs(comparison: Comparison, metric: str, base: str) -> str:
    """Return the direction of the scores and the meaning of the signs next to them."""
    shown = comparison.find_metric(metric)
    direction = "higher" if shown.greater_is_better else "lower"
    test = "corrected resampled t-test" if comparison.items is None else comparison.items.test
    return (
        f"{shown.label}, {direction} is better; {BEST_SIGN} or bold, the best; v, * significantly better, worse "
        f"than the base {base} ({test}, with Holm's correction for all pairs, "
        f"α = {comparison.settings.alpha:g})"
    )
