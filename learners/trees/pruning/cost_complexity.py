"""Minimal cost-complexity pruning (CART): the smallest subtree T that minimises R(T) + alpha |leaves of T|.

The weakest link is the inner node whose subtree lowers the risk least for each of its leaves beyond the first,

    g(node) = (R(node) - R(subtree at node)) / (leaves of the subtree - 1),

and collapsing weakest links one after another, as long as g is at most alpha, leads to that subtree.

Reference: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 3.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.pruning.collapsible_tree import CollapsibleTree, PruningStep, collapse_cheapest_first
from bakeoff.learners.trees.tree import Tree


def collapse_weakest_links(tree: Tree, alpha: float) -> list[PruningStep]:
    """Return the steps of cost-complexity pruning with cost (R(node) - R(subtree)) / (leaves - 1) up to alpha."""
    as_leaf = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    state = CollapsibleTree(tree, as_leaf, below)
    steps = [PruningStep(-1, 0.0, state.leaves[0], state.depth, state.below[0])]
    steps.extend(collapse_cheapest_first(state, lambda growth, leaves: growth / (leaves - 1), limit=alpha))
    return steps
