"""From a settled mapping to nouns: the one call to ``instantiate``, and what may stand behind ``_target_``.

Constructors own the schema of their parts: what a learner or a splitter may be given, it says itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean

TRUSTED = ("bakeoff", "sklearn")
"""Packages whose classes may always stand behind ``_target_``."""


def build_object(node: Mapping[str, Any], key: str, trust: list[str]) -> Any:
    """Instantiate what a part of the configuration describes.

    Parameters
    ----------
    node : mapping
        With ``_target_``, nested ones included.
    key : str
        Where it stands, for messages.
    trust : list of str
        Further packages whose classes may be named.

    Raises
    ------
    UserError
        A target outside the trusted packages, one that does not exist, or arguments that it does not take.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    if "_target_" not in node:
        raise UserError(f"{key} has no _target_: it must name the class or function to call.")
    _require_trust(node, key, trust)
    _require_parameters(node, key)
    try:
        return instantiate(node, _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, UserError):
            raise cause from None
        raise UserError(f"{key} ({node['_target_']}): {' '.join(str(cause or error).split())}") from error


def find_target(target: str, key: str, trust: list[str]) -> Any:
    """Return the class or function of a dotted name.

    Parameters
    ----------
    target, key : str
        The name, and where it stands, for messages.
    trust : list of str
        Further packages in which it may lie.

    Raises
    ------
    UserError
    """
    node = {"_target_": target}
    _require_trusted_target(node, f"{key}={target!r}", trust)
    return locate_target(node)


def _require_trust(node: Any, key: str, trust: list[str]) -> None:
    if isinstance(node, Mapping):
        if node.get("_target_") is not None:
            _require_trusted_target(node, f"{key}._target_={node['_target_']!r}", trust)
        for name, child in node.items():
            _require_trust(child, f"{key}.{name}", trust)
    elif isinstance(node, list):
        for position, child in enumerate(node):
            _require_trust(child, f"{key}[{position}]", trust)


def _require_trusted_target(node: Mapping[str, Any], said: str, trust: list[str]) -> None:
    """Refuse a target of another package, also one reached through a trusted one: sklearn.os.system; or of none."""
    trusted, target = (*TRUSTED, *trust), str(node["_target_"])
    package = target.split(".")[0]
    if package in trusted:
        found = locate_target(node)
        if found is None:
            raise UserError(f"{said} is not there. {_nearest_target(target)}")
        package = str(getattr(found, "__module__", target)).split(".")[0]
    if package not in trusted:
        raise UserError(
            f"{said} is outside the trusted packages {', '.join(trusted)}; if you trust it, add trust=[{package}]."
        )


def _require_parameters(node: Mapping[str, Any], key: str) -> None:
    """Refuse keys that the class or function does not take."""
    try:
        parameters = signature(locate_target(node)).parameters
    except (TypeError, ValueError):  # it does not say what it takes
        return
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in node:
        if name not in parameters and not (name.startswith("_") and name.endswith("_")):
            raise UserError(f"{key}.{name} is not a key of {node['_target_']}. {did_you_mean(name, parameters)}")


def _nearest_target(target: str) -> str:
    """Suggest a name for the first part of a dotted target that does not lead on."""
    home, _, name = target.rpartition(".")
    while home and (found := locate_target({"_target_": home})) is None:
        home, _, name = home.rpartition(".")
    return did_you_mean(name, getattr(found, "__all__", dir(found))) if home else ""


def locate_target(node: Mapping[str, Any]) -> Any:
    """Return the class or function behind ``_target_``; None if there is none."""
    from pydoc import ErrorDuringImport, locate

    try:
        return locate(str(node.get("_target_")))
    except ErrorDuringImport as error:
        raise UserError(f"{node['_target_']} cannot be imported: {error.value}") from error
