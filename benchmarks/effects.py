"""Measure the effects that `bakeoff diff` finds, of changes whose expected effect is known.

    nice python benchmarks/effects.py                 about half an hour on one core
    nice python benchmarks/effects.py --docs          also writes the tables of docs/statistics.md

Changes without expected effect that do change the scores of each fold, on drawn tables: another random state of a
forest, and one column of noise for another. The change is alone, or beside a real one, so that Shapley values and
Holm's correction are involved. Planted changes, on real datasets: `bakeoff.diff` of runs that differ in a change that
helps, one that hurts, one without expected effect, and one without any effect (`benchmarks.planted_changes`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np

from bakeoff.learners import RandomForestClassifier
from bakeoff.pipeline.commands.diff.effects import Changes, compute_effects, estimate_effects, list_hybrids
from benchmarks.planted_changes import measure_planted_changes
from benchmarks.simulated_tables import Evaluation, score_naive_bayes, score_neighbors
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.verdicts import ALPHA, Rate

PAGE = DOCS.with_name("statistics.md")
SEPARATION = 0.75
"""The distance of the classes' means in an informative column, in standard deviations."""
GAIN = 1.0
"""What is added to the distance in the column of the real change."""
N_SHARED = 3
"""Informative columns of all hybrids."""
MAX_DEPTH = 2
NIL = 0
"""The number of the change without expected effect."""
REAL = 1
"""The number of the change that makes a column of noise informative."""
HYBRIDS = list_hybrids(2)

Scores = dict[Changes, np.ndarray]
"""Hybrid -> its accuracies, shape (J,)."""
Simulation = Callable[[int, Evaluation, np.random.Generator], Scores]
"""Takes the number of rows; draws a table and folds, and scores the four hybrids."""


@dataclass(frozen=True)
class Setting:
    """A change without expected effect, and the tables and folds on which it is made."""

    change: str
    simulate: Simulation
    n_rows: int
    evaluation: Evaluation


def simulate_random_states(n_trees: int, n_rows: int, evaluation: Evaluation, rng: np.random.Generator) -> Scores:
    """Score forests with one random state and with another."""
    table, y = _draw_table(n_rows, rng)
    is_test = evaluation.draw_splits(y, rng)  # (J, n)
    seeds = rng.choice(2**31, size=2, replace=False).tolist()
    scores = {}
    for hybrid in HYBRIDS:
        X = _choose_columns(table, is_other_noise=False, is_informative=REAL in hybrid)  # (n, d)
        forest = RandomForestClassifier(n_trees, max_depth=MAX_DEPTH, random_state=seeds[NIL in hybrid])
        scores[hybrid] = np.array([_score(forest, X, y, tested) for tested in is_test])
    return scores


def simulate_noise(
    score: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    n_rows: int,
    evaluation: Evaluation,
    rng: np.random.Generator,
) -> Scores:
    """Score a learner with one column of noise and with another."""
    table, y = _draw_table(n_rows, rng)
    blocks = [_choose_columns(table, is_other_noise=NIL in hybrid, is_informative=REAL in hybrid) for hybrid in HYBRIDS]
    accuracies = score(np.array(blocks), y, evaluation.draw_splits(y, rng))  # (J, 4)
    return dict(zip(HYBRIDS, accuracies.T, strict=True))


def _draw_table(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return columns (n, 7), of which the last four are one of three informative or noise, and classes (n,)."""
    y = rng.integers(0, 2, n_rows)  # (n,)
    table = rng.normal(size=(n_rows, N_SHARED + 4))  # (n, 7)
    table[:, : N_SHARED + 1] += SEPARATION * y[:, np.newaxis]
    table[:, N_SHARED] += GAIN * y
    return table, y


def _choose_columns(table: np.ndarray, *, is_other_noise: bool, is_informative: bool) -> np.ndarray:
    """Return the shared columns, one that is informative or noise, and one of two of noise: shape (n, 5)."""
    chosen = [N_SHARED if is_informative else N_SHARED + 1, N_SHARED + 3 if is_other_noise else N_SHARED + 2]
    return table[:, [*range(N_SHARED), *chosen]]


def _score(forest: RandomForestClassifier, X: np.ndarray, y: np.ndarray, is_test: np.ndarray) -> float:
    predicted = forest.fit(X[~is_test], y[~is_test]).predict(X[is_test])
    return float(np.mean(predicted == y[is_test]))


TWO_TIMES_TEN = Evaluation("2 × 10 folds", repeats=2, folds=10)
THREE_TIMES_TEN = Evaluation("3 × 10 folds", repeats=3, folds=10)
TEN_TIMES_TEN = Evaluation("10 × 10 folds", repeats=10, folds=10)
NOISE: Mapping[str, Simulation] = {
    "a column of noise, naive Bayes": partial(simulate_noise, score_naive_bayes),
    "a column of noise, 5 nearest neighbours": partial(simulate_noise, score_neighbors),
}
FORESTS: Mapping[str, Simulation] = {
    "random state, 10 trees of depth 2": partial(simulate_random_states, 10),
    "random state, one tree of depth 2": partial(simulate_random_states, 1),
}
SETTINGS = (
    *(
        Setting(name, simulate, n_rows, evaluation)
        for name, simulate in NOISE.items()
        for evaluation in (THREE_TIMES_TEN, TEN_TIMES_TEN)
        for n_rows in (50, 200)
    ),
    *(Setting(name, simulate, 100, TWO_TIMES_TEN) for name, simulate in FORESTS.items()),
)


def main(words: Sequence[str] | None = None) -> None:
    """Measure all shares, print the tables, and write them into docs/statistics.md."""
    asked = _parse_arguments(words)
    command = f"python benchmarks/effects.py --diffs {asked.diffs} --seeds {asked.seeds}"
    parts = {"command of effects": machine(command)}
    if asked.diffs:
        parts["false effects"] = measure_false_effects(asked.diffs)
    if asked.seeds:
        parts["planted changes"] = measure_planted_changes(range(asked.seeds))
    for name, text in parts.items():
        print(f"\n{name}\n\n{text}", flush=True)
        if asked.docs:
            replace_part(name, text, PAGE)


def measure_false_effects(n_diffs: int) -> str:
    """Return a Markdown table with the share of diffs in which a change without expected effect is significant."""
    lines = [
        "| change | rows | evaluation | folds that change | alone | beside a real change | real change found |",
        "| --- | ---: | --- | ---: | --- | --- | --- |",
    ]
    for number, setting in enumerate(SETTINGS):
        lines.append(_measure_setting(setting, n_diffs, np.random.default_rng([0, number])))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _measure_setting(setting: Setting, n_diffs: int, rng: np.random.Generator) -> str:
    """Return the line of the table about a setting."""
    p_values = []
    changed = []
    for _ in range(n_diffs):
        scores = setting.simulate(setting.n_rows, setting.evaluation, rng)
        changed.append(np.mean(scores[frozenset()] != scores[frozenset([NIL])]))
        p_values.append(_compute_p_values(scores, setting.evaluation.ratio))
    rates = [Rate(int(count), n_diffs) for count in np.sum(np.array(p_values) <= ALPHA, axis=0)]
    cells = [setting.change, str(setting.n_rows), setting.evaluation.name, f"{100 * np.mean(changed):.0f} %"]
    return "| " + " | ".join([*cells, *map(str, rates)]) + " |"


def _compute_p_values(scores: Scores, ratio: float) -> list[float]:
    """Return the p-values of the change alone, of the change beside the real one, and of the real one."""
    alone = estimate_effects(compute_effects(scores, 1), ratio, ALPHA)
    both = estimate_effects(compute_effects(scores, 2), ratio, ALPHA)
    return [effect.p_value for effect in (*alone, both[NIL], both[REAL])]


def _parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the effects of changes whose expected effect is known.")
    parser.add_argument("--diffs", type=int, default=1000, help="simulated diffs of each kind")
    parser.add_argument("--seeds", type=int, default=20, help="of the planted changes")
    parser.add_argument("--docs", action="store_true", help="write docs/statistics.md")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
