"""How often tests tell apart learners that are equally good, and learners that are not, on drawn tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.comparison_report.comparison import NEMENYI, WILCOXON
from bakeoff.pipeline.commands.significance.datasets import (
    compute_critical_difference,
    compute_friedman_test,
    compute_wilcoxon_p,
    rank_configurations,
)
from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test, compute_posterior
from bakeoff.pipeline.model.row_report import adjust_by_holm
from benchmarks.simulated_tables import Evaluation, Population, Scorer, score_naive_bayes, score_neighbors

ALPHA = 0.05
THRESHOLD = 0.95
"""Of a posterior probability from which it is a verdict."""
ROPE = 0.01
EVALUATIONS = (
    Evaluation("10 × 10 folds", repeats=10, folds=10),
    Evaluation("10 folds", repeats=1, folds=10),
    Evaluation("5 × 2 folds", repeats=5, folds=2),
    Evaluation("30 × holdout of 1/3", repeats=30, test_fraction=1 / 3),
)
LEARNERS: Mapping[str, Scorer] = {"naive Bayes": score_naive_bayes, "5 nearest neighbours": score_neighbors}
SIZES = (50, 200)
"""Rows of a table."""
GAIN = 0.3
"""Of the separation of the better learner's own columns: about 0.03 of accuracy."""
LEADS = (0.3, 0.6, 0.9)
"""Gains of learners that lead clearly: about 0.04, 0.08 and 0.11 of accuracy."""
LEAD_SIZE = 300
"""Rows of a table on which a learner leads clearly."""
LEAD_EVALUATIONS = tuple(Evaluation(f"{repeats} × 10 folds", repeats, folds=10) for repeats in (1, 3, 10))
N_LEARNERS = 5
"""That are compared over several datasets, and in families of pairs."""
N_DATASETS = (10, 30)
VERDICTS = {WILCOXON: "verdict: Wilcoxon, Holm", NEMENYI: "verdict of `overall=nemenyi`: Iman–Davenport and Nemenyi"}
"""What a comparison over datasets says of a pair."""

Judge = Callable[[np.ndarray, float], int]
"""Takes differences (J,) and the ratio of test rows to training rows. Returns 1 if the first learner is called better,
-1 if it is called worse, and 0 if they are not told apart."""


@dataclass(frozen=True)
class Rate:
    """How often something happened, with Wilson's interval.

    Parameters
    ----------
    count, total : int
    """

    count: int
    total: int

    @property
    def value(self) -> float:
        """Return the fraction."""
        return self.count / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's interval of 95 %."""
        found = stats.binomtest(self.count, self.total).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        """Return the percentages for a table."""
        low, high = self.interval
        return f"{100 * self.value:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


@dataclass(frozen=True)
class Measured:
    """The verdicts of all tests on the comparisons of one learner, size of tables and evaluation.

    Parameters
    ----------
    learner : str
    n_rows : int
    evaluation : str
    false_verdicts : mapping of str to Rate
        By test: one of two equal learners was called better.
    true_verdicts : mapping of str to Rate
        By test: the better learner was called better.
    difference : float
        The mean difference of accuracy where one is better.
    """

    learner: str
    n_rows: int
    evaluation: str
    false_verdicts: Mapping[str, Rate]
    true_verdicts: Mapping[str, Rate]
    difference: float


def judge_uncorrected(differences: np.ndarray, ratio: float) -> int:
    """Return the verdict of the usual paired t-test."""
    return judge_corrected(differences, 0.0)


def judge_corrected(differences: np.ndarray, ratio: float) -> int:
    """Return the verdict of the corrected resampled t-test."""
    test = compute_corrected_t_test(differences, ratio)
    return int(np.sign(test.mean)) if test.p <= ALPHA else 0


def judge_posterior(rope: float) -> Judge:
    """Return the judge that takes a posterior probability of at least `THRESHOLD` as its verdict."""
    verdicts = {"better": 1, "worse": -1}

    def judge(differences: np.ndarray, ratio: float) -> int:
        posterior = compute_posterior(compute_corrected_t_test(differences, ratio), rope)
        return sum(sign for word, sign in verdicts.items() if getattr(posterior, word) >= THRESHOLD)

    return judge


JUDGES: Mapping[str, Judge] = {
    "uncorrected t": judge_uncorrected,
    "corrected t": judge_corrected,
    "Bayesian, rope 0": judge_posterior(0.0),
    f"Bayesian, rope {ROPE}": judge_posterior(ROPE),
}


def compare_pairs(
    population: Population, evaluation: Evaluation, score: Scorer, n_comparisons: int, seed: Sequence[int]
) -> tuple[dict[str, np.ndarray], float]:
    """Compare learners 0 and 1 on many tables.

    Parameters
    ----------
    population : Population
    evaluation : Evaluation
    score : Scorer
    n_comparisons : int
    seed : sequence of int

    Returns
    -------
    verdicts : dict of str to ndarray of shape (n_comparisons,)
        By test: 1, 0 or -1.
    difference : float
        The mean over all comparisons and folds.
    """
    verdicts = {name: np.zeros(n_comparisons, dtype=int) for name in JUDGES}
    means = np.zeros(n_comparisons)
    for number in range(n_comparisons):
        rng = np.random.default_rng([*seed, number])
        blocks, y = population.draw_table(rng)
        scores = score(blocks, y, evaluation.draw_splits(y, rng))  # (J, 2)
        differences = scores[:, 0] - scores[:, 1]  # (J,)
        means[number] = differences.mean()
        for name, judge in JUDGES.items():
            verdicts[name][number] = judge(differences, evaluation.ratio)
    return verdicts, float(means.mean())


def measure_one_dataset(learner: str, n_rows: int, evaluation: Evaluation, n_comparisons: int, seed: int) -> Measured:
    """Measure false and true verdicts on single datasets.

    Parameters
    ----------
    learner : str
        A key of `LEARNERS`.
    n_rows : int
    evaluation : Evaluation
    n_comparisons : int
    seed : int

    Returns
    -------
    Measured
    """
    score = LEARNERS[learner]
    equal, _ = compare_pairs(Population(n_rows), evaluation, score, n_comparisons, (seed, n_rows, 0))
    unequal, difference = compare_pairs(
        Population(n_rows, gain=GAIN), evaluation, score, n_comparisons, (seed, n_rows, 1)
    )
    return Measured(
        learner,
        n_rows,
        evaluation.name,
        {name: Rate(int(np.count_nonzero(equal[name])), n_comparisons) for name in JUDGES},
        {name: Rate(int(np.sum(unequal[name] == 1)), n_comparisons) for name in JUDGES},
        difference,
    )


def measure_families(n_comparisons: int, seed: int) -> dict[str, Rate]:
    """Measure how often any of all pairs of `N_LEARNERS` equal learners is told apart on one dataset.

    Parameters
    ----------
    n_comparisons : int
    seed : int

    Returns
    -------
    rates : dict of str to Rate
    """
    evaluation = EVALUATIONS[0]
    population = Population(SIZES[-1], N_LEARNERS)
    smallest: dict[str, list[float]] = {"uncorrected t": [], "corrected t": [], "corrected t, Holm": []}
    for number in range(n_comparisons):
        rng = np.random.default_rng([seed, 2, number])
        blocks, y = population.draw_table(rng)
        scores = score_naive_bayes(blocks, y, evaluation.draw_splits(y, rng))  # (J, L)
        pairs = [scores[:, i] - scores[:, j] for i, j in combinations(range(N_LEARNERS), 2)]
        corrected = np.array([compute_corrected_t_test(pair, evaluation.ratio).p for pair in pairs])
        smallest["uncorrected t"].append(min(compute_corrected_t_test(pair, 0.0).p for pair in pairs))
        smallest["corrected t"].append(corrected.min())
        smallest["corrected t, Holm"].append(adjust_by_holm(corrected).min())
    return {name: Rate(int(np.sum(np.array(p) <= ALPHA)), n_comparisons) for name, p in smallest.items()}


def measure_leads(n_comparisons: int, seed: int) -> dict[float, dict[str, Rate]]:
    """Measure how often the corrected test finds the better of two learners, by its lead and the repeats of the folds.

    Parameters
    ----------
    n_comparisons : int
    seed : int

    Returns
    -------
    rates : dict of float to dict of str to Rate
        By the mean difference of accuracy, and then by evaluation. All evaluations see the same tables.
    """
    rates: dict[float, dict[str, Rate]] = {}
    for gain in LEADS:
        found: dict[str, Rate] = {}
        for evaluation in LEAD_EVALUATIONS:
            verdicts, difference = compare_pairs(
                Population(LEAD_SIZE, gain=gain), evaluation, score_naive_bayes, n_comparisons, (seed, 4)
            )
            found[evaluation.name] = Rate(int(np.sum(verdicts["corrected t"] == 1)), n_comparisons)
        rates[difference] = found
    return rates


def measure_datasets(n_comparisons: int, seed: int, gain: float) -> dict[tuple[str, int], Rate]:
    """Measure verdicts over several datasets, each with its own size and difficulty.

    Parameters
    ----------
    n_comparisons : int
    seed : int
    gain : float
        Of learner 0; 0 if all are equally good.

    Returns
    -------
    rates : dict of (str, int) to Rate
        By test and number of datasets: without a gain, any learner was told apart from another one; with a gain,
        learner 0 was called better than learner 1 (of Friedman's test: that there is any difference).
    """
    found: dict[tuple[str, int], int] = {}
    for number in range(n_comparisons):
        rng = np.random.default_rng([seed, 3, int(gain > 0), number])
        scores = np.array([_score_dataset(rng, gain) for _ in range(max(N_DATASETS))])  # (N, L)
        for n_datasets in N_DATASETS:
            for name, is_found in judge_datasets(scores[:n_datasets], gain > 0).items():
                found[name, n_datasets] = found.get((name, n_datasets), 0) + is_found
    return {key: Rate(count, n_comparisons) for key, count in found.items()}


def _score_dataset(rng: np.random.Generator, gain: float) -> np.ndarray:
    """Return the mean accuracies (L,) over 10 folds on a drawn dataset of drawn size and difficulty."""
    n_rows = int(rng.integers(60, 301))
    population = Population(n_rows, N_LEARNERS, separation=rng.uniform(0.3, 1.2), gain=gain)
    blocks, y = population.draw_table(rng)
    is_test = EVALUATIONS[1].draw_splits(y, rng)  # (J, n)
    return score_naive_bayes(blocks, y, is_test).mean(axis=0)


@cache
def _get_critical_difference(n_datasets: int, n_learners: int) -> float:
    """Return Nemenyi's critical difference, which takes longer than the scores."""
    return compute_critical_difference(n_datasets, n_learners, ALPHA)


def judge_datasets(scores: np.ndarray, is_first_better: bool) -> dict[str, bool]:
    """Return whether each test found a difference: any, or that learner 0 is better than learner 1.

    Parameters
    ----------
    scores : ndarray of shape (N, L)
    is_first_better : bool
        Which of the two is asked. Friedman's test finds any difference in both cases.

    Returns
    -------
    found : dict of str to bool
        By test.
    """
    n_datasets, n_learners = scores.shape
    friedman = compute_friedman_test(scores)
    mean_ranks = rank_configurations(scores).mean(axis=0)  # (L,)
    critical = _get_critical_difference(n_datasets, n_learners)
    pairs = list(combinations(range(n_learners), 2))
    p = np.array([compute_wilcoxon_p(scores[:, i], scores[:, j]) for i, j in pairs])  # the first of learners 0 and 1
    p_holm = adjust_by_holm(p)
    if is_first_better:
        gap = mean_ranks[1] - mean_ranks[0]
        differences = np.round(scores[:, 0] - scores[:, 1], 12)  # (N,)
        is_won = np.sum(stats.rankdata(np.abs(differences)) * np.sign(differences)) > 0
        p = np.where(is_won, p, 1.0)[:1]
        p_holm = np.where(is_won, p_holm, 1.0)[:1]
    else:
        gap = np.ptp(mean_ranks)
    is_nemenyi = bool(gap >= critical)
    return {
        "Friedman": friedman.p <= ALPHA,
        "Iman–Davenport": friedman.f_p <= ALPHA,
        "Nemenyi": is_nemenyi,
        "Wilcoxon, no correction": bool(np.any(p <= ALPHA)),
        VERDICTS[WILCOXON]: bool(np.any(p_holm <= ALPHA)),
        VERDICTS[NEMENYI]: is_nemenyi and friedman.f_p <= ALPHA,
    }
