"""The analysis over datasets: mean ranks, Friedman's test, Nemenyi's and Wilcoxon's tests, and win/tie/loss counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.comparison.analysis.dataset_analysis import adjust_p_values
from bakeoff.pipeline.comparison.comparison import ComparedMetric, Settings
from bakeoff.pipeline.comparison.results import BETTER, WORSE, DatasetResult, MarkCounts, OverallPair, OverallResult
from bakeoff.pipeline.comparison.statistics import (
    MIN_DATASETS,
    NemenyiTest,
    Outcomes,
    compare_two_over_datasets,
    compute_friedman_test,
    compute_nemenyi_test,
    count_outcomes,
    list_pairs,
    rank_configurations,
)
from bakeoff.pipeline.comparison.words import join_words
from bakeoff.pipeline.errors import UserError

MIN_CONFIGURATIONS_OF_FRIEDMAN = 3


@dataclass(frozen=True)
class MeanScores:
    """Mean scores on the datasets that count.

    Attributes
    ----------
    names : tuple of str
        Of the configurations.
    datasets : tuple of str
    values : ndarray of shape (N, k)
    metric : ComparedMetric
    """

    names: tuple[str, ...]
    datasets: tuple[str, ...]
    values: np.ndarray
    metric: ComparedMetric


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
    means = _tabulate_means(complete, names, metric)
    ranks = rank_configurations(means.values, metric.greater_is_better).mean(axis=0)  # (k,)
    too_few = _explain_too_few(len(complete))
    friedman = None
    nemenyi = None
    if not too_few and len(names) >= MIN_CONFIGURATIONS_OF_FRIEDMAN:
        friedman = compute_friedman_test(means.values)
        nemenyi = _try_nemenyi(means, settings.alpha)
    is_shown = friedman is not None and friedman.f_p <= settings.alpha
    outcomes = count_outcomes(means.values, metric.greater_is_better)
    order = np.argsort(ranks, kind="stable")
    groups = () if nemenyi is None else nemenyi.cliques
    return OverallResult(
        datasets=means.datasets,
        left_out=left_out,
        mean_ranks={names[number]: float(ranks[number]) for number in order},
        too_few=too_few,
        friedman=math.nan if friedman is None else friedman.chi2,
        friedman_p=math.nan if friedman is None else friedman.p,
        iman_davenport=math.nan if friedman is None else friedman.f,
        iman_davenport_p=math.nan if friedman is None else friedman.f_p,
        critical_difference=math.nan if nemenyi is None else nemenyi.critical_difference,
        groups=tuple(tuple(names[number] for number in group) for group in groups),
        pairs=_compare_pairs(means, ranks, outcomes, nemenyi, settings, is_shown, bool(too_few)),
        counts=_count_marks(complete, means, outcomes, settings.base),
        verdict=(),
    )


def _find_incomplete(results: Sequence[DatasetResult], names: Sequence[str]) -> dict[str, str]:
    """Return why datasets do not count."""
    left_out = {}
    for result in results:
        found = {summary.configuration for summary in result.summaries}
        absent = [name for name in names if name not in found]
        if absent:
            left_out[result.dataset] = f"no scores of {join_words(absent)}"
    return left_out


def _tabulate_means(results: Sequence[DatasetResult], names: Sequence[str], metric: ComparedMetric) -> MeanScores:
    by_name = [{summary.configuration: summary.mean for summary in result.summaries} for result in results]
    values = np.array([[means[name] for name in names] for means in by_name])  # (N, k)
    return MeanScores(tuple(names), tuple(result.dataset for result in results), values, metric)


def _explain_too_few(n_datasets: int) -> str:
    if n_datasets >= MIN_DATASETS:
        return ""
    there_are = "there is 1" if n_datasets == 1 else f"there are {n_datasets}"
    return f"Too few datasets for tests over datasets: {there_are}, and they need at least {MIN_DATASETS}."


def _try_nemenyi(means: MeanScores, alpha: float) -> NemenyiTest | None:
    """Return Nemenyi's test; None if the package that computes it is missing, which the report says."""
    try:
        return compute_nemenyi_test(means.values, means.metric.greater_is_better, alpha)
    except UserError:
        return None


def _compare_pairs(
    means: MeanScores,
    ranks: np.ndarray,
    outcomes: Outcomes,
    nemenyi: NemenyiTest | None,
    settings: Settings,
    is_shown: bool,
    has_too_few: bool,
) -> tuple[OverallPair, ...]:
    """Return all pairs over datasets.

    With three configurations or more, a pair is told apart if Iman and Davenport's test shows any difference at all and
    Nemenyi's test that of the pair; with two, if Wilcoxon's test does.
    """
    numbers = list_pairs(len(means.names))
    p_wilcoxon = [math.nan] * len(numbers)
    if not has_too_few:
        greater = means.metric.greater_is_better
        tests = [compare_two_over_datasets(means.values[:, i], means.values[:, j], greater) for i, j in numbers]
        p_wilcoxon = [test.p for test in tests]
    p_holm = adjust_p_values(p_wilcoxon)
    pairs = []
    for (i, j), p, p_adjusted in zip(numbers, p_wilcoxon, p_holm, strict=True):
        p_nemenyi = math.nan if nemenyi is None else float(nemenyi.p[i, j])
        is_told_apart = is_shown and p_nemenyi <= settings.alpha if len(means.names) > 2 else p <= settings.alpha
        pair = OverallPair(
            first=means.names[i],
            second=means.names[j],
            rank_difference=float(ranks[j] - ranks[i]),
            p_nemenyi=p_nemenyi,
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
    results: Sequence[DatasetResult], means: MeanScores, outcomes: Outcomes, base: str
) -> tuple[MarkCounts, ...]:
    """Return WEKA's counts of each configuration against the base, over the datasets that count."""
    if base not in means.names:
        return ()
    base_number = means.names.index(base)
    counts = []
    for number, name in enumerate(means.names):
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
