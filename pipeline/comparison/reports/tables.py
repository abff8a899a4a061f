"""The tables of a comparison as rows of text, from which the terminal, Markdown and LaTeX write theirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    Comparison,
    DatasetResult,
    MetricResult,
    OverallPair,
    OverallResult,
    PairResult,
    Summary,
)
from bakeoff.pipeline.comparison.reports.text_table import TextTable
from bakeoff.pipeline.text.numbers import equate_p, format_score

DASH = "–"
BEST_SIGN = "•"
"""Before the best mean of a dataset: a pipe has no colours."""
BASE_MARK = "base"
TOLD_APART = ">"
NOT_TOLD_APART = "~"
"""Signs between two configurations of which the first has the better mean."""
POSITIVE_DIFFERENCE = "A positive difference: the first is better."
"""Errors are lower where they are better, so the sign of their difference has to be said."""

Pair = TypeVar("Pair", PairResult, OverallPair)


def tabulate_scores(comparison: Comparison, result: MetricResult) -> TextTable:
    """Return a row per configuration and a column per dataset: mean ± std with WEKA's marks, and the mean rank."""
    metric = comparison.find_metric(result.metric)
    columns = ["configuration"]
    # The ranks come first, because the columns of many datasets fill several screens.
    if result.overall is not None:
        columns += ["rank", "(v/ /*)"]
    first_dataset = len(columns)
    columns += [dataset.dataset for dataset in result.datasets]
    rows = []
    emphasized = set()
    for row_number, configuration in enumerate(comparison.configurations):
        row = [configuration.name]
        if result.overall is not None:
            row += _write_rank_and_counts(configuration.name, result.overall, comparison.settings.base)
        for column, dataset in enumerate(result.datasets, start=first_dataset):
            summary = dataset.find_summary(configuration.name)
            row.append(DASH if summary is None else format_mean_and_std(summary))
            if summary is not None and summary.is_best:
                emphasized.add((row_number, column))
        rows.append(tuple(row))
    footnote = _explain_signs(comparison, result.metric, comparison.settings.base)
    return TextTable(metric.label, tuple(columns), tuple(rows), frozenset(emphasized), footnote)


def _write_rank_and_counts(name: str, overall: OverallResult, base: str) -> list[str]:
    """Return the mean rank of a configuration, and on how many datasets it is better, the same and worse."""
    rank = overall.mean_ranks.get(name, math.nan)
    rank_text = DASH if math.isnan(rank) else f"{rank:.2f}"
    for count in overall.counts:
        if count.configuration == name:
            return [rank_text, f"({count.better}/{count.same}/{count.worse})"]
    # The base is not counted against itself, and nothing is counted where the base has no scores.
    return [rank_text, BASE_MARK if name == base else DASH]


def _explain_signs(comparison: Comparison, metric: str, base: str) -> str:
    """Return which scores are better, and what the signs beside them mean."""
    shown = comparison.find_metric(metric)
    better = "higher" if shown.greater_is_better else "lower"
    return (
        f"{shown.label}, {better} is better; {BEST_SIGN} the best; v, * significantly better, worse than the base "
        f"{base} (corrected t-test, α = {comparison.settings.alpha:g})"
    )


def format_mean_and_std(summary: Summary) -> str:
    """Return mean ± std with its mark, and a sign before the best one."""
    deviation = "" if math.isnan(summary.std) else f" ± {format_score(summary.std)}"
    mark = f" {summary.mark}" if summary.mark else ""
    best = f"{BEST_SIGN} " if summary.is_best else ""
    return f"{best}{format_score(summary.mean)}{deviation}{mark}"


def tabulate_dataset(comparison: Comparison, result: DatasetResult, metric: str) -> TextTable:
    """Return a row per configuration of one dataset: interval, mark, p-value by a metric, cost."""
    confidence = f"{100 * (1 - comparison.settings.alpha):g} % interval"
    rows = []
    # The rows of one dataset are in the order of its own ranks, not of the mean ranks over all.
    ordered = sorted(result.summaries, key=lambda summary: summary.rank)
    for summary in ordered:
        cell = comparison.find_cell(summary.configuration, result.dataset)
        against = BASE_MARK if summary.configuration == result.base else format_bare_p(summary.p_value)
        rows.append(
            (
                summary.configuration,
                format_mean_and_std(summary),
                format_interval(summary.low, summary.high),
                against,
                format_seconds(cell.fit_seconds),
                format_seconds(cell.predict_seconds),
                str(cell.n_fits) if cell.n_fits else DASH,
            )
        )
    emphasized = frozenset((number, 1) for number, summary in enumerate(ordered) if summary.is_best)
    columns = ("configuration", "mean ± std", confidence, "p vs base", "fit s", "predict s", "fits")
    # Of several datasets, the table of scores explains the signs.
    is_only = len(comparison.datasets) == 1
    footnote = _explain_signs(comparison, metric, result.base) if is_only else ""
    return TextTable(result.dataset, columns, tuple(rows), emphasized, footnote)


def tabulate_pairs(comparison: Comparison, result: DatasetResult) -> TextTable:
    """Return all pairs of one dataset, or those of the best configuration with each other one, the best ones first."""
    order = [summary.configuration for summary in sorted(result.summaries, key=lambda summary: summary.rank)]
    ordered = _order_pairs(result.pairs, order, _turn_pair)
    shown = ordered if comparison.settings.all_pairs else [pair for pair in ordered if pair.first == order[0]]
    rows = tuple(_write_pair(pair) for pair in shown)
    columns = ("pair", "difference", "p", "p (Holm)", "P(first)", "P(rope)", "P(second)")
    hidden = _count_hidden(len(ordered) - len(shown))
    footnote = f"{POSITIVE_DIFFERENCE} {hidden}".strip()
    return TextTable(f"pairs on {result.dataset}", columns, rows, footnote=footnote)


def _order_pairs(pairs: Sequence[Pair], order: Sequence[str], turn: Callable[[Pair], Pair]) -> list[Pair]:
    """Return pairs with the better configuration first, those of the best one before the others.

    Parameters
    ----------
    pairs : sequence of PairResult or of OverallPair
    order : sequence of str
        Names of configurations, the best first.
    turn : callable
        Exchanges the configurations of a pair.
    """
    positions = {name: position for position, name in enumerate(order)}
    turned = [turn(pair) if positions[pair.first] > positions[pair.second] else pair for pair in pairs]
    return sorted(turned, key=lambda pair: (positions[pair.first], positions[pair.second]))


def _join_names(pair: PairResult | OverallPair) -> str:
    sign = TOLD_APART if pair.is_told_apart else NOT_TOLD_APART
    return f"{pair.first} {sign} {pair.second}"


def _turn_pair(pair: PairResult) -> PairResult:
    """Return the same pair with the second configuration first."""
    return replace(
        pair,
        first=pair.second,
        second=pair.first,
        difference=-pair.difference,
        low=-pair.high,
        high=-pair.low,
        statistic=-pair.statistic,
        p_first=pair.p_second,
        p_second=pair.p_first,
    )


def _write_pair(pair: PairResult) -> tuple[str, ...]:
    return (
        _join_names(pair),
        f"{pair.difference:+.4f}" if abs(pair.difference) < 10 else f"{pair.difference:+.4g}",
        format_bare_p(pair.p_value),
        format_bare_p(pair.p_holm),
        format_probability(pair.p_first),
        format_probability(pair.p_equivalent),
        format_probability(pair.p_second),
    )


def tabulate_overall_pairs(comparison: Comparison, overall: OverallResult) -> TextTable:
    """Return all pairs over datasets, or those of the best configuration with each other one."""
    order = list(overall.mean_ranks)
    ordered = _order_pairs(overall.pairs, order, _turn_overall)
    shown = ordered if comparison.settings.all_pairs else [pair for pair in ordered if pair.first == order[0]]
    rows = tuple(
        (
            _join_names(pair),
            f"{pair.rank_difference:.2f}",
            format_bare_p(pair.p_nemenyi),
            format_bare_p(pair.p_wilcoxon),
            format_bare_p(pair.p_wilcoxon_holm),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
        )
        for pair in shown
    )
    columns = ("pair over datasets", "Δ rank", "Nemenyi p", "Wilcoxon p", "p (Holm)", "w/t/l")
    return TextTable("pairs over datasets", columns, rows, footnote=_count_hidden(len(ordered) - len(shown)))


def _turn_overall(pair: OverallPair) -> OverallPair:
    """Return the same pair with the second configuration first."""
    return replace(
        pair,
        first=pair.second,
        second=pair.first,
        rank_difference=-pair.rank_difference,
        wins=pair.losses,
        losses=pair.wins,
    )


def _count_hidden(n_hidden: int) -> str:
    if not n_hidden:
        return ""
    others = "other one" if n_hidden == 1 else f"{n_hidden} others"
    return f"Pairs with the best; pairs=all shows the {others}."


def tabulate_costs(comparison: Comparison, result: MetricResult) -> TextTable:
    """Return score and cost of each configuration, and whether it is on the Pareto front."""
    metric = comparison.find_metric(result.metric)
    is_relative = metric.is_rope_relative and len(result.datasets) > 1
    score = f"{metric.label} / base's" if is_relative else f"mean {metric.label}"
    rows = tuple(
        (
            point.configuration,
            format_score(point.score),
            format_seconds(point.fit_seconds),
            format_seconds(point.predict_seconds),
            str(point.n_fits) if point.n_fits else DASH,
            "yes" if point.is_efficient else "",
        )
        for point in result.pareto
    )
    columns = ("configuration", score, "fit s", "predict s", "fits", "on the front")
    footnote = "Mean seconds per fold over the datasets that count. Front: nothing else is as good and faster."
    return TextTable("score and cost", columns, rows, footnote=footnote)


def tabulate_members(comparison: Comparison, result: MetricResult) -> TextTable | None:
    """Return the scores of the configurations that rows represent; None if there are none."""
    rows = []
    for configuration in comparison.other_configurations:
        row = [configuration.name]
        for dataset in comparison.datasets:
            scores = comparison.find_cell(configuration.name, dataset.name).scores.get(result.metric, ())
            row.append(format_score(float(np.mean(scores))) if scores else DASH)
        rows.append(tuple(row))
    if not rows:
        return None
    columns = ("configuration", *(dataset.name for dataset in comparison.datasets))
    footnote = "A row of the comparison stands for these; they take part in no test."
    return TextTable("other configurations", columns, tuple(rows), footnote=footnote)


def describe_tests(overall: OverallResult) -> str:
    """Return the tests over datasets in one line; empty if there are none."""
    if math.isnan(overall.friedman):
        return ""
    difference = overall.critical_difference
    critical = "" if math.isnan(difference) else f"; Nemenyi's critical difference {difference:.2f}"
    return (
        f"Friedman χ² = {overall.friedman:.2f} (corrected for ties), {equate_p(overall.friedman_p)}; Iman–Davenport "
        f"F = {overall.iman_davenport:.2f}, {equate_p(overall.iman_davenport_p)}{critical}"
    )


def list_left_out(overall: OverallResult) -> list[str]:
    """Return a sentence for each dataset that does not count."""
    return [f"{dataset} does not count over datasets: {reason}." for dataset, reason in overall.left_out.items()]


def format_interval(low: float, high: float) -> str:
    """Return an interval in brackets."""
    if math.isnan(low):
        return DASH
    return f"[{format_score(low)}, {format_score(high)}]"


def format_seconds(seconds: float) -> str:
    """Return a time with three significant digits.

    Examples
    --------
    >>> format_seconds(0.01234), format_seconds(12.5), format_seconds(float("nan"))
    ('0.0123', '12.5', '–')
    """
    return DASH if math.isnan(seconds) else f"{seconds:.3g}"


def format_bare_p(p: float) -> str:
    """Return a p-value for a table."""
    return DASH if math.isnan(p) else equate_p(p).removeprefix("p = ").removeprefix("p ")


def format_probability(p: float) -> str:
    """Return a probability with two decimals."""
    return DASH if math.isnan(p) else f"{p:.2f}"
