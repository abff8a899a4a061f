"""The verdict in plain words, and the gate for continuous integration.

The verdict names the best configurations, those that cannot be distinguished from them, and the amount of data required
to do so. The gate decides whether a configuration is significantly worse than the base.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from bakeoff.pipeline.commands.comparison_report.comparison import (
    NEMENYI,
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    DatasetResult,
    MetricResult,
    OverallResult,
    PairResult,
    Settings,
    Summary,
)
from bakeoff.pipeline.commands.significance.datasets import count_least_datasets
from bakeoff.pipeline.commands.significance.folds import POWER
from bakeoff.pipeline.commands.significance.pairs import EQUAL, TOLD_APART, UNDECIDED
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import (
    count_nouns,
    equate_p,
    format_percent,
    format_score,
    format_statistic,
    join_words,
)

MIN_EQUIVALENT_PROBABILITY = 0.95
MAX_NAMED = 5
"""Maximum number of names in an enumeration; the remaining ones are counted."""

MAX_RIVAL_GROUPS = 3
"""Maximum number of groups of beaten configurations in a sentence, by the leaders that they are not told apart from."""

Tests = Mapping[frozenset[str], tuple[bool, float]]
"""Two names -> whether they are distinguished, and the p-value."""


class Standing(NamedTuple):
    """Everything that the sentence of a verdict states: the order of the configurations, and their tests.

    Attributes
    ----------
    order : tuple of str
        Names from best to worst.
    tests : Tests
        The tests of all pairs.
    measure : str
        What the order is by.
    place : str
        Where the order was found, as the sentence begins: ``Over 6 datasets``.
    test : str
        The name of the test, as the sentence ends.
    """

    order: tuple[str, ...]
    tests: Tests
    measure: str = "mean"
    place: str = ""
    test: str = ""

    def is_told_apart(self, first: str, second: str) -> bool:
        """Whether two configurations are distinguished."""
        return self.tests[frozenset((first, second))][0]

    def bound_p(self, pairs: Iterable[tuple[str, str]]) -> str:
        """Return the p-values of pairs in brief: the largest if they are distinguished, the smallest otherwise."""
        tests = [self.tests[frozenset(pair)] for pair in pairs]
        ps = [p for _, p in tests]
        p, bound = (max(ps), "≤") if tests[0][0] else (min(ps), "≥")
        return equate_p(p, "=" if len(set(map(equate_p, ps))) == 1 else bound)


def write_dataset_verdict(
    summaries: Sequence[Summary], pairs: Sequence[PairResult], metric: ComparedMetric
) -> tuple[str, ...]:
    """Return the verdict on one dataset.

    Parameters
    ----------
    summaries : sequence of Summary
        The summaries from best to worst.
    pairs : sequence of PairResult
        All pairs.
    metric : ComparedMetric
    """
    if len(summaries) < 2:
        return ("Fewer than two configurations have scores, so there is nothing to compare.",)
    if not any(pair.std or pair.difference for pair in pairs):
        return ("All configurations have equal scores in every fold, so none is better.",)
    if all(math.isnan(pair.p_value) for pair in pairs):
        best = summaries[0]
        return (
            f"{best.configuration} has the best {metric.label} ({format_score(best.mean)}), but a single split "
            "does not show whether the difference is significant; use more folds, as with evaluation=repeated_kfold.",
        )
    tests = {frozenset((pair.first, pair.second)): (pair.is_told_apart, pair.p_holm) for pair in pairs}
    standing = Standing(tuple(summary.configuration for summary in summaries), tests)
    sentences = [write_standing(standing)]
    # The first pair that includes the best configuration pairs it with the next one by rank.
    closest = [pair for pair in pairs if not pair.is_told_apart and pair.first == standing.order[0]]
    sentences += map(_write_requirement, closest[:1])
    return tuple(filter(None, sentences))


def write_repeats(
    result: MetricResult, datasets: Sequence[ComparedDataset], cells: Sequence[Cell], settings: Settings
) -> list[str]:
    """Return how many repeats each dataset needed, what that saved, and the answers; empty without ``until=sure``.

    Parameters
    ----------
    result : MetricResult
        The result by the first metric.
    datasets : sequence of ComparedDataset
    cells : sequence of Cell
        The cells of all rows.
    settings : Settings
    """
    pairs = [pair for dataset in result.datasets for pair in dataset.pairs]
    if not settings.max_repeats or not pairs:
        return []
    needed = defaultdict(list)
    for each in result.datasets:
        needed[max((pair.repeats for pair in each.pairs), default=0)].append(each.dataset)
    where = "; ".join(f"{n} on {enumerate_names(needed[n])}" for n in sorted(needed) if n)
    folds_per_repeat = {dataset.name: dataset.folds_per_repeat for dataset in datasets}
    full = [cell for cell in cells if not cell.reason]
    n_run = sum(len(cell.scores[result.metric]) for cell in full)
    n_most = settings.max_repeats * sum(folds_per_repeat[cell.dataset] for cell in full)
    counts = Counter(pair.answer for pair in pairs)
    answers = ", ".join(f"{counts[answer]} {answer}" for answer in (TOLD_APART, EQUAL, UNDECIDED))
    # Repeats that are still to be run are not saved.
    is_over = all(pair.answer != UNDECIDED or pair.repeats >= settings.max_repeats for pair in pairs)
    saving = f", which saved {format_percent(1 - n_run / n_most)}" if is_over else ""
    return [
        f"Answers on single datasets, {count_nouns(len(pairs), 'pair')}: {answers}.",
        f"Repeats of the folds, at most {settings.max_repeats}: {where}. {n_run:,} of {n_most:,} folds were "
        f"run{saving}.",
    ]


def write_overall_verdict(result: OverallResult, metric: ComparedMetric, settings: Settings) -> tuple[str, ...]:
    """Return the verdict over datasets.

    Parameters
    ----------
    result : OverallResult
        The result, still without its verdict.
    metric : ComparedMetric
    settings : Settings
    """
    if not result.datasets:
        return (result.too_few,)
    order = tuple(result.mean_ranks)
    ranks = f"mean rank by {metric.label} ({format_statistic(result.mean_ranks[order[0]])} of {len(order)})"
    n_datasets = count_nouns(len(result.datasets), "dataset")
    if result.too_few:
        return (f"{order[0]} has the best {ranks} over {n_datasets}, too few for a test.",)
    if result.test == NEMENYI and result.iman_davenport_p > settings.alpha:
        p = equate_p(result.iman_davenport_p)
        return (
            f"Over {n_datasets}, no configuration is significantly better than another (Iman and Davenport's "
            f"test, {p}); {order[0]} has the best {ranks}.",
        )
    reversed_pairs = [
        f"{pair.first} beats {pair.second}, {equate_p(pair.p_value)}"
        for pair in result.pairs
        if pair.is_told_apart and pair.rank_difference < 0
    ]
    if reversed_pairs:
        return (
            f"Over {n_datasets}, {order[0]} has the best {ranks}, but {result.test_name} contradicts the order of the "
            f"mean ranks: {enumerate_names(reversed_pairs)}. The table of pairs has all results.",
        )
    tests = {frozenset((pair.first, pair.second)): (pair.is_told_apart, pair.p_value) for pair in result.pairs}
    sentence = write_standing(Standing(order, tests, "mean rank", f"Over {n_datasets}", result.test_name))
    n_least = count_least_datasets(len(tests), settings.alpha)
    if result.test == NEMENYI or len(result.datasets) >= n_least:
        return (sentence,)
    counted = count_nouns(len(tests), "pair")
    return (sentence, f"On fewer than {n_least} datasets, none of {counted} can differ significantly by this test.")


def write_standing(standing: Standing) -> str:
    """Return one sentence on the leading configurations and those they beat.

    The best configuration and those not distinguished from it lead. The tests need not follow the order of the means: a
    highly variable configuration may be indistinguishable from the best although its scores are worse than others'.

    Examples
    --------
    >>> tests = {
    ...     frozenset(("svm", "mlp")): (False, 0.41),
    ...     frozenset(("svm", "knn")): (True, 0.003),
    ...     frozenset(("mlp", "knn")): (True, 0.003),
    ... }
    >>> write_standing(Standing(("svm", "mlp", "knn"), tests))
    'svm and mlp are the best and do not differ significantly, p = .41; both beat knn, p = .0030.'
    """
    best = standing.order[0]
    rivals = [name for name in standing.order[1:] if not standing.is_told_apart(best, name)]
    leaders = [best, *rivals]
    others = [name for name in standing.order if name not in leaders]
    pairs = list(combinations(leaders, 2))
    among = [f"{first} beats {second}" for first, second in pairs if standing.is_told_apart(first, second)]
    if not rivals:
        claim = f"{best} is the best: it {_write_win(standing, [best], others)}"
    elif among or list(standing.order[: len(leaders)]) != leaders:
        wins = f" and {_write_win(standing, [best], others)}" if others else ""
        inner = f"; of these, {enumerate_names(among)}" if among else ""
        claim = f"{best} has the best {standing.measure}{wins}; {_write_draw(standing, rivals, [best])}{inner}"
    elif others:
        equal = f"{enumerate_names(leaders)} are the best and do not differ significantly, {standing.bound_p(pairs)}"
        claim = "; ".join([equal, *_list_wins(standing, leaders, others)])
    elif len(leaders) == 2:
        claim = f"{join_words(leaders)} do not differ significantly, {standing.bound_p(pairs)}"
    else:
        none = "no" if standing.place else "No"
        claim = f"{none} two of the {len(leaders)} configurations differ significantly, {standing.bound_p(pairs)}"
    start = f"{standing.place}, " if standing.place else ""
    end = f" ({standing.test})" if standing.test else ""
    return f"{start}{claim}{end}."


def _list_wins(standing: Standing, leaders: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Yield which configurations each leader beats, and which of them it is not told apart from."""
    rivals = defaultdict(list)
    for name in others:
        rivals[tuple(each for each in leaders if not standing.is_told_apart(each, name))].append(name)
    for equals, names in sorted(rivals.items(), key=lambda item: len(item[0]))[:MAX_RIVAL_GROUPS]:
        winners = [leader for leader in leaders if leader not in equals]
        subject = enumerate_names(winners)
        if not equals:
            subject = "both" if len(leaders) == 2 else f"all {len(leaders)}"
        yield f"{subject} {_write_win(standing, winners, names)}"
        if equals:
            yield _write_draw(standing, equals, names)
    if len(rivals) > MAX_RIVAL_GROUPS:
        yield "pairs=all shows the others"


def _write_win(standing: Standing, winners: Sequence[str], losers: Sequence[str]) -> str:
    """Return whom the subject of a clause beats."""
    verb = "beats" if len(winners) == 1 else "beat"
    return f"{verb} {enumerate_names(losers)}, {standing.bound_p(product(winners, losers))}"


def _write_draw(standing: Standing, firsts: Sequence[str], seconds: Sequence[str]) -> str:
    """Return that configurations are not told apart from others."""
    verb = "does" if len(firsts) == 1 else "do"
    p = standing.bound_p(product(firsts, seconds))
    return f"{enumerate_names(firsts)} {verb} not differ significantly from {enumerate_names(seconds)}, {p}"


def _write_requirement(pair: PairResult) -> str:
    """Return what is required to distinguish a pair, or its practical equivalence; empty without a variance."""
    names = f"{pair.first} and {pair.second}"
    if pair.answer == EQUAL:
        return (
            f"{names} are practically equal: they differ by at most {format_score(pair.rope)}, as "
            f"{count_nouns(pair.repeats, 'repeat')} of the folds show."
        )
    if not pair.answer and pair.p_equivalent >= MIN_EQUIVALENT_PROBABILITY:
        return (
            f"{names} are equivalent in practice: they differ by at most {format_score(pair.rope)} with probability "
            f"{format_percent(pair.p_equivalent)}."
        )
    if math.isnan(pair.detectable):
        return ""
    power = f"These folds could show a difference of about {format_score(pair.detectable)}"
    if not pair.difference:
        return f"{power}; the means of {names} are equal."
    # The number of rows of a dataset is unknown if a table of scores does not contain it.
    rows = "" if pair.rows_needed is None else f"about {count_nouns(pair.rows_needed, 'row')}"
    if pair.repeats_needed is None:
        cure = f"no number of repeats would show this, but {rows or 'only more rows'} would"
    else:
        repeats = f"{count_nouns(pair.repeats_needed, 'repeat')} of the folds"
        cure = f"this would need {' or '.join(filter(None, (repeats, rows)))}"
    observed = format_score(abs(pair.difference))
    return f"{power} (power {POWER:g}); {names} differ by {observed}: {cure}."


def enumerate_names(names: Sequence[str]) -> str:
    if len(names) <= MAX_NAMED:
        return join_words(names)
    shown = list(names[: MAX_NAMED - 1])
    return join_words([*shown, f"{len(names) - len(shown)} others"])


def find_worse(comparison: Comparison) -> list[str]:
    """Return a sentence for each configuration that is worse than the base on a dataset by the first metric.

    A configuration is worse if it is marked as worse and the difference is larger than the rope.

    Raises
    ------
    UserError
        No dataset has scores for the base and another configuration, or a single split allows no test.
    """
    settings = comparison.settings
    n_tests = 0
    sentences = []
    for result in comparison.results[0].datasets:
        for pair in result.pairs:
            if settings.base in (pair.first, pair.second):
                n_tests += math.isfinite(pair.p_value)
            # The first of a pair has the better mean. With many folds, differences too small to matter become
            # significant, and the rope excludes them.
            if pair.first == settings.base and pair.is_told_apart and pair.difference > pair.rope:
                sentences.append(_describe_worse(pair, result, comparison.metrics[0]))
    if not n_tests:
        raise UserError(
            f"compare: fail_if=worse needs a dataset with several scores of the base {settings.base} and of "
            "another configuration; a single split gives one score; use evaluation=repeated_kfold for more."
        )
    return sentences


def _describe_worse(pair: PairResult, result: DatasetResult, metric: ComparedMetric) -> str:
    means = {summary.configuration: format_score(summary.mean) for summary in result.summaries}
    return (
        f"{pair.second} is worse than the base {pair.first} on {result.dataset}: {metric.label} {means[pair.second]} "
        f"instead of {means[pair.first]}, {equate_p(pair.p_holm)}, and the difference is beyond the rope of "
        f"{format_score(pair.rope)}."
    )
