"""Comparison of systems on the items of one test set: means, pairs, tiers, and the items that an answer needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.compare.analysis import find_holm_levels
from bakeoff.pipeline.commands.compare.compare_cells import make_settings
from bakeoff.pipeline.commands.compare.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    Configuration,
    DatasetResult,
    ItemDesign,
    ItemPair,
    MetricResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.commands.compare.hypothesis_tests import (
    CorrectedTTest,
    find_effect,
    mark_difference,
    rank_configurations,
)
from bakeoff.pipeline.commands.compare.item_scores import ItemScores
from bakeoff.pipeline.commands.compare.item_tests import (
    Contrast,
    Design,
    ExchangeTest,
    compute_clustered_t_test,
    compute_cochran_q,
    compute_exchange_tests,
    compute_mcnemar_p,
    contrast_systems,
    find_tiers,
)
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stopping import EQUAL, TOLD_APART, UNDECIDED
from bakeoff.pipeline.commands.compare.verdict import enumerate_names
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import count_nouns, equate_p, format_change, format_p, format_score, join_words

MCNEMAR = "McNemar's exact test"
EXCHANGES = "exchanges of both systems on items"
CLUSTER_EXCHANGES = "exchanges of both systems on whole clusters"
ALL_DATASETS = "all datasets"
MIN_CLUSTERS = 10
"""With fewer clusters, a note says how rough the intervals are."""


def compare_items(whole: ItemScores, request: CompareRequest, command: str, selection: str) -> Comparison:
    """Compare systems on the items of one test set.

    Parameters
    ----------
    whole : ItemScores
    request : CompareRequest
    command : str
        The command line that requests the comparison.
    selection : str
        The origin of the scores.

    Raises
    ------
    UserError
        There is no such base.
    """
    sign = 1 if whole.metric.greater_is_better else -1
    order = np.argsort(-sign * whole.scores.mean(axis=0), kind="stable")
    known = whole.configurations or [Configuration(name, name) for name in whole.systems]
    rows = tuple(known[number] for number in order)
    settings = make_settings(request, rows)
    parts = [_analyze(name, part, settings) for name, part in _divide(whole)]
    results = tuple(part.result for part in parts)
    design = _describe_design(whole, request, parts[0].pairs)
    sizes = {part.result.dataset: len(part.items.scores) for part in parts}
    return Comparison(
        question=_write_question(whole, design),
        selection=selection,
        command=hide_secrets(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=tuple(_write_verdict(parts[0].pairs, design)),
        notes=(*whole.notes, *_write_notes(parts, design, settings)),
        settings=settings,
        metrics=(whole.metric,),
        datasets=tuple(ComparedDataset(name, "", "", n, 1, (), 0) for name, n in sizes.items()),
        configurations=rows,
        cells=tuple(Cell(row.name, name, n_test=n) for row in rows for name, n in sizes.items()),
        results=(MetricResult(whole.metric.name, results, None, ()),),
        items=design,
    )


class Part(NamedTuple):
    """All items, or those of a dataset, with the result and its pairs."""

    items: ItemScores
    result: DatasetResult
    pairs: tuple[ItemPair, ...]


def _divide(whole: ItemScores) -> Iterator[tuple[str, ItemScores]]:
    """Yield all items, and if there are several datasets, those of each that has at least two."""
    if len(whole.datasets) == 1:
        yield whole.datasets[0] or "the test set", whole
        return
    yield ALL_DATASETS, whole
    for number, name in enumerate(whole.datasets):
        is_own = whole.strata == number
        if is_own.sum() > 1:
            yield name, whole.select(is_own)


def _analyze(name: str, items: ItemScores, settings: Settings) -> Part:
    """Return the means and the pairs of systems on some of the items."""
    metric = items.metric
    design = Design(items.clusters, items.strata)
    means = items.scores.mean(axis=0)  # (k,)
    (ranks,) = rank_configurations(means[np.newaxis], metric.greater_is_better)
    order = np.argsort(ranks, kind="stable")
    names = [items.systems[number] for number in order]
    scores = items.scores[:, order]  # (n, k)
    size = abs(float(means[items.systems.index(settings.base)])) if metric.is_rope_relative else 1.0
    sign = 1 if metric.greater_is_better else -1
    pairs = tuple(_compare_pairs(names, sign * scores, design, items.is_binary, size * metric.rope, settings))
    tests = [compute_clustered_t_test(column, design, 1 - settings.alpha) for column in scores.T]
    in_order = ranks[order].tolist()
    summaries = [
        _summarize(*own, own[2] == in_order[0], metric, pairs, settings)
        for own in zip(names, tests, in_order, strict=True)
    ]
    return Part(items, DatasetResult(name, settings.base, tuple(summaries), pairs, ()), pairs)


def _summarize(
    name: str,
    test: CorrectedTTest,
    rank: float,
    is_best: bool,
    metric: ComparedMetric,
    pairs: Sequence[ItemPair],
    settings: Settings,
) -> Summary:
    """Return the mean of a system with its interval, its rank, and its mark against the base."""
    low, high = np.clip([test.lower, test.upper], *metric.bounds).tolist()
    summary = Summary(name, test.mean, test.standard_deviation, low, high, rank, is_best)
    for pair in pairs:
        if {name, settings.base} == {pair.first, pair.second}:
            difference = pair.difference if pair.first == name else -pair.difference
            mark = mark_difference(difference, pair.p_holm, settings.alpha)
            return replace(summary, mark=mark, p_value=pair.p_value)
    return summary


def _compare_pairs(
    names: Sequence[str], scores: np.ndarray, design: Design, is_binary: bool, rope: float, settings: Settings
) -> Iterator[ItemPair]:
    """Yield all pairs of systems, ordered from best to worst; their scores of shape (n, k) are better if greater."""
    places = list(combinations(range(len(names)), 2))
    contrasts = [contrast_systems(scores[:, i], scores[:, j], design, 1 - settings.alpha) for i, j in places]
    if is_binary and not design.has_clusters:
        exchanges = [ExchangeTest(compute_mcnemar_p(each.wins, each.losses)) for each in contrasts]
    else:
        sums = np.column_stack([design.sum_clusters(column) for column in scores.T])  # (G, k)
        exchanges = compute_exchange_tests(sums, places, contrasts)
    p_values = np.array([each.p for each in exchanges])
    levels = find_holm_levels(p_values.tolist(), settings.alpha).tolist()
    width = float(np.ptp(scores))
    p_equal = np.array([_test_equality(each.test, design, rope, width) for each in contrasts])
    adjusted = zip(adjust_by_holm(p_values).tolist(), adjust_by_holm(p_equal).tolist(), levels, strict=True)
    for (i, j), contrast, exchange, own in zip(places, contrasts, exchanges, adjusted, strict=True):
        yield _describe_pair((names[i], names[j]), contrast, exchange, own, design, rope, settings.alpha)


def _describe_pair(
    names: tuple[str, str],
    contrast: Contrast,
    exchange: ExchangeTest,
    adjusted: tuple[float, float, float],
    design: Design,
    rope: float,
    alpha: float,
) -> ItemPair:
    """Return the result of a pair with its p-values adjusted by Holm's method, and the level of that method."""
    test = contrast.test
    p_holm, p_equal, level = adjusted
    is_told_apart = p_holm <= alpha and test.mean != 0
    # A pair that is told apart needs no more items, and the noncentral t distribution takes milliseconds.
    detectable, factor = (math.nan, math.nan) if is_told_apart else _find_requirement(test, level)
    return ItemPair(
        first=names[0],
        second=names[1],
        difference=test.mean,
        std=test.standard_deviation,
        low=test.lower,
        high=test.upper,
        statistic=test.statistic,
        p_value=exchange.p,
        p_holm=p_holm,
        p_first=math.nan,
        p_equivalent=math.nan,
        p_second=math.nan,
        detectable=detectable,
        repeats_needed=None,
        rows_needed=None if math.isnan(factor) else math.ceil(factor * len(design.clusters)),
        is_told_apart=is_told_apart,
        test_train_ratio=math.nan,
        rope=rope,
        answer=TOLD_APART if is_told_apart else EQUAL if p_equal <= alpha else UNDECIDED,
        wins=contrast.wins,
        losses=contrast.losses,
        p_error=exchange.error,
        p_equal=p_equal,
        clusters_needed=None if math.isnan(factor) else math.ceil(factor * design.n_clusters),
    )


def _test_equality(test: CorrectedTTest, design: Design, rope: float, width: float) -> float:
    """Return the p-value of two one-sided tests of a difference beyond the rope.

    If both systems have equal scores on all items, it is the probability that none of G clusters would differ although
    the difference, of scores in a range of a width, is as large as the rope.
    """
    if test.standard_error:
        return float(stats.t.sf((rope - abs(test.mean)) / test.standard_error, test.degrees_of_freedom))
    if test.mean or test.n_folds == 1:
        return 1.0
    return float(max(0.0, 1 - rope / (width or 1.0)) ** design.n_clusters)


def _find_requirement(test: CorrectedTTest, level: float) -> tuple[float, float]:
    """Return the detectable difference, and how many times the items would show the observed one; NaN if unknown."""
    if not test.standard_error:
        return math.nan, math.nan
    detectable = find_effect(test.degrees_of_freedom, level) * test.standard_error
    return detectable, (detectable / test.mean) ** 2 if test.mean else math.nan


def _describe_design(whole: ItemScores, request: CompareRequest, pairs: Sequence[ItemPair]) -> ItemDesign:
    """Return the items and their tests, with the tiers that follow from the pairs of all items."""
    design = Design(whole.clusters, whole.strata)
    is_exact = whole.is_binary and not design.has_clusters
    q, p = compute_cochran_q(whole.scores) if is_exact and len(whole.systems) > 2 else (math.nan, math.nan)
    names = list(dict.fromkeys([pairs[0].first, *(pair.second for pair in pairs)]))
    return ItemDesign(
        item=request.item,
        cluster=request.cluster,
        n_items=len(whole.scores),
        n_clusters=design.n_clusters,
        test=MCNEMAR if is_exact else CLUSTER_EXCHANGES if request.cluster else EXCHANGES,
        cochran_q=q,
        cochran_p=p,
        tiers=find_tiers(names, {(pair.first, pair.second) for pair in pairs if pair.is_told_apart}),
    )


def _write_question(whole: ItemScores, design: ItemDesign) -> str:
    n_items = count_nouns(design.n_items, design.item if design.item.isalpha() else "item")
    clusters = f" ({count_nouns(design.n_clusters, 'cluster')})" if design.cluster else ""
    systems = join_words(sorted(whole.systems)) if len(whole.systems) <= 3 else f"{len(whole.systems)} systems"
    return f"Which of {systems} is best on {n_items}, and how certain is that?{clusters}"


def _write_verdict(pairs: Sequence[ItemPair], design: ItemDesign) -> Iterator[str]:
    """Yield a sentence for each tier, and what would tell the best two apart."""
    if not any(pair.std or pair.difference for pair in pairs):
        yield "All systems have equal scores on every item, so none is better."
        return
    p_values = {(pair.first, pair.second): pair.p_holm for pair in pairs}
    letters = design.list_tiers()
    for tier in design.tiers:
        ps = [p_values[tier[0], other] for other in tier[1:]]
        bound = "≥" if len({*map(format_p, ps)}) > 1 else "="
        best = f" from {tier[0]}" * (len(tier) > 2)
        remark = f" (not told apart{best}, {equate_p(min(ps), bound)})" if ps else ""
        yield f"Tier {letters[tier[0]]}: {enumerate_names(tier)}{remark}."
    closest = next((pair for pair in pairs if not pair.is_told_apart), None)
    if closest is not None:
        yield _write_requirement(closest, design)


def _write_requirement(pair: ItemPair, design: ItemDesign) -> str:
    """Return how far two systems are apart, and how many items would show it."""
    interval = f"{format_change(pair.low)} to {format_change(pair.high)}"
    claim = f"{pair.first} and {pair.second} differ by {format_score(pair.difference)} ({interval})"
    if pair.answer == EQUAL:
        return f"{claim}: they are practically equal, within {format_score(pair.rope)}."
    if pair.rows_needed is None:
        return f"{claim}: their means are equal." if pair.difference == 0 else f"{claim}."
    clusters = f" in {count_nouns(pair.clusters_needed, 'cluster')}" if design.cluster and pair.clusters_needed else ""
    return f"{claim}: about {count_nouns(pair.rows_needed, 'item')}{clusters} would tell them apart."


def _write_notes(parts: Sequence[Part], design: ItemDesign, settings: Settings) -> Iterator[str]:
    """Yield notes on few clusters, drawn exchanges, equal means, small datasets, and the base."""
    if design.n_clusters < MIN_CLUSTERS:
        yield _describe_few(design, len(parts[0].pairs), settings.alpha)
    error = max(pair.p_error for part in parts for pair in part.pairs)
    if error:
        yield f"p-values are from random exchanges with a fixed seed; their standard error is at most {error:.1g}."
    summaries = parts[0].result.summaries
    ties = [f"{a.configuration} and {b.configuration}" for a, b in pairwise(summaries) if a.rank == b.rank]
    if ties:
        yield f"Equal means: {', '.join(ties)}."
    whole = parts[0].items
    small = [name for number, name in enumerate(whole.datasets) if np.sum(whole.strata == number) < 2]
    if small:
        yield f"Not tested alone, because they have one item: {', '.join(small)}."
    if len(parts) > 1:
        yield f"On {ALL_DATASETS}, each item counts once; p-values are not corrected for the number of datasets."
    if not settings.is_base_given:
        yield f"The base is {settings.base}, the best; base=NAME selects another."


def _describe_few(design: ItemDesign, n_pairs: int, alpha: float) -> str:
    """Return how far a result on few clusters can be trusted, and whether the tests can tell any pair apart."""
    counted = count_nouns(design.n_clusters, "cluster" if design.cluster else "item")
    least = 2.0 ** (1 - design.n_clusters)
    rough = f"With only {counted}, intervals are rough"
    if least * n_pairs <= alpha:
        return f"{rough}."
    holm = f", times {n_pairs} by Holm's correction" * (n_pairs > 1)
    return (
        f"{rough}, and no pair can be told apart at α = {alpha:g}: none of {2**design.n_clusters} exchanges gives a "
        f"p-value below {format_p(least)}{holm}. Only more would help."
    )
