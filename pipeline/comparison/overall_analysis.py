"""The analysis over datasets: mean ranks and their tests, win/tie/loss counts, and score against cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bakeoff.pipeline.comparison.comparison import (
    BETTER,
    WORSE,
    Cell,
    ComparedMetric,
    DatasetResult,
    MarkCounts,
    OverallPair,
    OverallResult,
    ParetoPoint,
    Settings,
)
from bakeoff.pipeline.comparison.dataset_analysis import adjust_p_values
from bakeoff.pipeline.comparison.rank_tests import (
    MIN_DATASETS,
    MIN_FRIEDMAN_CONFIGURATIONS,
    FriedmanTest,
    NemenyiTest,
    Outcomes,
    compare_two_over_datasets,
    compute_friedman_test,
    compute_nemenyi_test,
    count_outcomes,
    list_pairs,
    rank_configurations,
)
from bakeoff.pipeline.comparison.run_grid import CellKey
from bakeoff.pipeline.text.words import join_words

NO_FRIEDMAN_TEST = FriedmanTest(math.nan, math.nan, math.nan, math.nan)


def analyze_overall(
    results: Sequence[DatasetResult], names: Sequence[str], metric: ComparedMetric, settings: Settings
) -> OverallResult:
    """Return the analysis over the datasets on which all configurations have scores.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Of the configurations.
    metric : ComparedMetric
    settings : Settings
    """
    left_out = _find_incomplete(results, names)
    complete = [result for result in results if result.dataset not in left_out]
    if not complete:
        return _make_empty_result(left_out)
    means = _tabulate_means(complete, names)  # (N, k)
    ranks = rank_configurations(means, metric.greater_is_better).mean(axis=0)  # (k,)
    too_few = _explain_too_few(len(complete))
    friedman, nemenyi = _test_ranks(means, metric, settings.alpha, is_tested=not too_few)
    outcomes = count_outcomes(means, metric.greater_is_better)
    p_wilcoxon = _compute_wilcoxon_p(means, metric, is_tested=not too_few)
    order = np.argsort(ranks, kind="stable")
    return OverallResult(
        datasets=tuple(result.dataset for result in complete),
        left_out=left_out,
        mean_ranks={names[number]: float(ranks[number]) for number in order},
        too_few=too_few,
        friedman=friedman.chi2,
        friedman_p=friedman.p,
        iman_davenport=friedman.f,
        iman_davenport_p=friedman.f_p,
        critical_difference=nemenyi.critical_difference,
        groups=tuple(tuple(names[number] for number in group) for group in nemenyi.cliques),
        pairs=_compare_pairs(names, friedman, nemenyi, outcomes, p_wilcoxon, settings.alpha),
        counts=_count_marks(complete, names, outcomes, settings.base),
        # The verdict is added to the finished result.
        verdict=(),
    )


def _find_incomplete(results: Sequence[DatasetResult], names: Sequence[str]) -> dict[str, str]:
    """Return the datasets that do not count, with reasons."""
    left_out = {}
    for result in results:
        found = {summary.configuration for summary in result.summaries}
        absent = [name for name in names if name not in found]
        if absent:
            left_out[result.dataset] = f"no scores of {join_words(absent)}"
    return left_out


def _tabulate_means(results: Sequence[DatasetResult], names: Sequence[str]) -> np.ndarray:
    """Return the mean scores, of shape (N, k)."""
    by_name = [{summary.configuration: summary.mean for summary in result.summaries} for result in results]
    return np.array([[means[name] for name in names] for means in by_name])


def _explain_too_few(n_datasets: int) -> str:
    if n_datasets >= MIN_DATASETS:
        return ""
    there_are = "there is 1" if n_datasets == 1 else f"there are {n_datasets}"
    return f"Too few datasets for tests over datasets: {there_are}, and they need at least {MIN_DATASETS}."


def _test_ranks(
    means: np.ndarray, metric: ComparedMetric, alpha: float, *, is_tested: bool
) -> tuple[FriedmanTest, NemenyiTest]:
    """Return the tests of mean ranks; their numbers are NaN if there are too few datasets or configurations."""
    n_configurations = means.shape[1]
    # The ranks of two configurations only contain the counts of wins, so that pair only has Wilcoxon's test.
    if is_tested and n_configurations >= MIN_FRIEDMAN_CONFIGURATIONS:
        return compute_friedman_test(means), compute_nemenyi_test(means, metric.greater_is_better, alpha)
    ranks = rank_configurations(means, metric.greater_is_better).mean(axis=0)  # (k,)
    p = np.full((n_configurations, n_configurations), math.nan)
    return NO_FRIEDMAN_TEST, NemenyiTest(ranks, p, alpha, math.nan, ())


def _compute_wilcoxon_p(means: np.ndarray, metric: ComparedMetric, *, is_tested: bool) -> list[float]:
    """Return the p-value of each pair, in the order of `list_pairs`; NaN if there are too few datasets."""
    numbers = list_pairs(means.shape[1])
    if not is_tested:
        return [math.nan] * len(numbers)
    tests = [compare_two_over_datasets(means[:, i], means[:, j], metric.greater_is_better) for i, j in numbers]
    return [test.p for test in tests]


def _compare_pairs(
    names: Sequence[str],
    friedman: FriedmanTest,
    nemenyi: NemenyiTest,
    outcomes: Outcomes,
    p_wilcoxon: Sequence[float],
    alpha: float,
) -> tuple[OverallPair, ...]:
    """Return all pairs over datasets.

    With three or more configurations, a pair is distinguished if Iman and Davenport's test shows any difference at all
    and Nemenyi's test, which is a post-hoc test, that of the pair; with two, if Wilcoxon's test does.
    """
    p_holm = adjust_p_values(p_wilcoxon)
    pairs = []
    for (i, j), p, p_adjusted in zip(list_pairs(len(names)), p_wilcoxon, p_holm, strict=True):
        # A comparison with NaN is false, so that nothing is distinguished without a test.
        if len(names) >= MIN_FRIEDMAN_CONFIGURATIONS:
            is_told_apart = friedman.f_p <= alpha and nemenyi.p[i, j] <= alpha
        else:
            is_told_apart = p <= alpha
        pair = OverallPair(
            first=names[i],
            second=names[j],
            rank_difference=float(nemenyi.mean_ranks[j] - nemenyi.mean_ranks[i]),
            p_nemenyi=float(nemenyi.p[i, j]),
            p_wilcoxon=p,
            p_wilcoxon_holm=float(p_adjusted),
            wins=int(outcomes.wins[i, j]),
            ties=int(outcomes.ties[i, j]),
            losses=int(outcomes.losses[i, j]),
            is_told_apart=bool(is_told_apart),
        )
        pairs.append(pair)
    return tuple(pairs)


def _count_marks(
    results: Sequence[DatasetResult], names: Sequence[str], outcomes: Outcomes, base: str
) -> tuple[MarkCounts, ...]:
    """Return WEKA's counts for each configuration in comparison with the base, over the datasets that count."""
    if base not in names:
        return ()
    base_number = names.index(base)
    counts = []
    for number, name in enumerate(names):
        if name == base:
            continue
        marks = [summary.mark for result in results for summary in result.summaries if summary.configuration == name]
        count = MarkCounts(
            configuration=name,
            better=marks.count(BETTER),
            same=len(marks) - marks.count(BETTER) - marks.count(WORSE),
            worse=marks.count(WORSE),
            wins=int(outcomes.wins[number, base_number]),
            ties=int(outcomes.ties[number, base_number]),
            losses=int(outcomes.losses[number, base_number]),
        )
        counts.append(count)
    return tuple(counts)


def _make_empty_result(left_out: Mapping[str, str]) -> OverallResult:
    """Return a result without numbers: no dataset has scores of all configurations."""
    nan = math.nan
    too_few = "No dataset has scores of all configurations, so nothing is said over datasets."
    return OverallResult((), left_out, {}, too_few, nan, nan, nan, nan, nan, (), (), (), ())


def compare_costs(
    results: Sequence[DatasetResult],
    names: Sequence[str],
    cells: Mapping[CellKey, Cell],
    metric: ComparedMetric,
    base: str,
) -> tuple[ParetoPoint, ...]:
    """Return the mean score and cost of each configuration over the datasets on which all have scores.

    Where the size of a score depends on the dataset, as with errors in the unit of the target, each is divided by the
    base's on the same dataset, unless there is one dataset only.

    Parameters
    ----------
    results : sequence of DatasetResult
    names : sequence of str
        Of the configurations.
    cells : mapping of CellKey to Cell
    metric : ComparedMetric
    base : str
    """
    complete = [result for result in results if len(result.summaries) == len(names)]
    if not complete:
        return ()
    means = _tabulate_means(complete, names)  # (N, k)
    if metric.is_rope_relative and len(complete) > 1:
        # Dividing by the absolute value preserves the order of negative scores.
        sizes = np.abs(means[:, names.index(base)])  # (N,)
        # A base without errors would cause a division by zero.
        sizes[sizes == 0] = math.nan
        means /= sizes[:, np.newaxis]
    scores = np.array([np.mean(column) for column in means.T])  # (k,)
    own_cells = [[cells[name, result.dataset] for result in complete] for name in names]
    fit = np.array([np.mean([cell.fit_seconds for cell in own]) for own in own_cells])  # (k,)
    predict = np.array([np.mean([cell.predict_seconds for cell in own]) for own in own_cells])  # (k,)
    is_efficient = _find_efficient(scores, fit + predict, metric.greater_is_better)
    return tuple(
        ParetoPoint(
            configuration=name,
            score=float(scores[number]),
            fit_seconds=float(fit[number]),
            predict_seconds=float(predict[number]),
            n_fits=sum(cell.n_fits for cell in own_cells[number]),
            is_efficient=bool(is_efficient[number]),
        )
        for number, name in enumerate(names)
    )


def _find_efficient(scores: np.ndarray, seconds: np.ndarray, greater_is_better: bool) -> np.ndarray:
    """Return a mask of the configurations on the front; those without a score or a time are not on it."""
    is_known = np.isfinite(scores) & np.isfinite(seconds)  # (k,)
    is_efficient = np.zeros(len(scores), dtype=bool)  # (k,)
    if is_known.any():
        is_efficient[is_known] = find_pareto_front(scores[is_known], seconds[is_known], greater_is_better)
    return is_efficient


def find_pareto_front(scores: np.ndarray, costs: np.ndarray, greater_is_better: bool = True) -> np.ndarray:
    """Find the configurations that no other one beats: none scores at least as well at no higher cost, one better.

    Parameters
    ----------
    scores : ndarray of shape (k,)
        Mean scores.
    costs : ndarray of shape (k,)
        Costs such as seconds of fitting, lower being better.
    greater_is_better : bool, default True
        Of the scores.

    Returns
    -------
    is_on_front : ndarray of bool of shape (k,)
        Configurations with equal score and cost are all on the front, or none of them.

    Raises
    ------
    ValueError
        If the shapes differ or a number is not finite.
    """
    scores = np.asarray(scores, dtype=float)  # (k,)
    costs = np.asarray(costs, dtype=float)  # (k,)
    if scores.ndim != 1 or scores.shape != costs.shape:
        raise ValueError(f"scores of shape {scores.shape}, costs of shape {costs.shape}: equal lengths are allowed")
    if not np.all(np.isfinite(scores)) or not np.all(np.isfinite(costs)):
        raise ValueError("scores and costs must be finite")
    losses = -scores if greater_is_better else scores
    both = np.column_stack([losses, costs])  # (k, 2)
    is_no_worse = np.all(both[:, np.newaxis] <= both, axis=2)  # (k, k): row against column
    is_better = np.any(both[:, np.newaxis] < both, axis=2)  # (k, k)
    is_beaten = np.any(is_no_worse & is_better, axis=0)  # (k,)
    return ~is_beaten
