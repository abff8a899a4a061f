"""Minimal cost-complexity pruning (CART): the smallest subtree T that minimises R(T) + alpha |leaves of T|.

The weakest link is the inner node whose subtree lowers the risk least for each of its leaves beyond the first,

    g(node) = (R(node) - R(subtree at node)) / (leaves of the subtree - 1),

and collapsing weakest links one after another, as long as g is at most alpha, yields that subtree.

Reference: Breiman, Friedman, Olshen, Stone, "Classification and Regression Trees", 1984, chapter 3.
"""

from __future__ import annotations

import numpy as np

from bakeoff.learners.trees.pruning.collapsible_tree import (
    CollapsibleTree,
    NodeLosses,
    PruningStep,
    list_collapsed_nodes,
)
from bakeoff.learners.trees.tree import Tree


def collapse_weakest_links(tree: Tree, alpha: float) -> list[PruningStep]:
    """Return the steps of cost-complexity pruning, the unpruned tree first, whose costs g are at most alpha.

    Losses are training impurities, weighted by the nodes' shares of the rows.
    """
    weight = tree.weighted_n_node_samples
    as_leaf = tree.impurity * weight / weight[0]  # (k,)
    of_subtree = tree.sum_over_subtrees(np.where(tree.is_leaf, as_leaf, 0.0))
    pruned = CollapsibleTree(tree, NodeLosses(as_leaf, of_subtree))
    pruned.collapse_cheapest_first(lambda increase, leaves: increase / (leaves - 1), limit=alpha)
    return pruned.steps


def prune_to_cost(tree: Tree, ccp_alpha: float) -> Tree:
    """Collapse the tree, in place, as far as cost-complexity pruning does; return it."""
    if ccp_alpha > 0:
        tree.collapse(list_collapsed_nodes(collapse_weakest_links(tree, ccp_alpha)))
    return tree


def list_alphas(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """List the values of alpha at which the pruned tree changes.

    Returns
    -------
    alphas : ndarray of shape (s,)
        Ascending, 0 first.
    impurities : ndarray of shape (s,)
        The total impurity of the leaves of the tree pruned with each alpha.
    """
    steps = collapse_weakest_links(tree, np.inf)
    alphas = [0.0]
    impurities = [steps[0].loss]
    for step in steps[1:]:
        # Costs are ascending, up to rounding; steps of equal cost form one change of the tree.
        if step.cost > alphas[-1]:
            alphas.append(step.cost)
            impurities.append(step.loss)
        else:
            impurities[-1] = step.loss
    return np.array(alphas), np.array(impurities)
