"""Analysis of a comparison: of one dataset over its folds, and of all datasets.

On one dataset, means have intervals, marks against the base, and all pairs are tested over the folds. Over datasets,
there are mean ranks with their tests, counts of wins, ties and losses, and score against cost.
"""

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from operator import itemgetter

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.comparison_report.comparison import (
    NEMENYI,
    WILCOXON,
    Cell,
    CellKey,
    ComparedDataset,
    ComparedMetric,
    DatasetResult,
    OverallPair,
    OverallResult,
    PairResult,
    ParetoPoint,
    Settings,
    Summary,
)
from bakeoff.pipeline.commands.comparison_report.verdict import write_dataset_verdict, write_overall_verdict
from bakeoff.pipeline.commands.significance.datasets import (
    MIN_DATASETS,
    MIN_FRIEDMAN_CONFIGURATIONS,
    FriedmanTest,
    compute_critical_difference,
    compute_friedman_test,
    compute_nemenyi_p,
    compute_wilcoxon_p,
    find_groups,
    rank_configurations,
    sum_signed_ranks,
)
from bakeoff.pipeline.commands.significance.folds import (
    BETTER,
    SAME,
    WORSE,
    CorrectedTTest,
    Requirement,
    compute_corrected_t_test,
    compute_posterior,
    estimate_requirement,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.commands.significance.pairs import PairStop, StopRule, adjust_p_values, find_holm_levels
from bakeoff.pipeline.stages.tuning.race import find_level
from bakeoff.pipeline.text.wording import count_nouns, join_words

TOO_FEW = f"Too few datasets for tests over datasets, which need at least {MIN_DATASETS}"


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
    estimates = [
        compute_corrected_t_test(np.array(cell.scores[metric.name]), cell.test_train_ratio, 1 - settings.alpha)
        for cell in ordered
    ]
    of_base = [pair for pair in pairs if settings.base in (pair.first, pair.second)]
    summaries = tuple(
        summarize(cell.configuration, estimate, metric, settings, ranks, of_base)
        for cell, estimate in zip(ordered, estimates, strict=True)
    )
    verdict = write_dataset_verdict(summaries, pairs, metric)
    return DatasetResult(dataset.name, settings.base if base else "", summaries, pairs, verdict)


def rank_cells(cells: Sequence[Cell], metric: ComparedMetric) -> dict[str, float]:
    """Return the ranks of the configurations of a dataset, as `rank_means` does."""
    return rank_means({cell.configuration: float(np.mean(cell.scores[metric.name])) for cell in cells}, metric)


def rank_means(means: Mapping[str, float], metric: ComparedMetric) -> dict[str, float]:
    """Return the rank of each configuration, from best to worst: 1 for the best; ties share their mean rank."""
    if not means:
        return {}
    (ranks,) = rank_configurations(np.array([[*means.values()]]), metric.greater_is_better).tolist()
    return dict(sorted(zip(means, ranks, strict=True), key=itemgetter(1)))


def _find_rope(cells: Sequence[Cell], base: Cell | None, metric: ComparedMetric) -> float:
    """Return the rope in the unit of the metric."""
    if not metric.is_rope_relative:
        return metric.rope
    # Without the base, the smallest scores determine the scale.
    sizes = [abs(float(np.mean(cell.scores[metric.name]))) for cell in ([base] if base else cells)]
    return metric.rope * min(sizes, default=math.nan)


def _compare_pairs(
    cells: Sequence[Cell], dataset: ComparedDataset, metric: ComparedMetric, rope: float, settings: Settings
) -> tuple[PairResult, ...]:
    """Return all pairs, with Holm's correction over them, and with ``until=sure`` at the repeats that decided them."""
    pairs = list(combinations(cells, 2))
    differences = [_subtract_cells(*pair, metric) for pair in pairs]
    # The larger ratio of the two makes the test more conservative.
    ratios = [max(first.test_train_ratio, second.test_train_ratio) for first, second in pairs]
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
    sizes = [max(first.n_train, second.n_train) + first.n_test for first, second in pairs]
    return tuple(
        describe_pair(
            (first.configuration, second.configuration),
            stop,
            estimate_requirement(stop.test, dataset.folds_per_repeat, n_rows, level),
            rope,
            settings.alpha,
        )
        for (first, second), stop, level, n_rows in zip(pairs, stops, levels, sizes, strict=True)
    )


def _subtract_cells(first: Cell, second: Cell, metric: ComparedMetric) -> np.ndarray:
    """Return the differences on the folds that both cells have, positive where the first is better."""
    sign = 1 if metric.greater_is_better else -1
    scores, other_scores = (np.array(cell.scores[metric.name]) for cell in (first, second))
    n_folds = min(len(scores), len(other_scores))
    differences: np.ndarray = sign * subtract_scores(scores[:n_folds], other_scores[:n_folds])  # (J,)
    return differences


def describe_pair(names: tuple[str, str], stop: PairStop, needed: Requirement, rope: float, alpha: float) -> PairResult:
    """Return the result of a pair of configurations, with what is needed at the level of Holm's procedure."""
    test = stop.test
    posterior = compute_posterior(test, rope)
    return PairResult(
        first=names[0],
        second=names[1],
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
        is_told_apart=stop.p_difference <= alpha,
        test_train_ratio=test.ratio,
        rope=rope,
        repeats=stop.repeats,
        answer=stop.answer,
    )


def summarize(
    name: str,
    estimate: CorrectedTTest,
    metric: ComparedMetric,
    settings: Settings,
    ranks: Mapping[str, float],
    pairs: Sequence[PairResult],
) -> Summary:
    """Return the mean of a configuration with its interval, its rank, and its mark against the base."""
    low, high = estimate.bound_interval(metric.bounds)
    summary = Summary(
        configuration=name,
        mean=estimate.mean,
        std=estimate.standard_deviation,
        low=low,
        high=high,
        rank=ranks[name],
        # Equal means share their rank, so the rank of the best may be greater than 1.
        is_best=ranks[name] == min(ranks.values()),
    )
    pair = next((pair for pair in pairs if {pair.first, pair.second} == {name, settings.base}), None)
    if pair is None:
        return summary
    is_first = pair.first == name
    return replace(
        summary,
        mark=mark_difference(pair.difference if is_first else -pair.difference, pair.p_holm, settings.alpha),
        p_value=pair.p_value,
        p_better=pair.p_first if is_first else pair.p_second,
        p_equivalent=pair.p_equivalent,
        p_worse=pair.p_second if is_first else pair.p_first,
    )


def analyze_overall(
    results: Sequence[DatasetResult], names: Sequence[str], metric: ComparedMetric, settings: Settings
) -> OverallResult:
    """Return the analysis over the datasets on which all configurations have scores.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Names of the configurations.
    metric : ComparedMetric
    settings : Settings
    """
    table = tabulate_means(results, names)
    complete = table.dropna()
    # Greater is better from here on.
    means = (1 if metric.greater_is_better else -1) * complete.to_numpy()  # (N, k)
    mean_ranks = rank_configurations(means).mean(axis=0) if len(means) else np.full(len(names), math.nan)  # (k,)
    order = np.argsort(mean_ranks, kind="stable")
    ordered = [names[number] for number in order]
    friedman, critical_difference = _test_ranks(means, settings.alpha)
    # With two configurations, ranks only count wins, so the pair is tested by Wilcoxon's test alone.
    test = settings.overall if len(names) >= MIN_FRIEDMAN_CONFIGURATIONS else WILCOXON
    pairs = _compare_over_datasets(ordered, means[:, order], mean_ranks[order], friedman.f_p, test, settings.alpha)
    is_tested = len(complete) >= MIN_DATASETS
    told_apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.is_told_apart}
    counted = f"{count_nouns(len(complete), 'dataset')} with scores for all configurations"
    result = OverallResult(
        datasets=tuple(complete.index),
        left_out=_explain_left_out(table),
        mean_ranks=dict(zip(ordered, mean_ranks[order].tolist(), strict=True)),
        test=test,
        too_few="" if is_tested else f"{TOO_FEW}: {counted}.",
        friedman=friedman.chi2,
        friedman_p=friedman.p,
        iman_davenport=friedman.f,
        iman_davenport_p=friedman.f_p,
        critical_difference=critical_difference,
        groups=find_groups(ordered, told_apart) if is_tested else (),
        pairs=pairs,
        counts={name: _count_marks(results, complete.index, name) for name in names if name != settings.base},
        verdict=(),
    )
    return replace(result, verdict=write_overall_verdict(result, metric, settings))


def _test_ranks(means: np.ndarray, alpha: float) -> tuple[FriedmanTest, float]:
    """Return Friedman's test of means of shape (N, k), and Nemenyi's critical difference; NaN if there are too few."""
    n_datasets, n_configurations = means.shape
    if n_datasets < MIN_DATASETS or n_configurations < MIN_FRIEDMAN_CONFIGURATIONS:
        return FriedmanTest(), math.nan
    return compute_friedman_test(means), compute_critical_difference(n_datasets, n_configurations, alpha)


def tabulate_means(results: Sequence[DatasetResult], names: Sequence[str]) -> pd.DataFrame:
    """Return the mean scores, of shape (N, k), with a row for each dataset; NaN where a configuration has no scores."""
    means = {each.dataset: {summary.configuration: summary.mean for summary in each.summaries} for each in results}
    return pd.DataFrame(means, dtype=float).reindex(list(names)).T


def _explain_left_out(means: pd.DataFrame) -> dict[str, str]:
    """Return why datasets are excluded: some configuration has no scores there."""
    absent = {dataset: row.index[row.isna()] for dataset, row in means.iterrows()}
    return {str(dataset): f"no scores of {join_words(missing)}" for dataset, missing in absent.items() if len(missing)}


def _compare_over_datasets(
    names: Sequence[str], means: np.ndarray, mean_ranks: np.ndarray, friedman_p: float, test: str, alpha: float
) -> tuple[OverallPair, ...]:
    """Return all pairs over datasets, each with the better configuration first.

    By Nemenyi's test, a pair is distinguished only if Iman and Davenport's test shows any difference at all.
    """
    numbers = list(combinations(range(len(names)), 2))
    is_tested = len(means) >= MIN_DATASETS
    p_wilcoxon = [compute_wilcoxon_p(means[:, i], means[:, j]) if is_tested else math.nan for i, j in numbers]
    p_holm = adjust_p_values(p_wilcoxon).tolist()
    ranks = rank_configurations(means)  # (N, k)
    pairs = []
    for (i, j), p, p_adjusted in zip(numbers, p_wilcoxon, p_holm, strict=True):
        difference = float(mean_ranks[j] - mean_ranks[i])
        p_nemenyi = math.nan if math.isnan(friedman_p) else compute_nemenyi_p(difference, len(means), len(names))
        p_value = p_nemenyi if test == NEMENYI else p_adjusted
        # A comparison with NaN is false, so nothing is distinguished without a test.
        is_told_apart = p_value <= alpha and (test == WILCOXON or friedman_p <= alpha)
        # The mean ranks depend on the other configurations, so Wilcoxon's test may contradict their order.
        if is_told_apart and test == WILCOXON and sum_signed_ranks(means[:, i], means[:, j]) < 0:
            i, j, difference = j, i, -difference
        wins, losses = (int(np.sum(ranks[:, a] < ranks[:, b])) for a, b in ((i, j), (j, i)))
        counts = wins, len(means) - wins - losses, losses
        p_values = p_value, p_nemenyi, p, p_adjusted
        pairs.append(OverallPair(names[i], names[j], difference, *p_values, *counts, is_told_apart))
    return tuple(pairs)


def _count_marks(results: Sequence[DatasetResult], datasets: Container[str], name: str) -> tuple[int, int, int]:
    """Return WEKA's counts for a configuration against the base, over the included datasets."""
    summaries = [each.find_summary(name) for each in results if each.dataset in datasets]
    counts = Counter(summary.mark for summary in summaries if summary)
    return counts[BETTER], counts[SAME], counts[WORSE]


def compare_costs(
    results: Sequence[DatasetResult],
    names: Sequence[str],
    cells: Mapping[CellKey, Cell],
    metric: ComparedMetric,
    base: str,
) -> tuple[ParetoPoint, ...]:
    """Return the mean score and cost of each configuration over the datasets on which all have scores.

    If the magnitude of a score depends on the dataset, as for errors in the unit of the target, each score is divided
    by the base's on the same dataset, unless there is only one dataset. Without any times, as for scores of a table,
    the result is empty.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Names of the configurations.
    cells : mapping of CellKey to Cell
    metric : ComparedMetric
    base : str
    """
    means = tabulate_means(results, names).dropna()
    if means.empty:
        return ()
    if metric.is_rope_relative and len(means) > 1:
        # Dividing by the absolute value preserves the order of negative scores, and is impossible by an error of 0.
        means = means.div(means[base].abs().replace(0, math.nan), axis=0)
    scores = [float(np.mean(column)) for column in means.to_numpy().T]
    counted = [[cells[name, dataset] for dataset in means.index] for name in names]
    fit = [float(np.mean([cell.fit_seconds for cell in own])) for own in counted]
    predict = [float(np.mean([cell.predict_seconds for cell in own])) for own in counted]
    if np.isnan(np.add(fit, predict)).all():
        return ()
    is_efficient = find_pareto_front(np.array(scores), np.add(fit, predict), metric.greater_is_better).tolist()
    n_fits = [sum(cell.n_fits for cell in own) for own in counted]
    return tuple(map(ParetoPoint, names, scores, fit, predict, n_fits, is_efficient))


def find_pareto_front(scores: np.ndarray, costs: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Find the configurations that no other dominates, that is, scores at least as well at no higher cost.

    Parameters
    ----------
    scores : ndarray of shape (k,)
        Mean scores.
    costs : ndarray of shape (k,)
        Costs such as seconds of fitting; lower is better.
    greater_is_better : bool, default True
        The direction of the scores.

    Returns
    -------
    is_on_front : ndarray of bool of shape (k,)
        Whether each configuration is on the front. Configurations with equal score and cost are all on it or all off
        it; those without a score or a cost are never on it.
    """
    losses = -scores if greater_is_better else scores
    both = np.column_stack([losses, costs])  # (k, 2)
    is_no_worse = np.all(both[:, np.newaxis] <= both, axis=2)  # (k, k): row against column
    is_better = np.any(both[:, np.newaxis] < both, axis=2)  # (k, k)
    is_beaten = np.any(is_no_worse & is_better, axis=0)  # (k,)
    return ~is_beaten & np.isfinite(both).all(axis=1)
