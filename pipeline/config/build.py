"""From a settled configuration to objects: the only call of Hydra's ``instantiate``, and the packages it may call.

A constructor defines the schema of its part: the keys of a learner or a splitter are its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from inspect import Parameter, signature
from typing import Any

from bakeoff.pipeline.config.literal_text import escape_interpolations
from bakeoff.pipeline.errors import MissingPackage, UserError, did_you_mean

TRUSTED_PACKAGES = ("bakeoff", "sklearn", "imblearn")
"""Packages whose classes and functions ``_target_`` may always name."""
EXTRAS = {"imblearn": "imbalance", "xgboost": "xgboost", "lightgbm": "lightgbm"}
"""Packages that need not be installed, and the extras of bakeoff that install them."""


def build_object(node: Mapping[str, Any], key: str, trust: Sequence[str]) -> Any:
    """Instantiate the object that a part of the configuration describes.

    Parameters
    ----------
    node : mapping
        Has a ``_target_``; nested parts may have one too.
    key : str
        The key of the part, for messages.
    trust : sequence of str
        Further packages whose classes and functions may be named.

    Raises
    ------
    UserError
        A target is outside the trusted packages or does not exist, or an argument is not a parameter or not valid.
    """
    from hydra.errors import InstantiationException
    from hydra.utils import instantiate

    if "_target_" not in node:
        raise UserError(f"{key} has no _target_: it must name the class or function to call.")
    for target_key, target in _iter_targets(node, key):
        _require_trusted(target, f"{target_key}={target!r}", trust)
    # Hydra's own message for an unknown parameter neither names the key nor suggests one.
    _require_parameters(node, key)
    try:
        return instantiate(escape_interpolations(node), _convert_="all")
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, UserError):
            raise cause from None
        reason = " ".join(str(cause or error).split())
        raise UserError(f"{key} ({node['_target_']}): {reason}") from error


def find_target(target: str, key: str, trust: Sequence[str]) -> Any:
    """Return the class or function of a dotted name.

    Parameters
    ----------
    target, key : str
        The name, and its key in the configuration, for messages.
    trust : sequence of str
        Further packages whose classes and functions may be named.

    Raises
    ------
    UserError
    """
    _require_trusted(target, f"{key}={target!r}", trust)
    return locate_target(target)


def locate_target(target: str) -> Any:
    """Return the class or function of a dotted name, trusted or not; None if it does not exist."""
    from pydoc import ErrorDuringImport, locate

    try:
        return locate(target)
    except ErrorDuringImport as error:
        raise UserError(f"{target} cannot be imported: {error.value}") from error


def _iter_targets(node: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the value of every ``_target_``, at any depth."""
    if isinstance(node, Mapping):
        if node.get("_target_") is not None:
            yield f"{key}._target_", str(node["_target_"])
        for name, child in node.items():
            yield from _iter_targets(child, f"{key}.{name}")
    elif isinstance(node, list):
        for position, child in enumerate(node):
            yield from _iter_targets(child, f"{key}[{position}]")


def _require_trusted(target: str, key_and_value: str, trust: Sequence[str]) -> None:
    """Reject a target that does not exist or is defined outside the trusted packages."""
    trusted = (*TRUSTED_PACKAGES, *trust)
    package = target.split(".")[0]
    if package in EXTRAS and package in trusted:
        _require_installed(package, key_and_value)
    if package in trusted:
        found = locate_target(target)
        if found is None:
            raise UserError(f"{key_and_value} does not exist. {_suggest_target(target)}")
        _require_installed(getattr(found, "required_package", ""), key_and_value)
        # A name in a trusted package may be imported from another one: sklearn.os.system is defined in os.
        package = str(getattr(found, "__module__", target)).split(".")[0]
    if package not in trusted:
        raise UserError(
            f"{key_and_value} is outside the trusted packages {', '.join(trusted)}; "
            f"if you trust it, add trust=[{package}]."
        )


def _require_installed(package: str, key_and_value: str) -> None:
    """Reject a target whose package is an extra that is not installed; a class names it in ``required_package``."""
    if package in EXTRAS and find_spec(package) is None:
        raise MissingPackage(f'{key_and_value} needs {package}; install it with pip install ".[{EXTRAS[package]}]".')


def _require_parameters(node: Mapping[str, Any], key: str) -> None:
    """Reject keys that are not parameters of the class or function."""
    try:
        parameters = signature(locate_target(str(node["_target_"]))).parameters
    except (TypeError, ValueError):
        return  # built-in classes and functions may have no signature
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in node:
        is_hydras = name.startswith("_") and name.endswith("_")
        if name not in parameters and not is_hydras:
            raise UserError(f"{key}.{name} is not a key of {node['_target_']}. {did_you_mean(name, parameters)}")


def _suggest_target(target: str) -> str:
    """Suggest a name for the first part of a dotted name that does not exist."""
    home, _, name = target.rpartition(".")
    while home and (found := locate_target(home)) is None:
        home, _, name = home.rpartition(".")
    if not home:
        return ""
    return did_you_mean(name, getattr(found, "__all__", dir(found)))
