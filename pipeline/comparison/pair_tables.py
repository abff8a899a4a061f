"""Pairs of configurations as tables: on each dataset, and over datasets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from bakeoff.pipeline.comparison.comparison import DatasetResult, OverallPair, OverallResult, PairResult
from bakeoff.pipeline.tables.table import NAME, Cell, Row, Table, make_table
from bakeoff.pipeline.text.numbers import (
    ABSENT,
    format_change,
    format_count,
    format_p,
    format_percent,
    format_score,
    format_statistic,
)

TOLD_APART = ">"
NOT_TOLD_APART = "~"
"""Signs between two configurations if the first has the better mean."""
POSITIVE_DIFFERENCE = "A positive difference: the first is better."
"""An explanation of the sign of differences, needed because lower errors are better."""
N_SHORT_COLUMNS = 7
"""The columns of the table of pairs without a page: those without requirements for distinguishing a pair."""
MAX_WRITTEN_COUNT = 10**7
"""Maximum useful number of repeats or rows."""

Pair = TypeVar("Pair", PairResult, OverallPair)


def find_posterior(dataset: DatasetResult, configuration: str) -> tuple[float, float, float]:
    """Return the probabilities that a configuration is better than the base, equivalent to it, and worse."""
    for pair in dataset.pairs:
        if {pair.first, pair.second} == {configuration, dataset.base}:
            turned = pair if pair.first == configuration else _turn_pair(pair)
            return turned.p_first, turned.p_equivalent, turned.p_second
    return math.nan, math.nan, math.nan


def tabulate_pairs(result: DatasetResult, *, shows_all: bool) -> Table:
    """Return all pairs of one dataset, or those of the best configuration, with their requirements."""
    order = [summary.configuration for summary in sorted(result.summaries, key=lambda summary: summary.rank)]
    shown, hidden = _choose_pairs(result.pairs, order, _turn_pair, shows_all)
    rows: list[Row] = [
        [
            _name_pair(pair),
            Cell(format_change(pair.difference), note=f"{format_change(pair.low)} to {format_change(pair.high)}"),
            format_p(pair.p_value),
            format_p(pair.p_holm),
            format_percent(pair.p_first),
            format_percent(pair.p_equivalent),
            format_percent(pair.p_second),
            format_score(pair.detectable),
            _count_needed(pair, pair.repeats_needed),
            _count_needed(pair, pair.rows_needed),
        ]
        for pair in shown
    ]
    columns = (
        "pair", "difference", "p", "p Holm", "first better", "equivalent", "second better", "shown by these folds",
        "repeats needed", "rows needed",
    )  # fmt: skip
    return make_table(f"pairs on {result.dataset}", columns, rows, f"{POSITIVE_DIFFERENCE} {hidden}".strip())


def tabulate_overall_pairs(overall: OverallResult, *, shows_all: bool) -> Table:
    """Return all pairs over datasets, or those of the best configuration with each other one."""
    shown, hidden = _choose_pairs(overall.pairs, list(overall.mean_ranks), _turn_overall, shows_all)
    rows: list[Row] = [
        [
            _name_pair(pair),
            format_statistic(pair.rank_difference),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            format_p(pair.p_nemenyi),
            format_p(pair.p_wilcoxon),
            format_p(pair.p_wilcoxon_holm),
        ]
        for pair in shown
    ]
    columns = ("pair", "ranks apart", "win/tie/loss", "p Nemenyi", "p Wilcoxon", "p Holm")
    return make_table("pairs over datasets", columns, rows, hidden)


def _choose_pairs(
    pairs: Sequence[Pair], order: Sequence[str], turn: Callable[[Pair], Pair], shows_all: bool
) -> tuple[list[Pair], str]:
    """Return pairs with the better configuration first, and a sentence on the number of hidden ones."""
    positions = {name: position for position, name in enumerate(order)}
    turned = [turn(pair) if positions[pair.first] > positions[pair.second] else pair for pair in pairs]
    ordered = sorted(turned, key=lambda pair: (positions[pair.first], positions[pair.second]))
    shown = ordered if shows_all else [pair for pair in ordered if pair.first == order[0]]
    n_hidden = len(ordered) - len(shown)
    others = "other one" if n_hidden == 1 else f"{format_count(n_hidden)} others"
    return shown, f"Pairs with the best; pairs=all shows the {others}." if n_hidden else ""


def _name_pair(pair: PairResult | OverallPair) -> Cell:
    sign = TOLD_APART if pair.is_told_apart else NOT_TOLD_APART
    return Cell(f"{pair.first} {sign} {pair.second}", NAME, is_best=pair.is_told_apart)


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


def _turn_overall(pair: OverallPair) -> OverallPair:
    return replace(
        pair,
        first=pair.second,
        second=pair.first,
        rank_difference=-pair.rank_difference,
        wins=pair.losses,
        losses=pair.wins,
    )


def _count_needed(pair: PairResult, number: int | None) -> str:
    """Return the required number of repeats or rows; empty for a distinguished pair."""
    if pair.is_told_apart or not math.isfinite(pair.p_value):
        return ""
    if number is None:
        return ABSENT
    return format_count(number) if number <= MAX_WRITTEN_COUNT else "over 10 million"
