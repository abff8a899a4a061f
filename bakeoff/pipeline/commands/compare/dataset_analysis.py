"""Analysis of one dataset: means with intervals, marks against the base, and tests of all pairs over the folds."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from bakeoff.pipeline.commands.compare.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    DatasetResult,
    PairResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.commands.compare.fold_tests import (
    compute_corrected_t_test,
    compute_posterior,
    estimate_requirement,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.commands.compare.rank_tests import rank_configurations
from bakeoff.pipeline.commands.compare.stopping import PairStop, StopRule
from bakeoff.pipeline.commands.compare.verdict import write_dataset_verdict
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.stages.tuning.looks import find_level


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
    pairs = _compare_pairs(ordered, dataset, metric, rope, settings)
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
    return max(first.test_train_ratio, second.test_train_ratio)


def find_holm_levels(p_values: Sequence[float], alpha: float) -> np.ndarray:
    """Return the level at which Holm's procedure tests each of m p-values: alpha / m for the smallest, then more."""
    levels = np.full(len(p_values), alpha)  # (m,)
    is_known = ~np.isnan(np.array(p_values, dtype=float))  # (m,)
    n_known = int(is_known.sum())
    by_p = np.argsort(p_values, kind="stable")[:n_known]  # NaN is sorted to the end
    levels[by_p] = alpha / np.arange(n_known, 0, -1)
    return levels


def _compare_pairs(
    cells: Sequence[Cell], dataset: ComparedDataset, metric: ComparedMetric, rope: float, settings: Settings
) -> tuple[PairResult, ...]:
    """Return all pairs, with Holm's correction over them, and with ``until=sure`` at the repeats that decided them."""
    pairs = list(combinations(cells, 2))
    differences = [_subtract_cells(*pair, metric) for pair in pairs]
    ratios = [_get_ratio(*pair) for pair in pairs]
    if settings.max_repeats:
        rule = StopRule(dataset.folds_per_repeat, settings.max_repeats, settings.alpha, rope)
        stops = rule.stop_pairs(differences, ratios)
        levels = [find_level(settings.alpha, rule.looks, ratio) for ratio in ratios]
    else:
        confidence = 1 - settings.alpha
        tests = [compute_corrected_t_test(*own, confidence) for own in zip(differences, ratios, strict=True)]
        p_values = [test.p for test in tests]
        levels = find_holm_levels(p_values, settings.alpha).tolist()
        stops = [PairStop(*own) for own in zip(tests, adjust_p_values(p_values).tolist(), strict=True)]
    return tuple(
        _describe_pair(*pair, stop, level, dataset, rope, settings)
        for pair, stop, level in zip(pairs, stops, levels, strict=True)
    )


def _subtract_cells(first: Cell, second: Cell, metric: ComparedMetric) -> np.ndarray:
    """Return the differences on the folds that both cells have, positive where the first is better."""
    sign = 1 if metric.greater_is_better else -1
    scores, other_scores = (np.array(cell.scores[metric.name]) for cell in (first, second))
    n_folds = min(len(scores), len(other_scores))
    differences: np.ndarray = sign * subtract_scores(scores[:n_folds], other_scores[:n_folds])  # (J,)
    return differences


def _describe_pair(
    first: Cell,
    second: Cell,
    stop: PairStop,
    level: float,
    dataset: ComparedDataset,
    rope: float,
    settings: Settings,
) -> PairResult:
    """Return the result of a pair; what its folds could show is estimated at the level of Holm's procedure."""
    test = stop.test
    posterior = compute_posterior(test, rope)
    n_rows = max(first.n_train, second.n_train) + first.n_test
    needed = estimate_requirement(test, dataset.folds_per_repeat, n_rows, level, settings.power)
    return PairResult(
        first=first.configuration,
        second=second.configuration,
        difference=test.mean,
        std=test.standard_deviation,
        low=test.lower,
        high=test.upper,
        statistic=test.statistic,
        p_value=test.p,
        p_holm=stop.p_difference,
        p_first=posterior.better,
        p_equivalent=posterior.equivalent,
        p_second=posterior.worse,
        detectable=needed.smallest_difference,
        repeats_needed=needed.repeats,
        rows_needed=needed.rows,
        # The p-value of a mean of 0, which has no direction, is 1.
        is_told_apart=stop.p_difference <= settings.alpha,
        test_train_ratio=test.ratio,
        rope=rope,
        repeats=stop.repeats,
        answer=stop.answer,
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
    low, high = np.clip([estimate.lower, estimate.upper], *metric.bounds).tolist()
    rank = ranks[cell.configuration]
    summary = Summary(
        configuration=cell.configuration,
        mean=estimate.mean,
        std=estimate.standard_deviation,
        low=low,
        high=high,
        rank=rank,
        # Equal means share their rank, so the rank of the best may be greater than 1.
        is_best=rank == min(ranks.values()),
    )
    if pair is None:
        return summary
    return replace(
        summary,
        mark=mark_difference(pair.difference, pair.p_holm, settings.alpha),
        p_value=pair.p_value,
        p_better=pair.p_first,
        p_equivalent=pair.p_equivalent,
        p_worse=pair.p_second,
    )
