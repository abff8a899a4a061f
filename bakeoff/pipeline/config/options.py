"""The options of each group: the files of ``conf/``, and user-defined ones.

The YAML files in ``conf/`` of the current folder are added to those of bakeoff if it contains a folder named after a
group of options. A folder with a file ``config.yaml`` is shipped with bakeoff or belongs to another program that uses
Hydra, and is ignored.

Two groups are for user-defined options only: ``metric``, with names for ``evaluation.metrics``, and ``figure``, with
names for ``figures``. A Hydra group of options is unsuitable for these keys: it replaces its key by one mapping, and
they are lists to which experiments add nodes with arguments. Settling replaces names by such nodes, so that a stored
configuration contains only nodes, whose code is a part of the identity of a run.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import print_note
from bakeoff.version import PACKAGE_FOLDER

CONF = PACKAGE_FOLDER / "conf"
GROUPS = (
    "dataset", "preprocessing", "learner", "space", "tuning", "pruning", "balance", "target", "calibration",
    "threshold", "evaluation", "audit", "tracking", "search", "experiment",
)  # fmt: skip
REQUIRED_GROUPS = tuple(group for group in GROUPS if group not in ("space", "search", "experiment"))
"""Groups of which every job has an option."""
OWN_FOLDER = "conf"
OWN_GROUPS = ("metric", "figure")
"""Groups without options shipped with bakeoff."""
ALL_GROUPS = frozenset((*GROUPS, *OWN_GROUPS))
ROOT_FILE = "config.yaml"
SUFFIX = ".yaml"
INCLUDED = re.compile(r"^ *+- *+(.+)@_here_", re.MULTILINE)
"""An entry of ``defaults`` whose keys Hydra adds to those of the file."""
COMMENT = re.compile(r"^(\w+):.*?\s# (.*)$", re.MULTILINE)
"""A key of a file, and the comment on it."""
MAX_ALIASES = 100
MAX_DEPTH = 50


def read_options(group: str) -> dict[str, str]:
    """Return the options of a group, each with the sentence in its first comment.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    """
    return read_sentences(sorted((CONF / group).glob("*.yaml")))


def read_sentences(files: Iterable[Path]) -> dict[str, str]:
    """Return the names of the options in files, each with the sentence in its first comment."""
    options = {}
    for file in files:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        comments = [line for line in lines if line.startswith("#") and "@package" not in line]
        options[file.stem] = comments[0].lstrip("# ") if comments else ""
    return options


def read_notes(files: Iterable[Path]) -> dict[str, str]:
    """Return the comments on the keys in files of options, by key."""
    return dict(COMMENT.findall("\n".join(file.read_text(encoding="utf-8") for file in files)))


def read_option(group: str, name: str) -> dict[str, Any]:
    """Return the keys in the file of a shipped or user-defined option; empty if there is none.

    Parameters
    ----------
    group : str
        A folder of ``conf/``.
    name : str

    Raises
    ------
    UserError
        The file of a user-defined option is not valid YAML.
    """
    files = find_option_files(group, name)
    return load_option_file(files[0]) if files else {}


def find_option_files(group: str, name: str) -> list[Path]:
    """Return the file of a shipped or user-defined option, and the files of its group whose keys it includes."""
    found: list[Path] = []
    names = [name]
    for each in names:  # the list grows
        shipped = CONF / group / f"{each}{SUFFIX}"
        found += [shipped] if shipped.is_file() else [file for file in list_own_files(group) if file.stem == each]
        bases = INCLUDED.findall(found[-1].read_text(encoding="utf-8", errors="replace")) if found else []
        names += [base for base in bases if base not in names]
    return found


def find_own_folder() -> Path | None:
    """Return the folder with user-defined options, or None if the current folder has none."""
    folder = Path.cwd() / OWN_FOLDER
    has_groups = any(os.path.isdir(folder / group) for group in ALL_GROUPS)
    return folder if has_groups and not (folder / ROOT_FILE).is_file() else None


def note_other_folder() -> None:
    """Say in a line that ``conf/`` of the current folder is not read, if it is that of another program with Hydra."""
    folder = Path.cwd() / OWN_FOLDER
    is_of_hydra = (folder / ROOT_FILE).is_file() or any(folder.glob(f"*/*{SUFFIX}"))
    if is_of_hydra and find_own_folder() is None and not folder.samefile(CONF):
        print_note(
            f"note: {OWN_FOLDER}/ is not read: it has a {ROOT_FILE}, or no folder named after a group, such as "
            f"{OWN_FOLDER}/learner; put options of bakeoff elsewhere, and give that folder with --config-dir=FOLDER."
        )


def require_own_names(folder: Path) -> None:
    """Reject user-defined options with the name of a bakeoff option.

    Parameters
    ----------
    folder : Path
        The folder returned by `find_own_folder`, or that of ``--config-dir``.

    Raises
    ------
    UserError
    """
    for shipped in sorted(CONF.rglob(f"*{SUFFIX}")):
        file = folder / shipped.relative_to(CONF)
        if file.is_file() and not file.samefile(shipped):
            raise UserError(f"{os.path.relpath(file)} has the name of a built-in option; rename the file.")


def list_own_files(group: str) -> list[Path]:
    """Return the files of the user-defined options of a group, sorted by name."""
    folder = find_own_folder()
    return [] if folder is None else sorted((folder / group).glob(f"*{SUFFIX}"))


def list_own_names(group: str) -> list[str]:
    """Return the names of the user-defined options of a group."""
    return [file.stem for file in list_own_files(group)]


def read_own_node(group: str, name: str) -> dict[str, Any] | None:
    """Return the keys of a user-defined metric or figure; None if no such name exists.

    Hydra does not compose these files, because they are named in lists.

    Parameters
    ----------
    group : {"metric", "figure"}
    name : str

    Raises
    ------
    UserError
        The file is not valid YAML, or contains no ``_target_``.
    """
    if name not in list_own_names(group):
        return None
    keys = read_option(group, name)
    if "_target_" not in keys:
        file = f"{OWN_FOLDER}/{group}/{name}{SUFFIX}"
        raise UserError(f"{file} has no _target_: set it to the class or function of the {group}.")
    return keys


def load_option_file(file: Path) -> dict[str, Any]:
    """Return the keys in the file of an option.

    Raises
    ------
    UserError
        The file is not text in UTF-8, not valid YAML, or not a mapping; the message contains the line.
    """
    name = os.path.relpath(file)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not text in UTF-8 ({error}); save it with this encoding.") from None
    keys = load_yaml(text, name) or {}
    if not isinstance(keys, dict):
        raise UserError(f"{name} must contain keys with values, such as _target_: mine.MyClass.")
    return keys


def load_yaml(text: str, name: str) -> Any:
    r"""Return the content of a YAML text, limiting how much its anchors can multiply it.

    Parameters
    ----------
    text : str
    name : str
        The name of the file, for messages.

    Raises
    ------
    UserError
        The text is not valid YAML, repeats a part that repeats others, repeats too many, or is nested too deeply.

    Examples
    --------
    >>> load_yaml("a: &a [1]\nb: &b [*a, *a]\nc: [*b, *b]", "mine.yaml")
    Traceback (most recent call last):
    bakeoff.pipeline.errors.UserError: mine.yaml, line 2: *a is inside an anchored part, or exceeds 100 aliases; ...
    """
    # Of several values of a key, PyYAML takes the last, and this loader of OmegaConf none.
    from omegaconf.basecontainer import get_yaml_loader  # type: ignore[attr-defined]

    open_anchors: list[str | None] = []
    n_aliases = 0
    try:
        for event in yaml.parse(text):
            place = f"{name}, line {event.start_mark.line + 1}"
            if isinstance(event, yaml.CollectionStartEvent):
                open_anchors.append(event.anchor)
            elif isinstance(event, yaml.CollectionEndEvent):
                open_anchors.pop()
            elif isinstance(event, yaml.AliasEvent):
                n_aliases += 1
                if any(open_anchors) or n_aliases > MAX_ALIASES:
                    raise UserError(
                        f"{place}: *{event.anchor} is inside an anchored part, or exceeds {MAX_ALIASES} aliases; "
                        "write the values out."
                    )
            if len(open_anchors) > MAX_DEPTH:
                raise UserError(f"{place}: more than {MAX_DEPTH} lists or mappings are nested; use fewer.")
        yaml.load(text, get_yaml_loader())
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-02-30
        raise UserError(f"{name} is not YAML: {' '.join(str(error).split())}; correct the file.") from error


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


DRAW_TREE = {"_target_": "bakeoff.learners.decision_tree.export.TreeDrawer"}

FIGURES: Mapping[str, tuple[str, str]] = {
    "confusion_matrix": ("classification.ConfusionMatrix", "Test rows by true and predicted class."),
    "roc": ("classification.RocCurves", "ROC curves of each class against the rest, for all folds."),
    "precision_recall": (
        "classification.PrecisionRecallCurves",
        "Precision against recall of each class, for all folds.",
    ),
    "calibration": ("classification.Reliability", "Observed frequency against predicted probability for each class."),
    "residuals": ("curves.Residuals", "Regression: predicted against true targets, and the residuals."),
    "decision_regions": ("planes.DecisionRegions", "Predicted classes in the plane of two numeric columns."),
    "margins": ("planes.Margins", "The line between two classes of a linear or support vector classifier."),
    "regression_curves": ("curves.RegressionCurves", "Predictions of a regression on one numeric column."),
    "trees": ("trees.Trees", "The decision tree, before and after pruning."),
    "importances": ("importances.Importances", "Importance of each column, by permutation of test rows."),
    "learning_curve": ("curves.LearningCurve", "The score against the number of training rows (refits the model)."),
    "validation_curve": ("curves.ValidationCurve", "The score against one hyperparameter (refits the model)."),
    "candidates": ("curves.Candidates", "The score of each candidate of tuning, with the chosen one marked."),
}
"""The names that ``figures=[NAME]`` and ``bakeoff figures RUN NAME`` accept: a class of `FIGURE_PACKAGE`, and the
sentence that ``bakeoff list figures`` shows."""
FIGURE_PACKAGE = "bakeoff.pipeline.commands.figures"


def settle_figures(given: Any, space: Any = None, trust: Sequence[str] = ()) -> list[Any]:
    """Return the nodes of the figures that ``figures=`` requests.

    Parameters
    ----------
    given : list, str or None
        Names, names with arguments as in ``{learning_curve: {sizes: [0.5, 1]}}``, and nodes; ``all`` selects every
        named figure that applies to the run, including user-defined ones in trusted packages, and ``none`` selects
        none.
    space : mapping, sequence of mappings or None
        The search space of the learner.
    trust : sequence of str
        Packages that the configuration trusts.

    Returns
    -------
    list of mapping
        The nodes; those selected by ``all`` have ``if_applicable: true``.

    Raises
    ------
    UserError
        A name matches no figure or two figures, or an item is neither a name nor a node.

    Examples
    --------
    >>> settle_figures(["roc"])
    [{'_target_': 'bakeoff.pipeline.commands.figures.classification.RocCurves'}]
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
        f"figures contains {item!r}, which is neither a name, nor {{NAME: {{ARGUMENT: VALUE}}}}, nor a mapping "
        "with a _target_."
    )


def _make_node(name: str, arguments: Mapping[str, Any], space: Any) -> dict[str, Any]:
    own = read_own_node(FIGURE_GROUP, name)
    if own is not None:
        return {**own, **arguments}
    if name not in FIGURES:
        suggestion = did_you_mean(name, (*FIGURES, *list_own_names(FIGURE_GROUP), ALL))
        raise UserError(
            f"figures contains {name!r}, which is not a figure. {suggestion} `bakeoff list figures` shows them."
        )
    further = {"trees": {"draw_tree": DRAW_TREE}, "validation_curve": {"space": space}}
    return {"_target_": f"{FIGURE_PACKAGE}.{FIGURES[name][0]}", **further.get(name, {}), **arguments}


def settle_metrics(entries: Any) -> Any:
    """Return ``evaluation.metrics`` with each user-defined metric as a mapping with a ``_target_``.

    Parameters
    ----------
    entries : list or None
        The entries; other types are returned unchanged, and rejected when the metrics are chosen.

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
    """Return the descriptions of the shipped and user-defined options in a group of `LISTED`, by name.

    Bakeoff's metrics are not included; they are listed by the scoring stage.

    Raises
    ------
    UserError
        A user-defined option has a forbidden name.
    """
    own_folder = find_own_folder()
    if own_folder is not None:
        require_own_names(own_folder)
    own = read_sentences(list_own_files(GROUP_OF_FILES.get(group, group)))
    if group == METRIC_LIST:
        return {}, own
    sentences = {name: sentence for name, (_, sentence) in FIGURES.items()}
    return sentences if group == FIGURE_LIST else read_options(group), own
