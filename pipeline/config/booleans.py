"""Values that are true or false, in the words that mean one of them wherever a value is one or the other.

YAML 1.1 reads ``no`` as false in a file; on the command line it is a text, which Python would take for true. The
parameters of the called classes and functions say which keys are true or false.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.config.build import import_target
from bakeoff.pipeline.config.targets import TARGET_KEY
from bakeoff.pipeline.config.walk import Path, name_key, walk
from bakeoff.pipeline.errors import UserError

WORDS: Mapping[str, bool] = {
    "true": True, "yes": True, "on": True, "y": True, "1": True,
    "false": False, "no": False, "off": False, "n": False, "0": False,
}  # fmt: skip
"""What a text in lower case means."""
BOOLEAN_CONSTRAINT = "boolean"
"""What scikit-learn calls a Boolean among the constraints of a parameter."""
DATASETS = "bakeoff.pipeline.stages.dataset."
FILE_KEYS = {"header": True, "strip": False, "drop_missing_target": False}
"""Keys that the functions that read a dataset pass on, and whether each may be null."""
ANNOTATIONS = {"bool": False, "bool | None": True}
"""The annotation of a Boolean -> whether null is allowed, too."""
MAX_REMEMBERED_TARGETS = 1024


def read_boolean(key: str, value: Any) -> bool:
    """Return the Boolean that a value means.

    Parameters
    ----------
    key : str
        For the message.
    value : object
        A Boolean, 0 or 1, or one of the words.

    Raises
    ------
    UserError

    Examples
    --------
    >>> [read_boolean("resume", value) for value in (True, "no", "OFF", 1)]
    [True, False, False, True]
    """
    if isinstance(value, bool):
        return value
    is_number = isinstance(value, int) and value in (0, 1)
    word = str(value).strip().lower() if is_number or isinstance(value, str) else ""
    if word in WORDS:
        return WORDS[word]
    shown = "null" if value is None else repr(value)
    raise UserError(f"{key}={shown} must be true or false; yes, no, on, off, 1 and 0 are read as well.")


def settle_booleans(node: Any, path: Path, trust: Sequence[str]) -> Any:
    """Return a part of a configuration with a Boolean wherever a parameter takes nothing else.

    Parameters
    ----------
    node : object
        Nested mappings and lists; those with a ``_target_`` are calls, whose parameters say which keys are Booleans.
    path : tuple
        Of the part, for messages; empty for a whole configuration.
    trust : sequence of str
        Further packages that may be imported.

    Raises
    ------
    UserError
        Such a parameter is given a value that is neither true nor false.
    """
    settled = deepcopy(node)
    for place, inner in walk(settled, path):
        booleans = _find_booleans(inner, trust) if isinstance(inner, dict) else {}
        for name, allows_null in booleans.items():
            value = inner.get(name)
            # A part that is called in turn, or null where the parameter takes it, is left to the parameter.
            is_left = name not in inner or isinstance(value, Mapping) or (value is None and allows_null)
            if not is_left:
                inner[name] = read_boolean(name_key((*place, name)), value)
    return settled


def _find_booleans(node: Mapping[str, Any], trust: Sequence[str]) -> Mapping[str, bool]:
    """Return the keys of a call that are true or false, and whether each may be null."""
    target = node.get(TARGET_KEY)
    if not isinstance(target, str):
        return {}
    try:
        # Code of the user may change while a process runs, as in a notebook.
        is_of_user = target.partition(".")[0] in trust
        return find_boolean_parameters(target, trust) if is_of_user else _find_known_booleans(target)
    except UserError:  # it needs trust, does not exist, or is not installed: whoever builds it says so
        return {}


@lru_cache(MAX_REMEMBERED_TARGETS)
def _find_known_booleans(target: str) -> Mapping[str, bool]:
    return find_boolean_parameters(target)


def find_boolean_parameters(target: str, trust: Sequence[str] = ()) -> dict[str, bool]:
    """Return the parameters of a class or function that are true or false, and whether each may be null.

    scikit-learn's constraints say so, if there are any; else the annotation of the parameter, and without one its
    default.

    Parameters
    ----------
    target : str
        A dotted name.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UserError
        The name needs trust, or does not exist.
    """
    function = import_target(target, TARGET_KEY, trust)
    try:
        parameters = list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return {}  # built-in classes and functions may have no signature
    constraints = getattr(function, "_parameter_constraints", {})
    read = {each.name: _read_parameter(each, constraints.get(each.name)) for each in parameters}
    found = {name: allows_null for name, allows_null in read.items() if allows_null is not None}
    takes_more = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    return found | FILE_KEYS if takes_more and target.startswith(DATASETS) else found


def _read_parameter(parameter: Parameter, constraint: Any) -> bool | None:
    """Return whether a Boolean parameter may be null; None if it is no Boolean, or takes other values as well."""
    if isinstance(constraint, list):
        others = [allowed for allowed in constraint if allowed not in (BOOLEAN_CONSTRAINT, None, callable)]
        is_boolean = BOOLEAN_CONSTRAINT in constraint and not others
        return (None in constraint) if is_boolean else None
    if parameter.annotation is Parameter.empty:
        return False if isinstance(parameter.default, bool) else None
    annotation = parameter.annotation
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return ANNOTATIONS.get(name)
