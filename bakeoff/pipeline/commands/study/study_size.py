"""Power: how large a study must be to find a difference of a given size four times out of five.

**Folds of one dataset.** If all folds are equally correlated, as the corrected t-test assumes, its statistic has a
noncentral t distribution, whose noncentrality is the difference divided by the corrected standard error.

**Several datasets.** Wilcoxon's sum of positive ranks is the number of pairs of datasets, each with itself included,
whose mean difference is positive. It reaches its critical value if that many of these means exceed 0, so each simulated
sample of normal differences shows how far it must be shifted.

**Items.** The mean difference of two systems is tested by its standard error. McNemar's exact test of scores of 0 and 1
behaves as if the difference were smaller by one item.

References
----------
Miettinen, O. S. (1968). The matched pairs design in the case of all-or-none responses. Biometrics 24, 339-352.
Tukey, J. W. (1949). The simplest signed-rank tests. Memorandum report 17, Princeton University.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.comparison_report.comparison import Cell, ComparedDataset, Comparison
from bakeoff.pipeline.commands.significance.datasets import MIN_DATASETS, compute_exact_p, count_least_datasets
from bakeoff.pipeline.commands.significance.folds import POWER, compute_power, find_effect
from bakeoff.pipeline.commands.significance.items import MCNEMAR
from bakeoff.pipeline.text.wording import count_nouns, format_percent, format_score, join_words

TIMES = "Four times of five"
MORE_REPEATS = (3, 10)
MORE_DATASETS = 20
ROUNDING = 1e-12
"""Variances smaller than this, relative to the largest one of scores, are 0."""
MIN_DRAWS, MAX_DRAWS = 400, 20_000
MAX_EFFECT = 1e6
"""SciPy computes no power of larger effects, which are always found."""
MAX_MEANS = 50_000_000
"""The number of means of pairs above which fewer samples are drawn, but at least `MIN_DRAWS`."""


class Pairs(NamedTuple):
    """The pairs of a study, and the level of all of them together.

    Attributes
    ----------
    number : int
    alpha : float
    """

    number: int
    alpha: float

    @property
    def level(self) -> float:
        """The level of the first step of Holm's procedure."""
        return self.alpha / self.number


class PlannedFolds(NamedTuple):
    """The folds of a study on a dataset.

    Attributes
    ----------
    folds : int
        The number of folds of one repeat, of all seeds.
    repeats : int
    spread : float
        The standard deviation over folds of the differences of two configurations.
    ratio : float
        Test rows per training row.
    """

    folds: int
    repeats: int
    spread: float
    ratio: float

    def compute_power(self, difference: float, pairs: Pairs) -> float:
        """Return the probability that the corrected t-test finds a mean difference; 0 for one fold, without a test."""
        n_folds = self.folds * self.repeats
        if n_folds < 2:
            return 0.0
        error = self.spread * math.sqrt(1 / n_folds + self.ratio)
        return compute_power(min(difference / error, MAX_EFFECT), n_folds - 1, pairs.level)


class LeastWins(NamedTuple):
    """The share of datasets on which a configuration must win to be found, and its standard error by simulation."""

    share: float
    error: float


def find_least_wins(n_datasets: int, pairs: Pairs, seed: int = 0) -> LeastWins | None:
    """Find the share of wins that Wilcoxon's test finds over datasets with the power `POWER`.

    Parameters
    ----------
    n_datasets : int
    pairs : Pairs
    seed : int, default 0
        Determines the simulated samples.

    Returns
    -------
    LeastWins or None
        None if there are too few datasets for any result to be significant.
    """
    if n_datasets < max(MIN_DATASETS, count_least_datasets(*pairs)):
        return None
    rows, columns = np.triu_indices(n_datasets)
    place = len(rows) - _find_critical_sum(n_datasets, pairs.level)
    n_draws = int(np.clip(MAX_MEANS // len(rows), MIN_DRAWS, MAX_DRAWS))
    shifts = np.empty(n_draws)
    for draw, sample in enumerate(np.random.default_rng(seed).normal(size=(n_draws, n_datasets))):
        means = (sample[rows] + sample[columns]) / 2
        shifts[draw] = -np.partition(means, place)[place]
    error = math.sqrt(POWER * (1 - POWER) / n_draws)
    low, share, high = stats.norm.cdf(np.quantile(shifts, [POWER - error, POWER, POWER + error])).tolist()
    return LeastWins(share, (high - low) / 2)


def _find_critical_sum(n_datasets: int, level: float) -> int:
    """Return the smallest sum of positive ranks that is significant."""
    ranks = np.arange(1.0, n_datasets + 1)
    sums = range(int(ranks.sum()) // 2, int(ranks.sum()) + 1)
    return sums[bisect_left(sums, True, key=lambda total: compute_exact_p(ranks, total) <= level)]


class PilotItems(NamedTuple):
    """What a pilot says about two systems on the items of a test set.

    Attributes
    ----------
    deviation : float
        The standard error of their mean difference, times the root of the number of items.
    n_items, n_clusters : int
        Without clusters, both are equal.
    is_exact : bool
        Whether McNemar's exact test is used.
    """

    deviation: float
    n_items: int
    n_clusters: int
    is_exact: bool

    def find_difference(self, pairs: Pairs) -> float:
        """Return the difference that these items find with the power `POWER`."""
        error = self.deviation / math.sqrt(self.n_items)
        return find_effect(self.n_clusters - 1, pairs.level) * error + self.is_exact / self.n_items

    def count_items(self, difference: float, pairs: Pairs) -> int:
        """Return about how many items, in clusters of the same size, find a difference with the power `POWER`."""
        scaled = find_effect(self.n_clusters - 1, pairs.level) * self.deviation
        root = (scaled + math.sqrt(scaled**2 + 4 * difference * self.is_exact)) / (2 * difference)
        # As many clusters as datasets are needed for any result to be significant.
        least = count_least_datasets(*pairs) * self.n_items / self.n_clusters
        return math.ceil(max(root**2, least))


class Finding(NamedTuple):
    """A sentence on the size of a study, and the numbers in it.

    Attributes
    ----------
    sentence : str
    numbers : dict of str to object
        Plain values by name, with differences and numbers of datasets as the keys of mappings.
    """

    sentence: str
    numbers: dict[str, Any]


def collect_numbers(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the numbers of all findings, for JSON and for Python."""
    return {key: value for finding in findings for key, value in finding.numbers.items()}


def describe_sizes(comparison: Comparison, differences: Sequence[float]) -> Iterator[Finding]:
    """Yield which differences a comparison would find, and which ones larger studies would.

    Parameters
    ----------
    comparison : Comparison
        Its scores are those of the pilot.
    differences : sequence of float
        In the unit of the first metric.
    """
    pairs = Pairs(math.comb(len(comparison.configurations), 2), comparison.settings.alpha)
    if comparison.items is None:
        folds = measure_folds(comparison.datasets, comparison.cells, comparison.metrics[0].name)
        yield from describe_folds(list(folds.values()), len(comparison.datasets), differences, pairs)
        return
    own, design = comparison.results[0].datasets[0].pairs, comparison.items
    errors = [pair.difference / pair.statistic for pair in own if pair.statistic]
    deviation = float(np.median(errors or [math.nan])) * math.sqrt(design.n_items)
    pilot = PilotItems(deviation, design.n_items, design.n_clusters, design.test == MCNEMAR)
    yield _describe_items(pilot, differences, pairs)


def measure_folds(datasets: Iterable[ComparedDataset], cells: Iterable[Cell], metric: str) -> dict[str, PlannedFolds]:
    """Return the folds of each dataset with the spread of its median pair; without those on which no pair differs."""
    scored = [cell for cell in cells if len(cell.scores.get(metric, ())) > 1]
    found = {}
    for dataset in datasets:
        own = [cell for cell in scored if cell.dataset == dataset.name]
        n_folds = min((len(cell.scores[metric]) for cell in own), default=0)
        spread = find_spread(np.array([cell.scores[metric][:n_folds] for cell in own]))
        if spread:
            repeats = dataset.n_folds // dataset.folds_per_repeat
            ratio = max(cell.test_train_ratio for cell in own)
            found[dataset.name] = PlannedFolds(dataset.folds_per_repeat, repeats, spread, ratio)
    return found


def find_spread(scores: np.ndarray) -> float:
    """Return the standard deviation over folds of the differences of the median pair of configurations.

    Parameters
    ----------
    scores : ndarray of shape (k, J)

    Returns
    -------
    float
        Pairs that do not differ are left out; 0 if there is no other pair.
    """
    if len(scores) < 2:
        return 0.0
    covariance = np.cov(scores)  # (k, k)
    own = np.diag(covariance)
    first, second = np.triu_indices(len(scores), 1)
    variances = own[first] + own[second] - 2 * covariance[first, second]
    differing = variances[variances > ROUNDING * own.max()]
    return math.sqrt(np.median(differing)) if len(differing) else 0.0


def describe_folds(
    folds: Sequence[PlannedFolds], n_datasets: int, differences: Sequence[float], pairs: Pairs
) -> Iterator[Finding]:
    """Yield which differences are found on single datasets, and which share of wins over all datasets."""
    if folds:
        found = _count_found(folds, differences, pairs)
        sizes = _write_found(found, f" of {count_nouns(len(folds), 'dataset')}")
        sentence = f"{TIMES} this study would find a difference of {sizes} ({_describe_pairs(pairs)})."
        yield Finding(sentence, {"datasets": len(folds), "datasets_with_difference": found})
        repeats = next((more for more in MORE_REPEATS if folds[0].folds > 1 and folds[0].repeats < more), 0)
        if repeats:
            more = _count_found([each._replace(repeats=repeats) for each in folds], differences, pairs)
            sentence = f"With evaluation.repeats={repeats}: {_write_found(more)}."
            yield Finding(sentence, {f"datasets_with_difference_in_{repeats}_repeats": more})
    wins = {number: find_least_wins(number, pairs) for number in (n_datasets, n_datasets + MORE_DATASETS)}
    now, then = map(_describe_wins, wins.values())
    yield Finding(
        f"Over {count_nouns(n_datasets, 'dataset')} it would find {now}; with {MORE_DATASETS} datasets more, {then}.",
        {"share_of_wins": {str(number): least and least.share for number, least in wins.items()}},
    )


def _describe_wins(least: LeastWins | None) -> str:
    if least is None:
        return "nothing, because they are too few"
    return f"a learner that wins on {format_percent(least.share)} of them (± {100 * least.error:.1g} % by simulation)"


def _count_found(folds: Sequence[PlannedFolds], differences: Sequence[float], pairs: Pairs) -> dict[str, int]:
    """Return on how many datasets each difference is found."""
    return {f"{size:g}": sum(each.compute_power(size, pairs) >= POWER for each in folds) for size in differences}


def _write_found(found: dict[str, int], remark: str = "") -> str:
    """Return the counts of `_count_found` in words, with a remark after the first one."""
    first, *others = (f"{size} on {count}" for size, count in found.items())
    return join_words([first + remark, *others])


def _describe_items(pilot: PilotItems, differences: Sequence[float], pairs: Pairs) -> Finding:
    if math.isnan(pilot.deviation):
        return Finding("No two systems have different means, so it is unknown how many items a difference needs.", {})
    detectable = pilot.find_difference(pairs)
    needed = {f"{size:g}": pilot.count_items(size, pairs) for size in differences}
    counts = join_words([f"{count_nouns(count, 'item')} for {size}" for size, count in needed.items()])
    return Finding(
        f"{TIMES} these items would show a difference of {format_score(detectable)}; needed are about {counts} "
        f"({_describe_pairs(pairs)}).",
        {"detectable": detectable, "items": needed},
    )


def _describe_pairs(pairs: Pairs) -> str:
    return f"{count_nouns(pairs.number, 'pair')} with Holm's correction, α = {pairs.alpha:g}"
