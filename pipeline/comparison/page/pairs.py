"""Pairs of configurations on the page: over datasets, on each dataset, and against the base."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bakeoff.pipeline.comparison.comparison import Comparison, DatasetResult, MetricResult, PairResult
from bakeoff.pipeline.comparison.page.entries import Entry, Table, name_row
from bakeoff.pipeline.comparison.page.numbers import (
    ABSENT,
    format_count,
    format_difference,
    format_p,
    format_percent,
    format_score,
)

MAX_LISTED_PAIRS = 1500
"""With more pairs in all, only those with the base are listed, unless all are asked for."""


def find_posterior(dataset: DatasetResult, configuration: str) -> tuple[float, float, float]:
    """Return the probabilities that a configuration is better than the base, equivalent to it, and worse."""
    for pair in dataset.pairs:
        if (pair.first, pair.second) == (configuration, dataset.base):
            return pair.p_first, pair.p_equivalent, pair.p_second
        if (pair.first, pair.second) == (dataset.base, configuration):
            return pair.p_second, pair.p_equivalent, pair.p_first
    return math.nan, math.nan, math.nan


def tabulate_overall_pairs(result: MetricResult) -> Table | None:
    """Return all pairs over datasets; None without tests over datasets."""
    overall = result.overall
    if overall is None or not overall.pairs:
        return None
    titles = ("ranks apart", "win/tie/loss", "p Nemenyi", "p Wilcoxon", "p Wilcoxon, Holm", "told apart")
    rows = [
        [
            name_row(f"{pair.first} – {pair.second}"),
            Entry(f"{pair.rank_difference:+.2f}".replace("-", "−")),
            Entry(f"{pair.wins}/{pair.ties}/{pair.losses}"),
            Entry(format_p(pair.p_nemenyi)),
            Entry(format_p(pair.p_wilcoxon)),
            Entry(format_p(pair.p_wilcoxon_holm)),
            Entry("yes" if pair.is_told_apart else "no"),
        ]
        for pair in overall.pairs
    ]
    return Table("All pairs over datasets", [name_row("pair"), *map(Entry, titles)], rows)


def list_pairs_to_show(
    comparison: Comparison, result: MetricResult
) -> tuple[list[tuple[str, Sequence[PairResult]]], str]:
    """Return the pairs of each dataset that are listed, and which are missing, in words."""
    everything: list[tuple[str, Sequence[PairResult]]] = [
        (dataset.dataset, dataset.pairs) for dataset in result.datasets if dataset.pairs
    ]
    n_pairs = sum(len(pairs) for _, pairs in everything)
    if comparison.settings.all_pairs or n_pairs <= MAX_LISTED_PAIRS:
        return everything, ""
    with_base: list[tuple[str, Sequence[PairResult]]] = [
        (dataset.dataset, [pair for pair in dataset.pairs if dataset.base in (pair.first, pair.second)])
        for dataset in result.datasets
    ]
    return with_base, f"Of {n_pairs:,} pairs, those with the base are listed; pairs=all lists every pair."


def tabulate_pairs(pairs: Sequence[PairResult]) -> Table:
    """Return pairs on one dataset, with what it would take to tell them apart."""
    titles = (
        "difference", "p", "p Holm", "first better", "equivalent", "second better", "shown by these folds",
        "repeats needed", "rows needed",
    )  # fmt: skip
    rows = [
        [
            Entry(f"{pair.first} – {pair.second}", classes="name" + (" best" if pair.is_told_apart else "")),
            Entry(
                format_difference(pair.difference),
                note=f"{format_difference(pair.low)} to {format_difference(pair.high)}",
            ),
            Entry(format_p(pair.p_value)),
            Entry(format_p(pair.p_holm)),
            Entry(format_percent(pair.p_first)),
            Entry(format_percent(pair.p_equivalent)),
            Entry(format_percent(pair.p_second)),
            Entry(format_score(pair.detectable)),
            _enter_needed(pair, pair.repeats_needed),
            _enter_needed(pair, pair.rows_needed),
        ]
        for pair in pairs
    ]
    return Table("Pairs", [name_row("pair"), *map(Entry, titles)], rows, is_stacked=True)


def _enter_needed(pair: PairResult, number: int | None) -> Entry:
    """Return how many repeats or rows it would take; nothing for a pair that is told apart."""
    if pair.is_told_apart or not math.isfinite(pair.p_value):
        return Entry("")
    return Entry(ABSENT if number is None else format_count(number))
