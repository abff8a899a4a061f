"""How large a study must be, in sentences: what folds, datasets and items would find."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from bakeoff.pipeline.commands.compare.comparison import Cell, ComparedDataset, Comparison
from bakeoff.pipeline.commands.compare.hypothesis_tests import POWER
from bakeoff.pipeline.commands.compare.item_tests import MCNEMAR
from bakeoff.pipeline.commands.compare.power import (
    LeastWins,
    Pairs,
    PilotItems,
    PlannedFolds,
    find_least_wins,
)
from bakeoff.pipeline.text.wording import count_nouns, format_percent, format_score, join_words

TIMES = "Four times of five"
MORE_REPEATS = (3, 10)
MORE_DATASETS = 20
ROUNDING = 1e-12
"""Variances smaller than this, relative to the largest one of scores, are 0."""


def describe_sizes(comparison: Comparison, differences: Sequence[float]) -> Iterator[str]:
    """Yield which differences a comparison would find, and which ones larger studies would.

    Parameters
    ----------
    comparison : Comparison
        Its scores are those of the pilot.
    differences : sequence of float
        In the unit of the first metric; if empty, nothing is yielded.
    """
    if not differences:
        return
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
) -> Iterator[str]:
    """Yield which differences are found on single datasets, and which share of wins over all datasets."""
    if folds:
        found = join_words(_count_found(folds, differences, pairs, f" of {count_nouns(len(folds), 'dataset')}"))
        yield f"{TIMES} this study would find a difference of {found} ({_describe_pairs(pairs)})."
        repeats = next((more for more in MORE_REPEATS if folds[0].folds > 1 and folds[0].repeats < more), 0)
        if repeats:
            longer = [each._replace(repeats=repeats) for each in folds]
            yield f"With evaluation.repeats={repeats}: {join_words(_count_found(longer, differences, pairs))}."
    now, then = (find_least_wins(number, pairs) for number in (n_datasets, n_datasets + MORE_DATASETS))
    counted = f"Over {count_nouns(n_datasets, 'dataset')} it would find"
    yield f"{counted} {_describe_wins(now)}; with {MORE_DATASETS} datasets more, {_describe_wins(then)}."


def _describe_wins(least: LeastWins | None) -> str:
    if least is None:
        return "nothing, because they are too few"
    return f"a learner that wins on {format_percent(least.share)} of them (± {100 * least.error:.1g} % by simulation)"


def _count_found(
    folds: Sequence[PlannedFolds], differences: Sequence[float], pairs: Pairs, remark: str = ""
) -> Iterator[str]:
    """Yield on how many datasets each difference is found, with a remark after the first one."""
    for size in differences:
        count = sum(each.compute_power(size, pairs) >= POWER for each in folds)
        yield f"{size:g} on {count}{remark}"
        remark = ""


def _describe_items(pilot: PilotItems, differences: Sequence[float], pairs: Pairs) -> str:
    if math.isnan(pilot.deviation):
        return "No two systems have different means, so it is unknown how many items a difference needs."
    found = format_score(pilot.find_difference(pairs))
    counts = [f"{count_nouns(pilot.count_items(size, pairs), 'item')} for {size:g}" for size in differences]
    needed = f"needed are about {join_words(counts)}"
    return f"{TIMES} these items would show a difference of {found}; {needed} ({_describe_pairs(pairs)})."


def _describe_pairs(pairs: Pairs) -> str:
    return f"{count_nouns(pairs.number, 'pair')} with Holm's correction, α = {pairs.alpha:g}"
