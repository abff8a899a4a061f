"""Growing the trees of a forest: each draws its rows, and those of a batch grow side by side, as one frontier.

Trees differ in their rows alone, so columns are sorted once for all: a tree's rows in the order of a feature are that
order without those that the tree has not drawn.  Rows drawn several times stand there once, and count as often.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from bakeoff.learners import random_forest
from bakeoff.learners.random_forest.bootstrap import Pool
from bakeoff.learners.trees import (
    Frontier,
    GrowthLimits,
    Target,
    TrainingTable,
    Tree,
    grow_frontier,
    smallest_row_dtype,
)


@dataclass
class Plan:
    """How a tree is grown: how many rows it draws (None: it has all) and how, features drawn by tree or by node."""

    size: int | None
    replacement: bool
    by_tree: bool
    growth: GrowthLimits


def grow_trees(
    pool: Pool,
    target: Target,
    n_values: np.ndarray,
    plan: Plan,
    generators: list[np.random.Generator],
    n_jobs: int | None,
) -> Iterator[tuple[Tree, np.ndarray]]:
    """Grow a tree with each generator; yield it and the mask (n,) of the rows that it has seen.

    Parameters
    ----------
    pool : Pool
        n rows.
    target : Target
        Of these rows.
    n_values : ndarray of shape (d,)
        The number of values of each nominal feature; 0 for a numeric one.
    plan : Plan
    generators : list of Generator
    n_jobs : int or None
        Processes.  Threads were no faster than one: many small steps between large ones hold Python's lock.
    """
    nursery = Nursery(pool, target, n_values, plan)
    together = max(1, random_forest.BATCH // (pool.weight.size if plan.size is None else plan.size))
    batches = [generators[first : first + together] for first in range(0, len(generators), together)]
    processes = min(processes_of(n_jobs), len(batches))
    if processes == 1:
        for batch in batches:
            yield from nursery.grow(batch)
        return
    shares = [[batches[i] for i in share] for share in np.array_split(np.arange(len(batches)), processes)]
    for grown in Parallel(n_jobs=processes)(delayed(nursery.grow_all)(share) for share in shares):
        yield from grown


def processes_of(n_jobs: int | None) -> int:
    """Return how many processes ``n_jobs`` asks for: None is one, -1 all cores, -2 all but one, and so on.

    >>> processes_of(None), processes_of(3)
    (1, 3)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; it can be a number of processes, -1 for all cores, or None for one.")
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs)


class Nursery:
    """What all trees have in common: sorted columns, the target, and how they are grown."""

    def __init__(self, pool: Pool, target: Target, n_values: np.ndarray, plan: Plan) -> None:
        self.pool, self.target, self.n_values, self.plan = pool, target, n_values, plan
        draws_features = plan.growth.max_features < pool.X.shape[1]
        self.table = TrainingTable.from_rows(
            pool.X, n_values > 0, draws_features=draws_features, allows_histogram=False
        )
        several = plan.replacement or pool.weight.max() > 1  # may a row be drawn several times?
        self.counted = plan.size is not None and several and target.fixed_point_weight is None

    def grow_all(self, batches: list[list[np.random.Generator]]) -> list[tuple[Tree, np.ndarray]]:
        """Grow several batches."""
        return [grown for batch in batches for grown in self.grow(batch)]

    def grow(self, batch: list[np.random.Generator]) -> list[tuple[Tree, np.ndarray]]:
        """Grow a tree with each generator, side by side."""
        d, n = self.table.columns.shape
        drawn = np.stack([_draw(self.pool, self.plan, generator) for generator in batch])  # (trees, n)
        frontier = self._make_frontier(drawn, self.target.take_rows(np.tile(np.arange(n), len(batch))))
        return list(zip(grow_frontier(frontier, self.n_values, _drawing(self.plan, d, batch)), drawn > 0, strict=True))

    def _make_frontier(self, drawn: np.ndarray, target: Target) -> Frontier:
        positions = np.minimum(drawn, 1) if self.counted else drawn  # (trees, n)
        if self.counted:
            target = target.with_counts(drawn.ravel(), int(drawn.sum(axis=1).max()))
        order = _repeated(self.table.order, positions)
        return Frontier.from_roots(self.table, target, order, positions.sum(axis=1))


def _draw(pool: Pool, plan: Plan, generator: np.random.Generator) -> np.ndarray:
    if plan.size is None:
        return np.ones(pool.weight.size, dtype=np.intp)
    return pool.draw(generator, plan.size, replacement=plan.replacement)


def _repeated(order: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return for each feature all trees' rows, tree by tree and in order of value; row i of tree t is t n + i."""
    d, n = order.shape
    rows, trees = smallest_row_dtype(drawn.size), []
    for t, times in enumerate(drawn):
        mine = np.repeat(order.ravel(), times.take(order).ravel()).reshape(d, -1).astype(rows)
        mine += rows.type(t * n)
        trees.append(mine)
    return np.concatenate(trees, axis=1)


def _drawing(plan: Plan, d: int, generators: list[np.random.Generator]) -> GrowthLimits:
    max_features = plan.growth.max_features
    if plan.by_tree:
        return replace(plan.growth, subsets=[np.sort(g.permutation(d)[:max_features]) for g in generators])
    return replace(plan.growth, generators=generators if max_features < d else [])
