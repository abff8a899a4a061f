"""Comparison of systems on the items of one test set: means, pairs, tiers, and the items that an answer needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
from scipy import stats

from bakeoff.pipeline.commands.compare.analysis import describe_pair, find_holm_levels, summarize
from bakeoff.pipeline.commands.compare.compare_cells import make_settings
from bakeoff.pipeline.commands.compare.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    DatasetResult,
    ItemDesign,
    ItemPair,
    MetricResult,
    Settings,
)
from bakeoff.pipeline.commands.compare.hypothesis_tests import (
    CorrectedTTest,
    Requirement,
    compute_friedman_test,
    compute_posterior,
    estimate_requirement,
    rank_configurations,
    subtract_scores,
)
from bakeoff.pipeline.commands.compare.item_scores import BINARY_BOUNDS, CLUSTER, DATASET, ItemScores
from bakeoff.pipeline.commands.compare.item_tests import (
    Design,
    compute_clustered_t_test,
    compute_exchange_tests,
    find_tiers,
    make_design,
)
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stopping import EQUAL, PairStop, answer_pair
from bakeoff.pipeline.commands.compare.verdict import enumerate_names
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import (
    count_nouns,
    equate_p,
    format_change,
    format_p,
    format_score,
    format_statistic,
    join_words,
)

MCNEMAR = "McNemar's exact test"
EXCHANGES = "exchanges of both systems on items"
CLUSTER_EXCHANGES = "exchanges of both systems on whole clusters"
ALL_DATASETS = "all datasets"
MIN_CLUSTERS = 10
"""With fewer clusters, a note says how rough the intervals are."""


def compare_items(items: ItemScores, request: CompareRequest, command: str) -> Comparison:
    """Compare systems on the items of one test set.

    Parameters
    ----------
    items : ItemScores
    request : CompareRequest
    command : str
        The command line that requests the comparison.

    Raises
    ------
    UserError
        There is no such base.
    """
    table, metric = items.table, items.metric
    ranks = _rank_systems(table, metric)
    rows = tuple(sorted(items.configurations, key=lambda row: list(ranks.index).index(row.name)))
    settings = make_settings(request, rows)
    parts, remarks = _divide_by_dataset(table)
    results = tuple(_analyze(name, part, metric, settings) for name, part in parts.items())
    design = _describe_design(table, request, results[0])
    return Comparison(
        question=_write_question(table, design),
        selection=items.selection,
        command=hide_secrets(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        verdict=tuple(_write_verdict(_list_pairs(results[:1]), design)),
        notes=(*items.notes, *_write_notes(results, design, settings), *remarks),
        settings=settings,
        metrics=(metric,),
        datasets=tuple(ComparedDataset(name, "", "", len(part), 1, (), 0) for name, part in parts.items()),
        configurations=rows,
        cells=tuple(Cell(row.name, name, n_test=len(part)) for row in rows for name, part in parts.items()),
        results=(MetricResult(metric.name, results, None, ()),),
        run_ids=tuple(items.run_ids),
        items=design,
    )


def _divide_by_dataset(table: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return all items and those of each of several datasets, and a remark on datasets that are not tested alone."""
    of_datasets = {str(name): part for name, part in table.groupby(DATASET, sort=False)}
    if len(of_datasets) <= 1:
        return {"".join(of_datasets) or "the test set": table}, []
    parts = {name: part for name, part in of_datasets.items() if len(part) > 1}
    small = [name for name in of_datasets if name not in parts]
    remarks = [f"Not tested alone, because they have one item: {', '.join(small)}."] if small else []
    return {ALL_DATASETS: table, **parts}, remarks


def _rank_systems(table: pd.DataFrame, metric: ComparedMetric) -> pd.Series:
    """Return the rank of each system, from best to worst."""
    ranks = rank_configurations(table.mean().to_numpy()[np.newaxis], metric.greater_is_better)
    return pd.Series(ranks[0], table.columns).sort_values(kind="stable")


def _make_design(table: pd.DataFrame) -> Design:
    clusters, datasets = (pd.factorize(table.index.get_level_values(level))[0] for level in (CLUSTER, DATASET))
    return make_design(clusters, datasets)


def _is_exact(scores: np.ndarray, design: Design) -> bool:
    """Return whether McNemar's test is that of the pairs."""
    return not design.has_clusters and bool(np.isin(np.abs(scores), BINARY_BOUNDS).all())


def _analyze(name: str, table: pd.DataFrame, metric: ComparedMetric, settings: Settings) -> DatasetResult:
    """Return the means and the pairs of systems on some of the items."""
    ranks, design = _rank_systems(table, metric), _make_design(table)
    scores = np.ascontiguousarray(table[ranks.index].to_numpy().T)  # (k, n)
    size = abs(float(table[settings.base].mean())) if metric.is_rope_relative else 1.0
    sign = 1 if metric.greater_is_better else -1
    pairs = tuple(_compare_pairs(list(ranks.index), sign * scores, design, size * metric.rope, settings))
    estimates = [compute_clustered_t_test(own, design, 1 - settings.alpha) for own in scores]
    summaries = tuple(
        replace(
            summarize(system, estimate, metric, settings, dict(zip(map(str, ranks.index), ranks, strict=True)), pairs),
            std=math.nan,
        )
        for system, estimate in zip(ranks.index, estimates, strict=True)
    )
    return DatasetResult(name, settings.base, summaries, pairs, ())


def _compare_pairs(
    names: Sequence[str], scores: np.ndarray, design: Design, rope: float, settings: Settings
) -> Iterator[ItemPair]:
    """Yield all pairs of systems, ordered from best to worst; their scores of shape (k, n) are better if greater."""
    alpha = settings.alpha
    numbers = list(combinations(range(len(names)), 2))
    tests, counts = [], []
    for i, j in numbers:
        differences = subtract_scores(scores[i], scores[j])
        tests.append(compute_clustered_t_test(differences, design, 1 - alpha))
        counts.append((int(np.sum(differences > 0)), int(np.sum(differences < 0))))
    p_values, errors = _test_pairs(scores, design, numbers, counts)
    width = float(np.ptp(scores))
    p_equal = adjust_by_holm(np.array([_test_equality(test, rope, width) for test in tests])).tolist()
    p_holm, levels = adjust_by_holm(p_values).tolist(), find_holm_levels(p_values.tolist(), alpha).tolist()
    for number, (i, j) in enumerate(numbers):
        test = replace(tests[number], p=float(p_values[number]))
        answer = answer_pair(p_holm[number], p_equal[number], alpha)
        # A pair that is told apart needs no more items, and the noncentral t distribution takes milliseconds.
        is_told_apart = p_holm[number] <= alpha
        needed = (
            Requirement(math.nan, None, None)
            if is_told_apart
            else estimate_requirement(test, 1, scores.shape[1], levels[number])
        )
        pair = describe_pair((names[i], names[j]), PairStop(test, p_holm[number], answer=answer), needed, rope, alpha)
        wins, losses = counts[number]
        yield ItemPair(**vars(pair), wins=wins, losses=losses, p_error=float(errors[number]))


def _test_pairs(
    scores: np.ndarray, design: Design, numbers: Sequence[tuple[int, int]], counts: Sequence[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the p-value of each pair of systems, by McNemar's test or by exchanges, and its Monte-Carlo error."""
    if not _is_exact(scores, design):
        return compute_exchange_tests(np.array([*map(design.sum_clusters, scores)]), numbers)
    p_values = [float(stats.binomtest(wins, max(wins + losses, 1)).pvalue) for wins, losses in counts]
    return np.array(p_values), np.zeros(len(counts))


def _test_equality(test: CorrectedTTest, rope: float, width: float) -> float:
    """Return the p-value of two one-sided tests of a difference beyond the rope.

    If both systems have equal scores on all items, it is the probability that none of G clusters would differ although
    the difference, of scores in a range of a width, is as large as the rope.
    """
    if test.is_degenerate and test.mean == 0:
        return float(max(0.0, 1 - rope / (width or 1.0)) ** test.n_folds)
    posterior = compute_posterior(test, rope)
    return 1.0 if test.is_degenerate or test.n_folds == 1 else max(posterior.better, posterior.worse)


def _describe_design(table: pd.DataFrame, request: CompareRequest, result: DatasetResult) -> ItemDesign:
    """Return the items and their tests, with the tiers that follow from the pairs of all items."""
    design = _make_design(table)
    is_exact = _is_exact(table.to_numpy(), design)
    # Of ranks with ties, Friedman's statistic is Cochran's Q.
    cochran = compute_friedman_test(table.to_numpy()) if is_exact and table.shape[1] > 2 else None
    names = [summary.configuration for summary in result.summaries]
    return ItemDesign(
        item=request.item,
        cluster=request.cluster,
        n_items=len(table),
        n_clusters=design.n_clusters,
        test=MCNEMAR if is_exact else CLUSTER_EXCHANGES if request.cluster else EXCHANGES,
        cochran_q=cochran.chi2 if cochran else math.nan,
        cochran_p=cochran.p if cochran else math.nan,
        tiers=find_tiers(names, {(pair.first, pair.second) for pair in result.pairs if pair.is_told_apart}),
    )


def _write_question(table: pd.DataFrame, design: ItemDesign) -> str:
    n_items = count_nouns(design.n_items, design.item if design.item.isalpha() else "item")
    clusters = f" ({count_nouns(design.n_clusters, 'cluster')})" if design.cluster else ""
    systems = join_words(sorted(map(str, table))) if table.shape[1] <= 3 else f"{table.shape[1]} systems"
    return f"Which of {systems} is best on {n_items}, and how certain is that?{clusters}"


def _write_verdict(pairs: Sequence[ItemPair], design: ItemDesign) -> Iterator[str]:
    """Yield a sentence for each tier, and what would tell the best two apart."""
    if not any(pair.wins or pair.losses for pair in pairs):
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


def _list_pairs(results: Sequence[DatasetResult]) -> list[ItemPair]:
    return [pair for result in results for pair in result.pairs if isinstance(pair, ItemPair)]


def _write_requirement(pair: ItemPair, design: ItemDesign) -> str:
    """Return how far two systems are apart, and how many items would show it."""
    interval = f"{format_change(pair.low)} to {format_change(pair.high)}"
    claim = f"{pair.first} and {pair.second} differ by {format_score(pair.difference)} ({interval})"
    if pair.answer == EQUAL:
        return f"{claim}: they are practically equal, within {format_score(pair.rope)}."
    if pair.rows_needed is None:
        return f"{claim}: their means are equal." if pair.difference == 0 else f"{claim}."
    n_clusters = math.ceil(pair.rows_needed * design.n_clusters / design.n_items)
    clusters = f" in {count_nouns(n_clusters, 'cluster')}" if design.cluster else ""
    return f"{claim}: about {count_nouns(pair.rows_needed, 'item')}{clusters} would tell them apart."


def _write_notes(results: Sequence[DatasetResult], design: ItemDesign, settings: Settings) -> Iterator[str]:
    """Yield notes on all systems, few clusters, drawn exchanges, equal means, datasets, and the base."""
    if not math.isnan(design.cochran_q):
        yield f"All systems together: Cochran's Q = {format_statistic(design.cochran_q)}, {equate_p(design.cochran_p)}."
    if design.n_clusters < MIN_CLUSTERS:
        yield _describe_few(design, len(results[0].pairs), settings.alpha)
    error = max(pair.p_error for pair in _list_pairs(results))
    if error:
        yield f"p-values are from random exchanges with a fixed seed; their standard error is at most {error:.1g}."
    ties = [f"{a.configuration} and {b.configuration}" for a, b in pairwise(results[0].summaries) if a.rank == b.rank]
    if ties:
        yield f"Equal means: {', '.join(ties)}."
    if len(results) > 1:
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
