"""CART, ID3 and C4.5 decision trees: estimators, and fitted trees as text, rules or drawings.

The trees are grown and pruned in `bakeoff.learners.trees`.
"""

from bakeoff.learners.decision_tree.classifier import DecisionTreeClassifier
from bakeoff.learners.decision_tree.export import Drawing, draw, export_text
from bakeoff.learners.decision_tree.regressor import DecisionTreeRegressor
from bakeoff.learners.trees import Tree

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "Drawing",
    "Tree",
    "draw",
    "export_text",
]
