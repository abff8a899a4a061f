"""From a settled configuration to objects: each mapping with a ``_target_`` is a class or function with its parameters.

A constructor defines the schema of its part: the keys of a learner or a splitter are its parameters. Values are those
of the configuration as they are; what looks like an interpolation in one of them was written as text, and stays text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.config.targets.import_target import find_target
from bakeoff.pipeline.config.targets.part_kinds import require_class_kind, require_kind
from bakeoff.pipeline.config.targets.target_names import TARGET_KEY, require_names
from bakeoff.pipeline.errors import UserError, did_you_mean, hiding_values
from bakeoff.pipeline.text.secrets import expand_references


def build_object(node: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    """Return the object that a part of the configuration describes.

    All names are checked before the first import, and each class before its constructor is called.

    Parameters
    ----------
    node : mapping
        Has a ``_target_``; nested parts may have one too.
    key : str
        The key of the part, which says what it must be.
    trust : sequence of str
        Packages of which any class and function may be named.

    Raises
    ------
    UserError
        A target needs trust, does not exist or is not of the kind of its place, or an argument is not a parameter or
        not valid.
    """
    if node.get(TARGET_KEY) is None:
        raise UserError(f"{key} has no _target_: it must name the class or function to call.")
    with hiding_values(json.dumps(node, default=str)):
        valued = put_values(node, key)
        require_names(valued, key, trust)
        return _build(valued, key, trust)


def put_values(node: Mapping[str, Any], key: str) -> Any:
    """Return a part of a configuration with the values of the environment variables that it refers to.

    Parameters
    ----------
    node : mapping
    key : str
        The key of the part, for messages.

    Raises
    ------
    UserError
        A variable is not set.
    """
    try:
        return expand_references(node)
    except KeyError as error:
        raise UserError(
            f"{key} refers to the environment variable {error.args[0]}, which is not set; export it first."
        ) from None


def _build(node: Any, key: str, trust: Sequence[str]) -> Any:
    """Return a value of the configuration with an object in place of each mapping that describes one."""
    if isinstance(node, list | tuple):
        return [_build(child, f"{key}[{position}]", trust) for position, child in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    if TARGET_KEY not in node:
        return {name: _build(child, f"{key}.{name}", trust) for name, child in node.items()}
    target = node[TARGET_KEY]
    found = find_target(target, f"{key}.{TARGET_KEY}", trust)
    require_class_kind(found, key, target)
    given = {name: child for name, child in node.items() if name != TARGET_KEY}
    _require_parameters(found, given, key, target)
    arguments = {str(name): _build(child, f"{key}.{name}", trust) for name, child in given.items()}
    built = _call(found, arguments, key, target)
    require_kind(built, key, target)
    return built


def _call(found: Any, arguments: Mapping[str, Any], key: str, target: str) -> Any:
    """Call a class or function; what it raises is the reason of a refusal."""
    try:
        return found(**arguments)
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{key} ({target}): {reason}") from error


def _require_parameters(found: Any, given: Mapping[Any, Any], key: str, target: str) -> None:
    """Reject keys that are not parameters of the class or function."""
    try:
        parameters = signature(found).parameters
    except (TypeError, ValueError):
        return  # built-in classes and functions may have no signature
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in given:
        if name not in parameters:
            raise UserError(f"{key}.{name} is not a key of {target}. {did_you_mean(str(name), parameters)}")
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    for parameter in parameters.values():
        is_required = parameter.default is Parameter.empty and parameter.kind in by_name
        if is_required and parameter.name not in given:
            raise UserError(f"{key}.{parameter.name} must be given: add {key}.{parameter.name}=VALUE.")
