"""Measure how often `bakeoff accept` keeps a change that does nothing, and how often it finds a planted gain.

    nice python benchmarks/lines.py              about two minutes on one core
    nice python benchmarks/lines.py --docs       also writes the tables of docs/statistics.md

A series draws a table and folds, scores Gaussian naive Bayes on the columns of its base and of each change
(`benchmarks.simulated_tables`), and gives the scores to the rule of the command, one change after the other. That
changes do nothing is exact, by symmetry: each has columns of its own from one distribution. True gains are those of
models fitted on the whole table, on fresh rows. The seed determines every number.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np

from bakeoff.pipeline.commands.accept.judgement import decide
from bakeoff.pipeline.commands.accept.line import Contender, Decision, Line, Rules
from benchmarks.simulated_tables import N_OWN, Evaluation, Population, score_naive_bayes
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.verdicts import Rate

PAGE = DOCS.with_name("statistics.md")
FOLDS = Evaluation("3 × 10 folds", repeats=3, folds=10)
REPEATED = Evaluation("10 × 10 folds", repeats=10, folds=10)
RULES = Rules("accuracy", "", True, "drawn", "", "", "", "")
N_ROWS = 400
N_CHANGES = 100
N_FRESH = 20_000
WORSE = -0.5
"""What a base lacks if the first change is a true gain, in standard deviations of its own columns."""
PLANTED = {"columns of its own": (False, 0.24), "the same columns, measured better": (True, 0.24)}
"""Changes -> whether they share the noise of the base, and the separation that they add, which gains 3 points."""
LOOKS = (
    ("does nothing", 1, 0.0, False),
    ("the same columns, measured better", 20, 0.24, True),
    ("columns of its own", 1, 0.24, False),
)
"""Changes on 400 rows, the number of tries, the separation that they add, and whether they share the base's noise."""
Series = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Outcome:
    """What a series of changes has kept.

    Attributes
    ----------
    n_kept : int
    champion : int
        The learner that was kept last; 0 is the base.
    claimed : float
        The sum of the gains that were reported with the keeps.
    """

    n_kept: int
    champion: int
    claimed: float


def run_line(scores: np.ndarray, tries: int, alpha: float = 0.05) -> Outcome:
    """Offer each learner but the first to a line.

    Parameters
    ----------
    scores : ndarray of shape (J, L)
    tries : int
    alpha : float
    """
    learners = [
        Contender(str(number), str(number), "", "", tuple(own), FOLDS.ratio)
        for number, own in enumerate(scores.T.tolist())
    ]
    line = Line("drawn", tries, alpha, 0.0, RULES, learners[0], learners[0])
    for offered in learners[1:]:
        line = line.count({*line.counted, offered.config_hash}, offered.config_hash)
        line = line.decide(decide(line, (line.champion, offered)), offered)
    return Outcome(len(line.kept), int(line.champion.run_id), sum(each.difference for each in line.kept.values()))


def keep_higher(scores: np.ndarray) -> Outcome:
    """Keep each learner whose mean is higher than that of the champion, as loops without a referee do."""
    means = scores.mean(axis=0)
    champion, n_kept = 0, 0
    for number, mean in enumerate(means):
        if mean > means[champion]:
            champion, n_kept = number, n_kept + 1
    return Outcome(n_kept, champion, float(means[champion] - means[0]))


def measure_true_gain(blocks: np.ndarray, y: np.ndarray, champion: int, base: float, rng: np.random.Generator) -> float:
    """Return the gain of a learner over the base on fresh rows, both fitted on a whole table.

    Parameters
    ----------
    blocks : ndarray of shape (L, n, d)
    y : ndarray of shape (n,)
    champion : int
    base : float
        What the columns of the base gain over those of the others.
    rng : Generator
    """
    fresh, fresh_y = Population(N_FRESH, gain=base).draw_table(rng)
    both = np.concatenate([blocks[[0, champion]], fresh], axis=1)
    is_test = np.arange(both.shape[1]) >= len(y)
    of_base, of_champion = score_naive_bayes(both, np.concatenate([y, fresh_y]), is_test[np.newaxis])[0]
    return float(of_champion - of_base)


def measure_changes(n_series: int, seed: int, base: float = 0.0) -> dict[str, list[str]]:
    """Return the rows of a table: what the line keeps of changes that do nothing, and what a loop without one keeps.

    Parameters
    ----------
    n_series, seed : int
    base : float
        Below 0, all changes are equally better than the base, so the first keep is true and all others are false.
    """
    rng = np.random.default_rng(seed)
    rules = {"accept": lambda scores: run_line(scores, N_CHANGES), "what scores higher": keep_higher}
    found: dict[str, list[tuple[Outcome, float]]] = {name: [] for name in rules}
    for _ in range(n_series):
        blocks, y = Population(N_ROWS, n_learners=N_CHANGES + 1, gain=base).draw_table(rng)
        scores = score_naive_bayes(blocks, y, FOLDS.draw_splits(y, rng))
        for name, rule in rules.items():
            outcome = rule(scores)
            gain = measure_true_gain(blocks, y, outcome.champion, base, rng) if outcome.champion else 0.0
            found[name].append((outcome, gain))
    return {name: _describe(each, 1 if base else 0) for name, each in found.items()}


def _describe(found: Sequence[tuple[Outcome, float]], n_true: int) -> list[str]:
    kept = np.array([outcome.n_kept for outcome, _ in found])
    claimed = np.array([outcome.claimed for outcome, _ in found])
    true = np.array([gain for _, gain in found])
    rate = Rate(int(np.sum(kept > n_true)), len(kept))
    means = (kept.mean(), claimed.mean(), true.mean(), (claimed - true).mean())
    return [str(rate), f"{means[0]:.2f}", *(f"{mean:+.4f}" for mean in means[1:])]


def measure_power(n_series: int, seed: int, n_rows: int, tries: int, gain: float, *, is_related: bool) -> list[str]:
    """Return the rate at which a planted gain is kept, and its true size on fresh rows."""
    rng = np.random.default_rng(seed)
    n_kept, true = 0, []
    for _ in range(n_series):
        (drawn, fresh) = (_draw_pair(rows, gain, rng, is_related=is_related) for rows in (n_rows, N_FRESH))
        blocks, y = drawn
        n_kept += run_line(score_naive_bayes(blocks, y, FOLDS.draw_splits(y, rng)), tries).n_kept
        both = np.concatenate([blocks, fresh[0]], axis=1)
        is_test = np.arange(both.shape[1]) >= n_rows
        first, second = score_naive_bayes(both, np.concatenate([y, fresh[1]]), is_test[np.newaxis])[0]
        true.append(second - first)
    return [f"{np.mean(true):+.4f}", str(Rate(n_kept, n_series))]


def measure_looks(n_series: int, seed: int, tries: int, gain: float, *, is_related: bool) -> list[str]:
    """Return how often one repeat, ``until=sure``, and all repeats keep a change, with the folds of the second."""
    rng = np.random.default_rng(seed)
    looks = tuple(REPEATED.folds * (repeat + 1) for repeat in range(REPEATED.repeats))
    n_kept, n_folds = np.zeros(3, dtype=int), 0
    for _ in range(n_series):
        blocks, y = _draw_pair(N_ROWS, gain, rng, is_related=is_related)
        scores = score_naive_bayes(blocks, y, REPEATED.draw_splits(y, rng))  # (J, 2)
        alone = [_decide_pair(scores[:number], tries) for number in (looks[0], looks[-1])]
        settled = (_decide_pair(scores[:number], tries, looks) for number in looks)
        sure = next(each for each in settled if not each.is_open or each.n_folds == looks[-1])
        n_kept += [each.is_kept for each in (alone[0], sure, alone[1])]
        n_folds += sure.n_folds
    return [*(str(Rate(int(kept), n_series)) for kept in n_kept), f"{n_folds / n_series:.0f}"]


def _decide_pair(scores: np.ndarray, tries: int, looks: tuple[int, ...] = ()) -> Decision:
    base, change = (
        Contender(str(number), str(number), "", "", tuple(own), REPEATED.ratio)
        for number, own in enumerate(scores.T.tolist())
    )
    line = Line("drawn", tries, 0.05, 0.0, RULES, base, base, counted=(change.config_hash,))
    return decide(line, (base, change), looks)


def _draw_pair(
    n_rows: int, gain: float, rng: np.random.Generator, *, is_related: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table with the columns of a base, and of a change that separates the classes better."""
    blocks, y = Population(n_rows).draw_table(rng)
    if is_related:
        blocks[1] = blocks[0]
    blocks[1, :, -N_OWN:] += gain * y[:, np.newaxis]
    return blocks, y


def main(words: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write them into docs/statistics.md if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true")
    asked = parser.parse_args(words)
    false = [
        [start, name, *cells]
        for start, base in (("changes that do nothing", 0.0), ("after a true gain", WORSE))
        for name, cells in measure_changes(asked.series, asked.seed, base).items()
    ]
    power = [
        [change, str(rows), str(tries), *measure_power(asked.series, asked.seed, rows, tries, gain, is_related=related)]
        for change, (related, gain) in PLANTED.items()
        for rows in (N_ROWS, 1000)
        for tries in (1, 20, 100)
    ]
    looks = [
        [name, str(tries), *measure_looks(asked.series, asked.seed, tries, gain, is_related=related)]
        for name, tries, gain, related in LOOKS
    ]
    looks_columns = ["change", "tries", "kept after 10 folds", "until=sure", "after 100 folds", "folds until sure"]
    false_columns = [
        "series",
        "keeps",
        "any false keep",
        "keeps in a series",
        "claimed gain",
        "true gain",
        "difference",
    ]
    parts = {
        "command of lines": machine(f"python benchmarks/lines.py --series {asked.series} --seed {asked.seed}"),
        "false keeps": _format_table(false_columns, false),
        "found gains": _format_table(["change", "rows", "tries", "true gain", "kept"], power),
        "looks of lines": _format_table(looks_columns, looks),
    }
    for name, text in parts.items():
        print(f"\n{name}\n\n{text}", flush=True)
        if asked.docs:
            replace_part(name, text, PAGE)


def _format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
