"""The tables of a comparison on the items of one test set, from which its reports are made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from bakeoff.pipeline.commands.compare.comparison import Comparison, DatasetResult, ItemDesign, ItemPair, MetricResult
from bakeoff.pipeline.commands.compare.report_tables import BASE, choose_pairs, explain_signs, name_pair
from bakeoff.pipeline.tables.report import Section
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import (
    ABSENT,
    equate_p,
    format_change,
    format_count,
    format_p,
    format_score,
    format_statistic,
)


def iterate_items(comparison: Comparison, design: ItemDesign, result: MetricResult) -> Iterator[Section]:
    """Yield a table of means and one of pairs for all items, and then for each of several datasets.

    Parameters
    ----------
    comparison : Comparison
    design : ItemDesign
    result : MetricResult
    """
    tiers, sentences = design.list_tiers(), [*_describe_q(design)]
    for dataset in result.datasets:
        yield _tabulate_systems(comparison, dataset, tiers), sentences
        yield _tabulate_pairs(comparison, dataset), []
        # Tiers and Cochran's Q are those of all items, which come first.
        tiers, sentences = {}, []


def _describe_q(design: ItemDesign) -> Iterator[str]:
    """Yield Cochran's Q, if there is one."""
    if not math.isnan(design.cochran_q):
        yield f"All systems together: Cochran's Q = {format_statistic(design.cochran_q)}, {equate_p(design.cochran_p)}."


def _tabulate_systems(comparison: Comparison, dataset: DatasetResult, tiers: Mapping[str, str]) -> Table:
    """Return a row for each system, with its mean, its interval, its tier, and its test against the base."""
    of_base = [pair for pair in dataset.pairs if dataset.base in (pair.first, pair.second)]
    p_holm = {pair.second if pair.first == dataset.base else pair.first: pair.p_holm for pair in of_base}
    rows: list[Row] = []
    for each in dataset.summaries:
        name = each.configuration
        mean = Cell(format_score(each.mean), mark=each.mark, is_best=each.is_best)
        interval = f"{format_score(each.low)} to {format_score(each.high)}"
        tier = [tiers[name]] if tiers else []
        rows.append([name, mean, interval, *tier, format_p(p_holm[name]) if name in p_holm else BASE])
    interval = f"{100 * (1 - comparison.settings.alpha):g} % interval"
    columns = ["system", "mean", interval, *(["tier"] if tiers else []), "p Holm vs base"]
    metric = comparison.metrics[0]
    title = f"{metric.label} on {dataset.dataset}"
    return make_table(title, columns, rows, explain_signs(comparison, metric.name, dataset.base))


def _tabulate_pairs(comparison: Comparison, dataset: DatasetResult) -> Table:
    """Return all pairs on some of the items, or those that include the best system."""
    shown, hidden = choose_pairs(comparison, dataset.pairs, dataset.summaries[0].configuration)
    rows = [_write_pair(pair) for pair in shown]
    columns: Row = ["pair", "difference", "wins/losses", "p", "p Holm", Cell("answer", TEXT), "items needed"]
    footnote = (
        "If the difference is positive, the first is better. Intervals are not adjusted for the number of pairs. Items "
        "needed: for a power of 0.8 at the level of Holm's correction, if the observed difference is the true one. "
        f"{hidden}"
    )
    return make_table(f"pairs on {dataset.dataset}", columns, rows, footnote.strip())


def _write_pair(pair: ItemPair) -> Row:
    error = f"± {pair.p_error:.1g}" if pair.p_error else ""
    return [
        name_pair(pair),
        Cell(format_change(pair.difference), note=f"{format_change(pair.low)} to {format_change(pair.high)}"),
        f"{format_count(pair.wins)}/{format_count(pair.losses)}",
        Cell(format_p(pair.p_value), note=error),
        format_p(pair.p_holm),
        pair.answer,
        ABSENT if pair.is_told_apart or pair.rows_needed is None else format_count(pair.rows_needed),
    ]
