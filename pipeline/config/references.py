"""From a composed configuration to plain values that keep references to environment variables.

The values of the variables are therefore neither stored nor hashed.
"""

from __future__ import annotations

import os
import re
from functools import reduce
from operator import getitem
from typing import Any

from omegaconf import DictConfig, OmegaConf, read_write
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc

from bakeoff.pipeline.config.engine import KEYS
from bakeoff.pipeline.config.targets import Path, name_key, walk
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import expand_references, find_secrets

DEFAULT_SPACE_KEY = "default_space"
RESOLVER = "oc.env"
RESOLVED = re.compile(
    r"(trust|search|space|default_space|figures|on_error|on_invalid|preprocessing\.method|pruning\.method|tuning\.space|"
    r"threshold\.metric|tracking\.experiment|evaluation\.(metrics|costs|train_metrics))([.\[]|$)"
)
"""Keys whose texts are no secrets: those read here, and those with names of choices and runs."""
TARGET_NAME = "_target_"
REQUIRED_VALUES = ("seed", "trust")
"""Keys that every job reads."""


def resolve_config(composed: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as plain dicts and lists, with its interpolations resolved.

    Texts keep references to environment variables.

    Values under ``space``, also from a file that ``space=NAME`` chooses, replace the default space of the learner.

    Raises
    ------
    OmegaConfBaseException
        A mandatory value is missing, or an interpolation refers to itself or to a key that does not exist.
    UserError
        Nothing reads a key, or a value holds a secret.
    """
    if DEFAULT_SPACE_KEY in composed and not composed.get("space"):
        with read_write(composed):  # a copy would be slower than all other steps
            composed.space = f"${{{DEFAULT_SPACE_KEY}}}"
    spec = _resolve_values(composed)
    check_keys(composed)
    return {str(key): value for key, value in spec.items() if key != DEFAULT_SPACE_KEY}


def _resolve_values(composed: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as plain dicts and lists.

    Texts contain ``${oc.env:NAME}`` instead of the value of an environment variable; numbers and Booleans, which affect
    results, are resolved.
    """
    read: list[str] = []

    def record_variable(*arguments: Any) -> Any:
        read.append(str(arguments[0]))
        return oc.env(*arguments)

    try:
        OmegaConf.register_new_resolver(RESOLVER, record_variable, replace=True)
        values: dict[str, Any] = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
        if read:
            OmegaConf.register_new_resolver(RESOLVER, _keep_reference, replace=True)
            _keep_references(values, composed)
    finally:
        OmegaConf.register_new_resolver(RESOLVER, oc.env, replace=True)
    for path, value in walk(values):
        if isinstance(value, str) and find_secrets(value):
            raise UserError(
                f"{name_key(path)} contains a password or a signature, which would be stored with the run; write "
                "${oc.env:NAME} in its place, and export the environment variable NAME."
            )
    return values


def _keep_reference(name: str, *default: Any) -> Any:
    """Return a reference to a variable instead of its value, if it is set."""
    return f"${{oc.env:{name}}}" if name in os.environ else oc.env(name, *default)


def _keep_references(values: dict[str, Any], composed: DictConfig) -> None:
    """Put references into the texts of resolved values, as in the composed configuration."""
    for path, node in walk(values):
        if isinstance(node, dict | list):
            for name, child in node.items() if isinstance(node, dict) else enumerate(node):
                if isinstance(child, str) and name != TARGET_NAME:
                    node[name] = _keep_text(child, composed, (*path, name))


def _keep_text(text: str, composed: DictConfig, path: Path) -> str:
    """Return a text with references, unless it is read here or is the name of a choice."""
    key = name_key(path)
    if RESOLVED.match(key):
        return text
    try:
        kept = reduce(getitem, path, composed)
    except (OmegaConfBaseException, TypeError):
        kept = None
    if not isinstance(kept, str) or expand_references(kept) != text:
        raise UserError(
            f"{key} contains the value of an environment variable, which would be stored with the run; write "
            "${oc.env:NAME} in place of the value, and export the variable NAME with this value."
        )
    return kept


def check_keys(composed: DictConfig) -> None:
    """Reject a composed configuration with an unused key or without a mandatory value.

    A user-defined key is used if an interpolation refers to it, as in ``+k=3 learner.n_neighbors=${k}``.

    Parameters
    ----------
    composed : DictConfig

    Raises
    ------
    UserError
    """
    for key in REQUIRED_VALUES:
        if key not in composed:
            raise UserError(f"{key} cannot be removed, because every job needs it; leave ~{key} out.")
    unknown = [str(key) for key in composed if key not in KEYS]
    text = OmegaConf.to_yaml(composed) if unknown else ""
    for key in unknown:
        if not re.search(rf"\$\{{{re.escape(key)}[}}.\[]", text):
            raise UserError(f"{key} is not a key. {did_you_mean(key, KEYS)}")
