"""The verdict in plain words, and the gate for continuous integration.

The verdict names the best configurations, those that cannot be distinguished from them, and the data that this would
need. The gate decides whether a configuration is significantly worse than the base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bakeoff.pipeline.comparison.comparison import (
    WORSE,
    ComparedMetric,
    Comparison,
    DatasetResult,
    OverallResult,
    PairResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.comparison.rank_tests import count_datasets
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.numbers import equate_p, format_percent, format_score, format_statistic
from bakeoff.pipeline.text.words import count_nouns, join_words

MIN_EQUIVALENT_PROBABILITY = 0.95
MAX_NAMED = 5
"""Maximum number of names in one enumeration; the others are counted."""

Tests = Mapping[frozenset[str], tuple[bool, float]]
"""Two names -> whether they are distinguished, and the p-value."""


@dataclass(frozen=True)
class Standing:
    """The order of the configurations, and the tests of their differences.

    Attributes
    ----------
    order : tuple of str
        Names, the best first.
    tests : Tests
    """

    order: tuple[str, ...]
    tests: Tests

    def is_told_apart(self, first: str, second: str) -> bool:
        """Whether two configurations are distinguished."""
        return self.tests[frozenset((first, second))][0]

    def get_p(self, first: str, second: str) -> float:
        """Return the p-value of two configurations."""
        return self.tests[frozenset((first, second))][1]

    @property
    def leaders(self) -> list[str]:
        """The best configuration, and those not distinguished from it."""
        best = self.order[0]
        return [best, *(name for name in self.order[1:] if not self.is_told_apart(best, name))]


def write_dataset_verdict(
    summaries: Sequence[Summary], pairs: Sequence[PairResult], metric: ComparedMetric, settings: Settings
) -> tuple[str, ...]:
    """Return the verdict on one dataset.

    Parameters
    ----------
    summaries : sequence of Summary
    pairs : sequence of PairResult
        All pairs.
    metric : ComparedMetric
    settings : Settings
    """
    if len(summaries) < 2:
        return ("Fewer than two configurations have scores, so there is nothing to compare.",)
    if len({summary.mean for summary in summaries}) == 1 and not any(pair.std for pair in pairs):
        all_of_them = "Both" if len(summaries) == 2 else f"All {len(summaries)}"
        return (f"{all_of_them} configurations have equal scores in every fold, so none is better.",)
    if all(math.isnan(pair.p_value) for pair in pairs):
        best = min(summaries, key=lambda summary: summary.rank)
        return (
            f"{best.configuration} has the best {metric.label} ({format_score(best.mean)}), but a single split "
            "says nothing about how sure that is: evaluation=repeated_kfold gives more scores.",
        )
    standing = _rank_by_means(summaries, pairs)
    sentences = [write_standing(standing)]
    sentences += _add_requirement(standing, pairs, settings)
    return tuple(sentences)


def write_overall_verdict(result: OverallResult, metric: ComparedMetric, settings: Settings) -> tuple[str, ...]:
    """Return the verdict over datasets.

    Parameters
    ----------
    result : OverallResult
        Without its verdict.
    metric : ComparedMetric
    settings : Settings
    """
    if not result.datasets:
        return (result.too_few,)
    order = tuple(result.mean_ranks)
    ranks = f"mean rank by {metric.label} ({format_statistic(result.mean_ranks[order[0]])} of {len(order)})"
    n_datasets = count_nouns(len(result.datasets), "dataset")
    if result.too_few:
        return (f"{order[0]} has the best {ranks} over {n_datasets}, which are too few for a test.",)
    if len(order) > 2 and result.iman_davenport_p > settings.alpha:
        p = equate_p(result.iman_davenport_p)
        return (
            f"Over {n_datasets}, no configuration is shown to be better than another (Iman and Davenport's test, {p}); "
            f"{order[0]} has the best {ranks}.",
        )
    standing = _rank_over_datasets(result, order)
    # Nemenyi's test needs three configurations.
    name = "Nemenyi's test of mean ranks" if len(order) > 2 else "Wilcoxon's signed-rank test"
    sentence = f"Over {n_datasets}, {write_standing(standing).removesuffix('.')} ({name})."
    return (sentence, *_add_dataset_requirement(standing, result, settings))


def _rank_over_datasets(result: OverallResult, order: tuple[str, ...]) -> Standing:
    tests: dict[frozenset[str], tuple[bool, float]] = {}
    for pair in result.pairs:
        p = pair.p_nemenyi if len(order) > 2 else pair.p_wilcoxon
        tests[frozenset((pair.first, pair.second))] = (pair.is_told_apart, p)
    return Standing(order, tests)


def _add_dataset_requirement(standing: Standing, result: OverallResult, settings: Settings) -> list[str]:
    """Return the number of datasets required for distinguishing the best from the next one by rank, in words."""
    leaders = standing.leaders
    if len(leaders) == 1 or math.isnan(result.critical_difference):
        return []
    difference = result.mean_ranks[leaders[1]] - result.mean_ranks[leaders[0]]
    n_needed = count_datasets(difference, len(standing.order), settings.alpha)
    if n_needed is None:
        return []
    critical = format_statistic(result.critical_difference)
    return [
        f"Mean ranks are told apart from a difference of {critical}; that of {leaders[0]} and {leaders[1]}, "
        f"{format_statistic(difference)}, would take about {count_nouns(n_needed, 'dataset')}."
    ]


def write_standing(standing: Standing) -> str:
    """Return one sentence on the leading configurations and those that they beat.

    Examples
    --------
    >>> tests = {
    ...     frozenset(("svm", "mlp")): (False, 0.41),
    ...     frozenset(("svm", "knn")): (True, 0.003),
    ...     frozenset(("mlp", "knn")): (True, 0.003),
    ... }
    >>> write_standing(Standing(("svm", "mlp", "knn"), tests))
    'svm and mlp are the best and not told apart, p = .41; both beat knn, p = .0030.'
    """
    leaders = standing.leaders
    best = leaders[0]
    others = [name for name in standing.order if name not in leaders]
    if not others:
        return _write_no_difference(standing)
    if len(leaders) == 1:
        ps = [standing.get_p(best, name) for name in others]
        return f"{best} is the best: it beats {_enumerate(others)}, {_at_most(ps)}."
    ps = [standing.get_p(best, name) for name in leaders[1:]]
    # Highly variable scores may not be distinguished from the best although their mean is worse than that of the
    # beaten.
    if list(standing.order[: len(leaders)]) != leaders:
        beaten = [standing.get_p(best, name) for name in others]
        verb = "is" if len(leaders) == 2 else "are"
        return (
            f"{best} has the best mean and beats {_enumerate(others)}, {_at_most(beaten)}; {_enumerate(leaders[1:])} "
            f"{verb} not told apart from it, {_at_least(ps)}."
        )
    pairs = combinations(leaders, 2)
    are_equal = not any(standing.is_told_apart(first, second) for first, second in pairs)
    claim = "are the best and not told apart" if are_equal else f"are not told apart from the best, which is {best}"
    return f"{_enumerate(leaders)} {claim}, {_at_least(ps)}; {_write_beaten(standing, leaders, others)}."


def _write_beaten(standing: Standing, leaders: Sequence[str], others: Sequence[str]) -> str:
    """Return which configurations are beaten by all leaders, and which only by the best one."""
    best = leaders[0]
    beaten_by_all = [name for name in others if all(standing.is_told_apart(leader, name) for leader in leaders)]
    partly = [name for name in others if name not in beaten_by_all]
    clauses = []
    if beaten_by_all:
        ps = [standing.get_p(leader, name) for leader in leaders for name in beaten_by_all]
        subject = "both beat" if len(leaders) == 2 else f"all {len(leaders)} beat"
        clauses.append(f"{subject} {_enumerate(beaten_by_all)}, {_at_most(ps)}")
    if partly:
        ps = [standing.get_p(best, name) for name in partly]
        verb = "also beats" if beaten_by_all else "beats"
        clauses.append(f"{best} {verb} {_enumerate(partly)}, {_at_most(ps)}, which is not shown of all others")
    return "; ".join(clauses)


def _write_no_difference(standing: Standing) -> str:
    """Return the sentence for configurations that are not distinguished from the best."""
    best, *others = standing.order
    ps = [p for is_told_apart, p in standing.tests.values() if not is_told_apart]
    if len(others) == 1:
        return f"{best} and {others[0]} are not told apart, {equate_p(ps[0])}."
    apart = [pair for pair, (is_told_apart, _) in standing.tests.items() if is_told_apart]
    if apart:
        first, second = sorted(apart[0], key=standing.order.index)
        return (
            f"{best} has the best mean, but none of the {len(others)} others is told apart from it, "
            f"{_at_least([standing.get_p(best, name) for name in others])}; {first} beats {second}, "
            f"{equate_p(standing.get_p(first, second))}."
        )
    return f"No two of the {len(standing.order)} configurations are told apart, {_at_least(ps)}."


def _add_requirement(standing: Standing, pairs: Sequence[PairResult], settings: Settings) -> list[str]:
    """Return the requirements for distinguishing the best from the next one, or their equivalence in practice."""
    leaders = standing.leaders
    if len(leaders) == 1:
        return []
    pair = _find_pair(pairs, leaders[0], leaders[1])
    names = f"{leaders[0]} and {leaders[1]}"
    if pair.p_equivalent >= MIN_EQUIVALENT_PROBABILITY:
        return [
            f"{names} are equivalent in practice: they differ by at most {format_score(pair.rope)} with probability "
            f"{format_percent(pair.p_equivalent)}."
        ]
    # Without a variance, as with a single split, there are no conclusions about other folds.
    if math.isnan(pair.detectable):
        return []
    observed = abs(pair.difference)
    power = f"These folds could show a difference of about {format_score(pair.detectable)}"
    if not observed:
        return [f"{power}; the means of {names} are equal."]
    rows = f"about {count_nouns(pair.rows_needed, 'row')}" if pair.rows_needed is not None else "no number of rows"
    if pair.repeats_needed is None:
        cure = f"no number of repeats would show that, but {rows} would"
    else:
        cure = f"that would take {count_nouns(pair.repeats_needed, 'repeat')} of the folds or {rows}"
    return [f"{power} (power {settings.power:g}); {names} differ by {format_score(observed)}: {cure}."]


def _rank_by_means(summaries: Sequence[Summary], pairs: Sequence[PairResult]) -> Standing:
    order = tuple(summary.configuration for summary in sorted(summaries, key=lambda summary: summary.rank))
    tests = {frozenset((pair.first, pair.second)): (pair.is_told_apart, pair.p_holm) for pair in pairs}
    return Standing(order, tests)


def _find_pair(pairs: Sequence[PairResult], first: str, second: str) -> PairResult:
    return next(pair for pair in pairs if {pair.first, pair.second} == {first, second})


def _enumerate(names: Sequence[str]) -> str:
    if len(names) <= MAX_NAMED:
        return join_words(names)
    shown = list(names[: MAX_NAMED - 1])
    return join_words([*shown, f"{len(names) - len(shown)} others"])


def _at_most(ps: Sequence[float]) -> str:
    """Return significant p-values, summarized by the largest of them."""
    return _bound_p(max(ps), ps, "≤")


def _at_least(ps: Sequence[float]) -> str:
    """Return p-values that are not significant, summarized by the smallest of them."""
    return _bound_p(min(ps), ps, "≥")


def _bound_p(bound: float, ps: Sequence[float], sign: str) -> str:
    """Return a bound of p-values as an equation if they are all formatted alike, else as an inequality."""
    text = equate_p(bound)
    texts = {equate_p(p) for p in ps}
    return text if len(texts) == 1 else text.replace("=", sign)


@dataclass(frozen=True)
class GateResult:
    """The result of the gate.

    Attributes
    ----------
    is_worse : bool
    sentences : tuple of str
        A sentence for each worse configuration, or a sentence that there is none.
    """

    is_worse: bool
    sentences: tuple[str, ...]


def check_gate(comparison: Comparison) -> GateResult:
    """Check whether a configuration is worse than the base on some dataset, by the first metric.

    Worse means that the corrected t-test finds the difference significant at alpha, and that it is greater than the
    rope.

    Raises
    ------
    UserError
        No dataset has scores of the base and of another configuration, or there is no test because of a single split.
    """
    sentences: list[str] = []
    n_tests = 0
    for result in comparison.results[0].datasets:
        for summary, pair in _iterate_candidates(result, comparison.settings.base):
            if math.isnan(pair.p_value):
                raise UserError(
                    f"compare: fail_if=worse needs several scores per run, and the evaluation on {result.dataset} is a "
                    "single split; use evaluation=repeated_kfold."
                )
            n_tests += 1
            # With many folds, differences that are too small to matter become significant; the rope defines which ones.
            if summary.mark == WORSE and abs(pair.difference) > pair.rope:
                sentences.append(_describe(summary, pair, result, comparison))
    if not n_tests:
        raise UserError(
            f"compare: the base {comparison.settings.base} and the others have no dataset in common, so there is "
            "nothing to judge."
        )
    if sentences:
        return GateResult(True, tuple(sentences))
    settings = comparison.settings
    sentence = f"Nothing is worse than the base {settings.base} (α = {settings.alpha:g})."
    return GateResult(False, (sentence,))


def _iterate_candidates(result: DatasetResult, base: str) -> Iterator[tuple[Summary, PairResult]]:
    """Yield each configuration of a dataset but the base, and its pair with the base."""
    if not result.base:
        return
    for pair in result.pairs:
        if base not in (pair.first, pair.second):
            continue
        candidate = pair.second if pair.first == base else pair.first
        summary = result.find_summary(candidate)
        # Only configurations with a summary have pairs.
        assert summary is not None
        yield summary, pair


def _describe(summary: Summary, pair: PairResult, result: DatasetResult, comparison: Comparison) -> str:
    base = result.find_summary(result.base)
    assert base is not None
    return (
        f"{summary.configuration} is worse than the base {result.base} on {result.dataset}: "
        f"{comparison.metrics[0].label} {format_score(summary.mean)} instead of {format_score(base.mean)}, "
        f"{equate_p(pair.p_value)}, and the difference is beyond the rope of {format_score(pair.rope)}."
    )
