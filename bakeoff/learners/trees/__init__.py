"""The tree engine, which grows and prunes decision trees and random forests.

Decision trees and forests import the engine only through this package.

``grower`` grows trees level by level: a ``frontier`` holds the rows of all open nodes, ``splitting`` finds the best
split of each, and ``builder`` collects the nodes. ``pruning`` collapses nodes of a grown tree. ``tree`` contains the
result, and ``criteria`` measures the quality of splits. ``grower`` also defines the parameters shared by all tree
learners.
"""

from bakeoff.learners.trees.criteria import CLASSIFICATION, REGRESSION, Criterion
from bakeoff.learners.trees.frontier import Frontier
from bakeoff.learners.trees.grower import (
    TREE_CONSTRAINTS,
    GrowthLimits,
    count_categories,
    count_features,
    derive_limits,
    grow_frontier,
    grow_tree,
    move_thresholds_to_values,
)
from bakeoff.learners.trees.pruning.cost_complexity import (
    NodeLosses,
    PruningStep,
    list_alphas,
    list_collapsed_nodes,
    nest_trees,
    prune_to_cost,
)
from bakeoff.learners.trees.pruning.reduced_error import (
    collapse_useless_splits,
    count_errors_at_nodes,
    prune_best_first,
    prune_bottom_up,
    prune_pessimistically,
    sum_squares_at_nodes,
)
from bakeoff.learners.trees.pruning.subtree_raising import TrainingClasses, prune_with_raising
from bakeoff.learners.trees.sklearn_tree import convert_to_sklearn
from bakeoff.learners.trees.splitting.splits import C45Rules
from bakeoff.learners.trees.splitting.splitter import mark_averaged_features
from bakeoff.learners.trees.target import IMPURITY, ClassTarget, NumericTarget, Target
from bakeoff.learners.trees.training_table import TrainingTable, smallest_row_dtype
from bakeoff.learners.trees.tree import NodeTable, Tree, compute_partial_dependence, encode_cells

__all__ = [
    "CLASSIFICATION",
    "IMPURITY",
    "REGRESSION",
    "TREE_CONSTRAINTS",
    "C45Rules",
    "ClassTarget",
    "Criterion",
    "Frontier",
    "GrowthLimits",
    "NodeLosses",
    "NodeTable",
    "NumericTarget",
    "PruningStep",
    "Target",
    "TrainingClasses",
    "TrainingTable",
    "Tree",
    "collapse_useless_splits",
    "compute_partial_dependence",
    "convert_to_sklearn",
    "count_categories",
    "count_errors_at_nodes",
    "count_features",
    "derive_limits",
    "encode_cells",
    "grow_frontier",
    "grow_tree",
    "list_alphas",
    "list_collapsed_nodes",
    "mark_averaged_features",
    "move_thresholds_to_values",
    "nest_trees",
    "prune_best_first",
    "prune_bottom_up",
    "prune_pessimistically",
    "prune_to_cost",
    "prune_with_raising",
    "smallest_row_dtype",
    "sum_squares_at_nodes",
]
