"""Measure how often `bakeoff compare item=… cluster=…` tells apart systems that are equally good.

    nice python benchmarks/item_verdicts.py              about five minutes on one core
    nice python benchmarks/item_verdicts.py --docs       also writes the table of docs/statistics.md

In each simulated table, systems answer the items of some clusters. All systems share the difficulty of an item, and
each has an effect of its own on a cluster, whose share of the variance is the intra-cluster correlation. The
distribution is the same for all systems, so they are equally good by symmetry, and every pair that is told apart is a
false verdict. The seed determines every number.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.significance import items as item_tests
from bakeoff.pipeline.commands.significance.items import (
    Design,
    compute_clustered_t_test,
    compute_exchange_tests,
    make_design,
)
from bakeoff.pipeline.model.row_report import adjust_by_holm
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.verdicts import Rate

PAGE = DOCS.with_name("statistics.md")
ALPHA = 0.05
DRAWS = 1_999
"""Exchanges drawn for each table; `bakeoff compare` draws up to a hundred times as many."""
CLUSTER_SIZES = (10, 31)
"""The smallest number of items of a cluster, and one more than the largest."""
N_CLUSTERS, CORRELATIONS, N_SYSTEMS = (5, 12, 50), (0.0, 0.2, 0.5), (2, 8)


@dataclass(frozen=True)
class Setting:
    """Tables to simulate: numbers of clusters and systems, the intra-cluster correlation, and the kind of scores."""

    n_clusters: int
    correlation: float
    n_systems: int
    is_binary: bool

    def draw(self, generator: np.random.Generator) -> tuple[np.ndarray, Design]:
        """Return scores of shape (n, k), and the clusters of the items."""
        clusters = np.repeat(np.arange(self.n_clusters), generator.integers(*CLUSTER_SIZES, self.n_clusters))
        n, k = len(clusters), self.n_systems
        difficulty = generator.normal(size=(n, 1))
        effects = generator.normal(size=(self.n_clusters, k))[clusters]
        own = generator.normal(size=(n, k))
        scores = difficulty + np.sqrt(self.correlation) * effects + np.sqrt(1 - self.correlation) * own
        return (scores > 0).astype(float) if self.is_binary else scores, make_design(clusters, np.zeros(n, dtype=int))


@dataclass(frozen=True)
class Verdicts:
    """How often any pair is told apart by exchanges of clusters, by a naive test, and how often an interval errs."""

    exchanges: Rate
    naive: Rate
    interval: Rate


def measure(setting: Setting, n_tables: int, seed: int) -> Verdicts:
    """Return the rates of false verdicts over simulated tables."""
    generator = np.random.default_rng(seed)
    found = np.array([list(_judge(*setting.draw(generator), setting.is_binary)) for _ in range(n_tables)])
    return Verdicts(*(Rate(int(hits), n_tables) for hits in found.sum(axis=0)))


def _judge(scores: np.ndarray, design: Design, is_binary: bool) -> Iterator[bool]:
    """Yield whether exchanges of clusters, a naive test, and the interval of the first pair find a difference."""
    pairs = list(combinations(range(scores.shape[1]), 2))
    sums = np.array([design.sum_clusters(column) for column in scores.T])
    yield bool(adjust_by_holm(compute_exchange_tests(sums, pairs)[0]).min() <= ALPHA)
    differences = np.array([scores[:, i] - scores[:, j] for i, j in pairs])
    yield bool(adjust_by_holm(_test_naively(differences, is_binary)).min() <= ALPHA)
    test = compute_clustered_t_test(differences[0], design)
    yield not test.lower <= 0 <= test.upper


def _test_naively(differences: np.ndarray, is_binary: bool) -> np.ndarray:
    """Return the p-values of paired tests that ignore clusters, McNemar's or the t-test, of differences (p, n)."""
    if is_binary:
        wins, losses = np.sum(differences > 0, axis=1), np.sum(differences < 0, axis=1)
        return np.minimum(1, 2 * stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5))
    n = differences.shape[1]
    t = differences.mean(axis=1) / (differences.std(axis=1, ddof=1) / np.sqrt(n))
    return np.asarray(2 * stats.t.sf(np.abs(t), n - 1))


def tabulate(n_tables: int, seed: int) -> str:
    """Return a Markdown table with a line for each setting."""
    columns = ["clusters", "correlation", "scores", "systems", "whole clusters exchanged", "clusters ignored"]
    columns.append("95 % interval misses 0")
    lines = [f"| {' | '.join(columns)} |", "| ---: | ---: | --- | ---: | --- | --- | --- |"]
    for n_clusters, correlation, is_binary, k in product(N_CLUSTERS, CORRELATIONS, (True, False), N_SYSTEMS):
        found = measure(Setting(n_clusters, correlation, k, is_binary), n_tables, seed)
        cells = [str(n_clusters), f"{correlation:g}", "0 or 1" if is_binary else "graded", str(k)]
        cells += map(str, (found.exchanges, found.naive, found.interval))
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    """Measure all rates, print the table, and write it into docs/statistics.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=2000, help="the number of tables of each setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="write the table into docs/statistics.md")
    asked = parser.parse_args(words)
    item_tests.MAX_DRAWS = item_tests.MIN_DRAWS = DRAWS
    table = tabulate(asked.tables, asked.seed)
    if asked.docs:
        replace_part("item verdicts", table, PAGE)
        command = f"python benchmarks/item_verdicts.py --tables {asked.tables} --seed {asked.seed}"
        replace_part("command of item verdicts", machine(command), PAGE)


if __name__ == "__main__":
    main()
