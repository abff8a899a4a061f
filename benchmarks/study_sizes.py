"""Compare the power that `bakeoff plan … difference=` predicts with the power that the tests then have.

    nice python benchmarks/study_sizes.py              about four minutes on one core
    nice python benchmarks/study_sizes.py --docs       also writes the table of docs/statistics.md

Scores of folds are drawn as the corrected t-test assumes them: normal, and all folds equally correlated. Over datasets,
differences are normal. In both, learner 0 is better than learner 1, and the others lie halfway between them or, where
one leads all, are as good as learner 1. The power is that of telling these two apart with Holm's correction over all
pairs.

In the last rows, learners of `simulated_tables` are scored on the folds of drawn tables, and the spread is that of one
repeat of two equally good ones, as a pilot measures it. The seed determines every number.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.significance.datasets import compute_wilcoxon_p
from bakeoff.pipeline.commands.significance.folds import POWER
from bakeoff.pipeline.commands.study.study_size import Pairs, PilotItems, PlannedFolds, find_least_wins, find_spread
from bakeoff.pipeline.model.row_report import adjust_by_holm
from benchmarks.simulated_tables import Evaluation, Population
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.verdicts import LEARNERS, Rate, compare_pairs

PAGE = DOCS.with_name("statistics.md")
ALPHA = 0.05
FOLDS, LEVELS_OF_REPEATS, SPREADS, DIFFERENCE = 10, (1, 3), (0.01, 0.025), 0.02
N_LEARNERS, N_DATASETS = (2, 3, 6), (12, 30, 43, 60)
ITEMS = ((0.1, 0.02, 2), (0.1, 0.02, 6), (0.3, 0.1, 2), (0.3, 0.1, 6), (0.1, 0.05, 2), (0.5, 0.2, 6))
"""Shares of items on which two systems disagree, differences, and numbers of systems."""
LEADS_ALL = ", of whom one leads all"
ROWS, GAINS, PILOTS = (200, 500), (0.3, 0.5), 200
PILOT, STUDY = Evaluation("1 × 10 folds", 1, FOLDS), Evaluation("3 × 10 folds", 3, FOLDS)


class Line(NamedTuple):
    """A setting with the power that is predicted for it, and the one that the tests have."""

    test: str
    setting: str
    predicted: float
    realised: Rate

    def __str__(self) -> str:
        """Return a line of a table."""
        gap = self.realised.value - self.predicted
        return f"| {self.test} | {self.setting} | {100 * self.predicted:.1f} % | {self.realised} | {gap:+.3f} |"


def count_pairs(k: int) -> Pairs:
    """Return the pairs of k learners."""
    return Pairs(math.comb(k, 2), ALPHA)


def is_first_pair_found(p_values: Sequence[float]) -> bool:
    """Return whether the first of all pairs is told apart with Holm's correction."""
    return bool(adjust_by_holm(np.array(p_values))[0] <= ALPHA)


def place_learners(k: int, leads_all: bool) -> np.ndarray:
    """Return the merits of k learners: 1 for the first, 0 for the second, and one value for all others."""
    return np.array([1.0, 0.0, *[0.0 if leads_all else 0.5] * (k - 2)])


def simulate_folds(k: int, repeats: int, spread: float, n_studies: int, seed: int, *, leads_all: bool = False) -> Line:
    """Draw scores of folds whose differences have a spread, and test them."""
    generator = np.random.default_rng([seed, 0])
    n_folds, ratio = FOLDS * repeats, PILOT.ratio
    of_folds = generator.normal(size=(n_studies, n_folds, k))
    # With the correlation rho = ratio / (1 + ratio), the variance shared by all folds is ratio times their own.
    shared = math.sqrt(ratio) * generator.normal(size=(n_studies, 1, k))
    scores = (of_folds + shared) * spread / math.sqrt(2)
    scores += DIFFERENCE * place_learners(k, leads_all)
    differences = np.stack([scores[:, :, i] - scores[:, :, j] for i, j in combinations(range(k), 2)])
    errors = differences.std(axis=2, ddof=1) * math.sqrt(1 / n_folds + ratio)
    p_values = 2 * stats.t.sf(np.abs(differences.mean(axis=2) / errors), n_folds - 1)  # (pairs, studies)
    found = Rate(sum(map(is_first_pair_found, p_values.T)), n_studies)
    planned = PlannedFolds(FOLDS, repeats, spread, ratio)
    setting = f"{k} learners{LEADS_ALL * leads_all}, {repeats} × {FOLDS} folds, spread {spread:g}"
    return Line("corrected t", setting, planned.compute_power(DIFFERENCE, count_pairs(k)), found)


def simulate_datasets(n_datasets: int, k: int, n_studies: int, seed: int, *, leads_all: bool = False) -> Line:
    """Draw mean scores of datasets, on the predicted share of which learner 0 wins against learner 1."""
    generator = np.random.default_rng([seed, 1])
    least = find_least_wins(n_datasets, count_pairs(k))
    assert least is not None
    scores = generator.normal(size=(n_studies, n_datasets, k)) / math.sqrt(2)
    scores += stats.norm.ppf(least.share) * place_learners(k, leads_all)
    pairs = list(combinations(range(k), 2))
    found = [is_first_pair_found([compute_wilcoxon_p(own[:, i], own[:, j]) for i, j in pairs]) for own in scores]
    setting = f"{k} learners{LEADS_ALL * leads_all}, {n_datasets} datasets, wins on {100 * least.share:.0f} %"
    return Line("Wilcoxon", setting, POWER, Rate(sum(found), n_studies))


def simulate_answers(disagreement: float, difference: float, k: int, n_studies: int, seed: int) -> Line:
    """Draw right and wrong answers of two of k systems to the number of items that is predicted to be needed."""
    generator = np.random.default_rng([seed, 2])
    pilot = PilotItems(math.sqrt(disagreement - difference**2), 500, 500, True)
    n_items = pilot.count_items(difference, count_pairs(k))
    differing = generator.binomial(n_items, disagreement, n_studies)
    wins = generator.binomial(differing, (1 + difference / disagreement) / 2)
    p_values = 2 * stats.binom.cdf(np.minimum(wins, differing - wins), differing, 0.5)
    found = Rate(int(np.sum(p_values <= count_pairs(k).level)), n_studies)
    setting = f"{k} systems, disagreement {disagreement:g}, difference {difference:g}: {n_items} items"
    return Line("McNemar", setting, POWER, found)


def score_tables(learner: str, n_rows: int, gain: float, n_studies: int, seed: int) -> Line:
    """Score two learners on the folds of drawn tables, with the spread of pilots with two equally good ones."""
    score = LEARNERS[learner]
    better = Population(n_rows, gain=gain)
    verdicts, difference = compare_pairs(better, STUDY, score, n_studies, (seed, 3))
    predicted = []
    for number in range(PILOTS):
        rng = np.random.default_rng([seed, 4, number])
        blocks, y = Population(n_rows).draw_table(rng)
        spread = find_spread(score(blocks, y, PILOT.draw_splits(y, rng)).T)
        if spread:
            planned = PlannedFolds(FOLDS, STUDY.repeats, spread, STUDY.ratio)
            predicted.append(planned.compute_power(difference, count_pairs(2)))
    found = Rate(int(np.sum(verdicts["corrected t"] == 1)), n_studies)
    setting = f"{learner}, {n_rows} rows, {STUDY.name}, difference {difference:.3f}"
    return Line("corrected t, drawn tables", setting, float(np.mean(predicted)), found)


def measure(n_studies: int, seed: int) -> Iterator[Line]:
    """Yield all settings."""
    for k, repeats, spread in product(N_LEARNERS, LEVELS_OF_REPEATS, SPREADS):
        yield simulate_folds(k, repeats, spread, n_studies, seed)
    for n_datasets, k in product(N_DATASETS, N_LEARNERS[:2]):
        yield simulate_datasets(n_datasets, k, n_studies, seed)
    yield simulate_folds(3, 1, SPREADS[0], n_studies, seed, leads_all=True)
    yield simulate_folds(6, 1, SPREADS[0], n_studies, seed, leads_all=True)
    yield simulate_datasets(30, 3, n_studies, seed, leads_all=True)
    for setting in ITEMS:
        yield simulate_answers(*setting, n_studies, seed)
    for learner, n_rows, gain in product(LEARNERS, ROWS, GAINS):
        yield score_tables(learner, n_rows, gain, n_studies // 4, seed)


def main(words: Sequence[str] | None = None) -> None:
    """Measure all settings, print the table, and write it into docs/statistics.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=4000, help="the number of simulated studies of each setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/statistics.md")
    asked = parser.parse_args(words)
    lines = ["| test | setting | predicted | realised | gap |", "| --- | --- | ---: | --- | ---: |"]
    for line in measure(asked.studies, asked.seed):
        lines.append(str(line))
        print(lines[-1], flush=True)
    if asked.docs:
        replace_part("study sizes", "\n".join(lines), PAGE)
        command = f"python benchmarks/study_sizes.py --studies {asked.studies} --seed {asked.seed}"
        replace_part("command of study sizes", machine(command), PAGE)


if __name__ == "__main__":
    main()
