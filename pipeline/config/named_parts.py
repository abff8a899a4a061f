"""The named parts of ``figures=`` and ``evaluation.metrics``, including user-defined ones.

A Hydra group of options is unsuitable: it replaces its key by one mapping, and these are lists to which experiments add
nodes with arguments. Settling replaces names by such nodes, so that a stored configuration contains only nodes, whose
code is a part of the identity of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.config.options import (
    GROUPS,
    find_own_folder,
    list_own_names,
    read_options,
    read_own_listing,
    read_own_node,
    require_own_names,
)
from bakeoff.pipeline.errors import UserError, did_you_mean

FIGURE_GROUP = "figure"
METRIC_GROUP = "metric"
ALL = "all"
NONE = "none"
FIGURE_LIST = "figures"
METRIC_LIST = "metrics"
LISTED = (*GROUPS, FIGURE_LIST, METRIC_LIST)
"""The groups that ``bakeoff list`` shows."""
GROUP_OF_FILES = {FIGURE_LIST: FIGURE_GROUP, METRIC_LIST: METRIC_GROUP}
"""Lists whose user-defined options are in a group of another name."""


@dataclass(frozen=True)
class NamedFigure:
    """A figure that can be requested by its name.

    Attributes
    ----------
    class_name : str
        The name of a class in `bakeoff.pipeline.figures`.
    sentence : str
        Shown by ``bakeoff list figures``.
    arguments : mapping
        Keyword arguments of the class, as in YAML.
    reads_space : bool
        Whether the class also accepts the search space of the learner.
    """

    class_name: str
    sentence: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    reads_space: bool = False


DRAW_TREE = {"_target_": "bakeoff.learners.decision_tree.export.TreeDrawer"}

FIGURES: Mapping[str, NamedFigure] = {
    "confusion_matrix": NamedFigure("ConfusionMatrix", "Test rows by true and predicted class."),
    "roc": NamedFigure("RocCurves", "ROC curves of each class against the rest, over folds."),
    "precision_recall": NamedFigure("PrecisionRecallCurves", "Precision against recall of each class, over folds."),
    "calibration": NamedFigure("Reliability", "Observed frequency against predicted probability of each class."),
    "residuals": NamedFigure("Residuals", "Regression: predicted against true targets, and the residuals."),
    "decision_regions": NamedFigure("DecisionRegions", "Predicted classes in the plane of two numeric columns."),
    "margins": NamedFigure("Margins", "The line between two classes of a linear or support vector classifier."),
    "regression_curves": NamedFigure("RegressionCurves", "Predictions of a regression on one numeric column."),
    "trees": NamedFigure("Trees", "The decision tree, before and after pruning.", {"draw_tree": DRAW_TREE}),
    "pruning_path": NamedFigure("PruningPaths", "The score on validation rows at each step of pruning."),
    "information_gains": NamedFigure("InformationGains", "Information gain of each column at the root of a tree."),
    "probabilities": NamedFigure("ProbabilityTables", "P(value | class) of naive Bayes on nominal columns."),
    "importances": NamedFigure("Importances", "Importance of each column, by permutation of test rows."),
    "learning_curve": NamedFigure("LearningCurve", "The score against the number of training rows (fits again)."),
    "validation_curve": NamedFigure(
        "ValidationCurve", "The score against one hyperparameter (fits again).", reads_space=True
    ),
    "candidates": NamedFigure("Candidates", "Tuning: the score of each candidate, and the one that was chosen."),
}
"""The names that ``figures=[NAME]`` and ``bakeoff figures RUN NAME`` accept."""


def list_figures() -> dict[str, str]:
    """Return the names of the figures, each with its sentence."""
    return {name: figure.sentence for name, figure in FIGURES.items()}


def settle_figures(given: Any, space: Any = None, trust: Sequence[str] = ()) -> list[Any]:
    """Return the nodes of the figures that ``figures=`` requests.

    Parameters
    ----------
    given : list, str or None
        Names, names with arguments as in ``{learning_curve: {sizes: [0.5, 1]}}``, and nodes; ``all`` means every named
        figure that applies to the run, including user-defined ones in trusted packages, and ``none`` no figure.
    space : mapping, sequence of mappings or None
        The search space of the learner.
    trust : sequence of str
        Packages that the configuration trusts.

    Returns
    -------
    list of mapping
        Those of ``all`` have ``if_applicable: true``.

    Raises
    ------
    UserError
        A name belongs to no figure, or to two, or an item is neither a name nor a node.

    Examples
    --------
    >>> settle_figures(["roc"])
    [{'_target_': 'bakeoff.pipeline.figures.RocCurves'}]
    """
    if given is None or given == NONE:
        return []
    items = given if isinstance(given, list | tuple) else [given]
    return [node for item in items for node in _make_nodes(item, space, trust)]


def _make_nodes(item: Any, space: Any, trust: Sequence[str]) -> list[Any]:
    """Return the nodes that an item of the list describes."""
    if item == ALL:
        nodes = [_make_node(name, {}, space) for name in FIGURES]
        own = [_make_node(name, {}, space) for name in list_own_names(FIGURE_GROUP)]
        nodes += [node for node in own if str(node["_target_"]).split(".")[0] in trust]
        return [{**node, "if_applicable": True} for node in nodes]
    if isinstance(item, str):
        return [_make_node(item, {}, space)]
    if isinstance(item, Mapping) and "_target_" in item:
        return [item]
    if isinstance(item, Mapping) and len(item) == 1:
        ((name, arguments),) = item.items()
        if arguments is None or isinstance(arguments, Mapping):
            return [_make_node(str(name), arguments or {}, space)]
    raise UserError(
        f"figures names {item!r}, which is neither a name, nor {{NAME: {{ARGUMENT: VALUE}}}}, nor a mapping with a "
        "_target_."
    )


def _make_node(name: str, arguments: Mapping[str, Any], space: Any) -> dict[str, Any]:
    own = read_own_node(FIGURE_GROUP, name)
    if own is not None:
        return {**own, **arguments}
    if name not in FIGURES:
        suggestion = did_you_mean(name, (*FIGURES, *list_own_names(FIGURE_GROUP), ALL))
        raise UserError(
            f"figures names {name!r}, which is not a figure. {suggestion} `bakeoff list figures` shows them."
        )
    figure = FIGURES[name]
    node: dict[str, Any] = {"_target_": f"bakeoff.pipeline.figures.{figure.class_name}", **figure.arguments}
    if figure.reads_space:
        node["space"] = space
    return {**node, **arguments}


def settle_metrics(entries: Any) -> Any:
    """Return ``evaluation.metrics`` with each user-defined metric as a mapping with a ``_target_``.

    Parameters
    ----------
    entries : list or None
        Anything else is returned unchanged, and rejected when the metrics are chosen.

    Examples
    --------
    >>> settle_metrics(["accuracy", "mine.metrics.profit"])
    ['accuracy', {'_target_': 'mine.metrics.profit'}]
    """
    if not isinstance(entries, list):
        return entries
    settled = list(entries)
    for position, entry in enumerate(entries):
        if isinstance(entry, str) and "." in entry:
            settled[position] = {"_target_": entry}
        elif isinstance(entry, str) and (own := read_own_node(METRIC_GROUP, entry)):
            settled[position] = {"name": entry, **own}
    return settled


def read_listing(group: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the sentences of the options of a group of `LISTED`, and of the user-defined ones, by their names.

    There are none of bakeoff's metrics, which are listed by the scoring of learners.

    Raises
    ------
    UserError
        A user-defined option has a forbidden name.
    """
    own_folder = find_own_folder()
    if own_folder is not None:
        require_own_names(own_folder)
    own = read_own_listing(GROUP_OF_FILES.get(group, group))
    if group == METRIC_LIST:
        return {}, own
    return list_figures() if group == FIGURE_LIST else read_options(group), own
