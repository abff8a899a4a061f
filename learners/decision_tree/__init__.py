"""Decision trees: growing level by level, criteria, pruning, export.

``criteria`` says what a good split is, ``targets`` (``labels``, ``values``) what is summed, ``front`` (``sorting``)
keeps rows sorted, ``block``, ``numeric``, ``everywhere``, ``squares``, ``counting`` (``scale``), ``nominal`` and
``search`` find splits, ``growing`` and ``book`` make the tree of ``tree``, ``pruning`` and ``sequence`` cut it back,
``paths`` takes the trees of many limits from one, ``export`` shows it.
"""

from bakeoff.learners.decision_tree.classifier import DecisionTreeClassifier
from bakeoff.learners.decision_tree.export import Drawing, draw, export_rules, export_text
from bakeoff.learners.decision_tree.regressor import DecisionTreeRegressor
from bakeoff.learners.trees.tree import Tree

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "Drawing",
    "Tree",
    "draw",
    "export_rules",
    "export_text",
]
