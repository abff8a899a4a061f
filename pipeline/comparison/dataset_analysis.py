"""Analysis of one dataset: means with intervals, marks against the base, and tests of all pairs over the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    DatasetResult,
    PairResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.comparison.fold_tests import (
    compute_corrected_t_test,
    compute_posterior,
    estimate_requirement,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.comparison.rank_tests import rank_configurations
from bakeoff.pipeline.comparison.verdict import write_dataset_verdict
from bakeoff.pipeline.model.row_report import adjust_by_holm


def analyze_dataset(
    dataset: ComparedDataset, metric: ComparedMetric, cells: Sequence[Cell], settings: Settings
) -> DatasetResult:
    """Return the analysis of a dataset by a metric.

    Parameters
    ----------
    dataset : ComparedDataset
    metric : ComparedMetric
    cells : sequence of Cell
        The cells with scores, in the order of the configurations.
    settings : Settings
    """
    ranks = rank_cells(cells, metric)
    ordered = sorted(cells, key=lambda cell: ranks[cell.configuration])
    base = next((cell for cell in ordered if cell.configuration == settings.base), None)
    rope = _find_rope(ordered, base, metric)
    pairs = _adjust_pairs(
        [_compare_pair(*pair, dataset, metric, rope, settings) for pair in combinations(ordered, 2)], settings
    )
    against = {} if base is None else _orient_pairs(pairs, settings.base)
    summaries = tuple(_summarize(cell, metric, settings, ranks, against.get(cell.configuration)) for cell in ordered)
    verdict = write_dataset_verdict(summaries, pairs, metric, settings)
    return DatasetResult(dataset.name, settings.base if base else "", summaries, pairs, verdict)


def rank_cells(cells: Sequence[Cell], metric: ComparedMetric) -> dict[str, float]:
    """Return the rank of each configuration of a dataset by its mean, 1 for the best; ties share their mean rank."""
    if not cells:
        return {}
    means = np.array([[np.mean(cell.scores[metric.name]) for cell in cells]])  # (1, k)
    (ranks,) = rank_configurations(means, metric.greater_is_better).tolist()
    return {cell.configuration: rank for cell, rank in zip(cells, ranks, strict=True)}


def adjust_p_values(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted by Holm's method; NaN where there was no test."""
    adjusted = np.array(p_values, dtype=float)  # (m,)
    is_known = ~np.isnan(adjusted)  # (m,)
    adjusted[is_known] = adjust_by_holm(adjusted[is_known])
    return adjusted


def _find_rope(cells: Sequence[Cell], base: Cell | None, metric: ComparedMetric) -> float:
    """Return the rope in the unit of the metric."""
    if not metric.is_rope_relative:
        return metric.rope
    # Without the base, the smallest scores determine the scale.
    sizes = [abs(float(np.mean(cell.scores[metric.name]))) for cell in ([base] if base else cells)]
    return metric.rope * min(sizes, default=math.nan)


def _get_ratio(first: Cell, second: Cell) -> float:
    """Return the number of test rows per training row of a pair; the larger ratio makes the test more conservative."""
    return max(first.n_test / first.n_train, second.n_test / second.n_train)


def _compare_pair(
    first: Cell, second: Cell, dataset: ComparedDataset, metric: ComparedMetric, rope: float, settings: Settings
) -> PairResult:
    # For errors the sign is reversed, so that a positive difference always means that the first is better.
    sign = 1 if metric.greater_is_better else -1
    scores, other_scores = (np.array(cell.scores[metric.name]) for cell in (first, second))
    ratio = _get_ratio(first, second)
    test = compute_corrected_t_test(sign * subtract_scores(scores, other_scores), ratio, 1 - settings.alpha)
    posterior = compute_posterior(test, rope)
    n_rows = round(max(first.n_train, second.n_train) + first.n_test)
    needed = estimate_requirement(test, dataset.folds_per_repeat, n_rows, settings.alpha, settings.power)
    return PairResult(
        first=first.configuration,
        second=second.configuration,
        difference=test.mean,
        std=test.standard_deviation,
        low=test.lower,
        high=test.upper,
        statistic=test.statistic,
        p_value=test.p,
        # Holm's correction requires all pairs and is filled in later.
        p_holm=math.nan,
        p_first=posterior.better,
        p_equivalent=posterior.equivalent,
        p_second=posterior.worse,
        detectable=needed.smallest_difference,
        repeats_needed=needed.repeats,
        rows_needed=needed.rows,
        is_told_apart=False,
        test_train_ratio=ratio,
        rope=rope,
    )


def _adjust_pairs(pairs: Sequence[PairResult], settings: Settings) -> tuple[PairResult, ...]:
    """Return the pairs with Holm's correction over all of them."""
    p_holm = adjust_p_values([pair.p_value for pair in pairs]).tolist()
    # A difference of 0 has no direction: neither configuration is better.
    return tuple(
        replace(pair, p_holm=p, is_told_apart=p <= settings.alpha and pair.difference != 0)
        for pair, p in zip(pairs, p_holm, strict=True)
    )


def _orient_pairs(pairs: Sequence[PairResult], base: str) -> dict[str, PairResult]:
    """Return the pair of each configuration with the base, as if the base were the second."""
    oriented = {pair.first: pair for pair in pairs if pair.second == base}
    for pair in pairs:
        if pair.first == base:
            oriented[pair.second] = replace(
                pair, difference=-pair.difference, p_first=pair.p_second, p_second=pair.p_first
            )
    return oriented


def _summarize(
    cell: Cell, metric: ComparedMetric, settings: Settings, ranks: dict[str, float], pair: PairResult | None
) -> Summary:
    """Return the mean of a cell with its interval, its rank, and its mark against the base."""
    estimate = compute_corrected_t_test(np.array(cell.scores[metric.name]), _get_ratio(cell, cell), 1 - settings.alpha)
    rank = ranks[cell.configuration]
    summary = Summary(
        configuration=cell.configuration,
        mean=estimate.mean,
        std=estimate.standard_deviation,
        low=estimate.lower,
        high=estimate.upper,
        rank=rank,
        # Equal means share their rank, so the rank of the best may be greater than 1.
        is_best=rank == min(ranks.values()),
    )
    if pair is None:
        return summary
    return replace(
        summary,
        mark=mark_difference(pair.difference, pair.p_value, settings.alpha),
        p_value=pair.p_value,
        p_better=pair.p_first,
        p_equivalent=pair.p_equivalent,
        p_worse=pair.p_second,
    )
