"""The names of classes and functions in a configuration, checked as text before any of them is imported.

A configuration may come from somebody else, and importing a module runs it. So the names of the whole configuration are
checked first: each is one of `bakeoff.pipeline.config.targets.known_targets`, or in a package that the user trusts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bakeoff.pipeline.config.targets.known_targets import KNOWN_PACKAGES, is_known, list_places, suggest_name
from bakeoff.pipeline.config.targets.part_kinds import find_kind
from bakeoff.pipeline.errors import UserError

TARGET_KEY = "_target_"
CALL_KEYS = ("_args_", "_partial_", "_recursive_", "_convert_")
"""Keys by which Hydra calls something else than a class with its parameters."""
CACHE_PARAMETER = "memory"
"""A parameter of scikit-learn's that names a folder of pickles, which are loaded: loading one may run any code."""
PARAMETER_KEY = "parameter"
"""Of a figure that tries values of a parameter."""
TRIED_KEYS = frozenset({"space", "default_space", "variants"})
"""Keys below which parameters have values to try."""
KEY_PARTS = re.compile(r"\w+")
SCIKIT_LEARN = "sklearn"


def require_names(node: Any, key: str, trust: Sequence[str]) -> None:
    """Check each ``_target_`` of a configuration, at any depth; nothing is imported.

    Parameters
    ----------
    node : object
        A configuration with its interpolations resolved, or a part of one.
    key : str
        Of the node, for messages; empty for the whole configuration.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UserError
        A name needs trust, or a key would call it in another way than with its parameters.
    """
    for inner_key, mapping in _iter_mappings(node, key):
        for call_key in CALL_KEYS:
            if call_key in mapping:
                raise UserError(
                    f"{_join(inner_key, call_key)} is not read: a configuration names a class and its parameters, and "
                    f"{', '.join(CALL_KEYS)} are not among them; remove {call_key}."
                )
        target = mapping.get(TARGET_KEY)
        if target is not None:
            require_name(target, _join(inner_key, TARGET_KEY), trust)
    if SCIKIT_LEARN not in trust:
        _require_no_cache(node, key, False)


def require_name(target: Any, key: str, trust: Sequence[str]) -> None:
    """Check one name; nothing is imported.

    Parameters
    ----------
    target : object
        Anything but a dotted name is rejected.
    key : str
        Where it stands.
    trust : sequence of str

    Raises
    ------
    UserError
    """
    if not isinstance(target, str) or not _is_dotted(target):
        raise UserError(f"{key}={target!r} must be a dotted name, such as mine.MyClass.")
    package = target.split(".")[0]
    if package in trust or is_known(target, key):
        return
    if package not in KNOWN_PACKAGES:
        raise UserError(
            f"{key}={target!r} is outside the trusted packages; if you trust all code of {package}, add "
            f"trust=[{package}]."
        )
    places = list_places(target)
    if places:
        part = key.removesuffix(f".{TARGET_KEY}")
        kind = find_kind(part)
        reason = f"{part} must be {kind.noun}" if kind else f"it belongs to {', '.join(places)}"
        raise UserError(f"{key}={target!r} does not belong here: {reason}.")
    cure = suggest_name(target, key) or f"If you trust all code of {package}, add trust=[{package}]."
    raise UserError(f"{key}={target!r} is not one of the public parts that may be named. {cure}")


def _is_dotted(target: str) -> bool:
    parts = target.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def _iter_mappings(node: Any, key: str) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield every mapping of a configuration with its key, at any depth."""
    if isinstance(node, Mapping):
        yield key, node
        for name, child in node.items():
            if isinstance(child, Mapping | list | tuple):
                yield from _iter_mappings(child, _join(key, name))
    elif isinstance(node, list | tuple):
        for position, child in enumerate(node):
            if isinstance(child, Mapping | list | tuple):
                yield from _iter_mappings(child, f"{key}[{position}]")


def _join(key: str, name: Any) -> str:
    return f"{key}.{name}" if key else str(name)


def _require_no_cache(node: Any, key: str, is_below_sklearn: bool) -> None:
    """Reject a folder of pickles, as a parameter below an estimator of scikit-learn or among the values to try for one.

    A search of scikit-learn has the parameters of its estimator as keys, in grids and in lists of grids.
    """
    if isinstance(node, list | tuple):
        for position, child in enumerate(node):
            _require_no_cache(child, f"{key}[{position}]", is_below_sklearn)
    if not isinstance(node, Mapping):
        return
    is_below = is_below_sklearn or str(node.get(TARGET_KEY)).startswith(f"{SCIKIT_LEARN}.")
    is_tried = bool(set(KEY_PARTS.findall(key)) & TRIED_KEYS)
    for name, value in node.items():
        is_named = name == PARAMETER_KEY and _is_cache(value)
        is_given = (is_below or is_tried) and _is_cache(name) and _holds_text(value)
        if is_named or is_given:
            raise UserError(
                f"{_join(key, name)}={value!r} would load Python objects from a folder, which may run any code; remove "
                "it, or add trust=[sklearn] if the folder is yours."
            )
        _require_no_cache(value, _join(key, name), is_below)


def _is_cache(parameter: Any) -> bool:
    """Return whether a parameter, or that of a part written as part__parameter, names a folder of pickles."""
    return str(parameter).replace("__", ".").split(".")[-1] == CACHE_PARAMETER


def _holds_text(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(_holds_text(child) for child in value)
    return isinstance(value, str)
