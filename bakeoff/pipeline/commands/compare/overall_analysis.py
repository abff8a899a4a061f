"""Analysis over datasets: mean ranks and their tests, win/tie/loss counts, and score against cost."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from bakeoff.pipeline.commands.compare import dataset_analysis
from bakeoff.pipeline.commands.compare.comparison import (
    BETTER,
    NEMENYI,
    WILCOXON,
    WORSE,
    Cell,
    CellKey,
    ComparedMetric,
    DatasetResult,
    OverallPair,
    OverallResult,
    ParetoPoint,
    Settings,
)
from bakeoff.pipeline.commands.compare.rank_tests import (
    MIN_DATASETS,
    MIN_FRIEDMAN_CONFIGURATIONS,
    NO_FRIEDMAN_TEST,
    compute_critical_difference,
    compute_friedman_test,
    compute_nemenyi_p,
    compute_wilcoxon_p,
    count_wins,
    find_groups,
    rank_configurations,
    sum_signed_ranks,
)
from bakeoff.pipeline.text.wording import count_nouns, join_words


def analyze_overall(
    results: Sequence[DatasetResult], names: Sequence[str], metric: ComparedMetric, settings: Settings
) -> OverallResult:
    """Return the analysis over the datasets on which all configurations have scores, without its verdict.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Names of the configurations.
    metric : ComparedMetric
    settings : Settings
    """
    complete = _select_complete(results, names)
    absent = {
        result.dataset: [name for name in names if result.find_summary(name) is None]
        for result in results
        if result not in complete
    }
    means = _tabulate_means(complete, names)  # (N, k)
    # Greater is better from here on.
    means = means if metric.greater_is_better else -means
    ranks = rank_configurations(means)  # (N, k)
    mean_ranks = ranks.mean(axis=0) if complete else np.full(len(names), math.nan)  # (k,)
    # Names are in the order of the ranks, so the first of each pair is the better one.
    order = np.argsort(mean_ranks, kind="stable")
    ordered = [names[number] for number in order]
    means = means[:, order]
    # With two configurations, ranks only count wins, so the pair is tested by Wilcoxon's test alone.
    is_ranked = len(names) >= MIN_FRIEDMAN_CONFIGURATIONS
    test = settings.overall if is_ranked else WILCOXON
    is_tested = len(complete) >= MIN_DATASETS
    friedman, critical_difference = NO_FRIEDMAN_TEST, math.nan
    if is_tested and is_ranked:
        friedman = compute_friedman_test(means)
        critical_difference = compute_critical_difference(len(means), len(names), settings.alpha)
    pairs = _compare_pairs(ordered, means, mean_ranks[order], friedman.f_p, test, settings.alpha)
    told_apart = {frozenset((pair.first, pair.second)) for pair in pairs if pair.is_told_apart}
    return OverallResult(
        datasets=tuple(result.dataset for result in complete),
        left_out={dataset: f"no scores of {join_words(missing)}" for dataset, missing in absent.items()},
        mean_ranks=dict(zip(ordered, mean_ranks[order].tolist(), strict=True)),
        test=test,
        too_few="" if is_tested else _explain_too_few(len(complete)),
        friedman=friedman.chi2,
        friedman_p=friedman.p,
        iman_davenport=friedman.f,
        iman_davenport_p=friedman.f_p,
        critical_difference=critical_difference,
        groups=find_groups(ordered, told_apart) if is_tested else (),
        pairs=pairs,
        counts={name: _count_marks(complete, name) for name in names if name != settings.base},
        verdict=(),
    )


def _select_complete(results: Sequence[DatasetResult], names: Sequence[str]) -> list[DatasetResult]:
    """Return the datasets on which all configurations have scores."""
    return [result for result in results if len(result.summaries) == len(names)]


def _tabulate_means(results: Sequence[DatasetResult], names: Sequence[str]) -> np.ndarray:
    """Return the mean scores, of shape (N, k)."""
    by_name = [{summary.configuration: summary.mean for summary in result.summaries} for result in results]
    return np.array([[means[name] for name in names] for means in by_name]).reshape(len(results), len(names))


def _explain_too_few(n_datasets: int) -> str:
    counted = f"{count_nouns(n_datasets, 'dataset')} with scores for all configurations"
    return f"Too few datasets for tests over datasets, which need at least {MIN_DATASETS}: {counted}."


def _compare_pairs(
    names: Sequence[str], means: np.ndarray, mean_ranks: np.ndarray, friedman_p: float, test: str, alpha: float
) -> tuple[OverallPair, ...]:
    """Return all pairs over datasets, each with the better configuration first.

    By Nemenyi's test, a pair is distinguished only if Iman and Davenport's test shows any difference at all.
    """
    numbers = list(combinations(range(len(names)), 2))
    is_tested = len(means) >= MIN_DATASETS
    p_wilcoxon = [compute_wilcoxon_p(means[:, i], means[:, j]) if is_tested else math.nan for i, j in numbers]
    p_holm = dataset_analysis.adjust_p_values(p_wilcoxon).tolist()
    wins = count_wins(rank_configurations(means))  # (k, k)
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
        pairs.append(
            OverallPair(
                first=names[i],
                second=names[j],
                rank_difference=difference,
                p_value=p_value,
                p_nemenyi=p_nemenyi,
                p_wilcoxon=p,
                p_wilcoxon_holm=p_adjusted,
                wins=int(wins[i, j]),
                ties=int(len(means) - wins[i, j] - wins[j, i]),
                losses=int(wins[j, i]),
                is_told_apart=is_told_apart,
            )
        )
    return tuple(pairs)


def _count_marks(results: Sequence[DatasetResult], name: str) -> tuple[int, int, int]:
    """Return WEKA's counts for a configuration against the base, over the included datasets."""
    marks = [summary.mark for result in results for summary in result.summaries if summary.configuration == name]
    better, worse = marks.count(BETTER), marks.count(WORSE)
    return better, len(marks) - better - worse, worse


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
    complete = _select_complete(results, names)
    if not complete:
        return ()
    means = _tabulate_means(complete, names)  # (N, k)
    if metric.is_rope_relative and len(complete) > 1:
        # Dividing by the absolute value preserves the order of negative scores.
        sizes = np.abs(means[:, [names.index(base)]])  # (N, 1)
        # If the base has no errors, dividing by its score is impossible.
        means /= np.where(sizes == 0, math.nan, sizes)
    scores = [float(np.mean(column)) for column in means.T]  # (k,)
    counted = [[cells[name, result.dataset] for result in complete] for name in names]
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
