"""Keys that are true or false, which the parameters of the called classes and functions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.boolean_words import read_boolean
from bakeoff.pipeline.config.targets.import_target import import_target
from bakeoff.pipeline.config.targets.target_names import TARGET_KEY
from bakeoff.pipeline.errors import UserError

BOOLEAN_CONSTRAINT = "boolean"
"""What scikit-learn calls a Boolean among the constraints of a parameter."""
DATASETS = "bakeoff.pipeline.stages.dataset."
FILE_KEYS = {"header": True, "strip": False, "drop_missing_target": False}
"""Keys that the functions that read a dataset pass on, and whether each may be null."""
ANNOTATIONS = {"bool": False, "bool | None": True}
"""The annotation of a Boolean -> whether null is allowed, too."""
MAX_REMEMBERED_TARGETS = 1024


def settle_booleans(node: Any, key: str, trust: Sequence[str]) -> Any:
    """Return a part of a configuration with a Boolean wherever a parameter takes nothing else.

    Parameters
    ----------
    node : object
        Nested mappings and lists; those with a ``_target_`` are calls, whose parameters say which keys are Booleans.
    key : str
        The key of the part, for messages; empty for a whole configuration.
    trust : sequence of str
        Further packages that may be imported.

    Raises
    ------
    UserError
        Such a parameter is given a value that is neither true nor false.
    """
    if isinstance(node, list):
        return [settle_booleans(item, f"{key}[{place}]", trust) for place, item in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    booleans = _find_booleans(node, trust)
    settled = {}
    for name, value in node.items():
        inner = f"{key}.{name}" if key else str(name)
        # A part that is called in turn, or null where the parameter takes it, is left to the parameter.
        is_left = isinstance(value, Mapping) or (value is None and booleans.get(name, True))
        is_read = name in booleans and not is_left
        settled[name] = read_boolean(inner, value) if is_read else settle_booleans(value, inner, trust)
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
    found = _read_signature(function)
    takes_more = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in _list_parameters(function))
    return found | FILE_KEYS if takes_more and target.startswith(DATASETS) else found


def _list_parameters(function: Callable[..., Any]) -> list[Parameter]:
    try:
        return list(signature(function).parameters.values())
    except (TypeError, ValueError):
        return []  # built-in classes and functions may have no signature


def _read_signature(function: Callable[..., Any]) -> dict[str, bool]:
    constraints = getattr(function, "_parameter_constraints", {})
    found = {}
    for parameter in _list_parameters(function):
        allows_null = _read_parameter(parameter, constraints.get(parameter.name))
        if allows_null is not None:
            found[parameter.name] = allows_null
    return found


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
