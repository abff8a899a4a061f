"""Growing the trees of a forest: each draws its rows, and those of a batch grow side by side, as one front.

Trees differ in their rows alone, so columns are sorted once for all: a tree's rows in the order of a feature are that
order without those that the tree has not drawn.  Rows drawn several times stand there once, and count as often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from learners import random_forest
from learners.decision_tree.front import Front, by_features, most_values, ranks, sorting
from learners.decision_tree.growing import Growth, grow
from learners.decision_tree.targets import Target
from learners.decision_tree.tree import Tree
from learners.random_forest.drawing import Pool
from learners.random_forest.workers import in_parallel


@dataclass
class Plan:
    """How a tree is grown: how many rows it draws (None: it has all) and how, features drawn by tree or by node."""

    size: int | None
    replacement: bool
    by_tree: bool
    growth: Growth


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
    """
    n, d = pool.X.shape
    columns, has_missing = by_features(pool.X)
    order = sorting(columns)
    rank = ranks(columns, order) if plan.growth.max_features < d else None
    counted = plan.size is not None and plan.replacement and target.whole is None
    together = max(1, random_forest.BATCH // (n if plan.size is None else plan.size))

    def batch_of_trees(first: int) -> list[tuple[Tree, np.ndarray]]:
        batch = generators[first : first + together]
        drawn = np.stack([_draw(pool, plan, generator) for generator in batch])  # (trees, n)
        places = np.minimum(drawn, 1) if counted else drawn
        trees = len(batch)
        targets = target.of(np.tile(np.arange(n), trees))
        front = Front(
            columns=columns,
            rank=rank,
            nominal=n_values > 0,
            order=_repeated(order, places)
            if rank is None
            else np.repeat(np.arange(trees * n), places.ravel())[None, :],
            rows_in_node=places.sum(axis=1),
            tree=np.arange(trees),
            target=targets.repeated(drawn.ravel(), int(drawn.sum(axis=1).max())) if counted else targets,
            nominal_values=most_values(rank, n_values > 0),
            has_missing=has_missing,
            sums=np.empty((0, trees)),
        )
        return list(zip(grow(front, n_values, _drawing(plan, d, batch)), drawn > 0, strict=True))

    for batch in in_parallel(batch_of_trees, range(0, len(generators), together), n_jobs):
        yield from batch


def _draw(pool: Pool, plan: Plan, generator: np.random.Generator) -> np.ndarray:
    if plan.size is None:
        return np.ones(pool.weight.size, dtype=np.intp)
    return pool.draw(generator, plan.size, replacement=plan.replacement)


def _repeated(order: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return for each feature all trees' rows, tree by tree and in order of value; row i of tree t is t n + i."""
    d, n = order.shape
    trees = []
    for t, times in enumerate(drawn):
        trees.append(np.repeat(order.ravel() + t * n, times.take(order).ravel()).reshape(d, -1))
    return np.concatenate(trees, axis=1)


def _drawing(plan: Plan, d: int, generators: list[np.random.Generator]) -> Growth:
    max_features = plan.growth.max_features
    if plan.by_tree:
        return replace(plan.growth, subsets=[np.sort(g.permutation(d)[:max_features]) for g in generators])
    return replace(plan.growth, generators=generators if max_features < d else [])
