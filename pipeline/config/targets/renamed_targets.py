"""Names that ``_target_`` had in version 0.1.0, before the import name became ``bakeoff``, and one that came later.

Configurations with these names still work, both stored overrides and YAML files of the user. The table is complete and
does not grow. If the configuration trusts a package of the user with a former name, that name is not replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LEARNERS = (
    "DecisionTreeClassifier", "DecisionTreeRegressor", "KNeighborsClassifier", "KNeighborsRegressor",
    "LinearRegression", "LogisticRegression", "MLPClassifier", "MLPRegressor", "MajorityClassifier", "MeanRegressor",
    "NaiveBayesClassifier", "Perceptron", "RandomForestClassifier", "RandomForestRegressor", "Ridge", "SVC",
)  # fmt: skip
STAGES = {
    "dataset": ("read_table",),
    "preprocessing": ("AsNominal",),
    "pruning": ("NoPruning", "Pruning"),
    "splitting": ("GroupKFold", "Holdout", "KFold", "LeaveOneOut", "TimeSeries"),
    "tuning": ("GridTuning", "NoTuning"),
}
FIGURES = (
    "ConfusionMatrix", "DecisionRegions", "InformationGains", "Margins", "ProbabilityTables", "RegressionCurves",
    "Reliability", "Trees", "ValidationCurve",
)  # fmt: skip

TREE_DRAWER = "bakeoff.learners.decision_tree.tree_drawer.TreeDrawer"

RENAMED_TARGETS: Mapping[str, str] = {
    **{f"learners.{name}": f"bakeoff.learners.{name}" for name in LEARNERS},
    "learners.decision_tree.export.draw": TREE_DRAWER,
    "bakeoff.learners.decision_tree.export.draw": TREE_DRAWER,
    **{
        f"pipeline.{stage}.{name}": f"bakeoff.pipeline.stages.{stage}.{name}"
        for stage, names in STAGES.items()
        for name in names
    },
    "pipeline.dataset.bundled": "bakeoff.pipeline.stages.dataset.load_bundled",
    "pipeline.dataset.lecture_table": "bakeoff.pipeline.stages.dataset.load_lecture_table",
    "pipeline.dataset.made": "bakeoff.pipeline.stages.dataset.make_points",
    "pipeline.preprocessing.preprocessing": "bakeoff.pipeline.stages.preprocessing.make_preprocessing",
    **{f"pipeline.figures.{name}": f"bakeoff.pipeline.figures.{name}" for name in FIGURES},
    "pipeline.tracking.MLflowTracker": "bakeoff.pipeline.tracking.MLflowTracker",
    "pipeline.tracking.NoTracker": "bakeoff.pipeline.tracking.NoTracker",
}
"""Maps each former name to the current one."""
PARTIAL_KEY = "_partial_"
"""Stood beside the name of the function that draws trees, the one such name that configurations had."""


def rename_targets(node: Any, trust: Sequence[str]) -> Any:
    """Return a configuration in which each ``_target_`` of the table has its current name.

    Parameters
    ----------
    node : mapping, list or scalar
        A configuration or a part of one; it is not changed.
    trust : sequence of str
        Packages that the configuration trusts.

    Examples
    --------
    >>> rename_targets({"learner": {"_target_": "learners.SVC", "C": 2.0}}, trust=[])
    {'learner': {'_target_': 'bakeoff.learners.SVC', 'C': 2.0}}
    >>> rename_targets({"_target_": "learners.SVC"}, trust=["learners"])
    {'_target_': 'learners.SVC'}
    """
    if isinstance(node, list):
        return [rename_targets(child, trust) for child in node]
    if not isinstance(node, Mapping):
        return node
    renamed = {key: rename_targets(child, trust) for key, child in node.items()}
    target = renamed.get("_target_")
    if not isinstance(target, str) or target.split(".")[0] in trust:
        return renamed
    renamed["_target_"] = RENAMED_TARGETS.get(target, target)
    if renamed["_target_"] == TREE_DRAWER and renamed.get(PARTIAL_KEY) is True:
        del renamed[PARTIAL_KEY]
    return renamed
