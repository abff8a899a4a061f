"""How often pairs that stop early (`until=sure`) are decided falsely, and how many folds that saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test
from bakeoff.pipeline.commands.significance.pairs import EQUAL, TOLD_APART, PairStop, StopRule
from benchmarks.simulated_tables import Population, Scorer
from benchmarks.verdicts import ALPHA, EVALUATIONS, LEAD_SIZE, LEADS, LEARNERS, ROPE, SIZES, Rate

TEN_TIMES_TEN = EVALUATIONS[0]
RULE = StopRule(TEN_TIMES_TEN.folds, TEN_TIMES_TEN.repeats, ALPHA, ROPE)


@dataclass(frozen=True)
class Stops:
    """How pairs of two learners stopped.

    Parameters
    ----------
    learner : str
    n_rows : int
    difference : float
        The mean difference of accuracy on 10 × 10 folds.
    uncorrected : Rate
        Told apart at any of ten looks at alpha.
    at_end : Rate
        Told apart by one look at 10 × 10 folds.
    told_apart : Rate
        Told apart with ``until=sure``.
    equal : Rate
        Practically equal with ``until=sure``.
    saved : float
        The fraction of folds that were not needed.
    """

    learner: str
    n_rows: int
    difference: float
    uncorrected: Rate
    at_end: Rate
    told_apart: Rate
    equal: Rate
    saved: float


def stop_pairs(learner: str, population: Population, n_comparisons: int, seed: Sequence[int]) -> Stops:
    """Compare learners 0 and 1 on many tables, and stop each comparison when it is decided.

    Parameters
    ----------
    learner : str
        A key of `LEARNERS`.
    population : Population
    n_comparisons : int
    seed : sequence of int
    """
    score = LEARNERS[learner]
    stops: list[PairStop] = []
    means = np.zeros(n_comparisons)
    p = np.zeros((n_comparisons, RULE.repeats))
    for number in range(n_comparisons):
        differences = _draw_differences(population, score, np.random.default_rng([*seed, number]))  # (J,)
        means[number] = differences.mean()
        tests = [compute_corrected_t_test(differences[:n], TEN_TIMES_TEN.ratio) for n in RULE.looks]
        p[number] = [test.p for test in tests]
        stops += RULE.stop_pairs([differences], [TEN_TIMES_TEN.ratio])
    counts = Counter(stop.answer for stop in stops)
    rate = partial(Rate, total=n_comparisons)
    return Stops(
        learner, population.n_rows, float(means.mean()),
        uncorrected=rate(int(np.sum(np.any(p <= ALPHA, axis=1)))),
        at_end=rate(int(np.sum(p[:, -1] <= ALPHA))),
        told_apart=rate(counts[TOLD_APART]),
        equal=rate(counts[EQUAL]),
        saved=1 - float(np.mean([stop.repeats for stop in stops])) / RULE.repeats,
    )  # fmt: skip


def _draw_differences(population: Population, score: Scorer, rng: np.random.Generator) -> np.ndarray:
    blocks, y = population.draw_table(rng)
    scores = score(blocks, y, TEN_TIMES_TEN.draw_splits(y, rng))  # (J, 2)
    differences: np.ndarray = scores[:, 0] - scores[:, 1]  # (J,)
    return differences


def tabulate_stops(n_comparisons: int, seed: int) -> str:
    """Return a Markdown table of equal learners and of learners that lead, and of the folds that were saved."""
    equal = [
        stop_pairs(learner, Population(n_rows), n_comparisons, (seed, n_rows, 0))
        for learner in LEARNERS
        for n_rows in SIZES
    ]
    leading = [stop_pairs("naive Bayes", Population(LEAD_SIZE, gain=gain), n_comparisons, (seed, 4)) for gain in LEADS]
    columns = [
        "lead", "learner", "rows", "told apart: ten looks at .05", "one look at 10 × 10", "`until=sure`",
        "practically equal", "folds saved",
    ]  # fmt: skip
    lines = ["| " + " | ".join(columns) + " |", "| --- | --- | ---: |" + " --- |" * 4 + " ---: |"]
    for each, lead in [(each, "none") for each in equal] + [(each, f"{each.difference:.2f}") for each in leading]:
        rates = [each.uncorrected, each.at_end, each.told_apart, each.equal]
        cells = [lead, each.learner, each.n_rows, *rates, f"{100 * each.saved:.0f} %"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
